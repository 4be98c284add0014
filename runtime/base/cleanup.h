/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scope cleanup
 *
 * `mr_auto_close int fd = -1;` closes at scope end; mr_take_fd(fd) hands the
 * descriptor over visibly.  Cleanup keeps errno.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define N_ELEMENTS(a) (sizeof(a) / sizeof((a)[0]))

/* Closes fd if it is one; returns -1, so `fd = mr_close(fd)` leaves it empty. */
static inline int mr_close(int fd)
{
	if (fd >= 0) {
		int saved = errno;

		close(fd);
		errno = saved;
	}
	return -1;
}

static inline void mr_closep(int *fd)
{
	*fd = mr_close(*fd);
}

static inline void mr_freep(void *p)
{
	free(*(void **)p);
}

static inline void mr_fclosep(FILE **f)
{
	if (*f)
		fclose(*f);
}

static inline void mr_closedirp(DIR **d)
{
	if (*d)
		closedir(*d);
}

#define mr_cleanup(fn) __attribute__((cleanup(fn)))
#define mr_auto_close mr_cleanup(mr_closep)
#define mr_auto_free mr_cleanup(mr_freep)
#define mr_auto_fclose mr_cleanup(mr_fclosep)
#define mr_auto_closedir mr_cleanup(mr_closedirp)
#define mr_take_fd(fd)           \
	({                       \
		int *f_ = &(fd); \
		int v_ = *f_;    \
		*f_ = -1;        \
		v_;              \
	})
#define mr_take_ptr(p)                \
	({                            \
		typeof(p) *p_ = &(p); \
		typeof(p) t_ = *p_;   \
		*p_ = NULL;           \
		t_;                   \
	})

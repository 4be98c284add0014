/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Standard descriptors
 *
 * The payload gets pipes of ours, or a terminal of its own, never a descriptor of
 * the caller: one that leads to a host file could be opened anew through
 * /proc/self/fd with other rights, a terminal could be typed into.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/launch/steps.h"
#include "runtime/spec/spec.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

int mr_stdio_close_except(const int *keep, size_t n, struct mr_error *err)
{
	mr_auto_free int *sorted = calloc(n + 1, sizeof(*sorted));
	unsigned int next = 3;
	size_t m = 0;

	mr_assert(sorted);
	for (size_t i = 0; i < n; i++) {
		if (keep[i] >= 3)
			sorted[m++] = keep[i];
	}
	qsort(sorted, m, sizeof(sorted[0]), compare_fds);
	for (size_t i = 0; i <= m; i++) {
		unsigned int end = i < m ? (unsigned int)sorted[i] : ~0U;

		if (end > next && syscall(SYS_close_range, next, i < m ? end - 1 : ~0U, 0) < 0)
			return mr_err(err, MR_E_SYS, errno, "close_range: %m");
		if (i < m)
			next = end + 1;
	}
	return 0;
}

/* The slave is reached through the master's descriptor, never by a path (CVE-2025-52565). */
int mr_stdio_open_tty(struct mr_child *c, struct mr_error *err)
{
	int unlock = 0, slave;

	if (!c->spec->sandbox_tty)
		return 0;
	c->pty_fd = open("/dev/pts/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (c->pty_fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open /dev/pts/ptmx: %m");
	if (ioctl(c->pty_fd, TIOCSPTLCK, &unlock) < 0)
		return mr_err(err, MR_E_SYS, errno, "unlock the terminal: %m");
	slave = ioctl(c->pty_fd, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return mr_err(err, MR_E_SYS, errno, "open the terminal: %m");
	if (ioctl(slave, TIOCSCTTY, 0) < 0)
		return mr_err(err, MR_E_SYS, errno, "take the terminal: %m");
	for (int i = 0; i < 3; i++) {
		if (dup2(slave, i) < 0)
			return mr_err(err, MR_E_SYS, errno, "dup2 the terminal to %d: %m", i);
	}
	mr_close(slave);
	return 0;
}

int mr_stdio_attach(struct mr_child *c, struct mr_error *err)
{
	for (int i = 0; i < 3; i++) {
		mr_auto_close int null = -1;
		int from = c->opts->stdio[i];

		if (from < 0) {
			null = open("/dev/null", (i ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
			if (null < 0)
				return mr_err(err, MR_E_SYS, errno, "open /dev/null: %m");
			from = null;
		}
		if (dup2(from, i) < 0)
			return mr_err(err, MR_E_SYS, errno, "dup2 to descriptor %d: %m", i);
	}
	return 0;
}

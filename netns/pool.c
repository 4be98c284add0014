/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pool
 *
 * "Clean" is the text of a few files of /proc/thread-self/net, byte for byte what it
 * was when the namespace was new: no socket of any kind (sockstat counts them all, unix
 * names them), no counter on a link (dev), no route.  A counter that moved is enough to
 * throw a namespace away.
 */
#include "netns/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"

#define PRINT_MAX 8192

/* Counts, not lists: the lists of tcp and udp walk the host's whole hash tables. */
static const char *const print_files[] = { "sockstat", "sockstat6", "unix", "dev", "route" };

struct mr_netns_pool {
	int home_fd;
	size_t max, n;
	int *free_fds;
	char *clean; /* the print of a new namespace; NULL until the first is made */
};

int mr_netns_pool_new(size_t max, struct mr_netns_pool **ret, struct mr_error *err)
{
	struct mr_netns_pool *pool = calloc(1, sizeof(*pool));

	mr_assert(pool);
	pool->max = max;
	pool->free_fds = calloc(max + 1, sizeof(int));
	mr_assert(pool->free_fds);
	pool->home_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (pool->home_fd < 0) {
		int r = mr_err(err, MR_E_SYS, errno, "open our network namespace: %m");

		mr_netns_pool_free(pool);
		return r;
	}
	*ret = pool;
	return 0;
}

struct mr_netns_pool *mr_netns_pool_free(struct mr_netns_pool *pool)
{
	if (!pool)
		return NULL;
	for (size_t i = 0; i < pool->n; i++)
		mr_close(pool->free_fds[i]);
	mr_close(pool->home_fd);
	free(pool->free_fds);
	free(pool->clean);
	free(pool);
	return NULL;
}

/* What the files of the present namespace say, one after the other. False if it does not fit. */
static bool read_print(char print[PRINT_MAX])
{
	size_t used = 0;

	for (size_t i = 0; i < N_ELEMENTS(print_files); i++) {
		char path[64];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/thread-self/net/%s", print_files[i]);
		n = mr_read_file_at(AT_FDCWD, path, print + used, PRINT_MAX - used);
		if (n == -ENOENT)
			continue; /* a protocol this kernel does not have */
		if (n < 0 || used + (size_t)n + 1 >= PRINT_MAX)
			return false;
		used += (size_t)n;
	}
	return true;
}

static void go_home(struct mr_netns_pool *pool)
{
	/* Staying in a sandbox's namespace would be worse than ending. */
	mr_assert(setns(pool->home_fd, CLONE_NEWNET) == 0);
}

static int make_one(struct mr_netns_pool *pool, struct mr_error *err)
{
	char print[PRINT_MAX];
	bool printed;
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		return mr_err(err, MR_E_SYS, errno, "make a network namespace: %m");
	fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	printed = !pool->clean && read_print(print);
	go_home(pool);
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open a new network namespace: %m");
	if (printed)
		pool->clean = strdup(print);
	return fd;
}

int mr_netns_pool_take(struct mr_netns_pool *pool, struct mr_error *err)
{
	return pool->n ? pool->free_fds[--pool->n] : make_one(pool, err);
}

static bool is_clean(struct mr_netns_pool *pool, int fd)
{
	char print[PRINT_MAX];
	bool printed;

	if (!pool->clean || setns(fd, CLONE_NEWNET) < 0)
		return false;
	printed = read_print(print);
	go_home(pool);
	return printed && strcmp(print, pool->clean) == 0;
}

int mr_netns_pool_give(struct mr_netns_pool *pool, int fd)
{
	if (pool->n >= pool->max || !is_clean(pool, fd)) {
		mr_close(fd);
		return 0;
	}
	pool->free_fds[pool->n++] = fd;
	return 1;
}

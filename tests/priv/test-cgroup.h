/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the cgroup tests share: skipping by name, a process inside a group, and
 * the proof that nothing is left.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgroups/cgroup.h"
#include "cgroups/hierarchy.h"
#include "cgroups/tree.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"

#define MIB (1024ULL * 1024)
#define NO_LIMITS                                                                \
	{                                                                        \
		MR_UNLIMITED, MR_UNLIMITED, MR_UNLIMITED, MR_UNLIMITED, 0, false \
	}

#define assert_ok(expr)                                             \
	do {                                                        \
		int r_ = (expr);                                    \
		if (r_ < 0)                                         \
			fail_msg("%s: %d: %s", #expr, r_, err.msg); \
	} while (0)

static struct mr_cgroup_host *host;

/* Names of our own, so that runs at the same time do not meet. */
static inline const char *own_name(const char *stem)
{
	static char name[65];

	snprintf(name, sizeof(name), "test-%s-%d", stem, (int)getpid());
	return name;
}

static inline void need_cgroups(void)
{
	struct mr_error err = MR_ERROR_INIT;

	if (geteuid() != 0) {
		puts("SKIP needs root");
		exit(77);
	}
	if (mr_cgroup_detect(&host, &err) < 0) {
		puts(err.msg);
		exit(1);
	}
	if (mr_cgroup_host_mode(host) == MR_CGROUP_NONE || mr_cgroup_host_why(host)[0]) {
		printf("SKIP needs cgroups with memory, pids and cpu: %s\n",
		       mr_cgroup_host_why(host));
		exit(77);
	}
	/* Orphans come to us instead of an init that might not reap them. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* Start fn(arg) in the group; its return value is the exit status. */
static inline pid_t spawn_at(int dir_fd, const struct mr_cgroup *cg, int (*fn)(void *), void *arg)
{
	struct mr_clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)dir_fd,
	};
	pid_t pid = (pid_t)mr_clone3(&args);

	if (pid == 0)
		_exit(mr_cgroup_enter_v1(cg, NULL) < 0 ? 99 : fn(arg));
	return pid;
}

static inline pid_t spawn(const struct mr_cgroup *cg, int (*fn)(void *), void *arg)
{
	pid_t pid = spawn_at(mr_cgroup_v2_fd(cg), cg, fn, arg);

	assert_true(pid > 0);
	return pid;
}

static inline int wait_status(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static inline int pause_forever(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return 0;
}

#define PATIENCE_MS 60000 /* for what is to come, however busy the machine is */

/* Until the group is empty by its own word. */
static inline void wait_unpopulated(const struct mr_cgroup *cg)
{
	struct pollfd p = { .fd = mr_cgroup_events_fd(cg), .events = POLLPRI };
	struct mr_error err = MR_ERROR_INIT;
	int r;

	while ((r = mr_cgroup_populated(cg, &err)) > 0)
		if (poll(&p, 1, PATIENCE_MS) == 0)
			fail_msg("still populated after %d ms", PATIENCE_MS);
	assert_int_equal(r, 0);
}

static inline void reap_all(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

/* Hierarchies that still have BASE/menace/NAME. */
static inline int count_left(const char *name)
{
	int left = 0;

	for (size_t i = 0; i < host->n; i++) {
		char path[128];

		snprintf(path, sizeof(path), MR_CGROUP_PARENT "/%s", name);
		left += faccessat(host->h[i].base_fd, path, F_OK, 0) == 0;
	}
	return left;
}

/* An empty parent should have been removed by the last run: being able to do it is the proof
 * that it was not.  A parent in use by others cannot be removed. */
static inline int count_empty_parents(void)
{
	int n = 0;

	for (size_t i = 0; i < host->n; i++)
		n += unlinkat(host->h[i].base_fd, MR_CGROUP_PARENT, AT_REMOVEDIR) == 0;
	return n;
}

static inline int count_fds(void)
{
	mr_auto_closedir DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	return n;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tree
 *
 * Walks a group and its sub-groups by directory descriptor.
 *
 * The kill here is the fallback for hierarchies without cgroup.kill.  A pid read
 * from cgroup.procs may be recycled before the signal is sent; so each pid is
 * first pinned by a pidfd, then the list is read again, and only a pid that is
 * still listed is signalled: the pidfd then belongs to a process of the group.
 */
#include "cgroups/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cgroups/stats.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/patience.h"

#define DEPTH_MAX 64
#define KILL_BATCH 512

void mr_tree_scan(struct mr_tree_scan *scan, const char *text, size_t size, pid_t *pids, size_t cap)
{
	for (size_t i = 0; i < size || (size == 0 && i == 0); i++) {
		char c = '\n';

		if (size > 0)
			c = text[i];
		if (c >= '0' && c <= '9') {
			scan->digits++;
			if (scan->value <= INT_MAX)
				scan->value = scan->value * 10 + (uint64_t)(c - '0');
			continue;
		}
		if (scan->digits > 0 && scan->value <= INT_MAX) {
			if (scan->count < cap)
				pids[scan->count] = (pid_t)scan->value;
			scan->count++;
		}
		scan->digits = 0;
		scan->value = 0;
	}
}

/* Errors that mean "nothing here": removed meanwhile, or a threaded group, whose processes are
 * listed by the group above it. */
static bool is_nothing(int errnum)
{
	return errnum == ENOENT || errnum == ENODEV || errnum == EOPNOTSUPP;
}

static int scan_group(int dir_fd, pid_t *pids, size_t cap, size_t *count)
{
	mr_auto_close int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	struct mr_tree_scan scan = { .count = *count };
	char text[4096];
	ssize_t n;

	if (fd < 0)
		return is_nothing(errno) ? 0 : -errno;
	while ((n = mr_read_full(fd, text, sizeof(text))) > 0)
		mr_tree_scan(&scan, text, (size_t)n, pids, cap);
	if (n < 0)
		return is_nothing((int)-n) ? 0 : (int)n;
	mr_tree_scan(&scan, NULL, 0, pids, cap);
	*count = scan.count;
	return 0;
}

static int open_dir(int parent_fd, const char *name)
{
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static DIR *list_dir(int dir_fd)
{
	mr_auto_close int fd = open_dir(dir_fd, ".");
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (dir)
		fd = -1; /* owned by dir now */
	return dir;
}

/* Name of the next sub-group, or NULL. */
static const char *next_group(DIR *dir)
{
	struct dirent *entry;

	while ((entry = readdir(dir)))
		if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			return entry->d_name;
	return NULL;
}

static int collect_pids(int dir_fd, int depth, pid_t *pids, size_t cap, size_t *count)
{
	mr_auto_closedir DIR *dir = NULL;
	const char *name;
	int r = scan_group(dir_fd, pids, cap, count);

	if (r < 0)
		return r;
	dir = list_dir(dir_fd);
	while (dir && (name = next_group(dir))) {
		mr_auto_close int fd = -1;

		if (depth >= DEPTH_MAX)
			return -ELOOP;
		fd = open_dir(dirfd(dir), name);
		if (fd < 0)
			continue; /* removed meanwhile */
		r = collect_pids(fd, depth + 1, pids, cap, count);
		if (r < 0)
			return r;
	}
	return 0;
}

int mr_tree_pids(int dir_fd, pid_t *pids, size_t cap, size_t *ret_n, struct mr_error *err)
{
	size_t count = 0;
	int r = collect_pids(dir_fd, 0, pids, cap, &count);

	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "list the processes of a cgroup: %m");
	*ret_n = count;
	return 0;
}

static int remove_below(int dir_fd, int depth);

static int remove_group(int parent_fd, const char *name, int depth)
{
	mr_auto_close int fd = -1;
	int r;

	if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno != EBUSY && errno != ENOTEMPTY)
		return -errno;
	if (depth >= DEPTH_MAX)
		return -ELOOP;
	fd = open_dir(parent_fd, name);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	r = remove_below(fd, depth + 1);
	if (r < 0)
		return r;
	return unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : -errno;
}

/* Removes every sub-group it can and reports the first that it cannot. */
static int remove_below(int dir_fd, int depth)
{
	mr_auto_closedir DIR *dir = list_dir(dir_fd);
	const char *name;
	int first = 0;

	while (dir && (name = next_group(dir))) {
		int r = remove_group(dirfd(dir), name, depth);

		if (r < 0 && first == 0)
			first = r;
	}
	return first;
}

int mr_tree_remove(int parent_fd, const char *name)
{
	return remove_group(parent_fd, name, 0);
}

static bool is_listed(pid_t pid, const pid_t *pids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* Signal what is in the group both before and after its pidfd was opened. */
static int kill_listed(int dir_fd, size_t *ret_n, struct mr_error *err)
{
	pid_t before[KILL_BATCH], after[KILL_BATCH];
	int pidfds[KILL_BATCH];
	size_t n_before = 0, n_after = 0;
	int r = mr_tree_pids(dir_fd, before, KILL_BATCH, &n_before, err);

	if (r < 0)
		return r;
	*ret_n = n_before;
	n_before = n_before < KILL_BATCH ? n_before : KILL_BATCH;
	for (size_t i = 0; i < n_before; i++)
		pidfds[i] =
			before[i] > 1 && before[i] != getpid() ? mr_pidfd_open(before[i], 0) : -1;
	r = mr_tree_pids(dir_fd, after, KILL_BATCH, &n_after, err);
	n_after = n_after < KILL_BATCH ? n_after : KILL_BATCH;
	for (size_t i = 0; i < n_before; i++) {
		if (r == 0 && pidfds[i] >= 0 && is_listed(before[i], after, n_after))
			mr_pidfd_send_signal(pidfds[i], SIGKILL); /* ESRCH: ended by itself */
		mr_close(pidfds[i]);
	}
	return r;
}

/* Until KEY of cgroup.events is `value`, the file changes for the last time or ms passed. */
static void wait_event(int events_fd, const char *key, uint64_t value, int ms)
{
	struct pollfd p = { .fd = events_fd, .events = POLLPRI };
	char text[256];

	for (int round = 0; round < 8; round++) {
		ssize_t n = pread(events_fd, text, sizeof(text) - 1, 0);

		if (n < 0)
			return;
		text[n] = '\0';
		if (mr_stats_keyed(text, key) == value || poll(&p, 1, ms) <= 0)
			return;
	}
}

static uint64_t now_ms(void)
{
	return mr_clock_ns(MR_CLOCK_MONOTONIC) / 1000000;
}

static int kill_until_empty(int dir_fd, int events_fd, uint64_t deadline, struct mr_error *err)
{
	struct pollfd none = { .fd = -1 };
	size_t left;

	for (;;) {
		int r = kill_listed(dir_fd, &left, err);

		if (r < 0 || left == 0)
			return r;
		if (now_ms() >= deadline)
			return mr_err(err, MR_E_BUSY, EBUSY, "%zu processes outlive SIGKILL", left);
		if (left > KILL_BATCH)
			continue;
		if (events_fd >= 0)
			wait_event(events_fd, "populated", 0, MR_PATIENCE_MS(CGROUP_KILL_ROUND));
		else
			poll(&none, 0, MR_PATIENCE_MS(CGROUP_LOOK)); /* v1 has no events */
	}
}

int mr_tree_kill(int dir_fd, unsigned int timeout_ms, struct mr_error *err)
{
	mr_auto_close int events_fd = openat(dir_fd, "cgroup.events", O_RDONLY | O_CLOEXEC);
	uint64_t deadline = now_ms() + timeout_ms;
	int r;

	/* A frozen group cannot fork away from the signals, and frozen tasks of v2 still die. */
	if (mr_write_file_at(dir_fd, "cgroup.freeze", "1") == 0)
		wait_event(events_fd, "frozen", 1, MR_PATIENCE_MS(CGROUP_KILL_ROUND));
	r = kill_until_empty(dir_fd, events_fd, deadline, err);
	/* Thawed on every path: a group left frozen would hang its owner. */
	mr_write_file_at(dir_fd, "cgroup.freeze", "0");
	return r;
}

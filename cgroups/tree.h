/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tree: a control group together with the groups below it
 *
 * Works on any cgroup directory of v1 or v2 by descriptor.  Nobody inside a
 * sandbox can make groups, but an earlier version, a nested run or a helper may
 * have: removal and killing never assume a leaf.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mr_error;

/* Processes in the group and below: up to cap into pids[], their true number in *ret_n.
 * Groups that vanish meanwhile count as empty. */
int mr_tree_pids(int dir_fd, pid_t *pids, size_t cap, size_t *ret_n, struct mr_error *err);

/* SIGKILL every process without cgroup.kill: freeze where the group can, signal, thaw, repeat
 * until it is empty.  -EBUSY when processes are left after timeout_ms (unkillable ones, or a
 * fork bomb that outran a hierarchy without a freezer). */
int mr_tree_kill(int dir_fd, unsigned int timeout_ms, struct mr_error *err);

/* rmdir NAME and what is below, deepest first.  0 also when it is gone already; negative
 * errno, -EBUSY while processes are left. */
int mr_tree_remove(int parent_fd, const char *name);

/* The numbers of a cgroup.procs text as it comes in pieces; begin with a zeroed state and
 * pass size 0 at the end. */
struct mr_tree_scan {
	uint64_t value; /* number being read */
	int digits;
	size_t count; /* numbers seen */
};
void mr_tree_scan(struct mr_tree_scan *scan, const char *text, size_t size, pid_t *pids,
		  size_t cap);

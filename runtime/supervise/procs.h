/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Procs: usage of a process tree by polling /proc
 *
 * For hosts without a control group for us, and only on the caller's word
 * (--best-effort cgroup).  The tree is init and its descendants; a daemon that forks
 * twice is init's child again, so nothing leaves it.  What is born and dies between
 * two looks is seen in CPU time only, once its parent has waited for it.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct mr_error;

struct mr_procs {
	uint64_t cpu_us; /* largest sum seen: the living and those waited for */
	uint64_t rss_bytes; /* now; shared pages count in each process */
	uint64_t rss_peak_bytes;
	unsigned int n, n_peak; /* tasks, init not counted */
};

/* Look at the tree below init. */
int mr_procs_look(struct mr_procs *procs, pid_t init_pid, struct mr_error *err);

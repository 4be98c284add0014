/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Group: what holds the processes of a machine, and the pause between two attempts
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cgroups/cgroup.h"

struct mr_error;
struct mr_spec;

#define MR_GROUP_ATTEMPTS 3 /* of machines that do not come up */
#define MR_GROUP_PERIOD_US 100000 /* of a CPU quota */

/* Processors of a machine for this request: as many as it may use, the host has, and 8 at most. */
unsigned int mr_machine_cpus(const struct mr_spec *spec);

struct mr_machine_group {
	const char *run_id; /* borrowed */
	int lease_dir, lease; /* -1: none */
	struct mr_cgroup_host *groups;
	struct mr_cgroup *group; /* NULL: this host has none */
};
#define MR_MACHINE_GROUP_INIT                \
	{                                    \
		.lease_dir = -1, .lease = -1 \
	}

/* The lease first: who is killed between the two leaves what the next start sweeps.  A host
 * without control groups has the death signal of the programs instead.  cpu_quota_us: of each
 * MR_GROUP_PERIOD_US, MR_UNLIMITED: all.  To be dropped in any case. */
int mr_machine_group_make(struct mr_machine_group *group, const char *run_id, uint64_t memory_bytes,
			  uint64_t cpu_quota_us, struct mr_error *err);
/* Kill what is left in it, and take it away; no-op for one that was never made. */
void mr_machine_group_drop(struct mr_machine_group *group);

/* fork() into the group, of a process of one thread; NULL: no more than fork().  *ret is 0 in the child, which
 * fails, too, when it cannot be in it. */
int mr_machine_fork(const struct mr_cgroup *group, pid_t *ret, struct mr_error *err);

/* Wait from 0 to 0.5 s after the first attempt, to 1 s after the second (full jitter).  False: there
 * is no point in another, or no time before until_ns, or somebody wants an end: *ret_signal is then
 * the signal that came, if one did, and as it was if none. */
bool mr_machine_pause(unsigned int attempts, int report_fd, int signals_fd, uint64_t until_ns,
		      int *ret_signal);

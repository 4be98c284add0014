/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watchdog of a run: its deadlines, and without a control group its limits
 *
 * Where no kernel object holds memory and processes of the tree together, they are
 * looked at every TREE_POLL (patience.def); what happens between two looks is not seen.
 */
#include <unistd.h>

#include "runtime/base/patience.h"
#include "runtime/supervise/state.h"

static int cpu_usage_us(void *owner, uint64_t *ret)
{
	struct mr_run *run = owner;
	struct mr_error err;

	if (run->cgroup)
		return mr_cgroup_cpu_usage_us(run->cgroup, ret, &err);
	*ret = run->procs.cpu_us;
	return mr_procs_look(&run->procs, run->launched.init_pid, &err);
}

static void poll_limits(struct mr_run *run)
{
	struct mr_error err;

	if (mr_procs_look(&run->procs, run->launched.init_pid, &err) < 0)
		return;
	if (run->procs.rss_bytes > run->spec->limits_memory_max_bytes)
		mr_run_kill_for(run, MR_KILL_OOM);
	else if (run->procs.n > run->spec->limits_pids_max)
		mr_run_kill_for(run, MR_KILL_PIDS);
}

static void on_deadline(void *owner, enum mr_deadline which)
{
	static const enum mr_kill_cause causes[] = {
		[MR_DEADLINE_WALL] = MR_KILL_WALL,
		[MR_DEADLINE_CPU] = MR_KILL_CPU,
		[MR_DEADLINE_IDLE] = MR_KILL_IDLE,
	};

	if (which == MR_DEADLINE_POLL)
		poll_limits(owner);
	else
		mr_run_kill_for(owner, causes[which]);
}

int mr_run_start_deadlines(struct mr_run *run, struct mr_error *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct mr_deadlines_opts opts = {
		.wall_ms = run->spec->limits_wall_ms,
		.cpu_time_ms = run->spec->limits_cpu_time_ms,
		.idle_ms = run->spec->limits_idle_ms,
		.poll_ms = run->cgroup ? 0 : MR_PATIENCE_MS(TREE_POLL),
		.cpus = cpus > 0 ? (unsigned int)cpus : 1,
		.cpu_usage_us = cpu_usage_us,
		.on_due = on_deadline,
		.owner = run,
	};

	return mr_deadlines_start(&run->deadlines, run->host->loop, &opts, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control group of a run
 *
 * It is there before the first process, with all its limits.
 */
#include <errno.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/supervise/state.h"

#define CPU_PERIOD_US 100000

struct mr_limits mr_run_limits(const struct mr_run *run)
{
	const struct mr_spec *spec = run->spec;
	struct mr_limits limits = { .memory_max = spec->limits_memory_max_bytes,
				    .swap_max = spec->limits_swap_max_bytes,
				    .pids_max = spec->limits_pids_max,
				    .cpu_quota_us = MR_UNLIMITED,
				    .cpu_period_us = CPU_PERIOD_US,
				    .sockets = spec->net_mode != MR_NET_NONE };

	if (spec->limits_cpus != MR_UNLIMITED)
		limits.cpu_quota_us = spec->limits_cpus * CPU_PERIOD_US / 1000;
	return limits;
}

static uint64_t all_cpus(const struct mr_cgroup_host *host)
{
	const uint64_t here = (uint64_t)sysconf(_SC_NPROCESSORS_CONF) * 1000;
	const uint64_t allowed = mr_cgroup_host_cpus(host);

	return allowed < here ? allowed : here;
}

/* What a controller that this host has not is asked for, where the spec tolerates that it is not kept. */
static void do_without(struct mr_run *run, struct mr_limits *limits)
{
	static const struct {
		enum mr_controller controller;
		const char *item;
	} rows[] = {
		{ MR_CONTROLLER_MEMORY, "memory" },
		{ MR_CONTROLLER_PIDS, "pids" },
		{ MR_CONTROLLER_CPU, "cpu" },
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		const char *why = mr_cgroup_host_lacks(run->host->cgroups, rows[i].controller);

		if (!why || !mr_spec_tolerates(run->spec, rows[i].item) ||
		    !(mr_limits_controllers(limits) & MR_CONTROLLER_BIT(rows[i].controller)))
			continue;
		mr_receipt_degrade(&run->receipt, rows[i].item, "no %s controller: %s",
				   mr_limits_controller_name(rows[i].controller), why);
		mr_limits_lift(limits, rows[i].controller);
	}
}

int mr_run_make_group(struct mr_run *run, struct mr_error *err)
{
	const struct mr_cgroup_host *host = run->host->cgroups;
	struct mr_limits limits = mr_run_limits(run);
	int r;

	if (mr_cgroup_host_mode(host) == MR_CGROUP_NONE) {
		if (!mr_spec_tolerates(run->spec, "cgroup"))
			return mr_err(err, MR_E_KERNEL, EPERM,
				      "no control group can be had: %s; --best-effort cgroup runs "
				      "with "
				      "rlimits and polling instead",
				      mr_cgroup_host_why(host));
		mr_receipt_degrade(&run->receipt, "cgroup", "%s", mr_cgroup_host_why(host));
		return 0;
	}
	/* So that there is a share to take of later: all that can be had. */
	if (mr_failures_find(run, MR_FAILURE_cpu) && limits.cpu_quota_us == MR_UNLIMITED)
		limits.cpu_quota_us = all_cpus(host) * CPU_PERIOD_US / 1000;
	do_without(run, &limits);
	r = mr_cgroup_new(host, run->id, &limits, 1, &run->cgroup, err);
	return r < 0 ? mr_err_wrap(err, r, "control group") : 0;
}

void mr_run_observe(struct mr_run *run)
{
	const struct mr_telemetry_place place = {
		.loop = run->host->loop,
		.host = &run->host->telemetry,
		.group_id = run->cgroup ? mr_cgroup_id(run->cgroup) : 0,
		.group_fd = run->cgroup ? mr_cgroup_v2_fd(run->cgroup) : -1,
	};

	mr_telemetry_begin(&run->telemetry, &place, run->spec);
}

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
	/* So that there is a share to take of later: all of them. */
	if (mr_failures_find(run, MR_FAILURE_cpu) && limits.cpu_quota_us == MR_UNLIMITED)
		limits.cpu_quota_us = (uint64_t)sysconf(_SC_NPROCESSORS_CONF) * CPU_PERIOD_US;
	r = mr_cgroup_new(host, run->id, &limits, 1, &run->cgroup, err);
	return r < 0 ? mr_err_wrap(err, r, "control group") : 0;
}

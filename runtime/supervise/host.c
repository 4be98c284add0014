/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all runs of a process share: the loop, the control groups, the leases and, for many
 * runs, network namespaces to use again
 */
#include <unistd.h>

#include "netns/pool.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/log.h"
#include "runtime/supervise/state.h"

int mr_run_host_open(struct mr_run_host *host, struct mr_error *err)
{
	size_t failed = 0;
	int r;

	*host = (struct mr_run_host){ .lease_dir = -1 };
	r = mr_loop_new(&host->loop, err);
	if (r == 0)
		r = mr_cgroup_detect(&host->cgroups, err);
	if (r == 0)
		r = host->lease_dir = mr_lease_open_dir(err);
	if (r >= 0)
		r = mr_lease_sweep(host->lease_dir, &failed, err);
	if (r > 0)
		mr_log_info("removed what %d crashed runs had left", r);
	if (r >= 0 && failed)
		mr_log_warn("%zu crashed runs could not be removed yet: %s", failed, err->msg);
	if (r < 0)
		mr_run_host_close(host);
	return r < 0 ? r : 0;
}

int mr_run_host_keep_netns(struct mr_run_host *host, unsigned int max, struct mr_error *err)
{
	return geteuid() == 0 ? mr_netns_pool_new(max, &host->netns, err) : 0;
}

void mr_run_host_close(struct mr_run_host *host)
{
	host->telemetry = mr_telemetry_host_free(host->telemetry);
	host->netns = mr_netns_pool_free(host->netns);
	host->lease_dir = mr_close(host->lease_dir);
	host->cgroups = mr_cgroup_host_free(host->cgroups);
	host->loop = mr_loop_free(host->loop);
}

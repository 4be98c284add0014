/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all runs of a process share: the loop, the control groups, the leases and, for many
 * runs, network namespaces to use again
 */
#include <errno.h>
#include <unistd.h>

#include "netns/pool.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/die_at.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/open_files.h"
#include "runtime/supervise/roots.h"
#include "runtime/supervise/state.h"

/* Descriptors at most, with room: of a run its pipes, groups, helper and network. */
#define RUN_FDS 64
#define OWN_FDS 64

/* A low soft limit is the caller's word on programs that use select(); the hard one bounds us. */
static int allow_open_files(struct mr_run_host *host, struct mr_error *err)
{
	uint64_t allowed;

	(void)host;
	return mr_open_files_allow(OWN_FDS + RUN_FDS, &allowed, err);
}

static int make_loop(struct mr_run_host *host, struct mr_error *err)
{
	return mr_loop_new(&host->loop, err);
}

static int find_groups(struct mr_run_host *host, struct mr_error *err)
{
	return mr_cgroup_detect(&host->cgroups, err);
}

static int open_leases(struct mr_run_host *host, struct mr_error *err)
{
	host->lease_dir = mr_lease_open_dir(err);
	return host->lease_dir < 0 ? host->lease_dir : 0;
}

static int sweep(struct mr_run_host *host, struct mr_error *err)
{
	return mr_lease_sweep_at_start(host->lease_dir, err);
}

static int make_pool(struct mr_run_host *host, struct mr_error *err)
{
	return geteuid() == 0 ? mr_netns_pool_new(0, &host->netns, err) : 0;
}

static const struct host_step {
	const char *name;
	int (*run)(struct mr_run_host *host, struct mr_error *err);
} opening[] = {
	{ "files", allow_open_files }, { "loop", make_loop }, { "groups", find_groups },
	{ "leases", open_leases },     { "sweep", sweep },    { "netns", make_pool },
};
MR_DIE_TABLE(host, opening[0], N_ELEMENTS(opening));

int mr_run_host_open(struct mr_run_host *host, struct mr_error *err)
{
	int r = 0;

	*host = (struct mr_run_host){ .lease_dir = -1 };
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(opening); i++) {
		MR_DIE_AT(host, opening[i].name);
		r = opening[i].run(host, err);
	}
	if (r < 0)
		mr_run_host_close(host);
	return r;
}

/* What a plain run holds while its program runs, and what we hold ourselves: with less for each no run
 * would be set up at all. */
#define RUN_LEAST_FDS 30
#define OWN_LEAST_FDS 24

/* As many runs at once as there are descriptors for, and one at least: it may work. */
static unsigned int bound_runs(unsigned int max, uint64_t least, uint64_t allowed)
{
	const uint64_t room =
		allowed > OWN_LEAST_FDS ? (allowed - OWN_LEAST_FDS) / RUN_LEAST_FDS : 0;
	const unsigned int bound = room < 1 ? 1 : room < max ? (unsigned int)room : max;

	mr_log_warn("%u runs at once may need %ju open files, and the hard limit is %ju: raise it "
		    "(ulimit -n), or run fewer at once; no more than %u are",
		    max, (uintmax_t)least, (uintmax_t)allowed, bound);
	return bound;
}

int mr_run_host_keep(struct mr_run_host *host, unsigned int *runs, struct mr_error *err)
{
	const unsigned int max = *runs;
	const uint64_t least = OWN_FDS + (uint64_t)max * RUN_FDS, each = mr_netns_pool_fds();
	uint64_t kept = max;
	uint64_t allowed = 0;
	int r = mr_open_files_allow(least + max * each, &allowed, err);

	if (r < 0)
		return r;
	if (allowed < least)
		*runs = bound_runs(max, least, allowed);
	mr_cgroup_host_keep_parent(host->cgroups);
	/* The runs come first: a namespace of their own costs them time only. */
	if (allowed < least + max * each)
		kept = allowed < least ? 0 : (allowed - least) / each;
	if (kept > 0 && host->netns)
		mr_netns_pool_keep(host->netns, kept);
	if (geteuid() == 0 && !host->roots)
		host->roots = mr_roots_new();
	return 0;
}

void mr_run_host_prepare(struct mr_run_host *host, enum mr_telemetry_level level)
{
	struct mr_error err = MR_ERROR_INIT;
	const bool keeps = host->netns && mr_netns_pool_keeps(host->netns);
	int netns = keeps ? mr_netns_pool_take(host->netns, &err) : -1;

	if (netns >= 0)
		mr_netns_pool_give(host->netns, netns);
	if (!host->telemetry)
		host->telemetry = mr_telemetry_host_new(level);
}

void mr_run_host_close(struct mr_run_host *host)
{
	host->telemetry = mr_telemetry_host_free(host->telemetry);
	host->netns = mr_netns_pool_free(host->netns);
	host->roots = mr_roots_free(host->roots);
	host->lease_dir = mr_close(host->lease_dir);
	host->cgroups = mr_cgroup_host_free(host->cgroups);
	host->loop = mr_loop_free(host->loop);
}

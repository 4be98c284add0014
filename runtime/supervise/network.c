/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network
 *
 * The sandbox's side takes no part: a socket stays in the namespace it was made in, so all is made from
 * here while the sandbox builds its root, and read back before the payload starts.
 */
#include "runtime/supervise/network.h"

#include <stdlib.h>
#include <string.h>

#include "netns/pool.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/supervise/datagrams.h"
#include "runtime/supervise/lease.h"
#include "runtime/supervise/state.h"

#define NETD_MEMORY (512ULL << 20)
#define NETD_CPU_US 100000 /* of as many: one processor */

static const struct mr_network_mode *const modes[] = { &mr_gate_mode, &mr_canned_mode };

static const struct mr_network_mode *find_mode(const struct mr_spec *spec)
{
	for (size_t i = 0; i < N_ELEMENTS(modes); i++) {
		if (modes[i]->net_mode == spec->net_mode)
			return modes[i];
	}
	return NULL;
}

static void on_message(void *owner, const struct mr_netd_head *head)
{
	struct mr_run *run = owner;

	run->network->mode->on_message(run, head);
}

static void on_lost(void *owner, const struct mr_error *err)
{
	mr_run_fail(owner, err);
}

static void close_more(struct mr_network *network)
{
	while (network->n_more > 0)
		mr_close(network->more[--network->n_more]);
}

static int start_netd(struct mr_run *run, struct mr_error *err)
{
	struct mr_network *network = run->network;
	mr_auto_free char *config = NULL;
	struct mr_netd_opts opts = { .mode = network->mode->name,
				     .doors = network->doors.fds,
				     .n_doors = MR_DOORS,
				     .task = "answers for the network",
				     .on_message = on_message,
				     .on_lost = on_lost,
				     .owner = run };
	int r = network->mode->begin(run, &config, err);

	if (r < 0)
		return r;
	opts.config = config;
	opts.config_size = network->config_size ? network->config_size : strlen(config);
	opts.more = network->more;
	opts.n_more = network->n_more;
	r = mr_netd_start(&network->netd, run->host->loop, &opts, err);
	close_more(network);
	return r;
}

/* Both bounds are generous: they are there for a helper that runs wild. */
static struct mr_limits netd_limits(const struct mr_spec *spec)
{
	struct mr_limits limits = { .memory_max = NETD_MEMORY,
				    .swap_max = MR_UNLIMITED,
				    .pids_max = MR_UNLIMITED,
				    .cpu_quota_us = NETD_CPU_US,
				    .cpu_period_us = NETD_CPU_US,
				    .sockets = true };

	if (spec->limits_cpus < 1000)
		limits.cpu_quota_us = spec->limits_cpus * NETD_CPU_US / 1000;
	if (limits.cpu_quota_us < NETD_CPU_US / 4)
		limits.cpu_quota_us = NETD_CPU_US / 4;
	return limits;
}

int mr_network_bound(struct mr_run *run, pid_t pid, const char *name,
		     const struct mr_limits *limits, struct mr_cgroup **ret_group,
		     struct mr_error *err)
{
	struct mr_cgroup *group = NULL;
	int r;

	if (!run->cgroup) /* that the host has none is tolerated, and told */
		return 0;
	r = mr_cgroup_new(run->host->cgroups, name, limits, 0, &group, err);
	if (r == 0)
		r = mr_cgroup_add(group, pid, err);
	if (r == 0) {
		*ret_group = group;
		return 0;
	}
	/* One that it is not in is none; if it stays, the next start sweeps it. */
	if (mr_spec_tolerates(run->spec, "network-helper")) {
		mr_receipt_degrade(&run->receipt, "network-helper",
				   MR_NETD_PROGRAM " has no bounds of its own: %s", err->msg);
		if (group && mr_cgroup_destroy(group, err) < 0)
			mr_log_warn("run %s: %s", run->id, err->msg);
		mr_cgroup_free(group);
		return 0;
	}
	*ret_group = group; /* swept with the run */
	return mr_err_wrap(err, r,
			   MR_NETD_PROGRAM " cannot be bounded (--best-effort network-helper "
					   "goes on without)");
}

static int confine_netd(struct mr_run *run, struct mr_error *err)
{
	struct mr_network *network = run->network;
	const struct mr_limits limits = netd_limits(run->spec);
	char name[MR_LEASE_NETD_SIZE];

	mr_lease_netd_name(run->id, name);
	return mr_network_bound(run, mr_netd_pid(&network->netd), name, &limits, &network->group,
				err);
}

int mr_network_remove_group(struct mr_run *run, struct mr_error *err)
{
	return run->network && run->network->group ? mr_cgroup_destroy(run->network->group, err)
						   : 0;
}

int mr_network_start(struct mr_run *run, struct mr_error *err)
{
	const struct mr_network_mode *mode = find_mode(run->spec);
	mr_auto_free struct mr_anyip_prefix *made = NULL;
	struct mr_network *network;
	size_t n;
	int r;

	if (run->spec->net_api_latency_ms && run->spec->net_mode != MR_NET_STUB)
		mr_receipt_degrade(&run->receipt, "api-latency",
				   "in this mode nothing is answered");
	if (!mode)
		return 0;
	network = calloc(1, sizeof(*network));
	mr_assert(network);
	*network = (struct mr_network){ .mode = mode,
					.doors = MR_DOORS_INIT,
					.steer = MR_STEER_INIT,
					.netd = MR_NETD_RUN_INIT };
	run->network = network;
	n = mode->make_prefixes ? mode->make_prefixes(run, &made) : mode->n_prefixes;
	r = mr_doors_open(run->launched.init_pid, made ? made : mode->prefixes, n, &network->doors,
			  err);
	if (r == 0)
		r = mr_steer_attach(&network->steer, network->doors.netns_fd,
				    network->doors.fds[MR_DOOR_TCP],
				    network->doors.fds[MR_DOOR_UDP], err);
	if (r == 0)
		r = start_netd(run, err);
	if (r == 0)
		r = confine_netd(run, err);
	/* They are its own now: with it the last holder of a listening socket goes. */
	for (int i = 0; i < MR_DOORS; i++)
		network->doors.fds[i] = mr_close(network->doors.fds[i]);
	return r < 0 ? mr_err_wrap(err, r, "network %s", mode->name) : 0;
}

int mr_network_verify(struct mr_run *run, struct mr_error *err)
{
	struct mr_network *network = run->network;
	int r;

	if (!network)
		return 0;
	r = mr_netd_wait(&network->netd, err);
	if (r == 0)
		r = mr_steer_verify(&network->steer, network->doors.netns_fd, err);
	if (r == 0)
		r = network->mode->verify(run, err);
	network->verified = r == 0;
	return r < 0 ? mr_err_wrap(err, r, "network %s", network->mode->name) : 0;
}

void mr_network_finish(struct mr_run *run)
{
	const struct mr_error *end;

	mr_datagrams_finish(run);
	if (!run->network)
		return;
	if (run->network->state && run->network->mode->stop)
		run->network->mode->stop(run);
	mr_netd_stop(&run->network->netd);
	end = mr_netd_end(&run->network->netd);
	if (end)
		mr_receipt_degrade(&run->receipt, "network-record",
				   "what was told of the network may not be all: %s", end->msg);
	if (run->network->state)
		run->network->mode->finish(run);
	mr_steer_detach(&run->network->steer);
	mr_doors_close(&run->network->doors);
}

struct mr_unseen_part mr_network_unseen(const struct mr_run *run)
{
	const struct mr_error *end = run->network ? mr_netd_end(&run->network->netd) : NULL;

	return (struct mr_unseen_part){
		.what = "what " MR_NETD_PROGRAM " refused and had not told yet",
		.why = end ? end->msg : NULL,
	};
}

void mr_network_free(struct mr_run *run)
{
	mr_datagrams_free(run);
	if (!run->network)
		return;
	if (run->network->state)
		run->network->mode->free(run);
	close_more(run->network);
	mr_cgroup_free(run->network->group);
	free(run->network);
	run->network = NULL;
}

int mr_network_give(struct mr_run *run, struct mr_error *err)
{
	int fd = mr_netns_pool_take(run->host->netns, err);

	if (fd < 0)
		return fd;
	run->netns_fd = fd;
	return mr_launch_give_netns(&run->launched, fd, err);
}

/* The target of the first mock that was never asked; null: there is none, or it is unknown. */
static json_t *first_unused(const json_t *mocks)
{
	for (size_t i = 0; i < json_array_size(mocks); i++) {
		const json_t *mock = json_array_get(mocks, i);

		if (json_is_true(json_object_get(mock, "unused")))
			return json_incref(json_object_get(mock, "target"));
	}
	return json_null();
}

json_t *mr_network_to_json(const struct mr_run *run)
{
	const struct mr_network_mode *mode;
	json_t *told, *object;

	if (!run->network || !run->network->state)
		return json_null();
	mode = run->network->mode;
	told = mode->to_json(run);
	object = json_pack("{s:o}", mode->member ? mode->member : mode->name, told);
	if (mode == &mr_canned_mode)
		json_object_set_new(object, "unused_mock", first_unused(told));
	return object;
}

void mr_network_receipt(const struct mr_run *run, json_t *network)
{
	const struct mr_network *n = run->network;

	if (!n || !n->state)
		return;
	json_object_set_new(network, n->mode->name, n->mode->receipt(run));
	json_object_set_new(network, "answered_by",
			    json_pack("{s:s, s:b, s:i, s:i, s:o, s:I, s:s?}", "program",
				      MR_NETD_PROGRAM, "verified", n->verified, "local_prefixes",
				      (int)n->doors.n_routes, "ipv6", !n->doors.without_ipv6,
				      "landlock_abi",
				      n->netd.landlock_abi ? json_integer(n->netd.landlock_abi)
							   : json_null(),
				      "sk_lookup_program", (json_int_t)n->steer.prog_id,
				      "control_group", n->group ? mr_cgroup_path(n->group) : NULL));
}

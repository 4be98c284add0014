/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relay
 *
 * Its bounds do not follow the run's limits: with less than a processor it would be late with
 * all packets, and what it does for each is little.
 */
#include "runtime/supervise/relay.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/supervise/lease.h"
#include "runtime/supervise/network.h"
#include "runtime/supervise/state.h"

#define MEMORY (256ULL << 20) /* three times what it may hold */
#define CPU_US 100000 /* of as many: one processor */

static void on_message(void *owner, const struct mr_netd_head *head)
{
	struct mr_relay *relay = &((struct mr_run *)owner)->relay;

	if (head->type != MR_RELAY_COUNTS || head->size != sizeof(relay->counts))
		return;
	memcpy(&relay->counts, head, sizeof(relay->counts));
	relay->counted = true;
}

static void on_lost(void *owner, const struct mr_error *err)
{
	mr_run_fail(owner, err);
}

static int bound(struct mr_run *run, struct mr_error *err)
{
	const struct mr_limits limits = { .memory_max = MEMORY,
					  .swap_max = MR_UNLIMITED,
					  .pids_max = MR_UNLIMITED,
					  .cpu_quota_us = CPU_US,
					  .cpu_period_us = CPU_US,
					  .sockets = true };
	char name[MR_LEASE_RELAY_SIZE];

	mr_lease_relay_name(run->id, name);
	return mr_network_bound(run, mr_netd_pid(&run->relay.netd), name, &limits,
				&run->relay.group, err);
}

static int say_served(struct mr_run *run, struct mr_error *err)
{
	const struct mr_sync_msg msg = { .type = MR_SYNC_SERVED };
	const int r = mr_sync_send(run->launched.sync_fd, &msg, NULL, 0);

	return r < 0 ? mr_err(err, MR_E_SYS, -r, "tell the sandbox of its relay: %m") : 0;
}

int mr_relay_start(struct mr_run *run, const struct mr_relay_config *config, int device,
		   struct mr_error *err)
{
	const struct mr_netd_opts opts = { .mode = MR_RELAY_MODE,
					   .config = (const char *)config,
					   .config_size = sizeof(*config),
					   .doors = &device,
					   .n_doors = 1,
					   .task = "delays the packets of the network link",
					   .on_message = on_message,
					   .on_lost = on_lost,
					   .owner = run };
	int r;

	if (run->relay.started || device < 0)
		return mr_err(err, MR_E_PROTO, EPROTO, "the sandbox asks for a relay %s",
			      device < 0 ? "of nothing" : "again");
	r = mr_netd_start(&run->relay.netd, run->host->loop, &opts, err);
	run->relay.started = r == 0;
	if (r == 0)
		r = bound(run, err);
	if (r == 0)
		r = mr_netd_wait(&run->relay.netd, err);
	if (r == 0)
		r = say_served(run, err);
	return r < 0 ? mr_err_wrap(err, r, "engine tun") : 0;
}

int mr_relay_begin(struct mr_run *run, struct mr_error *err)
{
	const struct mr_netd_begin begin = {
		.head = { .type = MR_NETD_BEGIN, .size = sizeof(begin) },
		.begin_ns = mr_now_ns(),
	};

	if (run->relay.started && !mr_netd_send(&run->relay.netd, &begin.head))
		return mr_err(err, MR_E_SYS, EPIPE, "engine tun: the relay does not hear");
	return 0;
}

void mr_relay_stop(struct mr_run *run)
{
	if (run->relay.started)
		mr_netd_stop(&run->relay.netd);
}

int mr_relay_remove_group(struct mr_run *run, struct mr_error *err)
{
	return run->relay.group ? mr_cgroup_destroy(run->relay.group, err) : 0;
}

void mr_relay_free(struct mr_run *run)
{
	mr_relay_stop(run);
	run->relay.group = mr_cgroup_free(run->relay.group);
}

static json_t *count(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *ms(uint64_t ns)
{
	return json_real((double)ns / 1e6);
}

json_t *mr_relay_to_json(const struct mr_run *run)
{
	const struct mr_relay_counts *c = &run->relay.counts;
	const bool any = c->packets > 0;

	if (!run->relay.counted)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s?}", "seed",
			 count(c->seed), "packets", count(c->packets), "bytes", count(c->bytes),
			 "dropped", count(c->dropped), "refused", count(c->refused), "waiting",
			 count(c->waiting), "delay_min_ms", any ? ms(c->delay_min_ns) : json_null(),
			 "delay_mean_ms",
			 any ? json_real((double)c->delay_sum_ns / 1e6 / (double)c->packets)
			     : json_null(),
			 "delay_max_ms", any ? ms(c->delay_max_ns) : json_null(), "late_max_ms",
			 any ? ms(c->late_max_ns) : json_null(), "control_group",
			 run->relay.group ? mr_cgroup_path(run->relay.group) : NULL);
}

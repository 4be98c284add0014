/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failure modes network and network_partition
 *
 * The program that loses packets (netns/drop.h) is on the sandbox's link already, put there from
 * inside before the payload had any right over it.  Here it is told what to lose, and asked what it
 * lost.  Both modes are one memory: the first to start sets all of it.
 */
#include <errno.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/supervise/state.h"

static int start_cut(struct mr_run *run, struct mr_failure *f, struct mr_error *err)
{
	struct mr_failure *network = mr_failures_find(run, MR_FAILURE_network);
	struct mr_failure *partition = mr_failures_find(run, MR_FAILURE_network_partition);
	struct mr_drop_cut cut = { .packets = network != NULL,
				   .hosts = partition != NULL,
				   .percent = (unsigned int)run->spec->failure_intensity,
				   .spare_own = run->spec->net_mode != MR_NET_LOOPBACK };

	int r = mr_shaping_check_cut(run, err);

	if (r < 0)
		return r;
	if (partition && f != partition && partition->started)
		return 0;
	if (network && f != network && network->started)
		return 0;
	cut.seed = mr_rand_next(&f->rand);
	return mr_drop_set_cut(run->shaping.drop_map, &cut, err);
}

static bool read_counts(struct mr_run *run, struct mr_failure *f, struct mr_drop_cut_counts *ret)
{
	struct mr_error err = MR_ERROR_INIT;

	if (mr_drop_read_cut(run->shaping.drop_map, ret, &err) == 0)
		return true;
	mr_failure_excuse(f, &err);
	return false;
}

static void count_network(struct mr_run *run, struct mr_failure *f)
{
	struct mr_drop_cut_counts counts;

	if (!read_counts(run, f, &counts))
		return;
	f->opportunities = counts.packets;
	f->fired = f->amount = counts.packets_lost;
}

static void count_partition(struct mr_run *run, struct mr_failure *f)
{
	struct mr_drop_cut_counts counts;

	if (!read_counts(run, f, &counts))
		return;
	f->opportunities = counts.hosts;
	f->fired = counts.hosts_cut;
	f->amount = counts.host_packets_lost;
}

const struct mr_injector mr_inject_network = {
	.mode = MR_FAILURE_network,
	.unit = "packets",
	.start = start_cut,
	.count = count_network,
};

const struct mr_injector mr_inject_network_partition = {
	.mode = MR_FAILURE_network_partition,
	.unit = "packets",
	.start = start_cut,
	.count = count_partition,
};

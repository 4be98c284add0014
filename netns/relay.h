/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relay: delay, jitter and another order of packets, where the kernel has no sch_netem
 *
 * Mode "relay" of menace-netd (netd.h).  Its one door is the descriptor of a device that
 * all of a loopback's packets go through (tun.h): it holds each frame for its time and
 * writes it back.  As with netem a frame's delay is drawn evenly from latency - jitter to
 * latency + jitter, one in so many is not delayed at all, and what finds `limit` frames
 * waiting is lost, and counted.
 *
 * The configuration is the bytes of struct mr_relay_config.  BEGIN (netd.h) starts counts and random
 * numbers anew, and frames that came before its time are gone.  At the end of the channel it says
 * MR_RELAY_COUNTS.
 */
#pragma once

#include "netns/netd.h"

#define MR_RELAY_MODE "relay"

struct mr_relay_config {
	uint64_t latency_us, jitter_us;
	uint64_t reorder_ppm;
	uint64_t seed;
	uint32_t limit; /* frames that may wait: 1 to MR_NETEM_LIMIT_MAX */
	uint32_t in_order; /* 1: nobody overtakes by jitter */
};

enum { MR_RELAY_COUNTS = MR_NETD_MODE_FIRST };

struct mr_relay_counts {
	struct mr_netd_head head;
	uint64_t packets, bytes; /* that were passed on */
	uint64_t dropped; /* no room */
	uint64_t refused; /* that the kernel did not take back */
	uint64_t waiting; /* when it ended */
	/* From the read to the write, of those that were passed on; 0 without any. */
	uint64_t delay_min_ns, delay_max_ns, delay_sum_ns;
	uint64_t late_max_ns; /* behind the time that was drawn */
	uint64_t seed;
};

int mr_relay_main(struct mr_netd *netd, mr_netd_confine_fn *confine, struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drop: loss, duplication and corruption by programs of our own (tc-BPF)
 *
 * For kernels without sch_netem, and for seeds where it has none: the same seed and the
 * same packets in the same order give the same losses every time.  Needs no
 * more of the kernel than clsact and BPF.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "netns/conditions.h"
#include "netns/drop_wire.h"

struct mr_error;
struct mr_rtnl;

/* What was done so far, in packets. */
struct mr_drop_counts {
	uint64_t seen, lost, duplicated, corrupted;
};

/* Which conditions it can make: mask of MR_CONDITION_BIT. */
uint32_t mr_drop_can(void);

/* Load the programs and put them on the link, which must have no clsact yet.  *ret_map is where they keep their state,
 * which the caller closes.  The conditions must have a seed.  windows: with the program of the windows
 * of time.  Needs CAP_BPF and CAP_NET_ADMIN over
 * the first user namespace. */
int mr_drop_attach(struct mr_rtnl *rtnl, int ifindex, const struct mr_conditions *conditions,
		   bool windows, int *ret_map, struct mr_error *err);
/* Begin again: counts at zero, the random numbers at the seed. */
int mr_drop_restart(int map, const struct mr_conditions *conditions, struct mr_error *err);
/* What is in force, out of the programs' memory; other conditions are left as they are. */
int mr_drop_read(int map, struct mr_conditions *conditions, struct mr_drop_counts *ret_counts,
		 struct mr_error *err);

/* What is cut off on purpose: beside the conditions, and counted for itself. */
struct mr_drop_cut {
	bool packets, hosts; /* lose packets; lose all of a destination's */
	unsigned int percent; /* of packets, and of destinations */
	uint64_t seed;
	bool spare_own; /* what goes from 127.0.0.1 or ::1 to itself, and 127.0.0.53 */
};
struct mr_drop_cut_counts {
	uint64_t packets, packets_lost; /* with .packets */
	uint64_t hosts, hosts_cut, host_packets_lost; /* with .hosts; up to about 60 are counted */
};
/* In an attached program's memory, while no packet passes. */
int mr_drop_set_cut(int map, const struct mr_drop_cut *cut, struct mr_error *err);
int mr_drop_read_cut(int map, struct mr_drop_cut_counts *ret, struct mr_error *err);

/* Windows of time (drop_wire.h): the programs' own memory, of which .begin_ns, .windows and .n_windows are
 * the caller's to set.  NULL with *err. */
struct mr_drop_state *mr_drop_map(int map, struct mr_error *err);
/* NULL is accepted; returns NULL. */
struct mr_drop_state *mr_drop_unmap(struct mr_drop_state *state);

struct mr_drop_rule_opts {
	unsigned int window;
	const struct in6_addr *address;
	unsigned int length; /* bits of it that count: 0 to 128 */
	uint16_t port; /* host byte order; 0: every port */
	unsigned int flags; /* MR_DROP_RULE_ */
};
/* While packets pass.  One that is there already is not added again; false: there is no room. */
bool mr_drop_add_rule(struct mr_drop_state *state, const struct mr_drop_rule_opts *opts);

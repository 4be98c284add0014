/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulate: the conditions of a loopback, by whatever engine this kernel has
 *
 *   netem    sch_netem makes all of them (seeds since Linux 6.6)
 *   tbf      sch_tbf makes a rate
 *   tc-bpf   a program of our own makes loss, duplication and corruption, with a seed
 *   tun      a process of our own makes delay, jitter and another order (relay.h)
 *
 * Found by use: what the kernel refuses or does not show back is not there.  netem is taken where it
 * can do all; tc-bpf takes over what has a seed that netem does not keep; tbf, tc-bpf and tun do
 * without netem.  What none can do is refused, or, where that is tolerated, left out and told.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "netns/conditions.h"
#include "netns/drop.h"
#include "netns/echo.h"
#include "netns/qdisc.h"

struct mr_error;
struct mr_relay_config;
struct mr_rtnl;

enum mr_engine {
	MR_ENGINE_NETEM = 1 << 0,
	MR_ENGINE_TBF = 1 << 1,
	MR_ENGINE_TC_BPF = 1 << 2,
	MR_ENGINE_TUN = 1 << 3,
};
/* "netem", "tbf+tc-bpf", ...; "none" for 0.  A word that lives for ever. */
const char *mr_engine_names(uint32_t engines);

/* What came of it; no pointers, for it is sent from process to process. */
struct mr_emulated {
	uint32_t engines; /* mask of enum mr_engine */
	uint32_t missing; /* MR_CONDITION_BITs that nobody can make here, tolerated */
	struct mr_conditions applied; /* as the kernel shows them */
	uint32_t limit_packets; /* of netem's queue, or the relay's; 0: neither */
	uint32_t limit_bytes; /* of tbf's queue; 0: no tbf */
	uint32_t mtu, gso_max_segs;
	bool can_cut; /* drop_map can be given to mr_drop_set_cut() */
	struct mr_echo probe; /* nothing sent: not measured, see no_probe */
	char why[160]; /* of `missing`, or "" */
	char no_probe[96];
	char no_cut[120]; /* why the program is not there that was to cut; or "" */
};

/* What is left open: the caller's. */
struct mr_emulate_fds {
	int rtnl; /* a netlink socket of that namespace, or -1 */
	int drop_map; /* tc-bpf's memory, or -1 */
};

/* Start what serves the descriptor of a tun device (relay.h), and wait until it does.  The
 * descriptor stays the caller's. */
typedef int mr_emulate_serve_fn(void *owner, const struct mr_relay_config *config, int device,
				struct mr_error *err);

struct mr_emulate_opts {
	const struct mr_conditions *asked;
	bool tolerant; /* leave out what cannot be made here */
	bool probe; /* measure it with a few datagrams */
	bool cut; /* the program of tc-bpf is there, whatever else is, for mr_drop_set_cut() */
	bool windows; /* with cut: mr_drop_map() will be called for its windows of time */
	bool rate_varies; /* mr_emulate_set_rate() will be called */
	/* Mask of MR_ENGINE_NETEM and MR_ENGINE_TUN; the first alone: and nothing in its place. */
	uint32_t may;
	mr_emulate_serve_fn *serve; /* NULL: without tun */
	void *owner; /* of serve */
};

/* On the loopback of the calling task's namespace, which is up and to which nobody has put anything.
 * Needs CAP_NET_ADMIN over it.  MR_E_KERNEL naming the conditions that cannot be made. */
int mr_emulate_apply(const struct mr_emulate_opts *opts, struct mr_emulated *ret,
		     struct mr_emulate_fds *ret_fds, struct mr_error *err);

/* What comes of it where there is no link. */
void mr_emulate_nothing(uint32_t missing, const char *why, struct mr_emulated *ret);

struct mr_emulate_counts {
	bool has_queue, has_drop;
	struct mr_qdisc_stats queue; /* netem's or tbf's */
	uint64_t tun_lost; /* packets that the relay's device had no room for */
	struct mr_drop_counts drop; /* tc-bpf's */
};
/* How it went, also when the namespace's processes are gone.  drop_map may be -1. */
int mr_emulate_read(struct mr_rtnl *rtnl, int drop_map, const struct mr_emulated *emulated,
		    struct mr_emulate_counts *ret, struct mr_error *err);

/* Another rate, which is read back, for a link that has one; packets that wait are kept. */
int mr_emulate_set_rate(struct mr_rtnl *rtnl, const struct mr_emulated *emulated, uint64_t bits,
			struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory that drop.c and its program in the kernel (drop.bpf.c) share
 */
#pragma once

#include <linux/types.h>

#define MR_DROP_PACKETS 1
#define MR_DROP_DESTINATIONS 2
#define MR_DROP_HOSTS \
	64 /* a power of two; destinations beyond are cut off as well, and not counted */

#define MR_DROP_WINDOWS 32
#define MR_DROP_RULES 128
#define MR_DROP_RULES_TURN 32 /* looked at together */

/* When something that a window concerns passed, in ns since the first instruction; 0: never. */
struct mr_drop_met {
	__u64 before, within, after; /* the window's time */
	__u64 taken; /* of those within; the others were another window's */
	__u64 last_before_ns, first_taken_ns, last_taken_ns, first_after_ns;
};

enum mr_drop_act { MR_DROP_LOSE = 1, MR_DROP_REFUSE = 2 };
#define MR_DROP_NO_END (1ULL << 62)

/* What is done to packets for a while. */
struct mr_drop_window {
	__u64 from_ns, to_ns; /* since begin_ns; MR_DROP_NO_END at most */
	__u64 act; /* enum mr_drop_act; 0: none */
	struct mr_drop_met met;
};

#define MR_DROP_RULE_IPV6 1 /* no IPv4 address, however short the prefix */
#define MR_DROP_RULE_NOT_OWN 2 /* not what goes from 127.0.0.1 or ::1 to itself */
#define MR_DROP_RULE_NOT_RESOLVER 4 /* not between 127.0.0.53 and another end in 127/8 */

/* Whose packets.  Addresses as they are in memory, IPv4 as ::ffff:a.b.c.d. */
struct mr_drop_rule {
	__u64 address[2], mask[2];
	__u64 port, port_mask; /* network byte order; mask 0: every port */
	__u64 window_bit; /* 1 << its number; stored last, read first: 0 is no rule yet */
	__u64 flags;
};

struct mr_drop_state {
	/* States of xorshift64, never 0.  One for each place, for how packets pass the one and the
	 * other is a matter of time. */
	__u64 prng_leaving, prng_arriving;
	__u64 seed; /* as asked for */
	/* chances: 2^32-1 is always, 0 never */
	__u32 loss, duplicate, corrupt;
	__u32 ge_p, ge_r, ge_bad_loss, ge_good_loss;
	__u32 ge_bad; /* the model is in its bad state */
	__u64 seen; /* packets that arrived, second ones with them */
	__u64 lost, duplicated, corrupted;

	/* What is cut off on purpose, before anything of the above sees it. */
	__u64 prng_cut, part_seed;
	__u32 cuts; /* MR_DROP_PACKETS, MR_DROP_DESTINATIONS */
	__u32 cut, part; /* chances: of a packet, of a destination */
	__u32 spare_own; /* 127.0.0.1 and ::1 themselves are not cut off, nor is the resolver */
	__u32 hosts, hosts_cut; /* destinations, and those that are cut off */
	__u64 cut_seen, cut_lost, part_seen, part_lost; /* packets */
	__u64 host_hashes[MR_DROP_HOSTS];

	/* Windows of time; rules are added while packets pass, the number last. */
	__u64 nothing; /* 0, which the verifier does not know */
	__u64 begin_ns; /* CLOCK_MONOTONIC; 0: it has not begun */
	__u32 n_windows, n_rules;
	struct mr_drop_window windows[MR_DROP_WINDOWS];
	struct mr_drop_rule rules[MR_DROP_RULES];
};

#define MR_DROP_MARK 0x6d64726fU /* of the second of two */

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
};

#define MR_DROP_MARK 0x6d64726fU /* of the second of two */

/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * The memory that drop.c and its program in the kernel (drop.bpf.c) share
 */
#pragma once

#include <linux/types.h>

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
};

#define MR_DROP_MARK 0x6d64726fU /* of the second of two */

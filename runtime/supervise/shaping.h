/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shaping: what was asked of the sandbox's network link, what the kernel shows of it and
 * how it went
 */
#pragma once

#include <stdbool.h>

#include "netns/emulate.h"
#include "runtime/base/loop.h"

struct json_t;
struct mr_error;
struct mr_run;

/* A rate that walks. */
struct mr_rate_walk {
	bool walking; /* the timer is in the loop */
	struct mr_source timer;
	uint64_t seed;
	uint64_t prng; /* state of xorshift64, never 0 */
	uint64_t now, lowest, highest; /* bits a second */
	uint32_t steps;
	char why[200]; /* it ended before the run did */
};

struct mr_shaping {
	bool open; /* the two descriptors are ours */
	struct mr_rtnl *rtnl; /* NULL: nothing was shaped */
	int drop_map;
	struct mr_rate_walk walk;
	bool counted;
	struct mr_emulate_counts counts;
	char why[200]; /* not counted */
};

/* The sandbox's side did it and hands over its descriptors (as numbered in enum mr_sync_fd). */
void mr_shaping_take(struct mr_run *run, int fds[8]);
/* Is the program there that is to lose packets on purpose?  MR_E_KERNEL with why not. */
int mr_shaping_check_cut(const struct mr_run *run, struct mr_error *err);
/* Before the payload's first instruction: from here on the rate walks, if it does. */
int mr_shaping_begin(struct mr_run *run, struct mr_error *err);
/* Stop, and count, while the link still exists: it does as long as the descriptors are open. */
void mr_shaping_collect(struct mr_run *run);
void mr_shaping_end(struct mr_run *run);
/* The member "shaping" of the receipt's network; null when nothing was asked; new reference. */
struct json_t *mr_shaping_to_json(const struct mr_run *run);

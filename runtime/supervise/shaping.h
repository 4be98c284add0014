/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shaping: what was asked of the sandbox's network link, what the kernel shows of it and
 * how it went
 */
#pragma once

#include <stdbool.h>

#include "netns/emulate.h"

struct json_t;
struct mr_error;
struct mr_run;

struct mr_shaping {
	bool open; /* fds are ours */
	struct mr_emulate_fds fds;
	bool counted;
	struct mr_emulate_counts counts;
	char why[200]; /* not counted */
};

/* The sandbox's side did it and hands over its descriptors (as numbered in enum mr_sync_fd). */
void mr_shaping_begin(struct mr_run *run, int fds[8]);
/* Count, while the link still exists: it does as long as the descriptors are open. */
void mr_shaping_collect(struct mr_run *run);
void mr_shaping_end(struct mr_run *run);
/* The member "shaping" of the receipt's network; null when nothing was asked; new reference. */
struct json_t *mr_shaping_to_json(const struct mr_run *run);

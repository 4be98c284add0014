/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live: what running sandboxes use at this moment
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgroups/cgroup.h"
#include "runtime/supervise/living.h"

struct json_t;
struct mr_error;

struct mr_live_row {
	struct mr_living run;
	uint64_t taken_ns; /* CLOCK_BOOTTIME */
	uint64_t age_ns; /* MR_STAT_UNKNOWN: its lease is not to be believed */
	/* "starting", "running", "suspended" (its caller is stopped), "ending"; NULL: without a
	 * control group nobody can tell */
	const char *state;
	struct mr_cgroup_stats stats; /* unknown without a control group */
	uint64_t memory_max, pids_max; /* MR_UNLIMITED; MR_STAT_UNKNOWN is the same number */
	double cpu_percent; /* of one CPU; since the row before, at first since the start; <0: unknown */
	bool has_counts; /* kept by the programs in the kernel: */
	uint64_t forks, execs;
};

struct mr_live {
	struct mr_live_row *rows;
	size_t n;
};

enum mr_live_sort { MR_LIVE_CPU, MR_LIVE_MEMORY, MR_LIVE_TIME, MR_LIVE_PIDS };

/* Look.  before: the look before it, for the share of CPU; may be empty. */
int mr_live_take(const struct mr_live *before, struct mr_live *ret, struct mr_error *err);
void mr_live_sort(struct mr_live *live, enum mr_live_sort by);
void mr_live_deinit(struct mr_live *live);
/* A run as an object; new reference. */
struct json_t *mr_live_json(const struct mr_live_row *row);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines: wall clock, CPU time of the whole tree, idleness
 *
 * One timer serves all three; it fires when the next of them could be due.  CPU
 * time is asked for at the earliest moment it could be used up (all CPUs busy), so a
 * short budget is watched closely and a long one seldom.
 */
#pragma once

#include <stdint.h>

#include "runtime/base/loop.h"

struct mr_error;

enum mr_deadline { MR_DEADLINE_WALL, MR_DEADLINE_CPU, MR_DEADLINE_IDLE, MR_DEADLINE_POLL };

struct mr_deadlines_opts {
	uint64_t wall_ms, cpu_time_ms, idle_ms; /* MR_UNLIMITED: none */
	uint64_t poll_ms; /* call on_due(MR_DEADLINE_POLL) this often; 0: never */
	unsigned int cpus; /* CPUs the tree can keep busy at once */
	/* CPU time used so far in us; negative when it cannot be told. */
	int (*cpu_usage_us)(void *owner, uint64_t *ret);
	void (*on_due)(void *owner, enum mr_deadline which);
	void *owner;
};

struct mr_deadlines {
	struct mr_deadlines_opts opts;
	struct mr_loop *loop;
	struct mr_source source;
	uint64_t start_ns;
	uint64_t wall_at_ns, cpu_check_ns, idle_check_ns, poll_ns; /* UINT64_MAX: never */
	uint64_t active_ns; /* last sign of life */
	uint64_t seen_ns, seen_us; /* CPU time at the last look, for idleness */
	enum mr_deadline noticed; /* to be judged in the next turn; MR_DEADLINE_POLL: none */
};

/* Start counting now. */
int mr_deadlines_start(struct mr_deadlines *d, struct mr_loop *loop,
		       const struct mr_deadlines_opts *opts, struct mr_error *err);
/* Bytes moved: not idle. */
void mr_deadlines_activity(struct mr_deadlines *d);
/* The tree was stopped on the user's word for this long. */
void mr_deadlines_shift(struct mr_deadlines *d, uint64_t ns);
void mr_deadlines_stop(struct mr_deadlines *d);

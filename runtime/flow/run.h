/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run of a workflow: each step in a sandbox of its own, then all in one
 *
 * A step begins when all that it needs has ended well; where one did not, it is
 * skipped.  Each end is handed to whoever keeps it before the next step begins, so
 * whatever ends us, what was kept is what is done.  Many runs share one loop.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_t;
struct mr_error;
struct mr_flow;
struct mr_flow_run;
struct mr_loop;
struct mr_runners;

struct mr_flow_run_opts {
	struct mr_loop *loop;
	const struct mr_flow *flow; /* outlives the run */
	struct mr_runners
		*runners; /* who does the steps, and outlives the run; NULL: a process each */
	/* Who does the first of them, and holds it when it is ready: on_ready() says so, and it begins at
	 * mr_flow_run_let_go().  NULL: it begins at once. */
	struct mr_runners *held_runners;
	const char *program; /* else: path of menace-run */
	const char *store; /* of its --store, or NULL */
	const char *stage; /* filled by mr_fixture_stage() */
	const char *
		folder; /* of this run alone, for a shared workspace; may hold what an earlier one left */
	size_t jobs; /* steps at once */
	bool combined; /* the run of all steps, too */
	bool settles; /* what the last sandbox says is read by mr_flow_run_settle(), and the end is then */
	const struct json_t *done; /* rows of steps that were done before, or NULL */
	/* The request of step n before it starts; may be changed.  Or NULL. */
	void (*alter)(struct json_t *spec, size_t n, void *owner);
	/* A step has ended; result: of menace-run, NULL where it was skipped.  Negative ends the run. */
	int (*keep)(const struct json_t *row, const struct json_t *result, void *owner,
		    struct mr_error *err);
	/* From the loop. */
	void (*on_ready)(struct mr_flow_run *run, void *owner);
	/* The end of the run.  It may be freed here. */
	void (*on_end)(struct mr_flow_run *run, void *owner);
	void *owner;
};

/* Begin.  on_end may come before this returns. */
int mr_flow_run_start(const struct mr_flow_run_opts *opts, struct mr_flow_run **ret,
		      struct mr_error *err);
/* Its first step, which is ready, begins. */
void mr_flow_run_let_go(struct mr_flow_run *run);
/* No further step begins, those that run are interrupted; the end still comes. */
void mr_flow_run_interrupt(struct mr_flow_run *run);
/* With `settles`: its last sandbox is gone, and what it said is still to be read.  So others can begin
 * before the reading, which takes as long as some programs do. */
bool mr_flow_run_is_unsettled(const struct mr_flow_run *run);
/* Read it, which is the end.  No-op where there is nothing to be read. */
void mr_flow_run_settle(struct mr_flow_run *run);
/* After the end: 0; 1 it was interrupted; negative: what went wrong with us (err may be NULL). */
int mr_flow_run_outcome(const struct mr_flow_run *run, struct mr_error *err);
/* Rows by n; borrowed. */
const struct json_t *mr_flow_run_rows(const struct mr_flow_run *run);
/* Steps that run now. */
size_t mr_flow_run_busy(const struct mr_flow_run *run);
/* What runs is ended.  Accepts NULL, returns NULL. */
struct mr_flow_run *mr_flow_run_free(struct mr_flow_run *run);

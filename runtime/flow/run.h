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
	const char *program; /* else: path of menace-run */
	const char *store; /* of its --store, or NULL */
	const char *stage; /* filled by mr_fixture_stage() */
	const char *
		folder; /* of this run alone, for a shared workspace; may hold what an earlier one left */
	size_t jobs; /* steps at once */
	bool combined; /* the run of all steps, too */
	const struct json_t *done; /* rows of steps that were done before, or NULL */
	/* The request of step n before it starts; may be changed.  Or NULL. */
	void (*alter)(struct json_t *spec, size_t n, void *owner);
	/* A step has ended; result: of menace-run, NULL where it was skipped.  Negative ends the run. */
	int (*keep)(const struct json_t *row, const struct json_t *result, void *owner,
		    struct mr_error *err);
	/* The end of the run.  It may be freed here. */
	void (*on_end)(struct mr_flow_run *run, void *owner);
	void *owner;
};

/* Begin.  on_end may come before this returns. */
int mr_flow_run_start(const struct mr_flow_run_opts *opts, struct mr_flow_run **ret,
		      struct mr_error *err);
/* No further step begins, those that run are interrupted; the end still comes. */
void mr_flow_run_interrupt(struct mr_flow_run *run);
/* After the end: 0; 1 it was interrupted; negative: what went wrong with us (err may be NULL). */
int mr_flow_run_outcome(const struct mr_flow_run *run, struct mr_error *err);
/* Rows by n; borrowed. */
const struct json_t *mr_flow_run_rows(const struct mr_flow_run *run);
/* Steps that run now. */
size_t mr_flow_run_busy(const struct mr_flow_run *run);
/* What runs is ended.  Accepts NULL, returns NULL. */
struct mr_flow_run *mr_flow_run_free(struct mr_flow_run *run);

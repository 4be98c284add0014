/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cell of a matrix, while it runs: copies of a workflow at once, and what they say
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/scenario/admission.h"
#include "runtime/scenario/cells.h"

struct json_t;
struct mr_error;
struct mr_flow_session;
struct mr_stubs;
struct mr_loop;
struct mr_matrix_group;
struct mr_thresholds;
struct mr_runners;
struct mr_matrix_cell;

struct mr_matrix_cell_opts {
	struct mr_loop *loop;
	const struct mr_flow_session *session;
	struct mr_runners *runners; /* who runs its steps */
	struct mr_runners
		*held_runners; /* who runs the first of each copy, where there are more than one */
	const char *program, *store; /* as of struct mr_flow_run_opts */
	const struct json_t *scenario;
	struct mr_stubs *stubs;
	const struct mr_thresholds *thresholds;
	struct mr_cell cell;
	/* One of the same scenario and arm: what a preset means, and what it may use, is the same. NULL: the
	 * first; not borrowed for longer than mr_matrix_cell_new(). */
	const struct mr_matrix_cell *like;
	uint64_t seed; /* of the matrix: stubs are by it and by the replicate */
	const struct mr_load *cap;
	struct mr_matrix_group *group; /* that keeps the cap; NULL while loads are only looked at */
};

/* Prepare; nothing runs yet. */
int mr_matrix_cell_new(const struct mr_matrix_cell_opts *opts, struct mr_matrix_cell **ret,
		       struct mr_error *err);
/* Of all its copies. */
const struct mr_load *mr_matrix_cell_load(const struct mr_matrix_cell *cell);
/* Of one of them, and how many there are. */
const struct mr_load *mr_matrix_cell_copy_load(const struct mr_matrix_cell *cell,
					       size_t *ret_copies);
int mr_matrix_cell_start(struct mr_matrix_cell *cell, struct mr_error *err);
/* Once all copies are ready, or have ended before they were: let them go. */
void mr_matrix_cell_let_go(struct mr_matrix_cell *cell);
/* Its sandboxes are gone, and none comes any more: another cell may begin. */
bool mr_matrix_cell_is_over(struct mr_matrix_cell *cell);
/* Read what the sandboxes that are gone have said. */
void mr_matrix_cell_settle(struct mr_matrix_cell *cell);
/* All copies have ended, and what they said was read. */
bool mr_matrix_cell_ended(const struct mr_matrix_cell *cell);
void mr_matrix_cell_interrupt(struct mr_matrix_cell *cell);
/* After the end: 0 and its detail (new reference); 1 it was interrupted and says nothing. */
int mr_matrix_cell_detail(struct mr_matrix_cell *cell, struct json_t **ret);
struct mr_matrix_cell *mr_matrix_cell_free(struct mr_matrix_cell *cell);

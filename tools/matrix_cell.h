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
struct mr_runners;
struct mr_matrix_cell;

struct mr_matrix_cell_opts {
	struct mr_loop *loop;
	const struct mr_flow_session *session;
	struct mr_runners *runners; /* who runs its steps */
	const char *program, *store; /* as of struct mr_flow_run_opts */
	const struct json_t *scenario;
	struct mr_stubs *stubs;
	struct mr_cell cell;
	uint64_t seed; /* of the matrix: stubs are by it and by the replicate */
	const struct mr_load *cap;
};

/* Prepare; nothing runs yet. */
int mr_matrix_cell_new(const struct mr_matrix_cell_opts *opts, struct mr_matrix_cell **ret,
		       struct mr_error *err);
/* Of all its copies. */
const struct mr_load *mr_matrix_cell_load(const struct mr_matrix_cell *cell);
int mr_matrix_cell_start(struct mr_matrix_cell *cell, struct mr_error *err);
/* All copies have ended. */
bool mr_matrix_cell_ended(const struct mr_matrix_cell *cell);
void mr_matrix_cell_interrupt(struct mr_matrix_cell *cell);
/* After the end: 0 and its detail (new reference); 1 it was interrupted and says nothing. */
int mr_matrix_cell_detail(struct mr_matrix_cell *cell, struct json_t **ret);
struct mr_matrix_cell *mr_matrix_cell_free(struct mr_matrix_cell *cell);

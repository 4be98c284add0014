/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Details of the cells of a matrix, which are too many to be in memory
 *
 * They are in the store; without one, in a file of the session's folder, which goes with it.
 */
#pragma once

#include <stddef.h>

struct json_t;
struct mr_error;
struct mr_flow_session;
struct mr_matrix_details;

/* session: prepared; it outlives the details. */
int mr_matrix_details_new(const struct mr_flow_session *session, size_t n_cells,
			  struct mr_matrix_details **ret, struct mr_error *err);
/* Accepts NULL, returns NULL. */
struct mr_matrix_details *mr_matrix_details_free(struct mr_matrix_details *details);

/* Keep an array of those of cells that have none yet: all of them, or none. */
int mr_matrix_details_add(struct mr_matrix_details *details, const struct json_t *added,
			  struct mr_error *err);
/* That of a cell by its place, new reference; MR_E_NONE: it is not there. */
int mr_matrix_details_get(struct mr_matrix_details *details, size_t n, struct json_t **ret,
			  struct mr_error *err);

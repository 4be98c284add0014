/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix: a workflow under many conditions
 *
 *   mr_matrix_run     the loop: admit cells, collect those that ended, keep each once
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/json.h"
#include "runtime/scenario/admission.h"
#include "tools/flow_session.h"

struct mr_error;
struct mr_matrix_details;
struct mr_outcomes;
struct mr_stubs;
struct mr_thresholds;

struct mr_matrix_opts {
	struct mr_flow_session *session; /* prepared */
	const char *program; /* menace-run */
	const char *store; /* of its --store, or NULL */
	struct mr_stubs *stubs;
	const struct mr_thresholds *thresholds;
	json_t *scenarios; /* as runtime/scenario/scenario.h has them */
	size_t jobs;
	uint64_t seed;
	struct mr_load cap;
	struct mr_outcomes *outcomes; /* of all cells; those that have one are not run again */
	struct mr_matrix_details *details; /* where what is told of each goes */
};

/* Returns 1 when a signal (*ret_signal) ended it early.  *ret_cap: how the cap was kept
 * (tools/matrix_group.h), a new reference, or NULL where nothing was run. */
int mr_matrix_run(const struct mr_matrix_opts *opts, json_t **ret_cap, int *ret_signal,
		  struct mr_error *err);

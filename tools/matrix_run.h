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
struct mr_stubs;

struct mr_matrix_opts {
	struct mr_flow_session *session; /* prepared */
	const char *program; /* menace-run */
	const char *store; /* of its --store, or NULL */
	struct mr_stubs *stubs;
	json_t *scenarios; /* as runtime/scenario/scenario.h has them */
	size_t replicates, jobs;
	uint64_t seed;
	struct mr_load cap;
	json_t *done; /* details of cells that were kept before, in any order; or NULL */
};

/* *ret: details of all cells by their place, also when it returns 1: a signal (*ret_signal) ended
 * it early.  New reference. */
int mr_matrix_run(const struct mr_matrix_opts *opts, json_t **ret, int *ret_signal,
		  struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outcomes: the few numbers of each cell that a summary is made of
 *
 * A matrix may have 100,000 cells, and all that is told of one takes kilobytes: the
 * details are in the store or in a file, and only this of them is in memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/scenario/cells.h"

struct json_t;
struct mr_error;

enum mr_verdict {
	MR_VERDICT_NONE, /* it has not ended */
	MR_VERDICT_PASSED,
	MR_VERDICT_FAILED,
	MR_VERDICT_INCONCLUSIVE,
	MR_VERDICT_ERROR,
	MR_VERDICTS,
};
/* "passed", "failed", "inconclusive", "error"; "none". */
const char *mr_verdict_name(enum mr_verdict verdict);

struct mr_outcome {
	double wall_ms, cpu_ms, memory_peak_bytes; /* means of its copies */
	uint32_t copies, copies_passed;
	enum mr_verdict verdict;
};

struct mr_outcomes {
	size_t n_scenarios, n_replicates, n_cells;
	uint64_t seed; /* of the matrix */
	struct mr_outcome *cells; /* by place */
	struct mr_outcome_why {
		size_t n;
		struct json_t *why; /* NULL: there is none */
	} * whys; /* by scenario: of its first cell with the conditions that says why */
};

/* Room for all cells, of which none has ended. */
void mr_outcomes_init(struct mr_outcomes *outcomes, size_t scenarios, size_t replicates,
		      uint64_t seed);
void mr_outcomes_deinit(struct mr_outcomes *outcomes);

/* Take what counts of the detail of a cell (menace-flow(5)).  1: that of its place is there already, and
 * stays.  MR_E_PROTO: it is no cell of this matrix. */
int mr_outcomes_add(struct mr_outcomes *outcomes, const struct json_t *detail,
		    struct mr_error *err);
bool mr_outcomes_has(const struct mr_outcomes *outcomes, size_t n);
/* What cell a place is. */
struct mr_cell mr_outcomes_cell(const struct mr_outcomes *outcomes, size_t n);
/* The first cell of a scenario with this verdict, in the order of places; SIZE_MAX: there is none. */
size_t mr_outcomes_find(const struct mr_outcomes *outcomes, size_t scenario,
			enum mr_verdict verdict);

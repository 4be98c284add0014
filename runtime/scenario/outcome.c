/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outcomes
 */
#include "runtime/scenario/outcome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"

static const char *const verdicts[MR_VERDICTS] = {
	[MR_VERDICT_NONE] = "none",	[MR_VERDICT_PASSED] = "passed",
	[MR_VERDICT_FAILED] = "failed", [MR_VERDICT_INCONCLUSIVE] = "inconclusive",
	[MR_VERDICT_ERROR] = "error",
};

const char *mr_verdict_name(enum mr_verdict verdict)
{
	return verdicts[verdict];
}

static enum mr_verdict parse_verdict(const char *word)
{
	for (int i = MR_VERDICT_PASSED; i < MR_VERDICTS; i++)
		if (strcmp(verdicts[i], word) == 0)
			return (enum mr_verdict)i;
	return MR_VERDICT_NONE;
}

void mr_outcomes_init(struct mr_outcomes *outcomes, size_t scenarios, size_t replicates,
		      uint64_t seed)
{
	const size_t n = mr_cells_count(scenarios, replicates);

	*outcomes = (struct mr_outcomes){
		.n_scenarios = scenarios,
		.n_replicates = replicates,
		.n_cells = n,
		.seed = seed,
		.cells = mr_str_alloc((n + 1) * sizeof(*outcomes->cells)),
		.whys = mr_str_alloc((scenarios + 1) * sizeof(*outcomes->whys)),
	};
}

void mr_outcomes_deinit(struct mr_outcomes *outcomes)
{
	for (size_t i = 0; i < outcomes->n_scenarios; i++)
		json_decref(outcomes->whys[i].why);
	free(outcomes->whys);
	free(outcomes->cells);
	*outcomes = (struct mr_outcomes){ 0 };
}

struct mr_cell mr_outcomes_cell(const struct mr_outcomes *outcomes, size_t n)
{
	return mr_cells_get(n, outcomes->n_scenarios, outcomes->seed);
}

/* Cells end in any order, and the first by place is told. */
static void take_why(struct mr_outcomes *outcomes, const struct mr_cell *cell, json_t *why)
{
	struct mr_outcome_why *first = &outcomes->whys[cell->scenario];

	if (!cell->on || json_array_size(why) == 0 || (first->why && first->n < cell->n))
		return;
	json_decref(first->why);
	first->why = json_incref(why);
	first->n = cell->n;
}

static double number_of(const json_t *json, const char *key)
{
	return json_number_value(json_object_get(json, key));
}

static uint32_t count_of(const json_t *json, const char *key)
{
	const json_int_t n = json_integer_value(json_object_get(json, key));

	return n < 0 ? 0 : n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

int mr_outcomes_add(struct mr_outcomes *outcomes, const json_t *detail, struct mr_error *err)
{
	const json_int_t n = json_integer_value(json_object_get(detail, "n"));
	const enum mr_verdict verdict = parse_verdict(mr_json_text_or_empty(detail, "verdict"));
	struct mr_cell cell;

	if (n < 0 || (uint64_t)n >= outcomes->n_cells || verdict == MR_VERDICT_NONE)
		return mr_err(err, MR_E_PROTO, EUCLEAN,
			      "cell %lld, \"%.40s\", is none of this matrix of %zu cells",
			      (long long)n, mr_json_text_or_empty(detail, "verdict"),
			      outcomes->n_cells);
	if (mr_outcomes_has(outcomes, (size_t)n))
		return 1;
	cell = mr_outcomes_cell(outcomes, (size_t)n);
	outcomes->cells[n] = (struct mr_outcome){
		.wall_ms = number_of(detail, "wall_ms"),
		.cpu_ms = number_of(detail, "cpu_ms"),
		.memory_peak_bytes = number_of(detail, "memory_peak_bytes"),
		.copies = count_of(detail, "copies"),
		.copies_passed = count_of(detail, "copies_passed"),
		.verdict = verdict,
	};
	take_why(outcomes, &cell, json_object_get(detail, "why"));
	return 0;
}

bool mr_outcomes_has(const struct mr_outcomes *outcomes, size_t n)
{
	return outcomes->cells[n].verdict != MR_VERDICT_NONE;
}

size_t mr_outcomes_find(const struct mr_outcomes *outcomes, size_t scenario,
			enum mr_verdict verdict)
{
	for (size_t i = 0; i < outcomes->n_replicates; i++) {
		const size_t pair = 2 * (i * outcomes->n_scenarios + scenario);

		for (size_t n = pair; n < pair + 2; n++)
			if (outcomes->cells[n].verdict == verdict)
				return n;
	}
	return SIZE_MAX;
}

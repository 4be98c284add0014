/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trajectory: numbers against the first stage, gaps where nothing was concluded, one verdict over all
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/scenario/outcome.h"
#include "runtime/scenario/scenario.h"
#include "runtime/scenario/trajectory.h"

struct stage {
	const char *verdict;
	double roi;
	int passed, copies;
};

/* One replicate of all stages, as it ended. */
static json_t *trajectory_of(const struct stage *v)
{
	mr_auto_json json_t *scenarios = json_array();
	struct mr_outcomes outcomes;
	size_t n;
	const struct mr_stage *stages = mr_trajectory_stages(&n);
	json_t *trajectory;

	mr_outcomes_init(&outcomes, n, 1, 0);
	for (size_t i = 0; i < n; i++) {
		json_array_append_new(scenarios, json_pack("{s:s, s:s, s:[], s:f}", "name",
							   stages[i].name, "verdict", v[i].verdict,
							   "why", "roi_on", v[i].roi));
		outcomes.cells[mr_cells_place(i, 0, true, n)] = (struct mr_outcome){
			.copies = (uint32_t)v[i].copies,
			.copies_passed = (uint32_t)v[i].passed,
		};
		/* Without the conditions says nothing of the stage. */
		outcomes.cells[mr_cells_place(i, 0, false, n)] = (struct mr_outcome){ .copies = 9 };
	}
	trajectory = mr_trajectory_make(scenarios, &outcomes);
	mr_outcomes_deinit(&outcomes);
	return trajectory;
}

static void assert_number(const json_t *row, const char *key, double expected)
{
	const json_t *value = json_object_get(row, key);

	assert_true(json_is_number(value));
	if (fabs(json_number_value(value) - expected) >= 1e-9)
		fail_msg("%s is %.17g, not %.17g", key, json_number_value(value), expected);
}

static void numbers_are_against_the_first_stage(void **state)
{
	static const struct stage stages[] = { { "passed", 0.9, 4, 4 },
					       { "failed", 0.5, 2, 4 },
					       { "inconclusive", 0.1, 4, 4 },
					       { "failed", 0.6, 3, 4 },
					       { "passed", 0.9, 4, 4 } };
	mr_auto_json json_t *t = trajectory_of(stages);
	const json_t *rows = json_object_get(t, "stages");
	const json_t *metrics = json_object_get(t, "metrics");

	(void)state;
	assert_int_equal(json_array_size(rows), 5);
	assert_string_equal(mr_json_text_or_empty(t, "verdict"), "failed");
	assert_string_equal(mr_json_text_or_empty(t, "broke_at"), "high_latency");
	assert_true(json_is_true(json_object_get(t, "recovered")));
	assert_number(json_array_get(rows, 0), "roi_delta", 0);
	assert_number(json_array_get(rows, 0), "stability", 0);
	assert_number(json_array_get(rows, 1), "roi_delta", -0.4);
	assert_number(json_array_get(rows, 1), "resilience", 0.5);
	/* Of 0.9 and 0.5 the standard deviation is 0.4 / sqrt 2. */
	assert_number(json_array_get(rows, 1), "stability", 0.77951879078845757);
	assert_number(json_array_get(rows, 3), "roi_delta", -0.3);
	assert_number(json_array_get(rows, 3), "scenario_degradation", -0.4);
	assert_number(json_array_get(rows, 4), "resilience", 1);
	/* Of 0.9, 0.5, 0.6 and 0.9: what was not concluded is no part of it. */
	assert_number(json_array_get(rows, 4), "stability", 0.82908064618184531);
	assert_true(json_is_null(json_object_get(json_array_get(rows, 2), "roi")));
	assert_true(json_is_null(json_object_get(json_array_get(rows, 2), "resilience")));
	assert_number(metrics, "latency_spike_roi", 0.5);
	assert_number(metrics, "schema_drift_degradation", -0.4);
	assert_true(json_is_null(json_object_get(metrics, "io_cpu_strain_roi")));
}

static void the_worst_stage_is_the_verdict(void **state)
{
	static const struct {
		const char *verdicts[5], *verdict, *broke_at;
	} rows[] = {
		{ { "passed", "passed", "passed", "passed", "passed" }, "passed", NULL },
		{ { "passed", "inconclusive", "passed", "passed", "passed" },
		  "inconclusive",
		  NULL },
		{ { "passed", "inconclusive", "passed", "passed", "failed" },
		  "failed",
		  "chaotic_failure" },
		{ { "failed", "failed", "error", "passed", "passed" }, "error", "normal" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_json json_t *t = NULL;
		struct stage stages[5];

		for (size_t k = 0; k < 5; k++)
			stages[k] = (struct stage){ rows[i].verdicts[k], 1, 1, 1 };
		t = trajectory_of(stages);
		assert_string_equal(mr_json_text_or_empty(t, "verdict"), rows[i].verdict);
		assert_string_equal(mr_json_text_or_empty(t, "broke_at"),
				    rows[i].broke_at ? rows[i].broke_at : "");
	}
}

/* Without a first stage there is nothing to be measured by. */
static void without_a_first_stage_nothing_is_compared(void **state)
{
	static const struct stage stages[] = { { "inconclusive", 1, 1, 1 },
					       { "passed", 1, 1, 1 },
					       { "passed", 1, 1, 1 },
					       { "passed", 1, 1, 1 },
					       { "passed", 1, 1, 1 } };
	mr_auto_json json_t *t = trajectory_of(stages);
	const json_t *row = json_array_get(json_object_get(t, "stages"), 1);

	(void)state;
	assert_number(row, "roi", 1);
	assert_true(json_is_null(json_object_get(row, "roi_delta")));
	assert_true(json_is_null(json_object_get(row, "resilience")));
	assert_true(json_is_null(json_object_get(row, "scenario_degradation")));
}

static void stages_are_scenarios_and_aliases_lead_to_them(void **state)
{
	mr_auto_json json_t *list = json_array();
	size_t n;
	const struct mr_stage *stages = mr_trajectory_stages(&n);

	(void)state;
	mr_trajectory_add(list);
	assert_int_equal(n, 5);
	assert_int_equal(json_array_size(list), 5);
	for (size_t i = 0; i < n; i++) {
		mr_auto_json json_t *one = json_array();
		struct mr_error err = MR_ERROR_INIT;

		assert_string_equal(mr_json_text_or_empty(json_array_get(list, i), "name"),
				    stages[i].name);
		assert_int_equal(mr_scenario_add(one, stages[i].alias, &err), 0);
		assert_true(json_equal(json_array_get(one, 0), json_array_get(list, i)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_against_the_first_stage),
		cmocka_unit_test(the_worst_stage_is_the_verdict),
		cmocka_unit_test(without_a_first_stage_nothing_is_compared),
		cmocka_unit_test(stages_are_scenarios_and_aliases_lead_to_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

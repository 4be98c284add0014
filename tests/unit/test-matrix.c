/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices: scenarios by name, cells by place, admission under a cap, what took effect,
 * and which scenario is the worst
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/rand.h"
#include "runtime/base/str.h"
#include "runtime/scenario/admission.h"
#include "runtime/scenario/cells.h"
#include "runtime/scenario/condition.h"
#include "runtime/scenario/scenario.h"
#include "runtime/scenario/summary.h"

/* The documented example: five scenarios, of which one is worse with its conditions. */
static void the_worst_scenario_is_found(void **state)
{
	static const struct mr_score scores[] = {
		{ 3, 2, true, false }, /* normal */
		{ 1, 2, true, false }, /* concurrency_spike */
		{ 2.5, 2, true, false }, /* hostile_input */
		{ 1.9, 1.7, true, false }, /* schema_drift */
		{ 2.2, 1.9, true, false }, /* flaky_upstream */
	};
	struct mr_score others[5];
	size_t n;
	const struct mr_scenario *rows = mr_scenario_rows(&n);

	(void)state;
	assert_int_equal(mr_summary_worst(scores, 5), 1);
	assert_string_equal(mr_summary_status(scores, 5), "situationally weak");
	assert_string_equal(rows[1].name, "concurrency_spike");
	assert_non_null(strstr(rows[1].advice, "locking and queueing"));
	memcpy(others, scores, sizeof(others));
	others[2].breached = true;
	assert_string_equal(mr_summary_status(others, 5), "weak");
	assert_string_equal(mr_summary_status(scores + 2, 3), "robust");
	assert_string_equal(mr_summary_status(scores + 1, 1), "weak");
	/* What did not take effect has no say. */
	others[2].breached = others[1].conclusive = false;
	assert_string_equal(mr_summary_status(others, 5), "robust");
	assert_int_equal(mr_summary_worst(others, 5), 3);
	/* Where all are alike, as where nothing failed, none is the worst. */
	for (size_t i = 0; i < 5; i++)
		others[i] = (struct mr_score){ 1, 1, true, false };
	assert_int_equal(mr_summary_worst(others, 5), SIZE_MAX);
	assert_string_equal(mr_summary_status(others, 5), "robust");
	others[4].on = 0.99;
	assert_int_equal(mr_summary_worst(others, 5), 4);
	assert_int_equal(mr_summary_worst(others, 1), SIZE_MAX);
	assert_int_equal(mr_summary_worst(others + 4, 1), 0); /* the only one, and it fails */
	for (size_t i = 0; i < 5; i++)
		others[i].conclusive = false;
	assert_string_equal(mr_summary_status(others, 5), "inconclusive");
	assert_int_equal(mr_summary_worst(others, 5), SIZE_MAX);
}

static void a_place_says_all_of_a_cell(void **state)
{
	size_t on = 0, first_on = 0;

	(void)state;
	assert_int_equal(mr_cells_count(3, 4), 24);
	for (size_t n = 0; n < 24; n += 2) {
		struct mr_cell a = mr_cells_get(n, 3, 5), b = mr_cells_get(n + 1, 3, 5);

		assert_int_equal(a.scenario, b.scenario);
		assert_int_equal(a.replicate, b.replicate);
		assert_int_equal(a.replicate, n / 6);
		assert_int_equal(a.seed, b.seed);
		assert_true(a.seed <= MR_RAND_SEED_MAX);
		assert_int_not_equal(a.on, b.on);
		on += a.on + b.on;
		first_on += a.on;
		if (n > 0)
			assert_true(a.seed != mr_cells_get(n - 2, 3, 5).seed);
	}
	assert_int_equal(on, 12);
	assert_int_equal(first_on, 6);
	assert_true(mr_cells_get(0, 3, 5).seed != mr_cells_get(0, 3, 6).seed);
	assert_true(mr_cells_get(23, 3, MR_RAND_SEED_MAX).seed <= MR_RAND_SEED_MAX);
}

static void the_cap_holds(void **state)
{
	struct mr_admission a = { .cap = { 2000, 100, 10 } };
	const struct mr_load half = { 1000, 50, 5 }, one_more = { 0, 0, 1 }, huge = { 1, 101, 1 },
			     nothing = { 0, 0, 0 };
	struct mr_load many = mr_admission_times(&half, UINT64_MAX);

	(void)state;
	assert_true(mr_admission_enter(&a, &half));
	assert_true(mr_admission_enter(&a, &half));
	assert_false(mr_admission_enter(&a, &one_more));
	mr_admission_leave(&a, &half);
	assert_true(mr_admission_enter(&a, &one_more));
	assert_int_equal(a.peak.memory, 100);
	assert_int_equal(a.peak.pids, 10);
	assert_false(mr_admission_enter(&a, &huge));
	mr_admission_leave(&a, &half);
	assert_false(mr_admission_enter(&a, &huge));
	mr_admission_leave(&a, &one_more);
	assert_true(mr_admission_enter(&a, &huge)); /* alone, or never */
	assert_false(mr_admission_enter(&a, &nothing));
	assert_int_equal(many.memory, UINT64_MAX);
	assert_int_equal(mr_admission_fit(&half, &a.cap), 2);
	assert_int_equal(mr_admission_fit(&huge, &a.cap), 1);
	assert_int_equal(mr_admission_fit(&nothing, &a.cap), UINT64_MAX);
}

/* --- conditions ------------------------------------------------------------ */

static json_t *load(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	return json;
}

static void a_preset_wins_over_what_it_names(void **state)
{
	mr_auto_json json_t *preset =
		load("{\"DISK_LIMIT\": \"1Mi\", \"CONCURRENCY_LEVEL\": 3, "
		     "\"CONCURRENCY_MULTIPLIER\": 2, \"PACKET_LOSS\": \"5%\", "
		     "\"PAYLOAD_INDICATOR\": \"x\"}");
	mr_auto_json json_t *spec = load("{\"limits\": {\"disk_bytes\": 9, \"pids_max\": 7}, "
					 "\"best_effort\": [\"cpu\"]}");
	mr_auto_json json_t *off = json_deep_copy(spec);
	struct mr_error err = MR_ERROR_INIT;
	struct mr_condition c;

	(void)state;
	assert_int_equal(mr_condition_init(preset, 77, true, &c, &err), 0);
	assert_int_equal(c.copies, 6);
	mr_condition_apply(&c, spec);
	mr_condition_deinit(&c);
	assert_null(json_object_get(json_object_get(spec, "limits"), "disk_bytes"));
	assert_int_equal(json_integer_value(
				 json_object_get(json_object_get(spec, "limits"), "pids_max")),
			 7);
	assert_int_equal(json_integer_value(
				 json_object_get(json_object_get(spec, "preset"), "PRESET_SEED")),
			 77);
	assert_null(json_object_get(json_object_get(spec, "preset"), "CONCURRENCY_LEVEL"));
	assert_string_equal(json_string_value(
				    json_object_get(json_object_get(spec, "net"), "mode")),
			    "loopback");
	assert_string_equal(json_string_value(
				    json_array_get(json_object_get(spec, "best_effort"), 0)),
			    "cpu");
	assert_true(json_array_size(json_object_get(spec, "best_effort")) >= 3);

	/* The other arm: the same network and seed, and no condition. */
	assert_int_equal(mr_condition_init(preset, 77, false, &c, &err), 0);
	assert_int_equal(c.copies, 1);
	mr_condition_apply(&c, off);
	mr_condition_deinit(&c);
	assert_int_equal(json_integer_value(
				 json_object_get(json_object_get(off, "limits"), "disk_bytes")),
			 9);
	assert_int_equal(json_object_size(json_object_get(off, "preset")), 1);
	assert_string_equal(json_string_value(json_object_get(json_object_get(off, "net"), "mode")),
			    "loopback");
}

#define PACKETS(arrived)                                                                        \
	"{\"receipt\": {\"network\": {\"shaping\": {\"state\": \"enforced\", \"applied\": {}, " \
	"\"measured\": {\"arrived\": " #arrived "}}}}}"

static void assert_why_with(const char *preset_text, const char *inputs_text, const char *first,
			    const char *second, const char *expected)
{
	mr_auto_json json_t *preset = load(preset_text);
	mr_auto_json json_t *inputs = inputs_text ? load(inputs_text) : NULL;
	mr_auto_json json_t *result = load(first);
	mr_auto_json json_t *next = second ? load(second) : NULL;
	mr_auto_json json_t *why = NULL;
	mr_auto_free char *text = NULL;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_condition_proof proof;
	struct mr_condition c;

	assert_int_equal(mr_condition_init(preset, 1, true, &c, &err), 0);
	mr_condition_proof_init(&proof);
	mr_condition_judge(&c, result, inputs, &proof);
	if (next)
		mr_condition_judge(&c, next, NULL, &proof);
	why = mr_condition_why(&proof);
	text = json_dumps(why, JSON_COMPACT);
	assert_string_equal(text, expected);
	mr_condition_proof_deinit(&proof);
	mr_condition_deinit(&c);
}

static void assert_why(const char *preset, const char *first, const char *second,
		       const char *expected)
{
	assert_why_with(preset, NULL, first, second, expected);
}

static const char drift[] = "{\"SANDBOX_STUB_STRATEGY\": \"legacy_schema\", \"FAILURE_MODES\": "
			    "\"schema_drift\", \"SCHEMA_MISMATCHES\": 5}";
static const char met[] =
	"{\"failures\": [{\"mode\": \"schema_drift\", \"made\": true, \"opportunities\": 3}]}";
static const char not_met[] =
	"{\"failures\": [{\"mode\": \"schema_drift\", \"made\": true, \"opportunities\": 0}]}";

static void stubs_are_another_way_of_a_mode(void **state)
{
	static const char no_stub[] =
		"no stub is taken, so none was legacy_schema (menace-flow(5), STUBS)";
	mr_auto_free char *neither =
		mr_str_format("[\"schema_drift had no opportunity\",\"%s\"]", no_stub);
	mr_auto_free char *taken_none = mr_str_format("[\"%s\"]", no_stub);

	(void)state;
	/* Either way is enough, and neither is not. */
	assert_why_with(drift, NULL, not_met, NULL, neither);
	assert_why_with(drift, "[]", met, NULL, "[]");
	assert_why_with(drift, "[{\"strategy\": \"legacy_schema\"}]", not_met, NULL, "[]");
	assert_why_with(drift, "[{\"strategy\": \"smart\"}]", not_met, NULL, neither);
	assert_why_with(drift, "[{\"strategy\": \"legacy_schema\"}]", not_met, not_met, "[]");
	/* A stub is no way of a mode that it is not of. */
	assert_why_with(
		"{\"SANDBOX_STUB_STRATEGY\": \"legacy_schema\", \"FAILURE_MODES\": \"disk\"}",
		"[{\"strategy\": \"legacy_schema\"}]",
		"{\"failures\": [{\"mode\": \"disk\", \"made\": true, \"opportunities\": 0}]}",
		NULL, "[\"disk had no opportunity\"]");
	assert_why_with("{\"SANDBOX_STUB_STRATEGY\": \"legacy_schema\"}", NULL, "{}", NULL,
			taken_none);
	assert_why_with("{\"SANDBOX_STUB_STRATEGY\": \"plugin:x\"}", "[{\"strategy\": \"plugin\"}]",
			"{}", NULL, "[]");
	/* What is not acted upon is still told. */
	assert_why_with("{\"SANDBOX_STUB_STRATEGY\": \"hostile\", \"PAYLOAD_INDICATOR\": \"x\"}",
			"[{\"strategy\": \"hostile\"}]",
			"{\"not_enforced\": [\"PAYLOAD_INDICATOR\"]}", NULL,
			"[\"PAYLOAD_INDICATOR is not enforced by this version\"]");
}

static void variables_of_stubs_are_taken_out(void **state)
{
	mr_auto_json json_t *preset =
		load("{\"SANDBOX_STUB_STRATEGY\": \"hostile\", \"PAYLOAD_INDICATOR\": "
		     "\"corrupted_bytes\", \"INJECT_EDGE_CASES\": \"yes\", \"CPU_LIMIT\": 1}");
	mr_auto_json json_t *unknown = load("{\"SANDBOX_STUB_STRATEGY\": \"hostle\"}");
	mr_auto_json json_t *spec = load("{\"preset\": {\"FAILURE_MODES\": \"hostile_input, "
					 "disk\", \"HOSTILE_INPUT\": true}}");
	mr_auto_json json_t *kept = load("{\"preset\": {\"FAILURE_MODES\": \"disk\"}}");
	struct mr_error err = MR_ERROR_INIT;
	struct mr_condition_inputs inputs;

	(void)state;
	assert_int_equal(mr_condition_take_inputs(preset, &inputs, &err), 0);
	assert_string_equal(inputs.strategy, "hostile");
	assert_true(inputs.corrupt && inputs.edge_cases);
	assert_int_equal(json_object_size(preset), 1);
	mr_condition_inputs_deinit(&inputs);
	assert_true(mr_condition_take_inputs(unknown, &inputs, &err) < 0);
	assert_string_equal(err.msg, "preset: SANDBOX_STUB_STRATEGY: unknown strategy of stubs "
				     "\"hostle\"; did you mean \"hostile\"?");
	/* The one input of a step is not replaced twice. */
	mr_condition_keep_stdin(spec);
	assert_true(json_equal(spec, kept));
}

static void only_results_say_what_was_in_force(void **state)
{
	(void)state;
	assert_why("{}", "{}", NULL, "[]");
	assert_why("{\"PAYLOAD_INDICATOR\": \"x\"}", "{\"not_enforced\": [\"PAYLOAD_INDICATOR\"]}",
		   NULL, "[\"PAYLOAD_INDICATOR is not enforced by this version\"]");
	assert_why("{\"PACKET_LOSS\": \"5%\"}", PACKETS(3), NULL, "[]");
	assert_why("{\"PACKET_LOSS\": \"5%\"}", "{}", NULL,
		   "[\"the conditions of the link are absent\"]");
	/* One step that met it is enough; one in which it was not there is too much. */
	assert_why("{\"PACKET_LOSS\": \"5%\"}", PACKETS(0), PACKETS(3), "[]");
	assert_why("{\"PACKET_LOSS\": \"5%\"}", PACKETS(0), PACKETS(0),
		   "[\"no packet went over the link\"]");
	assert_why("{\"PACKET_LOSS\": \"5%\"}", PACKETS(3), "{}",
		   "[\"the conditions of the link are absent\"]");
	assert_why("{}",
		   "{\"failures\": [{\"mode\": \"disk\", \"made\": true, \"opportunities\": 0}]}",
		   NULL, "[\"disk had no opportunity\"]");
	assert_why("{}", "{\"failures\": [{\"mode\": \"disk\", \"made\": false, \"why\": \"no\"}]}",
		   "{\"failures\": [{\"mode\": \"disk\", \"made\": true, \"opportunities\": 4}]}",
		   "[\"disk was not made: no\"]");
	assert_why("{\"API_LATENCY_MS\": 5}",
		   "{\"receipt\": {\"network\": {\"stub\": {\"first_byte_delay_ms\": 5}}}, "
		   "\"network\": {\"mocks\": [{\"hits\": 0}, {\"hits\": 1}]}}",
		   NULL, "[]");
	assert_why("{\"CPU_LIMIT\": 1}", "{}", NULL, "[\"limits.cpus is not in the result\"]");
	assert_why("{\"CPU_LIMIT\": 1}",
		   "{\"limits\": {\"cpus\": 1}, \"receipt\": {\"degraded\": [{\"item\": \"cpu\", "
		   "\"why\": \"none\"}, {\"item\": \"time-ns\", \"why\": \"old\"}]}}",
		   NULL, "[\"cpu: none\"]");
}

/* --- summary --------------------------------------------------------------- */

static json_t *cell(int n, const char *arm, const char *verdict, int passed, double wall)
{
	return json_pack("{s:i, s:s, s:s, s:i, s:s, s:i, s:s, s:i, s:i, s:f, s:i}", "n", n,
			 "scenario", "x", "level", "-", "replicate", n / 2, "arm", arm, "seed",
			 n / 2, "verdict", verdict, "copies", 2, "copies_passed", passed, "wall_ms",
			 wall, "failures", 2 - passed);
}

static void the_worth_is_graded(void **state)
{
	mr_auto_json json_t *scenarios = load(
		"[{\"name\": \"x\", \"level\": \"-\", \"profile\": \"schema_drift\", \"advice\": "
		"\"look\"}]");
	mr_auto_json json_t *cells =
		json_pack("[o, o, o, o]", cell(0, "off", "passed", 2, 10),
			  cell(1, "on", "failed", 1, 10), cell(2, "on", "passed", 2, 40),
			  cell(3, "off", "passed", 2, 10));
	mr_auto_json json_t *summary = mr_summary_make(scenarios, cells, 0);
	const json_t *row = json_array_get(json_object_get(summary, "scenarios"), 0);

	(void)state;
	assert_true(json_number_value(json_object_get(summary, "slo_ms")) == 20);
	assert_true(json_number_value(json_object_get(row, "roi_on")) == 0.5);
	assert_true(json_number_value(json_object_get(row, "roi_off")) == 1);
	assert_true(json_number_value(json_object_get(row, "roi_delta")) == -0.5);
	assert_string_equal(json_string_value(json_object_get(row, "verdict")), "failed");
	assert_string_equal(json_string_value(json_object_get(summary, "worst_scenario")), "x");
	assert_string_equal(json_string_value(json_object_get(summary, "advice")), "look");
	assert_int_equal(json_array_size(json_object_get(row, "runs")), 4);
	assert_int_equal(json_array_size(
				 json_object_get(json_object_get(summary, "coverage"), "missing")),
			 5);
}

static void scenarios_have_names(void **state)
{
	mr_auto_json json_t *list = json_array();
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(mr_scenario_add(list, "default", &err), 0);
	assert_int_equal(json_array_size(list), 5);
	assert_int_equal(mr_scenario_add(list, "all", &err), 0);
	assert_int_equal(json_array_size(list), 8);
	assert_int_equal(mr_scenario_add(list, "chaos", &err), 0);
	assert_int_equal(json_array_size(list), 8);
	assert_int_equal(mr_scenario_add(list, "canonical", &err), 0);
	assert_int_equal(json_array_size(list), 20);
	assert_int_equal(mr_scenario_add(list, "upstream_failure:low", &err), 0);
	assert_int_equal(json_array_size(list), 20);
	assert_true(mr_scenario_add(list, "nromal", &err) < 0);
	assert_string_equal(err.msg, "unknown scenario \"nromal\"; did you mean \"normal\"?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_worst_scenario_is_found),
		cmocka_unit_test(a_place_says_all_of_a_cell),
		cmocka_unit_test(the_cap_holds),
		cmocka_unit_test(a_preset_wins_over_what_it_names),
		cmocka_unit_test(only_results_say_what_was_in_force),
		cmocka_unit_test(stubs_are_another_way_of_a_mode),
		cmocka_unit_test(variables_of_stubs_are_taken_out),
		cmocka_unit_test(the_worth_is_graded),
		cmocka_unit_test(scenarios_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

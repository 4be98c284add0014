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
#include <errno.h>
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
#include "runtime/scenario/outcome.h"
#include "runtime/scenario/scenario.h"
#include "runtime/scenario/summary.h"

/* The documented example: five scenarios, of which one is worse with its conditions. */
static void the_worst_scenario_is_found(void **state)
{
	static const struct mr_score scores[] = {
		{ .on = 3, .off = 2, .conclusive = true }, /* normal */
		{ .on = 1, .off = 2, .conclusive = true }, /* concurrency_spike */
		{ .on = 2.5, .off = 2, .conclusive = true }, /* hostile_input */
		{ .on = 1.9, .off = 1.7, .conclusive = true }, /* schema_drift */
		{ .on = 2.2, .off = 1.9, .conclusive = true }, /* flaky_upstream */
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
		others[i] = (struct mr_score){ .on = 1, .off = 1, .conclusive = true };
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

/* What fails whatever it is tried under is not robust, and no situation makes it weak. */
static void what_fails_everywhere_is_weak(void **state)
{
	struct mr_score scores[] = {
		{ 0, 0, true, false, true, true },
		{ 0, 0, true, false, true, true },
	};

	(void)state;
	assert_string_equal(mr_summary_status(scores, 2), "weak");
	assert_string_equal(mr_summary_status(scores, 1), "weak");
	assert_int_equal(mr_summary_worst(scores, 2), SIZE_MAX);
	assert_int_equal(mr_summary_worst(scores, 1), SIZE_MAX);
	/* One is worse than the other without conditions. */
	scores[0] = (struct mr_score){ 1, 1, true, false, false, false };
	scores[1] = (struct mr_score){ 0.5, 1, true, true, true, false };
	assert_string_equal(mr_summary_status(scores, 2), "situationally weak");
	scores[1].failed_without = true;
	assert_string_equal(mr_summary_status(scores, 2), "weak");
	/* It failed without conditions, whatever came of those. */
	scores[1].conclusive = false;
	assert_string_equal(mr_summary_status(scores, 2), "weak");
	scores[1].failed_without = false;
	assert_string_equal(mr_summary_status(scores, 2), "robust");
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
		load("{\"DISK_LIMIT\": \"1Mi\", \"CONCURRENCY_LEVEL\": \"3\", "
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

static void assert_copies(const char *preset_text, uint64_t expected, const char *refusal)
{
	mr_auto_json json_t *preset = load(preset_text);
	struct mr_error err = MR_ERROR_INIT;
	struct mr_condition c;
	const int r = mr_condition_init(preset, 1, true, &c, &err);

	assert_string_equal(r < 0 ? err.msg : "", refusal);
	if (r < 0)
		return;
	assert_int_equal(c.copies, expected);
	mr_condition_deinit(&c);
}

static void copies_are_as_many_as_asked(void **state)
{
	(void)state;
	assert_copies("{}", 1, "");
	assert_copies("{\"CONCURRENCY_LEVEL\": \"20\"}", 20, "");
	assert_copies("{\"CONCURRENCY_LEVEL\": 100, \"CONCURRENCY_MULTIPLIER\": \"100\"}", 10000,
		      "");
	assert_copies("{\"CONCURRENCY_LEVEL\": 101, \"CONCURRENCY_MULTIPLIER\": 100}", 0,
		      "preset: CONCURRENCY_MULTIPLIER: 101 copies times 100; accepted: 1 to 10000 "
		      "copies at once");
	assert_copies("{\"CONCURRENCY_LEVEL\": 0}", 0,
		      "preset: CONCURRENCY_LEVEL: 1 copies times 0; accepted: 1 to 10000 copies at "
		      "once");
	assert_copies("{\"CONCURRENCY_LEVEL\": 9223372036854775807}", 0,
		      "preset: CONCURRENCY_LEVEL: 1 copies times 9223372036854775807; accepted: 1 "
		      "to 10000 copies at once");
	assert_copies("{\"CONCURRENCY_LEVEL\": \"18446744073709551615\"}", 0,
		      "preset: CONCURRENCY_LEVEL: \"18446744073709551615\" is not a whole number: "
		      "it "
		      "is too large; accepted: decimal digits, as in 64");
}

#define UNCOUNTED(why)                                                                          \
	"{\"receipt\": {\"network\": {\"shaping\": {\"state\": \"enforced\", \"applied\": {}, " \
	"\"measured\": {\"relay\": null, \"why\": \"" why "\"}}}}}"
#define PACKETS(arrived)                                                                        \
	"{\"receipt\": {\"network\": {\"shaping\": {\"state\": \"enforced\", \"applied\": {}, " \
	"\"measured\": {\"arrived\": " #arrived "}}}}}"

#define ANSWERS(hits)                                                             \
	"{\"receipt\": {\"network\": {\"stub\": {\"first_byte_delay_ms\": 5}}}, " \
	"\"network\": {\"mocks\": [{\"hits\": " hits "}]}}"

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
	assert_true(mr_condition_keep_stdin(spec));
	assert_true(json_equal(spec, kept));
	assert_false(mr_condition_keep_stdin(spec));
	assert_true(json_equal(spec, kept));
}

static bool feeds(const char *strategy)
{
	mr_auto_json json_t *preset = json_pack("{s:s}", "SANDBOX_STUB_STRATEGY", strategy);
	struct mr_error err = MR_ERROR_INIT;
	struct mr_condition c;
	bool it_does;

	assert_int_equal(mr_condition_init(preset, 1, true, &c, &err), 0);
	it_does = mr_condition_feeds(&c);
	mr_condition_deinit(&c);
	return it_does;
}

/* {"left_out", "why"} of one result with or without a stub for standard input. */
static void assert_left_out(const char *strategy, bool kept, const char *left_out, const char *why)
{
	mr_auto_json json_t *preset = json_pack("{s:s}", "SANDBOX_STUB_STRATEGY", strategy);
	mr_auto_json json_t *inputs = json_pack("[{s:s}]", "strategy", strategy);
	mr_auto_json json_t *result = json_object();
	mr_auto_json json_t *said = NULL;
	mr_auto_free char *text = NULL;
	mr_auto_free char *listed = NULL;
	struct mr_condition_proof proof;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_condition c;

	assert_int_equal(mr_condition_init(preset, 1, true, &c, &err), 0);
	mr_condition_proof_init(&proof);
	mr_condition_judge(&c, result, inputs, &proof);
	if (kept)
		mr_condition_judge_kept_stdin(&c, "read", &proof);
	said = mr_condition_why(&proof);
	text = json_dumps(said, JSON_COMPACT);
	listed = json_dumps(json_object_get(proof.in_force, "left_out"), JSON_COMPACT);
	assert_string_equal(text, why);
	assert_string_equal(listed ? listed : "", left_out);
	mr_condition_proof_deinit(&proof);
	mr_condition_deinit(&c);
}

static void what_feeds_standard_input_is_told(void **state)
{
	(void)state;
	assert_true(feeds("hostile"));
	assert_true(feeds("misuse"));
	assert_true(feeds("flaky_upstream"));
	assert_true(feeds("failures"));
	assert_true(feeds("plugin:x"));
	assert_false(feeds("smart"));
	assert_false(feeds("templates"));
	assert_false(feeds("history"));
	assert_left_out("hostile", true,
			"[\"hostile_input of step \\\"read\\\": its standard input is a stub made "
			"up as "
			"hostile\"]",
			"[]");
	/* Nothing hostile came to it in another way. */
	assert_left_out(
		"misuse", true,
		"[\"hostile_input of step \\\"read\\\": its standard input is a stub made up as "
		"misuse\"]",
		"[\"hostile_input was left out: standard input is a stub made up as misuse\"]");
	assert_left_out("misuse", false, "", "[]");
}

static void corrupted_stubs_are_counted(void **state)
{
	mr_auto_json json_t *preset = load("{\"SANDBOX_STUB_STRATEGY\": \"hostile\", "
					   "\"PAYLOAD_INDICATOR\": \"corrupted_bytes\"}");
	mr_auto_json json_t *inputs =
		load("[{\"strategy\": \"hostile\", \"corrupted\": 3}, {\"strategy\": \"hostile\", "
		     "\"corrupted\": 0, \"uncorrupted\": \"it is empty\"}]");
	mr_auto_json json_t *result = json_object();
	mr_auto_json json_t *expected = load("{\"strategy\": \"hostile\", \"opportunities\": 4, "
					     "\"fired\": 4, \"corrupted\": 2}");
	struct mr_condition_proof proof;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_condition c;

	(void)state;
	assert_int_equal(mr_condition_init(preset, 1, true, &c, &err), 0);
	mr_condition_proof_init(&proof);
	mr_condition_judge(&c, result, inputs, &proof);
	mr_condition_judge(&c, result, inputs, &proof);
	assert_true(json_equal(json_object_get(proof.in_force, "stubs"), expected));
	mr_condition_proof_deinit(&proof);
	mr_condition_deinit(&c);
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
	/* What was not counted may have been many. */
	assert_why("{\"PACKET_LOSS\": \"5%\"}", UNCOUNTED("the relay told nothing"), NULL,
		   "[\"the packets of the link were not counted: the relay told nothing\"]");
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
	assert_why("{\"API_LATENCY_MS\": 5}", ANSWERS("0"), NULL,
		   "[\"no request was answered, so none was late\"]");
	/* As with packets. */
	assert_why("{\"API_LATENCY_MS\": 5}", ANSWERS("null"), NULL,
		   "[\"what answers did not tell how often\"]");
	assert_why("{}",
		   "{\"failures\": [{\"mode\": \"flaky_upstream\", \"made\": true, "
		   "\"opportunities\": 0, \"why\": \"what answers did not tell how often\"}]}",
		   NULL, "[\"flaky_upstream: what answers did not tell how often\"]");
	assert_why("{\"CPU_LIMIT\": 1}", "{}", NULL, "[\"limits.cpus is not in the result\"]");
	assert_why("{\"CPU_LIMIT\": 1}",
		   "{\"limits\": {\"cpus\": 1}, \"receipt\": {\"degraded\": [{\"item\": \"cpu\", "
		   "\"why\": \"none\"}, {\"item\": \"time-ns\", \"why\": \"old\"}]}}",
		   NULL, "[\"cpu: none\"]");
}

#define DISK(occasions, fired)                                                               \
	"\"failures\": [{\"mode\": \"disk\", \"made\": true, \"opportunities\": " #occasions \
	", \"fired\": " #fired "}]"
#define LINK(arrived)                                                                          \
	"\"receipt\": {\"network\": {\"shaping\": {\"state\": \"enforced\", \"applied\": {}, " \
	"\"measured\": {\"arrived\": " #arrived "}}}}"

static void each_condition_is_met_for_itself(void **state)
{
	static const char both[] = "{\"FAILURE_MODES\": \"disk\", \"PACKET_LOSS\": \"5%\"}";

	(void)state;
	assert_why(both, "{" DISK(3, 1) ", " LINK(0) "}", "{" DISK(0, 0) ", " LINK(4) "}", "[]");
	assert_why(both, "{" DISK(3, 1) ", " LINK(0) "}", "{" DISK(0, 0) ", " LINK(0) "}",
		   "[\"no packet went over the link\"]");
	/* Nothing met it, for a reason of its own each time. */
	assert_why("{\"PACKET_LOSS\": \"5%\"}", PACKETS(0), UNCOUNTED("the relay told nothing"),
		   "[\"no packet went over the link\",\"the packets of the link were not counted: "
		   "the relay told nothing\"]");
}

static void what_chance_kept_away_was_not_there(void **state)
{
	static const char disk[] = "{\"FAILURE_MODES\": \"disk\"}";

	(void)state;
	assert_why(disk, "{" DISK(3, 0) "}", "{" DISK(4, 0) "}",
		   "[\"disk happened on none of 7 occasions; another seed, more replicates or a "
		   "higher level may do it\"]");
	assert_why(disk, "{" DISK(3, 0) "}", "{" DISK(4, 1) "}", "[]");
	/* What needs no chance was there all the same. */
	assert_why("{\"FAILURE_MODES\": \"disk\", \"PACKET_LOSS\": \"5%\"}",
		   "{" DISK(3, 0) ", " LINK(4) "}", NULL, "[]");
	/* A stub is another way of a mode. */
	assert_why_with(drift, "[{\"strategy\": \"legacy_schema\"}]",
			"{\"failures\": [{\"mode\": \"schema_drift\", \"made\": true, "
			"\"opportunities\": 3, \"fired\": 0}]}",
			NULL, "[]");
	assert_why("{\"BROKEN_AUTH\": true}",
		   "{\"failures\": [{\"mode\": \"flaky_upstream\", \"made\": true, "
		   "\"opportunities\": 2, \"fired\": 0, \"credentials\": [\"KEY\"]}]}",
		   NULL, "[]");
}

/* What is taken from a cell of the same scenario and arm is what would have been found anew. */
static void another_seed_is_all_that_differs(void **state)
{
	mr_auto_json json_t *list = json_array();
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(mr_scenario_add(list, "all", &err), 0);
	assert_int_equal(mr_scenario_add(list, "canonical", &err), 0);
	for (size_t i = 0; i < 2 * json_array_size(list); i++) {
		const json_t *preset = json_object_get(json_array_get(list, i / 2), "preset");
		struct mr_condition first, like, anew;

		assert_int_equal(mr_condition_init(preset, 3, i % 2 == 0, &first, &err), 0);
		mr_condition_init_like(&first, 9, &like);
		mr_condition_deinit(&first);
		assert_int_equal(mr_condition_init(preset, 9, i % 2 == 0, &anew, &err), 0);
		assert_true(json_equal(like.preset, anew.preset));
		assert_int_equal(json_integer_value(json_object_get(like.preset, "PRESET_SEED")),
				 9);
		assert_int_equal(json_object_size(like.knobs), json_object_size(anew.knobs));
		assert_true(json_equal(like.best_effort, anew.best_effort));
		assert_true(like.net == anew.net && like.on == anew.on);
		assert_true(like.copies == anew.copies);
		assert_true(like.inputs.edge_cases == anew.inputs.edge_cases);
		mr_condition_deinit(&like);
		mr_condition_deinit(&anew);
	}
}

/* --- summary --------------------------------------------------------------- */

/* One scenario; a detail has more members than count. */
static void end_copies(struct mr_outcomes *outcomes, int n, int copies, int passed, double wall)
{
	mr_auto_json json_t *detail =
		json_pack("{s:i, s:s, s:i, s:i, s:f, s:f, s:f, s:[s]}", "n", n, "verdict",
			  passed == copies ? "passed" : "failed", "copies", copies, "copies_passed",
			  passed, "wall_ms", wall, "cpu_ms", 3.0, "memory_peak_bytes", 4096.0,
			  "why", "so");
	struct mr_error err = MR_ERROR_INIT;

	assert_int_equal(mr_outcomes_add(outcomes, detail, &err), 0);
}

/* Of two copies. */
static void end_cell(struct mr_outcomes *outcomes, int n, int passed, double wall)
{
	end_copies(outcomes, n, 2, passed, wall);
}

static void the_worth_is_graded(void **state)
{
	mr_auto_json json_t *scenarios = load(
		"[{\"name\": \"x\", \"level\": \"-\", \"profile\": \"schema_drift\", \"advice\": "
		"\"look\"}]");
	mr_auto_json json_t *summary = NULL;
	mr_auto_json json_t *run = NULL;
	struct mr_outcomes outcomes;
	const json_t *row;

	(void)state;
	mr_outcomes_init(&outcomes, 1, 2, 7);
	end_cell(&outcomes, 3, 2, 100);
	end_cell(&outcomes, 2, 2, 400);
	end_cell(&outcomes, 1, 1, 100);
	end_cell(&outcomes, 0, 2, 100);
	summary = mr_summary_make(scenarios, &outcomes, 0);
	row = json_array_get(json_object_get(summary, "scenarios"), 0);
	assert_true(json_number_value(json_object_get(summary, "slo_ms")) == 200);
	assert_true(json_number_value(json_object_get(row, "roi_on")) == 0.5);
	assert_true(json_number_value(json_object_get(row, "roi_off")) == 1);
	assert_true(json_number_value(json_object_get(row, "roi_delta")) == -0.5);
	assert_string_equal(json_string_value(json_object_get(row, "verdict")), "failed");
	assert_string_equal(json_string_value(json_object_get(summary, "worst_scenario")), "x");
	assert_string_equal(json_string_value(json_object_get(summary, "advice")), "look");
	assert_int_equal(json_array_size(
				 json_object_get(json_object_get(summary, "coverage"), "missing")),
			 5);
	assert_int_equal(json_integer_value(mr_json_at(summary, "counts", "passed", NULL)), 3);
	assert_int_equal(json_integer_value(mr_json_at(summary, "counts", "failed", NULL)), 1);
	run = mr_summary_run(&outcomes, 2, 200);
	assert_string_equal(mr_json_text_or_empty(run, "flag"), "on");
	assert_string_equal(mr_json_text_or_empty(run, "verdict"), "passed");
	assert_int_equal(json_integer_value(json_object_get(run, "replicate")), 1);
	assert_int_equal(json_integer_value(json_object_get(run, "seed")),
			 mr_cells_get(2, 1, 7).seed);
	assert_true(json_number_value(json_object_get(run, "roi")) == 0.5);
	assert_true(json_number_value(mr_json_at(run, "metrics", "wall_ms", NULL)) == 400);
	assert_true(json_number_value(mr_json_at(run, "metrics", "memory_peak_bytes", NULL)) ==
		    4096);
	mr_outcomes_deinit(&outcomes);
}

/* What is made of as many replicates: in each so many of 16 copies with the conditions passed, and the one
 * copy without them in so many replicates. */
static json_t *summarize_rates(int replicates, int passed_on, int n_passed_off)
{
	mr_auto_json json_t *scenarios =
		load("[{\"name\": \"x\", \"level\": \"-\", \"profile\": \"concurrency_spike\", "
		     "\"advice\": \"look\"}]");
	struct mr_outcomes outcomes;
	json_t *summary;
	int n_off = 0;

	mr_outcomes_init(&outcomes, 1, (size_t)replicates, 7);
	for (int n = 0; n < 2 * replicates; n++) {
		if (mr_outcomes_cell(&outcomes, (size_t)n).on)
			end_copies(&outcomes, n, 16, passed_on, 100);
		else
			end_copies(&outcomes, n, 1, n_off++ < n_passed_off, 100);
	}
	summary = mr_summary_make(scenarios, &outcomes, 0);
	mr_outcomes_deinit(&outcomes);
	return summary;
}

static double failures_of(const json_t *summary, const char *metrics)
{
	const json_t *row = json_array_get(json_object_get(summary, "scenarios"), 0);

	return json_number_value(mr_json_at(row, metrics, "failures", NULL));
}

static void many_copies_do_not_fail_more_often_than_one(void **state)
{
	static const char own[] = "it fails without any condition: make it pass on its own first";
	/* 3 of 16 in either arm; all in either; 4 of 16 with, 3 without; none in either. */
	mr_auto_json json_t *alike = summarize_rates(16, 13, 13);
	mr_auto_json json_t *always = summarize_rates(2, 0, 0);
	mr_auto_json json_t *worse = summarize_rates(16, 12, 13);
	mr_auto_json json_t *never = summarize_rates(2, 16, 2);

	(void)state;
	assert_true(failures_of(alike, "metrics_on") == 3 / 16.0);
	assert_true(failures_of(alike, "metrics_off") == 3 / 16.0);
	assert_true(failures_of(alike, "metrics_delta") == 0);
	assert_true(json_is_null(json_object_get(alike, "worst_scenario")));
	assert_string_equal(mr_json_text_or_empty(alike, "advice"), own);
	assert_string_equal(mr_json_text_or_empty(alike, "status"), "weak");
	assert_true(failures_of(always, "metrics_on") == 1);
	assert_true(json_is_null(json_object_get(always, "worst_scenario")));
	assert_string_equal(mr_json_text_or_empty(always, "advice"), own);
	assert_string_equal(mr_json_text_or_empty(always, "status"), "weak");
	assert_true(failures_of(worse, "metrics_delta") == 1 / 16.0);
	assert_string_equal(mr_json_text_or_empty(worse, "worst_scenario"), "x");
	assert_string_equal(mr_json_text_or_empty(worse, "advice"), "look");
	assert_true(json_is_null(json_object_get(never, "advice")));
	assert_string_equal(mr_json_text_or_empty(never, "status"), "robust");
}

/* A copy that takes a few milliseconds is judged by whether it passed: the rest is the machine's noise. */
static void noise_is_no_conditions_doing(void **state)
{
	mr_auto_json json_t *scenarios =
		load("[{\"name\": \"x\", \"level\": \"-\", \"profile\": \"schema_drift\"}]");
	mr_auto_json json_t *summary = NULL;
	struct mr_outcomes outcomes;
	const json_t *row;

	(void)state;
	mr_outcomes_init(&outcomes, 1, 1, 7);
	end_cell(&outcomes, 0, 2, 1);
	end_cell(&outcomes, 1, 2, 40);
	summary = mr_summary_make(scenarios, &outcomes, 0);
	row = json_array_get(json_object_get(summary, "scenarios"), 0);
	assert_true(json_number_value(json_object_get(summary, "slo_ms")) == 51);
	assert_true(json_number_value(json_object_get(row, "roi_on")) == 1);
	assert_string_equal(json_string_value(json_object_get(summary, "status")), "robust");
	mr_outcomes_deinit(&outcomes);
}

static void take(struct mr_outcomes *outcomes, int n, const char *verdict, const char *why,
		 int expected)
{
	mr_auto_json json_t *detail =
		json_pack("{s:i, s:s, s:[s]}", "n", n, "verdict", verdict, "why", why);
	struct mr_error err = MR_ERROR_INIT;

	assert_int_equal(mr_outcomes_add(outcomes, detail, &err), expected);
}

/* Cells end in any order; what is told of a scenario is of the first by place, with the conditions. */
static void an_outcome_is_taken_once(void **state)
{
	struct mr_outcomes outcomes;

	(void)state;
	mr_outcomes_init(&outcomes, 2, 2, 7);
	assert_int_equal(outcomes.n_cells, 8);
	for (size_t n = 0; n < 8; n++) {
		const struct mr_cell cell = mr_outcomes_cell(&outcomes, n);

		assert_int_equal(mr_cells_place(cell.scenario, cell.replicate, cell.on, 2), n);
	}
	take(&outcomes, 4, "inconclusive", "third", 0);
	take(&outcomes, 1, "failed", "second", 0);
	take(&outcomes, 0, "failed", "first, without", 0);
	take(&outcomes, 1, "passed", "again", 1);
	take(&outcomes, 8, "passed", "out of it", -EUCLEAN);
	take(&outcomes, -1, "passed", "out of it", -EUCLEAN);
	take(&outcomes, 2, "none", "no verdict", -EUCLEAN);
	assert_string_equal(json_string_value(json_array_get(outcomes.whys[0].why, 0)), "second");
	assert_null(outcomes.whys[1].why);
	assert_int_equal(mr_outcomes_find(&outcomes, 0, MR_VERDICT_FAILED), 0);
	assert_int_equal(mr_outcomes_find(&outcomes, 0, MR_VERDICT_INCONCLUSIVE), 4);
	assert_int_equal(mr_outcomes_find(&outcomes, 1, MR_VERDICT_FAILED), SIZE_MAX);
	assert_true(mr_outcomes_has(&outcomes, 4));
	assert_false(mr_outcomes_has(&outcomes, 2));
	mr_outcomes_deinit(&outcomes);
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
		cmocka_unit_test(what_fails_everywhere_is_weak),
		cmocka_unit_test(a_place_says_all_of_a_cell),
		cmocka_unit_test(the_cap_holds),
		cmocka_unit_test(a_preset_wins_over_what_it_names),
		cmocka_unit_test(copies_are_as_many_as_asked),
		cmocka_unit_test(only_results_say_what_was_in_force),
		cmocka_unit_test(each_condition_is_met_for_itself),
		cmocka_unit_test(what_chance_kept_away_was_not_there),
		cmocka_unit_test(stubs_are_another_way_of_a_mode),
		cmocka_unit_test(variables_of_stubs_are_taken_out),
		cmocka_unit_test(what_feeds_standard_input_is_told),
		cmocka_unit_test(corrupted_stubs_are_counted),
		cmocka_unit_test(another_seed_is_all_that_differs),
		cmocka_unit_test(the_worth_is_graded),
		cmocka_unit_test(many_copies_do_not_fail_more_often_than_one),
		cmocka_unit_test(noise_is_no_conditions_doing),
		cmocka_unit_test(an_outcome_is_taken_once),
		cmocka_unit_test(scenarios_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

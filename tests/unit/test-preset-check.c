/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Presets: what check says menace-run makes of them, how they are read and combined
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/scenario/check.h"
#include "runtime/scenario/combine.h"
#include "runtime/scenario/document.h"
#include "runtime/scenario/draws.h"
#include "runtime/scenario/modes.h"
#include "runtime/spec/spec.h"

static json_t *parse(const char *text)
{
	struct mr_error err = MR_ERROR_INIT;
	json_t *json = NULL;

	if (mr_json_parse(text, strlen(text), "t", &json, &err) < 0)
		fail_msg("%s", err.msg);
	return json;
}

static json_t *check(const char *text, bool misuse, enum mr_check_verdict expected)
{
	mr_auto_json json_t *preset = parse(text);
	const struct mr_json root = mr_json_root(preset, "t");
	json_t *report = NULL;

	assert_int_equal(mr_check_preset(&root, misuse, &report), expected);
	assert_string_equal(json_string_value(json_object_get(report, "verdict")),
			    mr_check_verdict_name(expected));
	return report;
}

/* "CPU_LIMIT applied; ..." */
static char *effects_of(const json_t *report)
{
	const json_t *rows = json_object_get(report, "variables");
	char buf[2048];
	struct mr_str text;

	mr_str_init(&text, buf, sizeof(buf));
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		mr_str_printf(&text, "%s%s %s", i > 0 ? "; " : "",
			      json_string_value(json_object_get(row, "variable")),
			      json_string_value(json_object_get(row, "effect")));
	}
	return mr_str_dup(buf);
}

static char *text_of(const json_t *report, const char *member)
{
	return json_dumps(json_object_get(report, member),
			  JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
}

static void what_is_applied(void **state)
{
	mr_auto_json json_t *report =
		check("{\"CPU_LIMIT\": \"0.1\", \"MEMORY_LIMIT\": \"4Mi\", \"TIMEOUT\": 1.5,"
		      " \"MAX_THREADS\": \"unlimited\", \"SECURITY_LEVEL\": 5, \"SCENARIO_NAME\":"
		      " \"x\", \"PRESET_SEED\": 1, \"PRESET_DRAWS\": 2, \"GPU_LIMIT\": 0,"
		      " \"FAILURE_MODES\": \"none\"}",
		      false, MR_CHECK_ACCEPTED);
	mr_auto_free char *effects = effects_of(report);
	mr_auto_free char *problems = text_of(report, "problems");
	const json_t *first = json_array_get(json_object_get(report, "variables"), 2);
	mr_auto_free char *knobs = text_of(first, "knobs");

	(void)state;
	assert_string_equal(effects, "CPU_LIMIT applied; MEMORY_LIMIT applied; TIMEOUT applied; "
				     "MAX_THREADS applied; SECURITY_LEVEL applied; SCENARIO_NAME "
				     "label; PRESET_SEED applied; PRESET_DRAWS label; GPU_LIMIT "
				     "nothing; FAILURE_MODES nothing");
	assert_string_equal(problems, "[]");
	assert_string_equal(knobs, "{\"limits.wall_ms\":\"1500ms\"}");
}

static void what_is_not_enforced(void **state)
{
	mr_auto_json json_t *report =
		check("{\"GPU_LIMIT\": 1, \"CPU_LIMIT\": 1, \"OS_TYPE\": \"windows\","
		      " \"CONCURRENCY_LEVEL\": 2}",
		      false, MR_CHECK_REFUSED);
	mr_auto_free char *effects = effects_of(report);
	mr_auto_free char *names = text_of(report, "best_effort");
	mr_auto_free char *problems = text_of(report, "problems");

	(void)state;
	assert_string_equal(effects, "GPU_LIMIT refused; CPU_LIMIT applied; OS_TYPE applied; "
				     "CONCURRENCY_LEVEL refused");
	assert_string_equal(names, "[\"GPU_LIMIT\",\"CONCURRENCY_LEVEL\"]");
	assert_string_equal(problems, "[]");
}

static void each_problem_is_told(void **state)
{
	mr_auto_json json_t *report =
		check("{\"CPU_LIMIT\": 65, \"MEMORY_LIMT\": \"1Gi\", \"MAX_THREADS\": 5,"
		      " \"FAILURE_MODES\": [\"disk\", \"netwrok\"]}",
		      false, MR_CHECK_MALFORMED);
	mr_auto_free char *effects = effects_of(report);
	mr_auto_free char *problems = text_of(report, "problems");

	(void)state;
	assert_string_equal(effects, "CPU_LIMIT malformed; MEMORY_LIMT malformed; MAX_THREADS "
				     "applied; FAILURE_MODES malformed");
	assert_string_equal(
		problems,
		"[\"t: CPU_LIMIT: \\\"65\\\" is out of range; accepted: 0.01 to 64, or unlimited\","
		"\"t: unknown preset variable \\\"MEMORY_LIMT\\\"; did you mean "
		"\\\"MEMORY_LIMIT\\\"?\","
		"\"t: FAILURE_MODES[1]: unknown failure mode \\\"netwrok\\\"; did you mean "
		"\\\"network\\\"?\"]");
}

static void assert_problem(const char *preset, bool misuse, enum mr_check_verdict verdict,
			   const char *problem)
{
	mr_auto_json json_t *report = check(preset, misuse, verdict);
	const json_t *problems = json_object_get(report, "problems");

	assert_int_equal(json_array_size(problems), problem ? 1 : 0);
	if (problem)
		assert_string_equal(json_string_value(json_array_get(problems, 0)), problem);
}

/* Whether a version enforces it or not. */
static void assert_no_problem(const char *text, bool misuse)
{
	mr_auto_json json_t *preset = parse(text);
	const struct mr_json root = mr_json_root(preset, "t");
	mr_auto_json json_t *report = NULL;

	assert_int_not_equal(mr_check_preset(&root, misuse, &report), MR_CHECK_MALFORMED);
	assert_int_equal(json_array_size(json_object_get(report, "problems")), 0);
}

static void the_whole_is_judged_too(void **state)
{
	(void)state;
	assert_problem("{\"SECURITY_LEVEL\": 1}", false, MR_CHECK_REFUSED,
		       "t: sandbox.level: level 1 keeps capabilities; accepted: 2 to 5, or 1 with "
		       "sandbox.unsafe (--unsafe)");
	assert_problem("{\"SECURITY_LEVEL\": 2}", false, MR_CHECK_ACCEPTED, NULL);
	assert_problem("{\"MIN_BANDWIDTH\": \"5mbps\", \"MAX_BANDWIDTH\": 4999999}", false,
		       MR_CHECK_MALFORMED,
		       "t: MIN_BANDWIDTH \"5mbps\" is over MAX_BANDWIDTH 4999999: the rate of the "
		       "link cannot lie between them");
	assert_problem("{\"MIN_BANDWIDTH\": \"5mbps\", \"BANDWIDTH_LIMIT\": \"1mbps\"}", false,
		       MR_CHECK_MALFORMED,
		       "t: MIN_BANDWIDTH \"5mbps\" is over BANDWIDTH_LIMIT \"1mbps\": a fixed rate "
		       "under it could not give it");
	assert_problem("{\"MAX_BANDWIDTH\": \"5mbps\", \"BANDWIDTH_LIMIT\": \"6mbps\"}", false,
		       MR_CHECK_MALFORMED,
		       "t: BANDWIDTH_LIMIT \"6mbps\" is over MAX_BANDWIDTH \"5mbps\": the link "
		       "would "
		       "never reach it");
	assert_problem("{\"SCHEMA_MISMATCHES\": 6, \"SCHEMA_CHECKS\": 5}", false,
		       MR_CHECK_MALFORMED,
		       "t: SCHEMA_MISMATCHES 6 is over SCHEMA_CHECKS 5: there are not so many "
		       "records to change");
	assert_problem("{\"UPSTREAM_FAILURES\": 6, \"UPSTREAM_REQUESTS\": \"5\"}", false,
		       MR_CHECK_MALFORMED,
		       "t: UPSTREAM_FAILURES 6 is over UPSTREAM_REQUESTS \"5\": there are not so "
		       "many "
		       "requests to fail");
	assert_no_problem("{\"MIN_BANDWIDTH\": \"5mbps\", \"MAX_BANDWIDTH\": \"5000kbps\"}", false);
}

static void misuse_needs_consent(void **state)
{
	static const char *const presets[] = {
		"{\"SCENARIO_NAME\": \"a+user_misuse\"}",
		"{\"FAILURE_MODES\": [\"disk\", [\"cpu, user_misuse\"]]}",
	};
	static const char message[] =
		"t: it misuses on purpose; to admit that, say --user-misuse or "
		"set ALLOW_USER_MISUSE_PRESETS=1";

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(presets); i++)
		assert_problem(presets[i], false, MR_CHECK_REFUSED, message);
	assert_problem(presets[0], true, MR_CHECK_ACCEPTED, NULL);
	assert_no_problem(presets[1], true);
}

/* What check accepts menace-run's own code applies, and what it refuses it refuses. */
static void the_verdict_is_that_of_a_run(void **state)
{
	static const char *const presets[] = {
		"{}",
		"{\"CPU_LIMIT\": 1}",
		"{\"CPU_LIMIT\": 0}",
		"{\"VM_SETTINGS\": {}}",
		"{\"SCENARIO_NAME\": \"\"}",
		"{\"PACKET_LOSS\": \"0%\"}",
		"{\"SANDBOX_DOCKER\": 1}",
		"{\"PRESET_SEED\": 9007199254740991}",
		"{\"PRESET_SEED\": 9007199254740992}",
		"{\"PRESET_SEED\": -1}",
		"{\"PRESET_SEED\": \"x\"}",
		"{\"GPU_LIMIT\": 2}",
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(presets); i++) {
		mr_auto_json json_t *preset = parse(presets[i]);
		const struct mr_json root = mr_json_root(preset, "t");
		mr_auto_json json_t *report = NULL;
		struct mr_spec spec;
		int r;

		mr_spec_init(&spec);
		r = mr_preset_apply_json(&spec, presets[i], strlen(presets[i]), "t",
					 MR_ORIGIN_PRESET, NULL);
		if ((mr_check_preset(&root, true, &report) == MR_CHECK_ACCEPTED) != (r == 0))
			fail_msg("%s: menace-run says %d", presets[i], r);
		mr_spec_deinit(&spec);
	}
}

static void what_a_preset_means(void **state)
{
	mr_auto_json json_t *preset = parse("{\"CPU_LIMIT\": \"0.5\", \"SCENARIO_NAME\": \"s\","
					    " \"GPU_LIMIT\": 2, \"TIMEOUT\": \"2m\"}");
	mr_auto_json json_t *bad = parse("{\"CPU_LIMIT\": \"x\"}");
	const struct mr_json root = mr_json_root(preset, "t"), bad_root = mr_json_root(bad, "t");
	mr_auto_json json_t *explained = NULL;
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(mr_check_explain(&root, &explained, &err), 0);
	mr_auto_free char *knobs = text_of(explained, "knobs");
	mr_auto_free char *unenforced = text_of(explained, "unenforced");
	const json_t *spec = json_object_get(explained, "spec");

	assert_string_equal(
		knobs,
		"{\"limits.cpus\":{\"origin\":\"preset\",\"text\":\"0.5\",\"unit\":\"CPUs\"},"
		"\"limits.wall_ms\":{\"origin\":\"preset\",\"text\":\"2m\",\"unit\":\"ms\"}}");
	assert_string_equal(unenforced, "{\"GPU_LIMIT\":2}");
	assert_string_equal(json_string_value(json_object_get(explained, "name")), "s");
	assert_int_equal(json_integer_value(
				 json_object_get(json_object_get(spec, "limits"), "wall_ms")),
			 120000);
	json_decref(explained);
	explained = NULL;
	assert_int_equal(mr_check_explain(&bad_root, &explained, &err), -22);
	assert_null(explained);
}

/* --- documents -------------------------------------------------------------- */

static int add_path(const struct mr_json *preset, void *owner, struct mr_error *err)
{
	struct mr_str *text = owner;
	char path[128];

	(void)err;
	mr_str_printf(text, "<%s>", mr_json_path(preset, path, sizeof(path)));
	return 0;
}

static void forms_of_documents(void **state)
{
	static const char *const rows[][2] = {
		{ "{}", "<>" },
		{ "{\"CPU_LIMIT\": 1}", "<>" },
		{ "[]", "" },
		{ "[{}, {}]", "<[0]><[1]>" },
		{ "{\"presets\": [{}]}", "<presets[0]>" },
		{ "{\"schema\": \"menace.presets/1\", \"seed\": 1, \"presets\": [{}, {}]}",
		  "<presets[0]><presets[1]>" },
		{ "{\"a\": {\"low\": {\"CPU_LIMIT\": 1}, \"high\": {}}, \"b\": {\"low\": {}}}",
		  "<a.low><a.high><b.low>" },
		{ "{\"a\": {\"CPU_LIMIT\": 1}}", "<a>" },
		/* A misspelt variable is one, not a mapping. */
		{ "{\"cpu_limit\": 1}", "<>" },
		{ "{\"VM_SETTINGS\": {\"memory\": {}}}", "<>" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_json json_t *document = parse(rows[i][0]);
		const struct mr_json root = mr_json_root(document, "t");
		struct mr_error err = MR_ERROR_INIT;
		char buf[256];
		struct mr_str text;

		mr_str_init(&text, buf, sizeof(buf));
		assert_int_equal(mr_document_each(&root, add_path, &text, &err), 0);
		assert_string_equal(buf, rows[i][1]);
	}
}

static void documents_that_are_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "5", "t: a number where an object is expected" },
		{ "[[]]", "t: [0]: a list where an object is expected" },
		{ "{\"presets\": {}}", "t: presets: an object where a list is expected" },
		{ "{\"presets\": [], \"sead\": 1}",
		  "t: unknown key \"sead\"; did you mean \"seed\"?" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_json json_t *document = parse(rows[i][0]);
		const struct mr_json root = mr_json_root(document, "t");
		struct mr_error err = MR_ERROR_INIT;
		char buf[256];
		struct mr_str text;

		mr_str_init(&text, buf, sizeof(buf));
		assert_int_equal(mr_document_each(&root, add_path, &text, &err), -22);
		assert_string_equal(err.msg, rows[i][1]);
	}
}

static void losses(void **state)
{
	static const struct {
		const char *preset, *warning, *fraction;
	} rows[] = {
		{ "{\"PACKET_LOSS\":0.05}",
		  "PACKET_LOSS: 0.05 is 0.05 percent; if it was meant as a fraction of 1, say "
		  "--loss-unit fraction",
		  "{\"PACKET_LOSS\":\"5%\"}" },
		{ "{\"PACKET_DUPLICATION\":\"0.125\"}",
		  "PACKET_DUPLICATION: 0.125 is 0.125 percent; if it was meant as a fraction of 1, "
		  "say --loss-unit fraction",
		  "{\"PACKET_DUPLICATION\":\"12.5%\"}" },
		{ "{\"PACKET_LOSS\":\"0.05%\"}", NULL, "{\"PACKET_LOSS\":\"0.05%\"}" },
		{ "{\"PACKET_LOSS\":0}", NULL, "{\"PACKET_LOSS\":0}" },
		{ "{\"PACKET_LOSS\":1}", NULL, "{\"PACKET_LOSS\":\"100%\"}" },
		{ "{\"PACKET_LOSS\":true}", NULL, "{\"PACKET_LOSS\":true}" },
		{ "{\"PACKET_LOSS\":\"x\"}", NULL, "{\"PACKET_LOSS\":\"x\"}" },
	};
	mr_auto_json json_t *over = parse("{\"PACKET_LOSS\": 1.5}");
	struct mr_error err = MR_ERROR_INIT;
	char *warning = NULL;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_json json_t *preset = parse(rows[i].preset);

		assert_int_equal(mr_document_losses(preset, MR_LOSS_PERCENT, &warning, &err), 0);
		if (rows[i].warning)
			assert_string_equal(warning, rows[i].warning);
		else
			assert_null(warning);
		free(warning);
		assert_int_equal(mr_document_losses(preset, MR_LOSS_FRACTION, &warning, &err), 0);
		assert_null(warning);
		mr_auto_free char *text = json_dumps(preset, JSON_COMPACT);

		assert_string_equal(text, rows[i].fraction);
	}
	assert_int_equal(mr_document_losses(over, MR_LOSS_FRACTION, &warning, &err), -22);
	assert_string_equal(err.msg,
			    "PACKET_LOSS: over 1, which is no fraction; accepted: 0 to 1, or "
			    "a text with %");
}

/* --- combinations ------------------------------------------------------------ */

static int combine(const char *a, const char *b, json_t **ret, json_t **ret_rows,
		   struct mr_error *err)
{
	mr_auto_json json_t *first = parse(a);
	mr_auto_json json_t *second = parse(b);
	const struct mr_combine_part parts[] = { { first, "a" }, { second, "b" } };

	return mr_combine(parts, 2, ret, ret_rows, err);
}

static void a_rule_for_each_variable(void **state)
{
	static const char *const rows[][4] = {
		/* first, second, together, rule */
		{ "{\"CPU_LIMIT\":1}", "{\"CPU_LIMIT\":2}", "{\"CPU_LIMIT\":2}", "last" },
		{ "{\"THREAT_INTENSITY\":70}", "{\"THREAT_INTENSITY\":50}",
		  "{\"THREAT_INTENSITY\":50}", "last" },
		{ "{\"SANDBOX_STUB_STRATEGY\":\"hostile\"}",
		  "{\"SANDBOX_STUB_STRATEGY\":\"misuse\"}",
		  "{\"SANDBOX_STUB_STRATEGY\":\"misuse\"}", "last" },
		{ "{\"FAILURE_MODES\":[\"cpu\",[\"disk\"]]}",
		  "{\"FAILURE_MODES\":\"none,disk ,network\"}",
		  "{\"FAILURE_MODES\":[\"cpu\",\"disk\",\"network\"]}", "union" },
		{ "{\"FAILURE_MODES\":\"disk\"}", "{\"FAILURE_MODES\":\"disk\"}",
		  "{\"FAILURE_MODES\":\"disk\"}", "union" },
		{ "{\"SCENARIO_NAME\":\"a\"}", "{\"SCENARIO_NAME\":\"b\"}",
		  "{\"SCENARIO_NAME\":\"a+b\"}", "join" },
		{ "{\"CPU_SPIKE\":\"yes\"}", "{\"CPU_SPIKE\":false}", "{\"CPU_SPIKE\":\"yes\"}",
		  "any" },
		{ "{\"CPU_SPIKE\":false}", "{\"CPU_SPIKE\":true}", "{\"CPU_SPIKE\":true}", "any" },
		{ "{\"SECURITY_LEVEL\":4}", "{\"SECURITY_LEVEL\":\"3\"}", "{\"SECURITY_LEVEL\":4}",
		  "highest" },
		{ "{\"SECURITY_LEVEL\":2}", "{\"SECURITY_LEVEL\":3}", "{\"SECURITY_LEVEL\":3}",
		  "highest" },
		{ "{\"OS_TYPE\":\"linux\"}", "{\"OS_TYPE\":\"linux\"}", "{\"OS_TYPE\":\"linux\"}",
		  "same" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_error err = MR_ERROR_INIT;
		mr_auto_json json_t *preset = NULL;
		mr_auto_json json_t *decided = NULL;

		assert_int_equal(combine(rows[i][0], rows[i][1], &preset, &decided, &err), 0);
		mr_auto_free char *text = json_dumps(preset, JSON_COMPACT);

		assert_string_equal(text, rows[i][2]);
		assert_int_equal(json_array_size(decided), 1);
		assert_string_equal(json_string_value(
					    json_object_get(json_array_get(decided, 0), "rule")),
				    rows[i][3]);
	}
}

static void seeds_are_not_combined(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_json json_t *preset = NULL;

	(void)state;
	assert_int_equal(combine("{\"PRESET_SEED\":1,\"CPU_LIMIT\":1}", "{\"PRESET_DRAWS\":1}",
				 &preset, NULL, &err),
			 0);
	assert_int_equal(json_object_size(preset), 1);
}

static void contradictions_are_refused(void **state)
{
	static const char *const rows[][3] = {
		{ "{\"OS_TYPE\": \"linux\"}", "{\"OS_TYPE\": \"windows\"}",
		  "OS_TYPE is \"linux\" in a and \"windows\" in b: a run has one; take it out of "
		  "one "
		  "of them" },
		{ "{\"VM_SETTINGS\": {\"memory\": \"1Gi\"}}", "{\"VM_SETTINGS\": {}}",
		  "VM_SETTINGS is {\"memory\": \"1Gi\"} in a and {} in b: a run has one; take it "
		  "out "
		  "of one of them" },
		{ "{\"MIN_BANDWIDTH\": \"50mbps\"}", "{\"MAX_BANDWIDTH\": \"10mbps\"}",
		  "MIN_BANDWIDTH \"50mbps\" of a is over MAX_BANDWIDTH \"10mbps\" of b: the rate "
		  "of "
		  "the link cannot lie between them" },
		{ "{\"UPSTREAM_REQUESTS\": 5}", "{\"UPSTREAM_FAILURES\": 6}",
		  "UPSTREAM_FAILURES 6 of b is over UPSTREAM_REQUESTS 5 of a: there are not so "
		  "many "
		  "requests to fail" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_error err = MR_ERROR_INIT;
		json_t *preset = NULL;

		assert_int_equal(combine(rows[i][0], rows[i][1], &preset, NULL, &err), -22);
		assert_string_equal(err.msg, rows[i][2]);
		assert_null(preset);
	}
}

static bool is_variable(const char *name)
{
	const struct mr_field *fields = mr_spec_fields();
	size_t n;
	const struct mr_preset_var *vars = mr_preset_vars(&n);

	for (size_t i = 0; i < MR_FIELD_COUNT_; i++)
		if (fields[i].preset_alias && strcmp(fields[i].preset_alias, name) == 0)
			return true;
	for (size_t i = 0; i < n; i++)
		if (strcmp(vars[i].name, name) == 0)
			return true;
	return false;
}

/* The tables of scenarios name no variable that there is not. */
static void tables_name_variables(void **state)
{
	static const char *const names[] = {
#define COMBINE(variable, rule) #variable,
#include "runtime/scenario/combine.def"
#undef COMBINE
#define ORDER(smaller, larger, grammar, why) #smaller, #larger,
#include "runtime/scenario/orders.def"
#undef ORDER
#define DRAW(name, grammar, chance, ...) #name,
#include "runtime/scenario/draws.def"
#undef DRAW
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		if (!is_variable(names[i]))
			fail_msg("%s is no variable", names[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_applied),
		cmocka_unit_test(what_is_not_enforced),
		cmocka_unit_test(each_problem_is_told),
		cmocka_unit_test(the_whole_is_judged_too),
		cmocka_unit_test(misuse_needs_consent),
		cmocka_unit_test(the_verdict_is_that_of_a_run),
		cmocka_unit_test(what_a_preset_means),
		cmocka_unit_test(forms_of_documents),
		cmocka_unit_test(documents_that_are_refused),
		cmocka_unit_test(losses),
		cmocka_unit_test(a_rule_for_each_variable),
		cmocka_unit_test(seeds_are_not_combined),
		cmocka_unit_test(contradictions_are_refused),
		cmocka_unit_test(tables_name_variables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

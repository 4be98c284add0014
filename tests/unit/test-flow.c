/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workflows: the document, the order of steps, files that stay in their folder, and
 * what a step is told as
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/flow/combined.h"
#include "runtime/flow/confine.h"
#include "runtime/flow/fixture.h"
#include "runtime/flow/folder.h"
#include "runtime/flow/metrics.h"
#include "runtime/flow/workflow.h"
#include "tests/lib/temptree.h"

static struct mr_flow *parse(const char *text, const char *folder, struct mr_error *err)
{
	mr_auto_json json_t *document = NULL;
	struct mr_flow *flow = NULL;

	if (mr_json_parse(text, strlen(text), "f", &document, err) == 0)
		mr_flow_parse(document, folder, "f", &flow, err);
	return flow;
}

static void assert_refused(const char *text, const char *message)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_flow *flow = parse(text, "/", &err);

	assert_null(flow);
	assert_int_equal(err.code, MR_E_USAGE);
	assert_string_equal(err.msg, message);
}

#define DOCUMENT(rest) "{\"schema\": \"menace.flow/1\", \"name\": \"w\", " rest "}"
#define STEP(name, rest) "{\"name\": \"" name "\", \"program\": [\"true\"]" rest "}"

static void bad_documents(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "[]", "f: a list where an object is expected" },
		{ "{}", "f: schema is missing; it is \"menace.flow/1\"" },
		{ "{\"schema\": \"menace.spec/1\"}",
		  "f: schema: \"menace.spec/1\" is another schema than \"menace.flow/1\"" },
		{ DOCUMENT("\"steps\": []"), "f: steps: workflow \"w\" is empty" },
		{ DOCUMENT("\"env\": {}"), "f: workflow \"w\" is empty: steps is missing" },
		{ DOCUMENT("\"workspace\": \"both\", \"steps\": [" STEP("a", "") "]"),
		  "f: workspace: \"both\" is neither \"own\" nor \"shared\"" },
		{ DOCUMENT("\"steps\": [" STEP("a b", "") "]"),
		  "f: steps[0].name: the name of a step is 1 to 64 letters, digits, \"_\", \".\" "
		  "and \"-\"" },
		{ DOCUMENT("\"steps\": [" STEP("a", "") ", " STEP("a", "") "]"),
		  "f: steps[1]: step 0 is called \"a\", too; names are those of one step each" },
		{ DOCUMENT("\"steps\": [" STEP("a", ", \"needs\": [\"a\"]") "]"),
		  "f: steps[0].needs[0]: step \"a\" needs itself" },
		{ DOCUMENT("\"steps\": [" STEP("a",
					       "") ", " STEP("b",
							     ", \"needs\": [\"a\", \"a\"]") "]"),
		  "f: steps[1].needs[1]: \"a\" is there twice" },
		{ DOCUMENT("\"steps\": [" STEP("alpha",
					       "") ", " STEP("b", ", \"needs\": [\"aplha\"]") "]"),
		  "f: steps[1].needs[0]: there is no step \"aplha\"; did you mean \"alpha\"?" },
		{ DOCUMENT("\"steps\": [" STEP("r", "") ", " STEP(
			  "x",
			  ", \"needs\": [\"z\", "
			  "\"r\"]") ", " STEP("y",
					      ", \"needs\": [\"x\"]") ", " STEP("z",
										", \"needs\": "
										"[\"y\"]") "]"),
		  "f: steps: no order: \"x\" needs \"z\" needs \"y\" needs \"x\"" },
		{ DOCUMENT("\"steps\": [" STEP("a", ", \"files\": {\"x\": {\"file\": \"a\", "
						    "\"json\": 1}}") "]"),
		  "f: steps[0].files.x: one of file, json, base64 and stub is what a content is" },
		{ DOCUMENT("\"steps\": [" STEP("a", ", \"files\": {\"x\": {\"hide\": true}}") "]"),
		  "f: steps[0].files.x: only what fs_mocks name can be hidden" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_refused(rows[i].text, rows[i].message);
}

static void steps_have_an_order(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_flow struct mr_flow *graph = parse(
		DOCUMENT("\"steps\": [" STEP("d", ", \"needs\": [\"b\", \"c\"]") ", " STEP(
			"b",
			", \"needs\": [\"a\"]") ", " STEP("c",
							  ", \"needs\": [\"a\"]") ", " STEP("a",
											    "") "]"),
		"/", &err);
	mr_auto_flow struct mr_flow *line =
		parse(DOCUMENT("\"steps\": [" STEP("x", "") ", " STEP("y", "") "]"), "/", &err);
	static const size_t order[] = { 3, 1, 2, 0 };

	(void)state;
	assert_non_null(graph);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(graph->order[i], order[i]);
	assert_int_equal(graph->steps[3].n_needs, 0);
	assert_non_null(line);
	assert_int_equal(line->steps[1].n_needs, 1);
	assert_int_equal(line->steps[1].needs[0], 0);
}

/* The step's own word wins; what names no network has one where something answers. */
static void what_is_said_for_all_is_joined(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_flow struct mr_flow *flow = parse(
		DOCUMENT(
			"\"env\": {\"A\": \"1\", \"B\": \"1\"}, \"limits\": {\"pids_max\": 9, "
			"\"wall_ms\": 5}, \"test_data\": {\"http://a.test/\": null, \"f\": \"x\"}, "
			"\"inject_edge_cases\": true, \"steps\": [" STEP(
				"a",
				", \"env\": {\"B\": \"2\"}, \"limits\": {\"pids_max\": 8}") "]"),
		"/", &err);
	const json_t *spec, *mocks;

	(void)state;
	assert_non_null(flow);
	spec = flow->steps[0].spec;
	assert_string_equal(json_string_value(json_object_get(json_object_get(spec, "env"), "A")),
			    "1");
	assert_string_equal(json_string_value(json_object_get(json_object_get(spec, "env"), "B")),
			    "2");
	assert_int_equal(json_integer_value(
				 json_object_get(json_object_get(spec, "limits"), "pids_max")),
			 8);
	assert_int_equal(json_integer_value(
				 json_object_get(json_object_get(spec, "limits"), "wall_ms")),
			 5);
	assert_string_equal(json_string_value(
				    json_object_get(json_object_get(spec, "net"), "mode")),
			    "stub");
	mocks = json_object_get(spec, "network_mocks");
	assert_int_equal(json_object_size(mocks), 6);
	assert_string_equal(json_string_value(
				    json_object_get(mocks, "http://edge-case.test/timeout")),
			    "timeout");
	assert_int_equal(json_object_size(flow->steps[0].data), 6);
	assert_true(json_is_null(json_object_get(flow->steps[0].data, "null.txt")));
	assert_string_equal(json_string_value(json_object_get(spec, "name")), "w/a");
}

/* --- files ----------------------------------------------------------------- */

static void paths_stay_in_their_folder(void **state)
{
	static const char *const bad[] = { "/a", "..",	  "a/..", "../a", "a/../b",
					   ".",	 "a/./b", "",	  "a//b", "a/" };
	static const char *const good[] = { "a", "...", "a/..b", ".hidden", "a/b/c" };
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_free char *data = NULL;
	struct temptree t;
	size_t size = 0;
	int dir;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(bad); i++)
		assert_true(mr_confine_check(bad[i], &err) < 0);
	for (size_t i = 0; i < N_ELEMENTS(good); i++)
		assert_int_equal(mr_confine_check(good[i], &err), 0);
	temptree_make(&t);
	dir = open(t.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(dir >= 0 && symlinkat("/etc", dir, "etc") == 0 && symlinkat("x", dir, "loop") == 0);
	assert_true(mr_confine_read(dir, "etc/passwd", 1 << 20, &data, &size, &err) < 0);
	assert_non_null(strstr(err.msg, "path escapes sandbox"));
	assert_true(mr_confine_write(dir, "etc/x", "x", 1, 0644, &err) < 0);
	assert_true(access("/etc/x", F_OK) < 0);
	/* A link in the place of a file is replaced, not followed. */
	assert_int_equal(mr_confine_write(dir, "loop", "data", 4, 0640, &err), 0);
	assert_true(faccessat(dir, "x", F_OK, 0) < 0);
	assert_int_equal(mr_confine_read(dir, "loop", 4, &data, &size, &err), 0);
	assert_int_equal(size, 4);
	free(data);
	data = NULL;
	assert_true(mr_confine_read(dir, "loop", 3, &data, &size, &err) < 0);
	assert_string_equal(err.msg, "\"loop\" is too large");
	assert_int_equal(mr_confine_write(dir, "d/e/f", "", 0, 0644, &err), 0);
	assert_int_equal(mr_confine_remove(dir, "d/e/none", &err), 0);
	assert_int_equal(mr_confine_remove(dir, "none/none", &err), 0);
	assert_int_equal(mr_confine_remove(dir, "d", &err), 0);
	assert_true(faccessat(dir, "d", F_OK, 0) < 0);
	assert_int_equal(mr_confine_remove(dir, "etc", &err), 0);
	assert_int_equal(access("/etc/passwd", F_OK), 0);
	close(dir);
	temptree_remove(&t);
}

static void what_was_kept_is_brought_in_twice_as_once(void **state)
{
	static const char list[] = "gone\0was-folder\0../outside\0";
	struct mr_error err = MR_ERROR_INIT;
	struct temptree t;
	char target[16] = "";
	int dir, kept, to;

	(void)state;
	temptree_make(&t);
	dir = open(t.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	kept = temptree_dir(dir, "kept");
	to = temptree_dir(dir, "to");
	MUST(mr_confine_write(dir, "outside", "x", 1, 0644, NULL) == 0);
	MUST(mr_confine_write(to, "gone/a", "x", 1, 0644, NULL) == 0);
	MUST(mr_confine_write(to, "was-folder/a", "x", 1, 0644, NULL) == 0);
	MUST(mr_confine_write(to, "stays", "x", 1, 0644, NULL) == 0);
	MUST(mr_confine_write(kept, "was-folder", "now a file", 10, 0600, NULL) == 0);
	MUST(mr_confine_write(kept, "new/deep", "1", 1, 0755, NULL) == 0);
	MUST(symlinkat("/etc", kept, "link") == 0);
	/* A list with a way out is refused as a whole before what comes after it. */
	MUST(mr_confine_write(kept, ".menace-deleted", list, sizeof(list) - 1, 0644, NULL) == 0);
	assert_true(mr_folder_apply_kept(kept, to, &err) < 0);
	assert_int_equal(faccessat(dir, "outside", F_OK, 0), 0);
	MUST(mr_confine_write(kept, ".menace-deleted", list, 16, 0644, NULL) == 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(mr_folder_apply_kept(kept, to, &err), 0);
		assert_true(faccessat(to, "gone", F_OK, 0) < 0);
		assert_int_equal(faccessat(to, "stays", F_OK, 0), 0);
		assert_int_equal(faccessat(to, "was-folder", R_OK, 0), 0);
		assert_int_equal(faccessat(to, "new/deep", X_OK, 0), 0);
		assert_int_equal(readlinkat(to, "link", target, sizeof(target)), 4);
		assert_true(faccessat(to, ".menace-deleted", F_OK, 0) < 0);
	}
	close(dir);
	close(kept);
	close(to);
	temptree_remove(&t);
}

/* --- what is told ---------------------------------------------------------- */

static void a_class_comes_from_facts(void **state)
{
	static const struct {
		const char *result, *class;
	} rows[] = {
		{ "{\"reason\": \"exited\", \"exit\": {\"status\": 0}}", NULL },
		{ "{\"reason\": \"exited\", \"exit\": {\"status\": 1}, \"stderr\": {\"text\": "
		  "\"SANDBOX_MISUSE_EVENT= policy forbidden\"}}",
		  "runtime_regression" },
		{ "{\"reason\": \"exited\", \"exit\": {\"status\": 1}, \"denials\": {\"total\": "
		  "2}}",
		  "policy_enforcement_event" },
		{ "{\"reason\": \"exited\", \"exit\": {\"status\": 1}, \"failures\": [{\"mode\": "
		  "\"user_misuse\", \"fired\": 1}]}",
		  "expected_simulation_misuse" },
		{ "{\"reason\": \"exited\", \"exit\": {\"status\": 1}, \"failures\": [{\"mode\": "
		  "\"user_misuse\", \"fired\": 0}, {\"mode\": \"cpu\", \"fired\": 1}]}",
		  "runtime_regression" },
		{ "{\"reason\": \"exited\", \"exit\": {\"status\": 139}, \"failures\": [{\"mode\": "
		  "\"user_misuse\", \"fired\": 1}]}",
		  "runtime_regression" },
		{ "{\"reason\": \"signaled\", \"exit\": {\"signal\": 11}, \"failures\": "
		  "[{\"mode\": "
		  "\"user_misuse\", \"fired\": 1}]}",
		  "runtime_regression" },
		{ "{\"reason\": \"wall_timeout\", \"denials\": {\"total\": 2}}",
		  "runtime_regression" },
		{ "{\"reason\": \"seccomp\"}", "policy_enforcement_event" },
		{ "{\"reason\": \"injected\"}", "expected_simulation_misuse" },
		{ "{\"reason\": \"setup_error\", \"error\": {\"message\": \"x\"}}",
		  "infrastructure" },
	};
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_flow struct mr_flow *flow =
		parse(DOCUMENT("\"steps\": [" STEP("a", "") "]"), "/", &err);

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_json json_t *result = json_loads(rows[i].result, 0, NULL);
		mr_auto_json json_t *row = mr_metrics_row(flow, 0, result);
		const json_t *metrics = json_object_get(row, "metrics");
		const char *class =
			json_string_value(json_object_get(metrics, "failure_classification"));

		assert_non_null(metrics);
		assert_int_equal(json_is_true(json_object_get(metrics, "success")), i == 0);
		if (rows[i].class)
			assert_string_equal(class, rows[i].class);
		else
			assert_null(class);
	}
}

static void steps_that_cannot_be_together_say_why(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_flow struct mr_flow *flow =
		parse(DOCUMENT("\"steps\": [" STEP(
			      "a", ", \"net\": {\"mode\": \"loopback\"}") ", " STEP("b", "") "]"),
		      "/", &err);
	mr_auto_flow struct mr_flow *mocks =
		parse(DOCUMENT(
			      "\"steps\": [" STEP("a", ", \"fs_mocks\": {\"/x\": \"1\"}") ", " STEP(
				      "b", ", \"fs_mocks\": {\"/x\": \"2\"}") "]"),
		      "/", &err);
	mr_auto_free char *why = NULL;
	json_t *spec = NULL;

	(void)state;
	assert_int_equal(mr_flow_combine(flow, "/stage", &spec, &why, &err), 1);
	assert_string_equal(why, "steps \"a\" and \"b\" differ in net");
	free(why);
	why = NULL;
	assert_int_equal(mr_flow_combine(mocks, "/stage", &spec, &why, &err), 1);
	assert_string_equal(why, "step \"b\" and one before it mock /x differently");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_documents),
		cmocka_unit_test(steps_have_an_order),
		cmocka_unit_test(what_is_said_for_all_is_joined),
		cmocka_unit_test(paths_stay_in_their_folder),
		cmocka_unit_test(what_was_kept_is_brought_in_twice_as_once),
		cmocka_unit_test(a_class_comes_from_facts),
		cmocka_unit_test(steps_that_cannot_be_together_say_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

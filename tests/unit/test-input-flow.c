/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workflows that take stubs: what is refused of them, and what they are with values
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/flow/inputs.h"
#include "runtime/flow/workflow.h"
#include "runtime/stub/input.h"

static json_t *load(const char *document)
{
	json_t *json = json_loads(document, JSON_DECODE_ANY, NULL);

	assert_non_null(json);
	return json;
}

#define FLOW(stubs, steps)                                                   \
	"{\"schema\": \"menace.flow/1\", \"name\": \"f\", \"stubs\": " stubs \
	", \"steps\": [" steps "]}"

static void assert_refused(const char *flow_text, const char *message)
{
	mr_auto_json json_t *document = load(flow_text);
	mr_auto_flow struct mr_flow *flow = NULL;
	struct mr_error err = MR_ERROR_INIT;

	assert_true(mr_flow_parse(document, "/", "f.json", &flow, &err) < 0);
	assert_string_equal(err.msg, message);
}

static void declarations_are_checked(void **state)
{
	(void)state;
	assert_refused(FLOW("{\"a\": {\"type\": \"itn\"}}", "{\"program\": [\"{{stub:a}}\"]}"),
		       "f.json: stubs.a.type: \"itn\" is no type of a parameter; did you mean "
		       "\"int\"? accepted: str, int, float, bool, list, dict, datetime, any");
	assert_refused(FLOW("{\"a\": {\"types\": \"int\"}}", "{\"program\": [\"x\"]}"),
		       "f.json: stubs.a: unknown key \"types\"; did you mean \"type\"?");
	assert_refused(FLOW("{\"a b\": {}}", "{\"program\": [\"x\"]}"),
		       "f.json: stubs.a b: the name of a stub is 1 to 64 letters, digits, \"_\", "
		       "\".\" and \"-\"");
	assert_refused(FLOW("{\"a\": {}}", "{\"program\": [\"x\"]}"),
		       "f.json: stubs: stub \"a\" is not used: {{stub:a}} in a text, or the "
		       "content "
		       "{\"stub\": \"a\"}, is where it goes");
	assert_refused(FLOW("{\"who\": {}}", "{\"name\": \"s\", \"program\": [\"x\", "
					     "\"{{stub:wo}}\"]}"),
		       "f.json: step \"s\": program: word 2: stub \"wo\" is not declared in stubs; "
		       "did you "
		       "mean \"who\"?");
	assert_refused(
		FLOW("{\"a\": {\"strategy\": \"hostil\"}}", "{\"program\": [\"{{stub:a}}\"]}"),
		"f.json: stubs.a.strategy: unknown strategy of stubs \"hostil\"; did you mean "
		"\"hostile\"?");
	assert_refused(FLOW("{\"a\": {\"strategy\": \"plugin:../x\"}}",
			    "{\"program\": [\"{{stub:a}}\"]}"),
		       "f.json: stubs.a.strategy: \"../x\" has \"..\" in it: path escapes sandbox");
}

/* {"s0": {}, "s1": {}, ...} and "{{stub:s0}}{{stub:s1}}..." */
static void declare_many(size_t n, char **ret_stubs, char **ret_places)
{
	struct mr_buf stubs = { 0 }, places = { 0 };

	mr_buf_add(&stubs, "{");
	for (size_t i = 0; i < n; i++) {
		mr_buf_printf(&stubs, "%s\"s%zu\": {}", i > 0 ? ", " : "", i);
		mr_buf_printf(&places, "{{stub:s%zu}}", i);
	}
	mr_buf_add(&stubs, "}");
	*ret_stubs = stubs.text;
	*ret_places = places.text;
}

static char *many_steps(size_t n, const char *stubs, const char *places)
{
	struct mr_buf flow = { 0 };

	mr_buf_printf(&flow,
		      "{\"schema\": \"menace.flow/1\", \"name\": \"f\", \"stubs\": %s, \"steps\": "
		      "[",
		      stubs);
	for (size_t i = 0; i < n; i++)
		mr_buf_printf(&flow, "%s{\"program\": [\"x\"], \"stdin\": \"%s\"}",
			      i > 0 ? ", " : "", places);
	mr_buf_add(&flow, "]}");
	return flow.text;
}

static void stubs_are_counted(void **state)
{
	mr_auto_free char *stubs = NULL;
	mr_auto_free char *places = NULL;
	mr_auto_free char *more_stubs = NULL;
	mr_auto_free char *more_places = NULL;
	mr_auto_free char *fit = NULL;
	mr_auto_free char *over = NULL;
	mr_auto_free char *wide = NULL;
	mr_auto_json json_t *document = NULL;
	mr_auto_flow struct mr_flow *flow = NULL;
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	declare_many(257, &more_stubs, &more_places);
	wide = many_steps(1, more_stubs, more_places);
	assert_refused(wide, "f.json: stubs: 257 stubs are declared; at most 256 are accepted");
	declare_many(250, &stubs, &places);
	fit = many_steps(40, stubs, places);
	document = load(fit);
	assert_int_equal(mr_flow_parse(document, "/", "f.json", &flow, &err), 0);
	over = many_steps(41, stubs, places);
	assert_refused(over,
		       "f.json: step \"step-41\": stdin: stub \"s0\" is value 10001 of this "
		       "workflow, one for each stub in each step; at most 10000 are accepted");
}

/* A template of so many bytes, in so many places of a file each, and what becomes of it. */
static int fill_files(size_t size, size_t n_files, const char *word, struct mr_error *err)
{
	mr_auto_free char *value = mr_str_alloc(size + 1);
	mr_auto_json json_t *document = NULL;
	mr_auto_json json_t *made = NULL;
	const struct mr_flow_inputs_opts opts = { .input = { .seed = 1 } };
	json_t *files = json_object();
	size_t edge_cases = 0;

	memset(value, 'v', size);
	for (size_t i = 0; i < n_files; i++)
		json_object_set_new(files, (const char[]){ 'f', (char)('0' + i), '\0' },
				    json_string("{{stub:a}}"));
	document = json_pack("{s:s, s:{s:{s:[s]}}, s:[{s:[s,s], s:o}]}", "name", "f", "stubs", "a",
			     "templates", value, "steps", "program", "x", word, "files", files);
	return mr_flow_make_inputs(document, &opts, &made, &edge_cases, err);
}

static void what_is_made_is_bounded_and_named(void **state)
{
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(fill_files(16u << 20, 4, "-", &err), 0);
	assert_int_equal(fill_files(16u << 20, 5, "-", &err), -E2BIG);
	assert_string_equal(err.msg,
			    "step \"step-1\": files: f4: with this one, of 16777216 bytes, "
			    "the texts with values of stubs have 83886080 bytes; at most "
			    "67108864 are accepted");
	assert_int_equal(fill_files(30000, 1, "{{stub:a}}{{stub:a}}{{stub:a}}{{stub:a}}", &err), 0);
	assert_int_equal(fill_files(30000, 1, "{{stub:a}}{{stub:a}}{{stub:a}}{{stub:a}}{{stub:a}}",
				    &err),
			 -E2BIG);
	assert_string_equal(err.msg,
			    "step \"step-1\": program: word 2: with the values of its stubs "
			    "the text has 150000 bytes; an argument or a variable has less "
			    "than 131072");
}

static void a_workflow_gets_its_values(void **state)
{
	mr_auto_json json_t *document = load(
		FLOW("{\"a\": {\"parameters\": {\"id\": \"int\"}}, \"w\": {\"type\": \"str\"}}",
		     "{\"name\": \"s\", \"program\": [\"x\", \"-{{stub:w}}\"], \"env\": {\"W\": "
		     "\"{{stub:w}}\"}, \"stdin\": {\"stub\": \"a\"}, \"files\": {\"f\": "
		     "\"<{{stub:w}}>\"}}, {\"name\": \"t\", \"program\": [\"y\"]}"));
	struct mr_flow_inputs_opts opts = { .input = { .seed = 1, .strategy = "signature" } };
	mr_auto_json json_t *made = NULL;
	mr_auto_json json_t *of_s = NULL;
	mr_auto_json json_t *of_t = NULL;
	mr_auto_json json_t *step = NULL;
	mr_auto_flow struct mr_flow *flow = NULL;
	struct mr_error err = MR_ERROR_INIT;
	size_t edge_cases = 9;

	(void)state;
	assert_true(mr_flow_takes_inputs(document));
	assert_int_equal(mr_flow_make_inputs(document, &opts, &made, &edge_cases, &err), 0);
	assert_int_equal(edge_cases, 0);
	assert_false(mr_flow_takes_inputs(made));
	step = load("{\"name\": \"s\", \"program\": [\"x\", \"-\"], \"env\": {\"W\": \"\"}, "
		    "\"stdin\": \"{\\\"id\\\":0}\", \"files\": {\"f\": \"<>\"}}");
	assert_true(json_equal(json_array_get(json_object_get(made, "steps"), 0), step));
	of_s = mr_flow_inputs_of(made, "s");
	of_t = mr_flow_inputs_of(made, "t");
	assert_int_equal(json_array_size(of_s), 2);
	assert_int_equal(json_array_size(of_t), 0);
	assert_int_equal(mr_flow_parse(made, "/", "f", &flow, &err), 0);
	/* What is absent takes its word with it. */
	opts.input.strategy = "misuse";
	for (opts.input.index = 0; opts.input.index < 4; opts.input.index++) {
		mr_auto_json json_t *again = NULL;
		const json_t *record;

		assert_int_equal(mr_flow_make_inputs(document, &opts, &again, &edge_cases, &err),
				 0);
		record = json_array_get(json_object_get(again, "inputs"), 0);
		assert_string_equal(json_string_value(json_object_get(record, "stub")), "w");
		assert_int_equal(
			json_is_true(json_object_get(record, "absent")),
			!json_object_get(json_object_get(json_array_get(json_object_get(again,
											"steps"),
									0),
							 "env"),
					 "W"));
	}
}

/* Of a workflow with one stub at this place: is its value a secret? */
static bool place_is_secret(const char *member)
{
	mr_auto_free char *flow_text =
		mr_str_format("{\"name\": \"f\", \"stubs\": {\"w\": {}}, \"steps\": [{%s}]}",
			      member);
	mr_auto_json json_t *document = load(flow_text);
	const struct mr_flow_inputs_opts opts = { .input = { .seed = 1 } };
	mr_auto_json json_t *made = NULL;
	struct mr_error err = MR_ERROR_INIT;
	const json_t *record;
	size_t edge_cases = 0;

	if (mr_flow_make_inputs(document, &opts, &made, &edge_cases, &err) < 0)
		fail_msg("%s", err.msg);
	record = json_array_get(json_object_get(made, "inputs"), 0);
	assert_non_null(record);
	assert_int_equal(!json_object_get(record, "value"),
			 json_object_get(record, "secret") != NULL);
	return json_object_get(record, "secret") != NULL;
}

static void places_may_be_named_as_secrets(void **state)
{
	(void)state;
	assert_true(place_is_secret("\"env\": {\"API_TOKEN\": \"x{{stub:w}}\"}"));
	assert_true(place_is_secret("\"files\": {\"a/password.txt\": {\"stub\": \"w\"}}"));
	assert_true(place_is_secret("\"program\": [\"x\", \"--api-key={{stub:w}}\"]"));
	assert_true(place_is_secret("\"program\": [\"x\", \"--pass\", \"{{stub:w}}\"]"));
	assert_true(place_is_secret("\"program\": [\"x\", \"Authorization: {{stub:w}}\"]"));
	assert_true(place_is_secret(
		"\"program\": [\"x\", \"{{stub:w}}\"], \"env\": {\"KEY\": \"{{stub:w}}\"}"));
	assert_false(place_is_secret("\"env\": {\"KEYBOARD\": \"{{stub:w}}\", \"KEY\": \"x\"}"));
	assert_false(place_is_secret("\"program\": [\"x\", \"--key=x\", \"{{stub:w}}\"]"));
	assert_false(place_is_secret("\"program\": [\"key\", \"{{stub:w}}\", \"-o\", \"y\"]"));
	assert_false(place_is_secret("\"env\": {\"KEY\": \"x\"}, \"stdin\": \"{{stub:w}}\""));
}

static void a_command_declares_its_places(void **state)
{
	char *argv[] = { (char[]){ "echo" }, (char[]){ "{{stub:who}}x" }, NULL };
	char *broken[] = { (char[]){ "echo" }, (char[]){ "{{stub:who}" }, NULL };
	mr_auto_flow struct mr_flow *flow = NULL;
	mr_auto_flow struct mr_flow *none = NULL;
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(mr_flow_of_command(argv, &flow, &err), 0);
	assert_true(mr_flow_takes_inputs(flow->document));
	assert_true(mr_flow_of_command(broken, &none, &err) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(declarations_are_checked),
		cmocka_unit_test(stubs_are_counted),
		cmocka_unit_test(what_is_made_is_bounded_and_named),
		cmocka_unit_test(a_workflow_gets_its_values),
		cmocka_unit_test(places_may_be_named_as_secrets),
		cmocka_unit_test(a_command_declares_its_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of stubs: what each strategy makes of a seed, declarations, places, replies of plugins,
 * and workflows with values
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
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/flow/inputs.h"
#include "runtime/flow/workflow.h"
#include "runtime/spec/hostile.h"
#include "runtime/stub/input.h"
#include "runtime/stub/place.h"
#include "runtime/stub/plugin.h"

static const char order[] =
	"{\"parameters\": {\"qty\": \"int\", \"email\": \"str\", \"price\": {\"type\": \"float\", "
	"\"default\": 1.5}, \"paid\": \"bool\", \"tags\": \"list\", \"more\": \"dict\", \"at\": "
	"\"datetime\"}}";
static const char user[] = "{\"templates\": [{\"user_id\": 7, \"name\": \"Ada\", \"age\": 36}]}";

static const char text[] = "{\"type\": \"str\"}", whole[] = "{\"type\": \"int\"}";

static json_t *load(const char *document)
{
	json_t *json = json_loads(document, JSON_DECODE_ANY, NULL);

	assert_non_null(json);
	return json;
}

static const struct mr_input_opts defaults = { .seed = 5, .step = "read", .stub = "order" };

/* "class id value", of one value. */
static char *make_with(const char *declaration_text, const struct mr_input_opts *opts)
{
	mr_auto_json json_t *declaration = load(declaration_text);
	struct mr_json root = mr_json_root(declaration, "declaration");
	struct mr_error err = MR_ERROR_INIT;
	struct mr_input input;
	mr_auto_free char *value = NULL;
	size_t size;
	char *told;

	assert_int_equal(mr_input_check_declaration(&root, &err), 0);
	if (mr_input_make(declaration, opts, &input, &err) < 0)
		return mr_str_dup(err.msg);
	value = mr_input_render(&input, false, &size);
	told = mr_str_format("%s %s %s%s", input.class ? input.class : "-",
			     input.id ? input.id : "-", input.absent ? "(absent)" : "", value);
	mr_input_deinit(&input);
	return told;
}

static char *make(const char *declaration, const char *strategy, uint64_t index)
{
	struct mr_input_opts opts = defaults;

	opts.strategy = strategy;
	opts.index = index;
	return make_with(declaration, &opts);
}

static void assert_made(const char *declaration, const char *strategy, uint64_t index,
			const char *expected)
{
	mr_auto_free char *made = make(declaration, strategy, index);
	mr_auto_free char *again = make(declaration, strategy, index);

	assert_string_equal(made, expected);
	assert_string_equal(again, expected);
}

static void a_seed_decides_every_value(void **state)
{
	static const struct {
		const char *declaration, *strategy;
		uint64_t index;
		const char *value;
	} made[] = {
		{ order, "signature", 0,
		  "- - "
		  "{\"at\":null,\"email\":\"\",\"more\":{},\"paid\":false,\"price\":1.5,\"qty\":0,"
		  "\"tags\":[]}" },
		{ order, "smart", 0,
		  "- - "
		  "{\"at\":\"2016-03-12T06:17:23Z\",\"email\":\"nectar87@example.com\",\"more\":{"
		  "\"key\":\"orchid\"},\"paid\":true,\"price\":4.97,\"qty\":621,\"tags\":["
		  "\"grove\"]}" },
		{ order, "smart", 1,
		  "- - "
		  "{\"at\":\"2007-01-26T11:54:11Z\",\"email\":\"orchid73@example.com\",\"more\":{"
		  "\"key\":\"harbor\"},\"paid\":true,\"price\":70.8,\"qty\":845,\"tags\":["
		  "\"meadow\"]}" },
		{ order, "hostile", 0,
		  "time leap-day:paid "
		  "{\"at\":\"2007-06-08T06:23:50Z\",\"email\":\"orchid91@example.com\",\"more\":{"
		  "\"key\":\"kernel\"},\"paid\":\"2023-02-29\",\"price\":62.1,\"qty\":397,\"tags\":"
		  "[\"pepper\"]}" },
		{ order, "hostile", 3, "structure json-cut {\"a\": [1, 2, {\"b\": " },
		{ order, "hostile", 5,
		  "injection option:at "
		  "{\"at\":\"--output=/etc/"
		  "passwd\",\"email\":\"fable47@example.com\",\"more\":{\"key\":\"kernel\"},"
		  "\"paid\":false,\"price\":81.67,\"qty\":26,\"tags\":[\"orchid\"]}" },
		{ order, "hostile", 13,
		  "numeric minus-one:qty "
		  "{\"at\":\"2002-09-02T11:18:22Z\",\"email\":\"lumen70@example.com\",\"more\":{"
		  "\"key\":\"pepper\"},\"paid\":true,\"price\":73.88,\"qty\":-1,\"tags\":["
		  "\"harbor\"]}" },
		{ user, "templates", 9, "- - {\"age\":36,\"name\":\"Ada\",\"user_id\":7}" },
		{ user, "misuse", 0,
		  "null null:age {\"age\":null,\"name\":\"Ada\",\"user_id\":7}" },
		{ user, "misuse", 1,
		  "wrong-order wrong-order:age {\"age\":7,\"name\":36,\"user_id\":\"Ada\"}" },
		{ user, "misuse", 2,
		  "wrong-type wrong-type:name {\"age\":36,\"name\":123,\"user_id\":7}" },
		{ user, "misuse", 3, "missing missing:age {\"name\":\"Ada\",\"user_id\":7}" },
		{ user, "misuse", 4,
		  "extra extra:user_id "
		  "{\"age\":36,\"name\":\"Ada\",\"unexpected_argument\":123,\"user_id\":7}" },
		{ text, "misuse", 0, "extra extra [\"indigo\",\"indigo\"]" },
		{ text, "misuse", 1, "null null null" },
		{ text, "misuse", 2, "wrong-type wrong-type 123" },
		{ text, "misuse", 3, "missing missing (absent)" },
		{ user, "legacy_schema", 0,
		  "retyped retyped:age {\"age\":\"36\",\"name\":\"Ada\",\"user_id\":7}" },
		{ user, "legacy_schema", 1,
		  "renamed renamed:age {\"name\":\"Ada\",\"old_age\":36,\"user_id\":7}" },
		{ user, "legacy_schema", 2, "removed removed:name {\"age\":36,\"user_id\":7}" },
		{ user, "flaky_upstream", 0, "partial half {\"age\":36,\"name\":" },
		{ user, "flaky_upstream", 1,
		  "error status-429 {\"error\":{\"message\":\"Too Many "
		  "Requests\",\"retry_after\":30,\"status\":429}}" },
		{ user, "flaky_upstream", 2, "nothing empty " },
		{ user, "flaky_upstream", 3,
		  "error gateway-page <html><body><h1>502 Bad Gateway</h1></body></html>" },
		{ user, "flaky_upstream", 4,
		  "error status-503 {\"error\":{\"message\":\"Service "
		  "Unavailable\",\"status\":503}}" },
		{ user, "flaky_upstream", 5,
		  "timeout timed-out {\"error\":{\"message\":\"upstream timed "
		  "out\",\"status\":504}}" },
		{ whole, "random", 0, "- - 305140840886877" },
		{ whole, "random", 1, "- - 143326702415081610" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(made); i++)
		assert_made(made[i].declaration, made[i].strategy, made[i].index, made[i].value);
}

static void another_seed_step_or_stub_is_another_value(void **state)
{
	struct mr_input_opts opts = defaults;
	mr_auto_free char *first = make(order, "smart", 0);
	mr_auto_free char *seed = NULL;
	mr_auto_free char *step = NULL;
	mr_auto_free char *stub = NULL;

	(void)state;
	opts.strategy = "smart";
	opts.seed = 6;
	seed = make_with(order, &opts);
	opts.seed = defaults.seed;
	opts.step = "reads";
	step = make_with(order, &opts);
	opts.step = defaults.step;
	opts.stub = "orders";
	stub = make_with(order, &opts);
	assert_string_not_equal(first, seed);
	assert_string_not_equal(first, step);
	assert_string_not_equal(first, stub);
}

/* As many values as there are classes have one of each, and as many as there are inputs all of them. */
static void hostile_values_go_through_the_classes(void **state)
{
	mr_auto_json json_t *classes = json_object();
	mr_auto_json json_t *ids = json_object();
	mr_auto_json json_t *declaration = load(text);
	struct mr_input_opts opts = defaults;
	size_t n, n_classes = 0, at = 0;
	const struct mr_hostile *rows = mr_hostile_rows(&n);

	(void)state;
	opts.strategy = "hostile";
	for (size_t i = 0; i < n; i++) {
		n_classes += !json_object_get(classes, rows[i].class);
		json_object_set_new(classes, rows[i].class, json_null());
	}
	json_object_clear(classes);
	for (; at < n; at++) {
		struct mr_error err = MR_ERROR_INIT;
		struct mr_input input;

		opts.index = at;
		assert_int_equal(mr_input_make(declaration, &opts, &input, &err), 0);
		json_object_set_new(classes, input.class, json_null());
		json_object_set_new(ids, input.id, json_null());
		mr_input_deinit(&input);
		if (at + 1 == n_classes)
			assert_int_equal(json_object_size(classes), n_classes);
	}
	assert_int_equal(n_classes, 11);
	assert_int_equal(json_object_size(ids), n);
}

/* What has to go through execve(2) has no NUL, is UTF-8 and short. */
static void plain_values_go_into_arguments(void **state)
{
	static const char *const strategies[] = { "hostile", "misuse", "flaky_upstream", "random",
						  "legacy_schema" };
	mr_auto_json json_t *declaration = load(order);
	struct mr_input_opts opts = defaults;

	(void)state;
	opts.plain = true;
	for (size_t i = 0; i < N_ELEMENTS(strategies); i++)
		for (opts.index = 0; opts.index < 100; opts.index++) {
			struct mr_error err = MR_ERROR_INIT;
			struct mr_input input;
			mr_auto_free char *bytes = NULL;
			size_t size;

			opts.strategy = strategies[i];
			assert_int_equal(mr_input_make(declaration, &opts, &input, &err), 0);
			bytes = mr_input_render(&input, false, &size);
			assert_int_equal(strlen(bytes), size);
			assert_true(size <= MR_INPUT_PLAIN_MAX && mr_str_utf8_valid(bytes, size));
			mr_input_deinit(&input);
		}
}

static void every_second_value_is_corrupted(void **state)
{
	struct mr_input_opts opts = defaults;
	mr_auto_free char *whole_one = NULL;
	mr_auto_free char *bad = NULL;
	size_t differ = 0;

	(void)state;
	opts.strategy = "templates";
	opts.corrupt = true;
	whole_one = make_with(user, &opts);
	opts.index = 1;
	bad = make_with(user, &opts);
	assert_string_equal(whole_one, "- - {\"age\":36,\"name\":\"Ada\",\"user_id\":7}");
	assert_int_equal(strlen(bad), strlen(whole_one));
	for (size_t i = 0; bad[i]; i++)
		differ += bad[i] != whole_one[i];
	assert_int_equal(differ, 3); /* of 35 bytes, one of each 16 */
}

static void history_is_replayed(void **state)
{
	mr_auto_json json_t *history = load(
		"[{\"value\": {\"a\": 1}, \"raw\": false, \"ordinary\": true, \"failed\": false},"
		" {\"value\": \"' OR 1\", \"raw\": true, \"ordinary\": false, \"failed\": true}]");
	struct mr_input_opts opts = defaults;
	mr_auto_free char *seen = NULL;
	mr_auto_free char *failed = NULL;
	mr_auto_free char *none = NULL;
	mr_auto_free char *all = NULL;

	(void)state;
	opts.history = history;
	opts.strategy = "history";
	for (opts.index = 0; opts.index < 8; opts.index++) { /* never what was made to do harm */
		mr_freep(&seen);
		seen = make_with(user, &opts);
		assert_string_equal(seen, "- - {\"a\":1}");
	}
	opts.strategy = "failures";
	failed = make_with(user, &opts);
	assert_string_equal(failed, "- - ' OR 1");
	opts.strategy = "random";
	all = make_with("{}", &opts);
	assert_string_equal(all, "- - {\"a\":1}");
	opts.history = NULL;
	opts.strategy = "history";
	none = make_with(user, &opts);
	assert_string_equal(none, "stub \"order\": the strategy history: the store has no value of "
				  "it yet");
}

static void values_are_summed_up(void **state)
{
	mr_auto_json json_t *values = load("[{\"a\": 1, \"mode\": \"x\"}, {\"a\": 3, \"mode\": "
					   "\"x\"}, {\"a\": 5, \"mode\": \"y\"}]");
	mr_auto_json json_t *reals = load("[{\"b\": 1.5}, {\"b\": 2, \"c\": null}]");
	mr_auto_json json_t *all = mr_input_aggregate(values);
	mr_auto_json json_t *some = mr_input_aggregate(reals);
	mr_auto_json json_t *expected = load("{\"a\": 3, \"mode\": \"x\"}");
	mr_auto_json json_t *of_reals = load("{\"b\": 1.75, \"c\": null}");

	(void)state;
	assert_true(json_equal(all, expected));
	assert_true(json_equal(some, of_reals));
}

static void random_follows_its_configuration(void **state)
{
	struct mr_input_opts opts = defaults;
	mr_auto_free char *made = NULL;
	mr_auto_free char *refused = NULL;

	(void)state;
	opts.strategy = "random";
	opts.random_config =
		"{\"modes\": [\"fast\"], \"level_range\": [3, 3], \"flags\": [\"on\"], "
		"\"flag_prob\": 1}";
	made = make_with(order, &opts);
	assert_string_equal(made, "- - {\"level\":3,\"mode\":\"fast\",\"on\":true}");
	opts.random_config = "{\"level_range\": [3, 1]}";
	refused = make_with(order, &opts);
	assert_string_equal(refused, "stub \"order\": SANDBOX_STUB_RANDOM_CONFIG: level_range: two "
				     "whole numbers are wanted, the lower one first");
}

static int give(const json_t *program, const json_t *request, json_t **ret, void *owner,
		struct mr_error *err)
{
	(void)request;
	(void)owner;
	if (json_is_null(program))
		return mr_err(err, MR_E_SYS, EIO, "it was ended: oom");
	*ret = json_sprintf("%s made it", json_string_value(program));
	return 0;
}

static void plugins_are_asked_and_not_replaced(void **state)
{
	mr_auto_json json_t *program = json_string("x");
	struct mr_input_opts opts = defaults;
	static const struct {
		const char *strategy, *model, *value;
		bool program;
	} cases[] = {
		{ "plugin:a/b", NULL, "- a/b x made it", true },
		{ "plugin:a/b", NULL,
		  "stub \"order\": the strategy plugin: there is no program of a plugin", false },
		{ "synthetic", NULL,
		  "stub \"order\": the strategy synthetic needs a model, and SANDBOX_STUB_MODEL "
		  "names "
		  "none",
		  true },
		{ "synthetic", "distilgpt2",
		  "stub \"order\": the strategy synthetic: this version speaks to no model "
		  "\"distilgpt2\"; SANDBOX_STUB_MODEL=plugin:FILE is a program that does",
		  true },
		{ "synthetic", "plugin:m", "- - x made it", true },
		{ "plugin:", NULL,
		  "stub \"order\": unknown strategy of stubs \"plugin:\"; menace-flow(5) lists "
		  "them",
		  true },
		{ "hostle", NULL,
		  "stub \"order\": unknown strategy of stubs \"hostle\"; did you mean \"hostile\"?",
		  true },
	};

	(void)state;
	opts.plugin = give;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		mr_auto_free char *made = NULL;

		opts.strategy = cases[i].strategy;
		opts.model = cases[i].model;
		opts.program = cases[i].program ? program : NULL;
		made = make_with(order, &opts);
		assert_string_equal(made, cases[i].value);
	}
	{
		mr_auto_json json_t *dead = json_null();
		mr_auto_free char *made = NULL;

		opts.strategy = "plugin:dead";
		opts.model = NULL;
		opts.program = dead;
		made = make_with(order, &opts);
		assert_string_equal(made, "stub \"order\": plugin: it was ended: oom");
	}
}

static void replies_are_bounded(void **state)
{
	static const struct {
		const char *text, *message; /* NULL: taken */
	} replies[] = {
		{ "{\"stubs\": [7]}", NULL },
		{ "{\"version\": 1, \"stubs\": [null]}\n", NULL },
		{ "", "its reply:1:0: unexpected token near end of file" },
		{ "[7]", "its reply: a list where an object is expected" },
		{ "{\"stubs\": []}", "its reply: stubs is a list of one value" },
		{ "{\"stubs\": [1, 2]}", "its reply: stubs is a list of one value" },
		{ "{\"stub\": [1]}", "its reply: unknown key \"stub\"; did you mean \"stubs\"?" },
	};
	mr_auto_free char *deep = mr_str_alloc(400);
	mr_auto_free char *large = mr_str_alloc(MR_INPUT_REPLY_MAX + 2);
	struct mr_error err = MR_ERROR_INIT;
	json_t *value = NULL;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(replies); i++) {
		int r = mr_input_parse_reply(replies[i].text, strlen(replies[i].text), &value,
					     &err);

		if (replies[i].message)
			assert_string_equal(err.msg, replies[i].message);
		assert_int_equal(r, replies[i].message ? -EINVAL : 0);
		if (r == 0)
			json_decref(value);
	}
	memcpy(deep, "{\"stubs\": [", 11);
	memset(deep + 11, '[', 70);
	memset(deep + 81, ']', 70);
	memcpy(deep + 151, "]}", 3);
	assert_true(mr_input_parse_reply(deep, strlen(deep), &value, &err) < 0);
	assert_string_equal(err.msg, "its reply: stubs: it is nested more than 64 deep");
	memset(large, ' ', MR_INPUT_REPLY_MAX + 1);
	assert_true(mr_input_parse_reply(large, MR_INPUT_REPLY_MAX + 1, &value, &err) < 0);
	assert_string_equal(err.msg, "its reply is over 1048576 bytes");
}

/* --- places ---------------------------------------------------------------- */

static const struct mr_input *find_a(const char *name, size_t n, void *owner)
{
	return n == 1 && name[0] == 'a' ? owner : NULL;
}

static void assert_filled(const char *from, const struct mr_input *input, const char *expected,
			  bool absent)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_free char *filled = NULL;
	size_t size = 0;
	bool is_absent = false;

	if (mr_place_fill(from, strlen(from), find_a, (void *)(uintptr_t)input, &filled, &size,
			  &is_absent, &err) < 0) {
		assert_string_equal(err.msg, expected);
		return;
	}
	assert_string_equal(filled, expected);
	assert_int_equal(size, strlen(expected));
	assert_int_equal(is_absent, absent);
}

static void places_are_filled_once(void **state)
{
	struct mr_input input = { .bytes = mr_str_dup("{{stub:a}}"), .size = 10 };
	const struct mr_input absent = { .absent = true };

	(void)state;
	assert_filled("", &input, "", false);
	assert_filled("x{{stub:a}}y", &input, "x{{stub:a}}y", false);
	assert_filled("{{stub:a}}{{stub:a}}", &input, "{{stub:a}}{{stub:a}}", false);
	assert_filled("{{stub:b}}-{{7*7}}", &input, "{{stub:b}}-{{7*7}}", false);
	assert_filled("{{stub:a}}", &absent, "", true);
	assert_filled("x{{stub:a}}", &absent, "x", false);
	assert_filled("{{stub:a", &input,
		      "\"{{stub:a\" is no place of a stub: {{stub:NAME}}, with a name of 1 to 64 "
		      "letters, digits, \"_\", \".\" and \"-\"",
		      false);
	assert_filled("{{stub:}}", &input,
		      "\"{{stub:}}\" is no place of a stub: {{stub:NAME}}, with a name of 1 to 64 "
		      "letters, digits, \"_\", \".\" and \"-\"",
		      false);
	mr_input_deinit(&input);
}

/* --- workflows ------------------------------------------------------------- */

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
		       "f.json: step \"s\": program: stub \"wo\" is not declared in stubs; did you "
		       "mean \"who\"?");
	assert_refused(
		FLOW("{\"a\": {\"strategy\": \"hostil\"}}", "{\"program\": [\"{{stub:a}}\"]}"),
		"f.json: stubs.a.strategy: unknown strategy of stubs \"hostil\"; did you mean "
		"\"hostile\"?");
	assert_refused(FLOW("{\"a\": {\"strategy\": \"plugin:../x\"}}",
			    "{\"program\": [\"{{stub:a}}\"]}"),
		       "f.json: stubs.a.strategy: \"../x\" has \"..\" in it: path escapes sandbox");
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
		cmocka_unit_test(a_seed_decides_every_value),
		cmocka_unit_test(another_seed_step_or_stub_is_another_value),
		cmocka_unit_test(hostile_values_go_through_the_classes),
		cmocka_unit_test(plain_values_go_into_arguments),
		cmocka_unit_test(every_second_value_is_corrupted),
		cmocka_unit_test(history_is_replayed),
		cmocka_unit_test(values_are_summed_up),
		cmocka_unit_test(random_follows_its_configuration),
		cmocka_unit_test(plugins_are_asked_and_not_replaced),
		cmocka_unit_test(replies_are_bounded),
		cmocka_unit_test(places_are_filled_once),
		cmocka_unit_test(declarations_are_checked),
		cmocka_unit_test(a_workflow_gets_its_values),
		cmocka_unit_test(a_command_declares_its_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of stubs: what each strategy makes of a seed, places, and replies of plugins
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
	static const char whole_one[] = "- - {\"age\":36,\"name\":\"Ada\",\"user_id\":7}";
	struct mr_input_opts opts = defaults;
	size_t first = 2;

	(void)state;
	opts.strategy = "templates";
	opts.corrupt = true;
	for (opts.index = 0; opts.index < 6; opts.index++) {
		mr_auto_free char *made = make_with(user, &opts);
		const bool is_whole = strcmp(made, whole_one) == 0;
		const char *value = made + strlen("corrupted - ");
		size_t differ = 0;

		if (first == 2)
			first = is_whole;
		assert_int_equal(is_whole, (opts.index + first) % 2);
		if (is_whole)
			continue;
		assert_true(mr_str_starts_with(made, "corrupted - "));
		for (size_t i = 0; value[i]; i++)
			differ += value[i] != whole_one[4 + i];
		assert_int_equal(differ, 3); /* of 35 bytes, one of each 16 */
	}
}

/* --- history ---------------------------------------------------------------- */

static void history_is_replayed(void **state)
{
	mr_auto_json json_t *history = load(
		"[{\"value\": {\"a\": 1}, \"raw\": false, \"ordinary\": true, \"failed\": false},"
		" {\"value\": \"' OR 1\", \"raw\": true, \"class\": \"injection\", \"payload\": "
		"\"sql\", \"ordinary\": false, \"failed\": true}]");
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
	assert_string_equal(failed, "injection sql ' OR 1"); /* still what it was made as */
	opts.strategy = "random";
	all = make_with("{}", &opts);
	assert_string_equal(all, "- - {\"a\":1}");
	opts.history = NULL;
	opts.strategy = "history";
	none = make_with(user, &opts);
	assert_string_equal(none, "stub \"order\": the strategy history: the store has no value of "
				  "it yet");
}

/* A template of n numbers.  0.1 is 0.10000000000000001 with all its digits, and four bytes in its place. */
static char *tenths(size_t n)
{
	struct mr_buf made = { 0 };

	mr_buf_add(&made, "{\"templates\": [[0.1");
	for (size_t i = 1; i < n; i++)
		mr_buf_add(&made, ",0.1");
	mr_buf_add(&made, "]]}");
	return made.text;
}

/* Where it goes into a word, what is measured is the text that would be put in. */
static void what_fits_is_the_text(void **state)
{
	struct mr_input_opts opts = defaults;
	mr_auto_json json_t *bytes = load("[{\"value\": {\"base64\": \"AAEC\"}, \"raw\": true, "
					  "\"class\": \"x\", \"failed\": true}]");
	mr_auto_free char *fits = tenths(8000);
	mr_auto_free char *too_long = tenths(16000);
	mr_auto_free char *made = NULL;
	mr_auto_free char *refused = NULL;
	mr_auto_free char *raw = NULL;

	(void)state;
	opts.plain = true;
	opts.strategy = "templates";
	made = make_with(fits, &opts);
	assert_int_equal(strlen(made), strlen("- - ") + 8000 * 4 + 1);
	refused = make_with(too_long, &opts);
	assert_string_equal(refused,
			    "stub \"order\": the strategy templates: none of its 1 goes into an "
			    "argument or a variable, where it is used: at most 32768 bytes "
			    "without a NUL do");
	opts.strategy = "failures";
	opts.history = bytes;
	raw = make_with(text, &opts);
	assert_string_equal(raw,
			    "stub \"order\": the strategy failures: no value with which a step "
			    "failed goes into an argument or a variable, where it is used");
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
	(void)owner;
	if (json_is_null(program))
		return mr_err(err, MR_E_SYS, EIO, "it was ended: oom");
	if (strcmp(json_string_value(program), "pass") == 0) {
		*ret = json_sprintf("<%s>",
				    json_string_value(
					    json_array_get(json_object_get(request, "stubs"), 0)));
		return 0;
	}
	*ret = json_sprintf("%s made it", json_string_value(program));
	return 0;
}

static void plugins_are_asked_and_not_replaced(void **state)
{
	mr_auto_json json_t *programs = load("{\"plugin:a/b\": \"x\", \"plugin:m\": \"m\"}");
	struct mr_input_opts opts = defaults;
	static const struct {
		const char *strategy, *model, *value;
		bool program;
	} cases[] = {
		{ "plugin:a/b", NULL, "- a/b x made it", true },
		{ "plugin:a/b", NULL, "stub \"order\": plugin:a/b: there is no program of it",
		  false },
		{ "synthetic", NULL,
		  "stub \"order\": the strategy synthetic needs a model, and SANDBOX_STUB_MODEL "
		  "names "
		  "none",
		  true },
		{ "synthetic", "distilgpt2",
		  "stub \"order\": the strategy synthetic: this version speaks to no model "
		  "\"distilgpt2\"; SANDBOX_STUB_MODEL=plugin:FILE is a program that does",
		  true },
		{ "synthetic", "plugin:m", "- - m made it", true },
		{ "synthetic", "plugin:n",
		  "stub \"order\": the strategy synthetic: there is no program of a plugin", true },
		{ "plugin:\xff", NULL,
		  "stub \"order\": unknown strategy of stubs \"plugin:\\xff\"; menace-flow(5) "
		  "lists them",
		  true },
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
		opts.programs = cases[i].program ? programs : NULL;
		made = make_with(order, &opts);
		assert_string_equal(made, cases[i].value);
	}
	{
		mr_auto_json json_t *dead = load("{\"plugin:dead\": null}");
		mr_auto_free char *made = NULL;

		opts.strategy = "plugin:dead";
		opts.model = NULL;
		opts.programs = dead;
		made = make_with(order, &opts);
		assert_string_equal(made, "stub \"order\": plugin: it was ended: oom");
	}
}

/* Each of the order is the program that it names, whatever else there is. */
static void plugins_of_an_order_are_themselves(void **state)
{
	mr_auto_json json_t *programs =
		load("{\"plugin:A\": \"a\", \"plugin:B\": \"b\", \"plugin:M\": \"m\"}");
	static const struct {
		const char *order, *value;
	} cases[] = {
		{ "plugin:A", "- A a made it" },
		{ "history, plugin:B,plugin:A", "- B b made it" },
		{ "plugin:C", "stub \"order\": plugin:C: there is no program of it" },
	};
	struct mr_input_opts opts = defaults;
	mr_auto_free char *own = NULL;

	(void)state;
	opts.plugin = give;
	opts.programs = programs;
	opts.model = "plugin:M";
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		mr_auto_free char *made = NULL;

		opts.order = cases[i].order;
		made = make_with(text, &opts);
		assert_string_equal(made, cases[i].value);
	}
	own = make_with("{\"type\": \"str\", \"strategy\": \"plugin:B\", \"program\": \"own\"}",
			&opts);
	assert_string_equal(own, "- B own made it");
}

/* Each has what the one before it replied; what means ill goes through none. */
static void plugins_of_a_list_pass_the_value_on(void **state)
{
	mr_auto_json json_t *programs =
		load("{\"plugin:P\": \"pass\", \"plugin:B\": \"b\", \"plugin:D\": null}");
	static const struct {
		const char *plugins, *strategy, *value;
	} cases[] = {
		{ "P", "templates", "- - <x>" },
		{ ":P::P:", "templates", "- - <<x>>" },
		{ "P:B:P", "templates", "- - <b made it>" },
		{ "P", "plugin:B", "- B <b made it>" },
		{ "P:none", "templates",
		  "stub \"order\": none: the strategy templates: there is no program of a plugin" },
		{ "P:D", "templates", "stub \"order\": D: plugin: it was ended: oom" },
	};
	mr_auto_free char *hostile = make(text, "hostile", 0);
	mr_auto_free char *same = NULL;
	struct mr_input_opts opts = defaults;

	(void)state;
	opts.plugin = give;
	opts.programs = programs;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		mr_auto_free char *made = NULL;

		opts.plugins = cases[i].plugins;
		opts.strategy = cases[i].strategy;
		made = make_with("{\"templates\": [\"x\"]}", &opts);
		assert_string_equal(made, cases[i].value);
	}
	opts.plugins = "P";
	opts.strategy = "hostile";
	same = make_with(text, &opts);
	assert_string_equal(same, hostile);
}

/* They are a class beside the shipped ones: met as soon as any other, and each of them once. */
static void payloads_of_ones_own_are_a_class(void **state)
{
	mr_auto_json json_t *payloads =
		load("[{\"id\": \"file-1\", \"value\": \"mine\"}, {\"id\": \"variable-2\", "
		     "\"value\": \"42\"}]");
	struct mr_input_opts opts = defaults;
	size_t n_shipped, n_mine = 0, n_42 = 0, first = 0;

	(void)state;
	mr_hostile_rows(&n_shipped);
	opts.strategy = "hostile";
	opts.payloads = payloads;
	for (size_t i = 0; i < n_shipped + 2; i++) {
		mr_auto_free char *made = NULL;

		opts.index = i;
		made = make_with(text, &opts);
		n_mine += strcmp(made, "own file-1 mine") == 0;
		n_42 += strcmp(made, "own variable-2 42") == 0;
		if (n_mine + n_42 == 1 && !first)
			first = i + 1;
	}
	assert_int_equal(n_mine, 1);
	assert_int_equal(n_42, 1);
	assert_in_range(first, 1, 12); /* one of each class comes first */
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

/* What stands behind a NUL is seen, and what is made is bounded. */
static void places_have_no_end_but_their_own(void **state)
{
	static const char hidden[] = "x\0{{stub:a}}";
	struct mr_input input = { .bytes = mr_str_alloc(1u << 20), .size = 1u << 20 };
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_buf struct mr_buf places = { 0 };
	mr_auto_buf struct mr_buf with_tail = { 0 };
	mr_auto_free char *filled = NULL;
	size_t size = 0;
	bool absent = false;

	(void)state;
	assert_true(mr_place_is_in(hidden, sizeof(hidden) - 1));
	assert_false(mr_place_is_in(hidden, 2));
	assert_false(mr_place_is_in("", 0));
	for (size_t i = 0; i < 17; i++)
		mr_buf_add(&places, "{{stub:a}}");
	assert_int_equal(mr_place_fill(places.text, 160, find_a, &input, &filled, &size, &absent,
				       &err),
			 0);
	assert_int_equal(size, MR_PLACE_FILLED_MAX);
	mr_freep(&filled);
	filled = NULL;
	assert_int_equal(mr_place_fill(places.text, 170, find_a, &input, &filled, &size, &absent,
				       &err),
			 -E2BIG);
	assert_string_equal(err.msg, "with stub \"a\", a value of 1048576 bytes, the text has "
				     "17825792 bytes; at most 16777216 are accepted");
	mr_buf_addn(&with_tail, places.text, 160);
	mr_buf_add(&with_tail, "0123456789");
	assert_int_equal(mr_place_fill(with_tail.text, 170, find_a, &input, &filled, &size, &absent,
				       &err),
			 -E2BIG);
	assert_string_equal(err.msg, "with the values of its stubs the text has 16777226 bytes; at "
				     "most 16777216 are accepted");
	mr_input_deinit(&input);
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
		cmocka_unit_test(what_fits_is_the_text),
		cmocka_unit_test(values_are_summed_up),
		cmocka_unit_test(random_follows_its_configuration),
		cmocka_unit_test(plugins_are_asked_and_not_replaced),
		cmocka_unit_test(plugins_of_an_order_are_themselves),
		cmocka_unit_test(plugins_of_a_list_pass_the_value_on),
		cmocka_unit_test(payloads_of_ones_own_are_a_class),
		cmocka_unit_test(replies_are_bounded),
		cmocka_unit_test(places_are_filled_once),
		cmocka_unit_test(places_have_no_end_but_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the values of stubs: what they say of corruption, and that they have no secret
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
#include "runtime/base/str.h"
#include "runtime/flow/inputs.h"
#include "runtime/stub/input.h"

static const char user[] = "{\"templates\": [{\"user_id\": 7, \"name\": \"Ada\", \"age\": 36}]}";
static const char text[] = "{\"type\": \"str\"}";
static const struct mr_input_opts defaults = { .seed = 5, .step = "read", .stub = "order" };

static json_t *load(const char *document)
{
	json_t *json = json_loads(document, JSON_DECODE_ANY, NULL);

	assert_non_null(json);
	return json;
}

/* The record of one value. */
static json_t *record_with(const char *declaration_text, const struct mr_input_opts *opts)
{
	mr_auto_json json_t *declaration = load(declaration_text);
	struct mr_error err = MR_ERROR_INIT;
	struct mr_input input;
	json_t *record;

	if (mr_input_make(declaration, opts, &input, &err) < 0)
		fail_msg("%s", err.msg);
	record = mr_input_record(&input, opts);
	mr_input_deinit(&input);
	return record;
}

static void assert_member(const json_t *record, const char *name, const char *expected)
{
	const json_t *member = json_object_get(record, name);
	mr_auto_free char *found =
		member ? json_dumps(member, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS)
		       : mr_str_dup("none");

	assert_string_equal(found, expected);
}

/* Which is the first one is the seed's: of many, both are. */
static void the_first_value_may_be_corrupted(void **state)
{
	struct mr_input_opts opts = defaults;
	size_t corrupted = 0;

	(void)state;
	opts.strategy = "templates";
	opts.corrupt = true;
	for (opts.seed = 0; opts.seed < 20; opts.seed++) {
		mr_auto_json json_t *record = record_with(user, &opts);

		corrupted += json_integer_value(json_object_get(record, "corrupted")) > 0;
	}
	assert_true(corrupted >= 5 && corrupted <= 15);
}

/* A payload that was corrupted is not the payload any more; what was not corrupted says why. */
static void corruption_is_told(void **state)
{
	struct mr_input_opts opts = defaults;
	size_t n = 0;

	(void)state;
	opts.strategy = "hostile";
	for (opts.index = 0; opts.index < 2; opts.index++) {
		mr_auto_json json_t *was = NULL;
		mr_auto_json json_t *record = NULL;
		mr_auto_json json_t *before = NULL;

		opts.corrupt = false;
		before = record_with(text, &opts);
		assert_null(json_object_get(before, "corrupted"));
		was = json_pack("{s:O, s:O}", "class", json_object_get(before, "class"), "id",
				json_object_get(before, "id"));
		opts.corrupt = true;
		record = record_with(text, &opts);
		if (json_integer_value(json_object_get(record, "corrupted")) == 0) {
			assert_true(json_equal(json_object_get(record, "class"),
					       json_object_get(before, "class")));
			assert_member(record, "uncorrupted",
				      "\"every second value is, and this is the other one\"");
			assert_member(record, "was", "none");
			continue;
		}
		n++;
		assert_member(record, "class", "\"corrupted\"");
		assert_member(record, "id", "null");
		assert_true(json_equal(json_object_get(record, "was"), was));
	}
	assert_int_equal(n, 1);
	for (opts.index = 0; opts.index < 2; opts.index++) {
		mr_auto_json json_t *record = NULL;

		opts.plain = true;
		record = record_with(text, &opts);
		assert_member(record, "corrupted", "0");
		assert_member(record, "uncorrupted", "\"it goes into an argument or a variable\"");
	}
}

/* --- secrets ---------------------------------------------------------------- */

#define HUNTER "hunter2-hunter2"
static const char with_key[] =
	"{\"templates\": [{\"api_key\": \"" HUNTER "\", \"email\": \"a@b.c\", \"id\": 7}]}";
static const char with_place[] = "{\"templates\": [{\"note\": \"see of-the-variable here\"}]}";
static const char scalar_secret[] = "{\"templates\": [\"" HUNTER "\"]}";

/* However it is made: no record has it, or a part of it that says anything. */
static void assert_kept_out(const char *declaration, struct mr_input_opts opts, const char *secret)
{
	for (size_t i = 0; i < MR_INPUT_STRATEGIES; i++) {
		opts.strategy = mr_input_rows()[i].name;
		if (strcmp(opts.strategy, "synthetic") == 0 ||
		    strcmp(opts.strategy, "history") == 0 || strcmp(opts.strategy, "failures") == 0)
			continue;
		for (opts.index = 0; opts.index < 60; opts.index++) {
			mr_auto_json json_t *record = NULL;
			mr_auto_free char *told = NULL;

			opts.corrupt = opts.index >= 40;
			record = record_with(declaration, &opts);
			told = json_dumps(record, JSON_COMPACT);
			if (memmem(told, strlen(told), secret, 4))
				fail_msg("%s: %s", opts.strategy, told);
			if (json_object_get(record, "secret"))
				assert_null(json_object_get(record, "sha256"));
		}
	}
}

static void secrets_are_in_no_record(void **state)
{
	mr_auto_json json_t *secrets = load("[\"of-the-variable\"]");
	struct mr_input_opts opts = defaults;

	(void)state;
	assert_kept_out(with_key, opts, HUNTER);
	opts.stub = "db_password";
	assert_kept_out(scalar_secret, opts, HUNTER);
	opts.stub = "word";
	opts.secret = true;
	assert_kept_out(scalar_secret, opts, HUNTER);
	opts.secret = false;
	opts.secrets = secrets;
	assert_kept_out(with_place, opts, "of-the-variable");
}

/* What is left is what is known of it, and what has nothing of a secret is all there. */
static void markers_say_how_it_was_made(void **state)
{
	struct mr_input_opts opts = defaults;
	static const struct {
		const char *strategy, *class, *secret, *value;
		uint64_t index;
	} made[] = {
		{ "templates", "null", "\"members\"", "{\"email\":\"a@b.c\",\"id\":7}", 0 },
		{ "misuse", "\"wrong-order\"", "\"all\"", "none", 1 },
		{ "misuse", "\"extra\"", "\"members\"",
		  "{\"email\":\"a@b.c\",\"id\":7,\"unexpected_argument\":123}", 4 },
		{ "flaky_upstream", "\"partial\"", "\"all\"", "none", 0 },
		{ "flaky_upstream", "\"nothing\"", "none", "\"\"", 2 },
		{ "legacy_schema", "\"retyped\"", "\"all\"", "none", 0 },
		{ "legacy_schema", "\"removed\"", "\"all\"", "none", 2 },
	};
	mr_auto_json json_t *again = NULL;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(made); i++) {
		mr_auto_json json_t *record = NULL;

		opts.strategy = made[i].strategy;
		opts.index = made[i].index;
		record = record_with(with_key, &opts);
		assert_member(record, "class", made[i].class);
		assert_member(record, "secret", made[i].secret);
		assert_member(record, "value", made[i].value);
		assert_true(json_is_integer(json_object_get(record, "size")));
	}
	opts.strategy = "misuse";
	opts.index = 1;
	again = record_with(user, &opts);
	assert_member(again, "secret", "none");
	assert_member(again, "value", "{\"age\":7,\"name\":36,\"user_id\":\"Ada\"}");
}

/* Full once, in the row of its step or of the first one. */
static void records_are_told_once(void **state)
{
	mr_auto_json json_t *document =
		load("{\"inputs\": [{\"stub\": \"a\", \"step\": \"\", \"value\": 1, \"strategy\": "
		     "\"smart\"}, {\"stub\": \"b\", \"step\": \"t\", \"value\": 2}]}");
	mr_auto_json json_t *first = mr_flow_inputs_told(document, "s", true);
	mr_auto_json json_t *other = mr_flow_inputs_told(document, "t", false);
	mr_auto_json json_t *all = mr_flow_inputs_told(document, NULL, false);
	mr_auto_json json_t *kept = mr_flow_inputs_of(document, "t");

	(void)state;
	assert_int_equal(json_array_size(first), 1);
	assert_member(json_array_get(first, 0), "value", "1");
	assert_int_equal(json_array_size(other), 2);
	assert_member(json_array_get(other, 0), "value", "none");
	assert_member(json_array_get(other, 0), "strategy", "\"smart\"");
	assert_member(json_array_get(other, 0), "again", "true");
	assert_member(json_array_get(other, 1), "value", "2");
	assert_member(json_array_get(all, 1), "value", "none");
	assert_member(json_array_get(kept, 0), "value", "1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_value_may_be_corrupted),
		cmocka_unit_test(corruption_is_told),
		cmocka_unit_test(secrets_are_in_no_record),
		cmocka_unit_test(markers_say_how_it_was_made),
		cmocka_unit_test(records_are_told_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON: strict parsing with places, getters that name the path
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/json_out.h"

static json_t *parse(const char *text)
{
	struct mr_error err = MR_ERROR_INIT;
	json_t *value = NULL;

	if (mr_json_parse(text, strlen(text), "doc", &value, &err) < 0)
		fail_msg("%s", err.msg);
	return value;
}

static void refusals_say_where(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} rows[] = {
		{ "", "doc:1:0: unexpected token near end of file" },
		{ "{\n  \"a\": 1,\n  \"a\": 2\n}", "doc:3:5: duplicate object key near '\"a\"'" },
		{ "{} x", "doc:1:4: end of file expected near 'x'" },
		{ "{\"a\": 99999999999999999999}",
		  "doc:1:26: too big integer near '99999999999999999999'" },
		{ "{\"a\": nan}", "doc:1:9: invalid token near 'nan'" },
		{ "{\"a\": 1e999}", "doc:1:11: real number overflow near '1e999'" },
		{ "{\"a\": \"\\ud800\"}",
		  "doc:1:14: invalid Unicode '\\uD800' near '\"\\ud800\"'" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_error err = MR_ERROR_INIT;
		json_t *value = NULL;
		int r = mr_json_parse(rows[i].text, strlen(rows[i].text), "doc", &value, &err);

		assert_int_equal(r, -22);
		assert_null(value);
		assert_int_equal(err.code, MR_E_USAGE);
		assert_string_equal(err.msg, rows[i].message);
	}
}

static void a_message_never_carries_control_bytes(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	json_t *value = NULL;

	(void)state;
	assert_int_equal(mr_json_parse("{\033[2J", 5, "doc", &value, &err), -22);
	for (const char *p = err.msg; *p; p++)
		assert_true(*p >= 0x20 && *p < 0x7f);
}

static void too_deep_is_refused(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	json_t *value = NULL;
	char text[8192];

	(void)state;
	memset(text, '[', sizeof(text));
	assert_int_equal(mr_json_parse(text, sizeof(text), "doc", &value, &err), -22);
	assert_null(value);
}

static void paths(void **state)
{
	mr_auto_json json_t *value = parse("{\"mounts\": [{\"dest\": 1}], \"a b\": {\"c\": 2}}");
	struct mr_json root = mr_json_root(value, "doc");
	struct mr_json list;
	struct mr_json odd;
	struct mr_json leaf;
	char path[64];

	(void)state;
	assert_string_equal(mr_json_path(&root, path, sizeof(path)), "");
	assert_true(mr_json_member(&root, "mounts", &list));
	struct mr_json item = mr_json_item(&list, 0);

	assert_true(mr_json_member(&item, "dest", &leaf));
	assert_string_equal(mr_json_path(&leaf, path, sizeof(path)), "mounts[0].dest");
	assert_true(mr_json_member(&root, "a b", &odd));
	assert_false(mr_json_member(&odd, "d", &leaf));
	assert_true(mr_json_member(&odd, "c", &leaf));
	assert_string_equal(mr_json_path(&leaf, path, sizeof(path)), "a b.c");
}

static void getters_name_path_and_type(void **state)
{
	mr_auto_json json_t *value =
		parse("{\"s\": \"x\", \"nul\": \"a\\u0000b\", \"n\": 5, \"neg\": -1, \"r\": 0.5,"
		      " \"t\": true, \"l\": [], \"z\": null}");
	struct mr_json root = mr_json_root(value, "doc");
	struct mr_error err = MR_ERROR_INIT;
	struct mr_json json;
	const char *text = "untouched";
	uint64_t number = 7;
	bool flag = false;
	size_t size;

	(void)state;
	assert_true(mr_json_member(&root, "s", &json));
	assert_int_equal(mr_json_get_string(&json, &text, &err), 0);
	assert_string_equal(text, "x");
	assert_int_equal(mr_json_get_uint(&json, 0, 9, &number, &err), -22);
	assert_string_equal(err.msg, "doc: s: a string where a whole number is expected");
	assert_int_equal(number, 7);

	assert_true(mr_json_member(&root, "nul", &json));
	assert_int_equal(mr_json_get_string(&json, &text, &err), -22);
	assert_string_equal(err.msg, "doc: nul: holds a NUL byte");
	assert_int_equal(mr_json_get_bytes(&json, &text, &size, &err), 0);
	assert_int_equal(size, 3);
	assert_memory_equal(text, "a\0b", 3);

	assert_true(mr_json_member(&root, "n", &json));
	assert_int_equal(mr_json_get_uint(&json, 5, 5, &number, &err), 0);
	assert_int_equal(number, 5);
	assert_int_equal(mr_json_get_uint(&json, 6, 9, &number, &err), -22);
	assert_string_equal(err.msg, "doc: n: 5 is out of range; accepted: 6 to 9");
	assert_int_equal(mr_json_get_bool(&json, &flag, &err), -22);
	assert_string_equal(err.msg, "doc: n: a number where true or false is expected");

	assert_true(mr_json_member(&root, "neg", &json));
	assert_int_equal(mr_json_get_uint(&json, 0, UINT64_MAX, &number, &err), -22);
	assert_string_equal(err.msg,
			    "doc: neg: -1 is out of range; accepted: 0 to 18446744073709551615");

	assert_true(mr_json_member(&root, "t", &json));
	assert_int_equal(mr_json_get_bool(&json, &flag, &err), 0);
	assert_true(flag);
	assert_int_equal(mr_json_want_array(&json, &err), -22);
	assert_string_equal(err.msg, "doc: t: a boolean where a list is expected");
	assert_true(mr_json_member(&root, "l", &json));
	assert_int_equal(mr_json_want_object(&json, &err), -22);
	assert_string_equal(err.msg, "doc: l: a list where an object is expected");
	assert_true(mr_json_member(&root, "z", &json));
	assert_int_equal(mr_json_get_string(&json, &text, &err), -22);
	assert_string_equal(err.msg, "doc: z: null where a string is expected");
}

static void scalars_become_text_of_the_grammars(void **state)
{
	static const char *const rows[][2] = {
		{ "\"512Mi\"", "512Mi" },
		{ "5", "5" },
		{ "-5", "-5" },
		{ "0.5", "0.5" },
		{ "0.1", "0.1" },
		{ "0.29", "0.29" },
		{ "2.0", "2.0" },
		{ "-0.25", "-0.25" },
		{ "1e3", "1000.0" },
		{ "1e18", "1000000000000000000.0" },
		{ "1e-12", "0.0" },
		{ "0.9999999999", "1.0" },
		{ "true", "1" },
		{ "false", "0" },
		{ "9223372036854775807", "9223372036854775807" },
	};
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_json json_t *value = parse(rows[i][0]);
		struct mr_json root = mr_json_root(value, "doc");
		mr_auto_free char *text = NULL;

		assert_int_equal(mr_json_get_text(&root, &text, &err), 0);
		assert_string_equal(text, rows[i][1]);
	}
	mr_auto_json json_t *huge = parse("1e19");
	struct mr_json root = mr_json_root(huge, "doc");
	mr_auto_free char *text = NULL;

	assert_int_equal(mr_json_get_text(&root, &text, &err), -22);
	assert_string_equal(err.msg, "doc: the number is too large");
	assert_null(text);
}

static void unknown_keys_get_a_hint(void **state)
{
	static const char *const known[] = { "memory", "cpus", NULL };
	mr_auto_json json_t *good = parse("{\"memory\": 1, \"cpus\": 2}");
	mr_auto_json json_t *near = parse("{\"memroy\": 1}");
	mr_auto_json json_t *far = parse("{\"\\u001bxyzzy\": 1}");
	struct mr_json root = mr_json_root(good, "doc");
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(mr_json_check_keys(&root, known, &err), 0);
	root = mr_json_root(near, "doc");
	assert_int_equal(mr_json_check_keys(&root, known, &err), -22);
	assert_string_equal(err.msg, "doc: unknown key \"memroy\"; did you mean \"memory\"?");
	root = mr_json_root(far, "doc");
	assert_int_equal(mr_json_check_keys(&root, known, &err), -22);
	assert_string_equal(err.msg, "doc: unknown key \"\\x1bxyzzy\"");
}

/* A document in pieces is, to the byte, what it is as a whole. */
static void pieces_come_out_as_the_whole_does(void **state)
{
	static const char text[] =
		"{\"a\": 0.1, \"list\": [{\"x\": [], \"text\": \"line\\nline \\u00e9\"}, [1, "
		"[true]], null], "
		"\"none\": [], \"nothing\": {}, \"object\": {\"b\": {\"c\": 2}}}";
	mr_auto_json json_t *whole = parse(text);
	const json_t *list = json_object_get(whole, "list");
	mr_auto_free char *expected = json_dumps(whole, JSON_INDENT(2) | JSON_ENSURE_ASCII);
	mr_auto_free char *written = NULL;
	size_t size = 0;
	struct mr_json_out out = { .stream = open_memstream(&written, &size) };

	(void)state;
	mr_json_out_begin(&out, NULL, '{');
	mr_json_out_value(&out, "a", json_object_get(whole, "a"));
	mr_json_out_begin(&out, "list", '[');
	for (size_t i = 0; i < json_array_size(list); i++)
		mr_json_out_value(&out, NULL, json_array_get(list, i));
	mr_json_out_end(&out, ']');
	mr_json_out_begin(&out, "none", '[');
	mr_json_out_end(&out, ']');
	mr_json_out_value(&out, "nothing", json_object_get(whole, "nothing"));
	mr_json_out_begin(&out, "object", '{');
	mr_json_out_value(&out, "b", mr_json_at(whole, "object", "b", NULL));
	mr_json_out_end(&out, '}');
	mr_json_out_end(&out, '}');
	assert_int_equal(fclose(out.stream), 0);
	assert_string_equal(written, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals_say_where),
		cmocka_unit_test(a_message_never_carries_control_bytes),
		cmocka_unit_test(too_deep_is_refused),
		cmocka_unit_test(paths),
		cmocka_unit_test(getters_name_path_and_type),
		cmocka_unit_test(scalars_become_text_of_the_grammars),
		cmocka_unit_test(unknown_keys_get_a_hint),
		cmocka_unit_test(pieces_come_out_as_the_whole_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

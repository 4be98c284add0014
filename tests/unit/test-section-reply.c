/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies about a file: the one that the parser gives fits, and no other
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/section/reply.h"

static const char file[] = "def f(a: int): pass\n";
#define HASH "6399f1a0dced3eb9915026b88cc3c35dd642dca3a41435614bc58f06f2d71a2f"
#define BEGIN(name, kind)                                                              \
	"{\"name\": \"" name "\", \"kind\": \"" kind "\", \"first\": 1, \"last\": 1, " \
	"\"sha256\": \"" HASH "\", \"doc\": null, \"shadowed\": false, "
#define PARAMETER                                                          \
	"{\"name\": \"a\", \"kind\": \"positional_or_keyword\", "          \
	"\"annotation\": \"int\", \"default\": null, \"required\": true, " \
	"\"stub\": \"int\"}"

static const char good[] = "{\"sections\": [" BEGIN(
	"", "module") "\"hints\": [{\"kind\": \"read\", \"what\": \"open\", "
		      "\"line\": 1}], \"reach\": [\"read\"]}, " BEGIN(
			      "f", "function") "\"hints\": [], \"reach\": [], "
					       "\"decorators\": [\"d\"], \"async\": false, "
					       "\"parameters\": [" PARAMETER
					       "], \"returns\": null}]}";

/* good with the first `from` after `after` made `to`. */
static json_t *forge(const char *after, const char *from, const char *to)
{
	const char *at = strstr(good, after);
	mr_auto_buf struct mr_buf text = { 0 };
	json_t *reply = NULL;

	assert_non_null(at);
	at = strstr(at, from);
	assert_non_null(at);
	mr_buf_addn(&text, good, (size_t)(at - good));
	mr_buf_add(&text, to);
	mr_buf_add(&text, at + strlen(from));
	assert_int_equal(mr_json_parse(text.text, text.len, "forged", &reply, NULL), 0);
	return reply;
}

static bool fits(const char *text, const char *source)
{
	mr_auto_json json_t *reply = NULL;

	assert_int_equal(mr_json_parse(text, strlen(text), "reply", &reply, NULL), 0);
	return mr_section_reply_fits(reply, source, strlen(source));
}

static void what_the_parser_says_fits(void **state)
{
	(void)state;
	assert_true(fits(good, file));
	assert_true(fits("{\"error\": {\"line\": 3, \"message\": \"invalid syntax\"}}", file));
	assert_false(fits(good, "def f(a: int): pass \n"));
	assert_false(fits(good, ""));
}

static void one_that_is_forged_does_not(void **state)
{
	static const struct {
		const char *after, *from, *to;
	} cases[] = {
		/* values of a wrong type */
		{ "", "[\"read\"]", "[1]" },
		{ "", "[\"read\"]", "[null]" },
		{ "", "[\"read\"]", "{}" },
		{ "", "[\"d\"]", "[{}]" },
		{ "", "[\"d\"]", "\"d\"" },
		{ "", "[\"d\"]", "[\"a\\u0000b\"]" },
		{ "", "\"doc\": null", "\"doc\": 1" },
		{ "", "\"shadowed\": false", "\"shadowed\": 0" },
		{ "parameters", "\"required\": true", "\"required\": \"yes\"" },
		{ "parameters", "\"stub\": \"int\"", "\"stub\": \"file\"" },
		{ "parameters", "\"name\": \"a\"", "\"name\": \"\"" },
		{ "parameters", "\"name\": \"a\"", "\"name\": \"\\u001b[2J\"" },
		{ "parameters", "positional_or_keyword", "var_%s%n" },
		{ "parameters", "\"stub\": \"int\"", "\"stub\": \"int\", \"value\": 1" },
		/* words that are none of ours */
		{ "", "\"kind\": \"module\"", "\"kind\": \"%s%s%s%n\"" },
		{ "", "\"kind\": \"read\"", "\"kind\": \"%n\"" },
		{ "", "\"kind\": \"function\"", "\"kind\": \"function\\u0000\"" },
		{ "", "\"kind\": \"function\"", "\"kind\": \"class\"" },
		{ "", "\"kind\": \"function\"", "\"kind\": \"module\"" },
		{ "", "\"name\": \"f\"", "\"name\": \"\"" },
		{ "", "\"name\": \"f\"", "\"name\": \"f:g\"" },
		{ "", "\"name\": \"f\"", "\"name\": \"f\\n\"" },
		/* members */
		{ "", "{\"sections\"", "{\"cached\": true, \"sections\"" },
		{ "", "{\"sections\"",
		  "{\"error\": {\"line\": 1, \"message\": \"x\"}, \"sections\"" },
		{ "", "\"doc\": null, ", "" },
		{ "", "\"doc\": null, ", "\"doc\": null, \"path\": \"/etc\", " },
		{ "", "\"returns\": null", "\"returns\": null, \"bases\": []" },
		/* lines that are not there, hashes that are not theirs */
		{ "", "\"first\": 1", "\"first\": 0" },
		{ "", "\"first\": 1", "\"first\": -1" },
		{ "", "\"first\": 1", "\"first\": 2" },
		{ "", "\"last\": 1", "\"last\": 2" },
		{ "", "\"last\": 1", "\"last\": 9223372036854775807" },
		{ "", HASH, "" },
		{ "", "6399", "6398" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		mr_auto_json json_t *reply = forge(cases[i].after, cases[i].from, cases[i].to);

		if (mr_section_reply_fits(reply, file, strlen(file)))
			fail_msg("taken: %s", cases[i].to);
	}
	assert_false(fits("[]", file));
	assert_false(fits("1", file));
	assert_false(fits("{}", file));
	assert_false(fits("{\"sections\": []}", file));
	assert_false(fits("{\"sections\": [1]}", file));
	assert_false(fits("{\"error\": \"x\"}", file));
	assert_false(fits("{\"error\": {\"line\": 1, \"message\": \"x\", \"more\": 1}}", file));
	assert_false(fits("{\"error\": {\"line\": -1, \"message\": \"x\"}}", file));
}

/* What is longer than the parser makes it. */
static void what_is_too_long_does_not(void **state)
{
	static const char *const members[] = { "decorators", "reach", "hints", "parameters" };
	mr_auto_free char *text = mr_str_alloc(1000);

	(void)state;
	memset(text, 'x', 999);
	for (size_t i = 0; i < N_ELEMENTS(members); i++) {
		mr_auto_json json_t *reply = NULL;
		mr_auto_json json_t *item = NULL;
		json_t *section, *list;

		assert_int_equal(mr_json_parse(good, strlen(good), "reply", &reply, NULL), 0);
		section = json_array_get(json_object_get(reply, "sections"), 1);
		list = json_object_get(section, members[i]);
		item = json_array_size(list) > 0 ? json_incref(json_array_get(list, 0))
						 : json_string("read");
		for (int k = 0; k < 1001; k++)
			json_array_append(list, item);
		assert_false(mr_section_reply_fits(reply, file, strlen(file)));
		json_object_set_new(section, members[i], json_array());
		assert_true(mr_section_reply_fits(reply, file, strlen(file)));
		json_object_set_new(section, "doc", json_string(text));
		assert_false(mr_section_reply_fits(reply, file, strlen(file)));
	}
}

/* A reply of thousands of sections that are each the whole file would be hours of hashing. */
static void too_much_to_hash_is_refused(void **state)
{
	mr_auto_json json_t *reply = NULL;
	json_t *sections, *function;

	(void)state;
	assert_int_equal(mr_json_parse(good, strlen(good), "reply", &reply, NULL), 0);
	sections = json_object_get(reply, "sections");
	function = json_array_get(sections, 1);
	for (int i = 2; i <= 101; i++) {
		json_t *copy = json_copy(function);

		json_object_set_new(copy, "name", json_sprintf("f#%d", i));
		assert_true(mr_section_reply_fits(reply, file, strlen(file)));
		json_array_append_new(sections, copy);
	}
	assert_false(mr_section_reply_fits(reply, file, strlen(file)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_parser_says_fits),
		cmocka_unit_test(one_that_is_forged_does_not),
		cmocka_unit_test(what_is_too_long_does_not),
		cmocka_unit_test(too_much_to_hash_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Suggest: whole words match and parts of words do not; what of a Python file counts; settings
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
#include "runtime/scenario/pynames.h"
#include "runtime/scenario/settings.h"
#include "runtime/scenario/suggest.h"

#define ALL                                                                               \
	"[\"high_latency_api\",\"hostile_input\",\"concurrency_spike\",\"schema_drift\"," \
	"\"flaky_upstream\"]"

static json_t *suggest(const char *name, const char *text, const struct mr_suggest_opts *opts)
{
	struct mr_error err = MR_ERROR_INIT;
	json_t *result = NULL;

	if (mr_suggest(name, text, text ? strlen(text) : 0, opts, &result, &err) < 0)
		fail_msg("%s", err.msg);
	return result;
}

static void assert_profiles(const char *name, const char *text, const char *profiles)
{
	const struct mr_suggest_opts opts = { 0 };
	mr_auto_json json_t *result = suggest(name, text, &opts);
	mr_auto_free char *list =
		json_dumps(json_object_get(result, "profiles"), JSON_COMPACT | JSON_ENCODE_ANY);

	if (strcmp(list, profiles) != 0)
		fail_msg("%s, %s: %s", name, text ? text : "", list);
}

static void words_of_names(void **state)
{
	static const char *const rows[][2] = {
		{ "api", "[\"high_latency_api\"]" },
		{ "src/API/x.py", "[\"high_latency_api\"]" },
		{ "pay.api_client", "[\"high_latency_api\"]" },
		{ "apiClient", "[\"high_latency_api\"]" },
		{ "HTTPCache", "[\"high_latency_api\"]" },
		{ "RESTApi2", "[\"high_latency_api\"]" },
		{ "api2", "[\"high_latency_api\"]" },
		{ "a/auth/b", "[\"hostile_input\"]" }, /* and misuse, which is not asked for */
		{ "parser", "[\"hostile_input\"]" },
		{ "database", "[\"high_latency_api\",\"concurrency_spike\",\"schema_drift\"]" },
		/* In the order of the table, each once. */
		{ "flaky/schema/input/api", "[\"high_latency_api\",\"hostile_input\","
					    "\"schema_drift\",\"flaky_upstream\"]" },
		{ "my_utils.py", ALL },
		/* Parts of words. */
		{ "capital", ALL },
		{ "apis", ALL },
		{ "threading_docs", ALL },
		{ "author", ALL },
		{ "inputs/APIs", ALL },
		{ "rapid.py", ALL },
		{ "", ALL },
	};
	const struct mr_suggest_opts opts = { 0 };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_json json_t *result = suggest(rows[i][0], NULL, &opts);
		const bool matched = json_array_size(json_object_get(result, "matches")) > 0;

		assert_profiles(rows[i][0], NULL, rows[i][1]);
		assert_int_equal(json_is_true(json_object_get(result, "fallback")), !matched);
	}
}

static void misuse_when_asked_for(void **state)
{
	const struct mr_suggest_opts opts = { .user_misuse = true };
	mr_auto_json json_t *result = suggest("auth", NULL, &opts);
	mr_auto_json json_t *all = suggest("x", NULL, &opts);
	mr_auto_free char *list = json_dumps(json_object_get(result, "profiles"), JSON_COMPACT);

	(void)state;
	assert_string_equal(list, "[\"user_misuse\",\"hostile_input\"]");
	assert_int_equal(json_array_size(json_object_get(all, "profiles")), 6);
}

static void matches_are_explained(void **state)
{
	const struct mr_suggest_opts opts = { 0 };
	mr_auto_json json_t *result =
		suggest("a/api.py", "import os\nfrom x import http_cache\n", &opts);
	mr_auto_free char *list =
		json_dumps(json_object_get(result, "matches"), JSON_COMPACT | JSON_SORT_KEYS);

	(void)state;
	assert_string_equal(
		list,
		"[{\"found\":\"a/api.py\",\"keyword\":\"api\",\"line\":null,\"profiles\":"
		"[\"high_latency_api\"],\"where\":\"path\"},{\"found\":\"http_cache\",\"keyword\":"
		"\"cache\",\"line\":2,\"profiles\":[\"high_latency_api\"],\"where\":\"import\"}]");
}

/* --- names of a Python file --------------------------------------------------- */

static void add_name(enum mr_pynames_kind kind, const char *name, size_t n, size_t line,
		     void *owner)
{
	mr_str_printf(owner, "%c:%.*s@%zu ", "idc"[kind], (int)n, name, line);
}

static void assert_names(const char *text, size_t size, const char *expected)
{
	mr_auto_free char *copy = malloc(size ? size : 1); /* its end is the end of memory */
	char buf[1024];
	struct mr_str names;

	memcpy(copy, text, size);
	mr_str_init(&names, buf, sizeof(buf));
	mr_pynames_each(copy, size, add_name, &names);
	assert_string_equal(buf, expected);
}

static void names_of_a_module(void **state)
{
	static const char *const rows[][2] = {
		{ "import a", "i:a@1 " },
		{ "import a.b as c, d\n", "i:a@1 i:b@1 i:c@1 i:d@1 " },
		{ "from . import x\n", "i:x@1 " },
		{ "from a import (b, # c\n  d,\n)\nimport e", "i:a@1 i:b@1 i:d@2 i:e@4 " },
		{ "from a import b, \\\n c\nx = d", "i:a@1 i:b@1 i:c@2 " },
		{ "if x: import a; import b\n", "i:a@1 i:b@1 " },
		{ "\timport a\n", "i:a@1 " },
		{ "important = 1\nx.import_\n", "" },
		{ "'''import a\nimport b'''\nimport c", "i:c@3 " },
		{ "\"\"\"doc\"\"\"; import a", "i:a@1 " },
		{ "x = 'import a\nimport b", "i:b@2 " },
		{ "x = 'a\\'; import b'\n", "" },
		{ "# import a\nimport b # c\n", "i:b@2 " },
		{ "f(\nimport_, 'x'\n)\nimport a", "i:a@4 " },
		{ "@a.b('c', d)\ndef e(): pass", "d:a@1 d:b@1 " },
		{ "x = y @ z\n", "" },
		{ "A = 1\nB_2: int = 3\nC == 4\nd = 5\nEf = 6\n_ = 7\n8", "c:A@1 c:B_2@2 " },
		{ "A.b = 1\nA[B] = 2\nA(B=3)\n", "" },
		{ "", "" },
		{ "\n\n;;\n", "" },
		{ ")]}\nimport a", "i:a@2 " },
		{ "([{\nimport a", "" },
		{ "'''", "" },
		{ "import \xc3\xa4\nimport b", "i:\xc3\xa4@1 i:b@2 " },
		{ "\\", "" },
		{ "'\\", "" },
		{ "@", "" },
		{ "A", "" },
		{ "A =", "c:A@1 " },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_names(rows[i][0], strlen(rows[i][0]), rows[i][1]);
	assert_names("import a\0b", 10, "i:a@1 i:b@1 ");
}

/* A text that is nothing but one keyword does not fill the memory with matches. */
static void many_matches(void **state)
{
	const struct mr_suggest_opts opts = { 0 };
	mr_auto_free char *text = mr_str_alloc(50000 * 11 + 1);
	mr_auto_json json_t *result = NULL;
	struct mr_str lines;

	(void)state;
	mr_str_init(&lines, text, 50000 * 11 + 1);
	for (size_t i = 0; i < 50000; i++)
		mr_str_add(&lines, "import api\n");
	assert_false(lines.truncated);
	result = suggest("x", text, &opts);
	assert_int_equal(json_array_size(json_object_get(result, "matches")), 100);
}

/* --- settings ------------------------------------------------------------------ */

static void keywords_of_settings(void **state)
{
	static const char *const rows[][2] = {
		{ "{\"keyword_profiles\": {\"pay\": \"schema_drift\"}, \"x\": 1}",
		  "{\"pay\":\"schema_drift\"}" },
		{ " {}", NULL },
		{ "", NULL },
		{ "# nothing\nother: 1\n  deep: 2\n- x\n", NULL },
		{ "keyword_profiles:\n  pay: schema_drift\n", "{\"pay\":\"schema_drift\"}" },
		{ "a: 1\nkeyword_profiles: # c\n\n  pay: [a, 'b' , \"c\"] # d\n  # e\n  x: y\nb: "
		  "2\n  z: 3",
		  "{\"pay\":[\"a\",\"b\",\"c\"],\"x\":\"y\"}" },
		{ "keyword_profiles:\n  pay:\n    - a\n    - b\n  x:\n  - c\r\n",
		  "{\"pay\":[\"a\",\"b\"],\"x\":[\"c\"]}" },
		{ "keyword_profiles:\n  pay: []\n", "{\"pay\":[]}" },
		{ "keyword_profiles:\n", "{}" },
	};
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_json json_t *keywords = NULL;
		mr_auto_free char *text = NULL;

		if (mr_settings_keywords(rows[i][0], strlen(rows[i][0]), "s", &keywords, &err) < 0)
			fail_msg("%s: %s", rows[i][0], err.msg);
		if (!rows[i][1]) {
			assert_null(keywords);
			continue;
		}
		text = json_dumps(keywords, JSON_COMPACT);
		assert_string_equal(text, rows[i][1]);
	}
}

static void settings_that_are_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "keyword_profiles: {pay: a}\n",
		  "s: line 1: the words are expected on lines of their own" },
		{ "keyword_profiles:\n  pay\n", "s: line 2: a word and a colon are expected" },
		{ "keyword_profiles:\n  pay: {a: b}\n",
		  "s: line 2: a name, or names in brackets, are expected" },
		{ "keyword_profiles:\n  pay: [a, [b]]\n",
		  "s: line 2: a name, or names in brackets, are expected" },
		{ "keyword_profiles:\n  pay: &x\n",
		  "s: line 2: a name, or names in brackets, are expected" },
		{ "keyword_profiles:\n  pay: a\n  - b\n",
		  "s: line 3: \"-\" and a name are expected below a word alone" },
		{ "keyword_profiles:\nkeyword_profiles:\n",
		  "s: line 2: a second keyword_profiles" },
		{ "{\"keyword_profiles\": }", "s:1:22: unexpected token near '}'" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_error err = MR_ERROR_INIT;
		json_t *keywords = NULL;

		if (mr_settings_keywords(rows[i][0], strlen(rows[i][0]), "s", &keywords, &err) !=
		    -22)
			fail_msg("%s was accepted", rows[i][0]);
		assert_string_equal(err.msg, rows[i][1]);
		assert_null(keywords);
	}
}

static void keywords_replace_the_table(void **state)
{
	mr_auto_json json_t *keywords = json_pack("{s:[s,s], s:s}", "api", "flaky_upstream",
						  "high_latency", "pay", "schema_drift");
	const struct mr_suggest_opts opts = { .keywords = keywords };
	mr_auto_json json_t *result = suggest("pay/api/input", NULL, &opts);
	mr_auto_free char *list = json_dumps(json_object_get(result, "profiles"), JSON_COMPACT);

	(void)state;
	assert_string_equal(list, "[\"flaky_upstream\",\"high_latency_api\",\"hostile_input\","
				  "\"schema_drift\"]");
}

static void keywords_that_are_refused(void **state)
{
	static const char *const rows[][2] = {
		{ "{\"pay\": \"flaky\"}",
		  "keyword_profiles: pay: unknown profile \"flaky\"; did you "
		  "mean \"flaky_upstream\"?" },
		{ "{\"pay\": [\"schema_drift\", 5]}",
		  "keyword_profiles: pay[1]: a number where a string is expected" },
		{ "{\"pay_api\": \"schema_drift\"}", "keyword_profiles: pay_api: never matches; "
						     "accepted: one word in small letters, or a "
						     "number" },
		{ "{\"Pay\": \"schema_drift\"}",
		  "keyword_profiles: Pay: never matches; accepted: one "
		  "word in small letters, or a number" },
		{ "[]", "keyword_profiles: a list where an object is expected" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_json json_t *keywords = NULL;
		struct mr_error err = MR_ERROR_INIT;
		json_t *result = NULL;

		assert_int_equal(mr_json_parse(rows[i][0], strlen(rows[i][0]), "k", &keywords,
					       &err),
				 0);
		const struct mr_suggest_opts opts = { .keywords = keywords };

		assert_int_equal(mr_suggest("x", NULL, 0, &opts, &result, &err), -22);
		assert_string_equal(err.msg, rows[i][1]);
		assert_null(result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_names),
		cmocka_unit_test(misuse_when_asked_for),
		cmocka_unit_test(matches_are_explained),
		cmocka_unit_test(names_of_a_module),
		cmocka_unit_test(many_matches),
		cmocka_unit_test(keywords_of_settings),
		cmocka_unit_test(settings_that_are_refused),
		cmocka_unit_test(keywords_replace_the_table),
		cmocka_unit_test(keywords_that_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

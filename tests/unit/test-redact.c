/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redaction of arguments, and of what a terminal would act on
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/base/secret.h"
#include "runtime/store/redact.h"
#include "tools/term.h"

static void assert_redacted(const char *const *words, const char *expected)
{
	size_t n = 0;
	struct mr_redacted ret;
	mr_auto_free char *text = NULL;

	while (words[n])
		n++;
	ret = mr_redact_argv((char *const *)(uintptr_t)words, n, 4096);
	text = json_dumps(ret.argv, JSON_COMPACT | JSON_ENSURE_ASCII);
	assert_string_equal(text, expected);
	assert_false(ret.truncated);
	json_decref(ret.argv);
}

static void secrets_are_known_by_words(void **state)
{
	static const char *const secret[] = {
		"key",	       "api_key", "api-key", "apiKey",	   "APIKey",
		"signing.key", "KEY",	  "keys",    "KEY_2",	   "userPass",
		"user_pass",   "pass",	  "DB_PASS", "dbpassword", "authToken",
		"x-token",     "myKey",	  "old_key", "Key1Name",   "password.txt",
	};
	static const char *const open_name[] = {
		"keyboard", "compass", "monkey",   "passenger", "bypass", "hockey", "turkey_url",
		"passed",   "keyed",   "KEYBOARD", "Compass",	"",	  "_",	    "surpassed-by",
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(secret); i++)
		if (!mr_secret_is_name(secret[i]))
			fail_msg("%s is the name of a secret", secret[i]);
	for (size_t i = 0; i < N_ELEMENTS(open_name); i++)
		if (mr_secret_is_name(open_name[i]))
			fail_msg("%s is no name of a secret", open_name[i]);
}

static void secrets_are_replaced(void **state)
{
	static const struct {
		const char *words[6], *expected;
	} rows[] = {
		{ { "ls", "-l", "/tmp" }, "[\"ls\",\"-l\",\"/tmp\"]" },
		{ { "x", "--password=hunter2" }, "[\"x\",\"--password=[redacted]\"]" },
		{ { "x", "--api-token", "abc", "file" },
		  "[\"x\",\"--api-token\",\"[redacted]\",\"file\"]" },
		{ { "x", "DB_PASSWORD=a b" }, "[\"x\",\"DB_PASSWORD=[redacted]\"]" },
		{ { "curl", "-H", "Authorization: Bearer abc" },
		  "[\"curl\",\"-H\",\"Authorization:[redacted]\"]" },
		{ { "git", "https://me:pw@host/x@y" },
		  "[\"git\",\"https://me:[redacted]@host/x@y\"]" },
		{ { "git", "https://host/a:b@c" }, "[\"git\",\"https://host/a:b@c\"]" },
		{ { "x", "--PassWord=a", "--token" },
		  "[\"x\",\"--PassWord=[redacted]\",\"--token\"]" },
		{ { "x", "DB_PASS=hunter2", "MYSQL_PWD=x", "apiKey=y" },
		  "[\"x\",\"DB_PASS=[redacted]\",\"MYSQL_PWD=[redacted]\",\"apiKey=[redacted]\"]" },
		{ { "x", "--pass", "hunter2", "file" },
		  "[\"x\",\"--pass\",\"[redacted]\",\"file\"]" },
		{ { "x", "--key=abc", "--jwt", "e.y.z" },
		  "[\"x\",\"--key=[redacted]\",\"--jwt\",\"[redacted]\"]" },
		{ { "curl", "-H", "X-Key: abc" }, "[\"curl\",\"-H\",\"X-Key:[redacted]\"]" },
		{ { "x", "--keyboard=us", "--compass", "n", "MONKEY=1" },
		  "[\"x\",\"--keyboard=us\",\"--compass\",\"n\",\"MONKEY=1\"]" },
		{ { "x", "http://a/b,ftp://me:one@c,http://you:two@d/" },
		  "[\"x\",\"http://a/b,ftp://me:[redacted]@c,http://you:[redacted]@d/\"]" },
		{ { "sh", "-c", "wget http://a && wget http://me:one@b/c" },
		  "[\"sh\",\"-c\",\"wget http://a && wget http://me:[redacted]@b/c\"]" },
		{ { "x", "http://me:p@ss@host/a@b" }, "[\"x\",\"http://me:[redacted]@host/a@b\"]" },
		{ { "x", "://", "://:@" }, "[\"x\",\"://\",\"://:@\"]" },
		{ { "grep", "password", "file" }, "[\"grep\",\"password\",\"file\"]" },
		{ { "x", "--password=" }, "[\"x\",\"--password=\"]" },
		{ { "x", "" }, "[\"x\",\"\"]" },
		{ { "x", "\xff\x01"
			 "a" },
		  "[\"x\",\"\\\\xff\\u0001a\"]" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_redacted(rows[i].words, rows[i].expected);
}

static void what_is_left_out_is_told(void **state)
{
	char *words[] = { (char *)(uintptr_t) "12345", (char *)(uintptr_t) "6789",
			  (char *)(uintptr_t) "0" };
	static const struct {
		size_t max, kept;
	} rows[] = { { 13, 3 }, { 12, 2 }, { 11, 2 }, { 10, 1 }, { 5, 0 }, { 0, 0 } };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_redacted ret = mr_redact_argv(words, 3, rows[i].max);

		assert_int_equal(json_array_size(ret.argv), rows[i].kept);
		assert_int_equal(ret.bytes, 13);
		assert_int_equal(ret.truncated, rows[i].kept < 3);
		json_decref(ret.argv);
	}
}

static void nothing_reaches_the_terminal_that_it_acts_on(void **state)
{
	static const struct {
		const char *text, *safe;
	} rows[] = {
		{ "plain", "plain" },
		{ NULL, "-" },
		{ "", "" },
		{ "\033[2J\033]0;title\007", "\\x1b[2J\\x1b]0;title\\x07" },
		{ "a\nb\tc\r", "a\\x0ab\\x09c\\x0d" },
		{ "\x7f", "\\x7f" },
		{ "\xc2\x9b"
		  "31m",
		  "\\u{9b}31m" }, /* CSI in one character */
		{ "\x9b"
		  "31m",
		  "\\x9b31m" }, /* and in one byte */
		{ "a\xe2\x80\xae"
		  "b",
		  "a\\u{202e}b" }, /* right to left */
		{ "\xe2\x81\xa6x\xe2\x80\x8b", "\\u{2066}x\\u{200b}" },
		{ "\xef\xbb\xbf", "\\u{feff}" },
		{ "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
		  "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\xf3\xa0\x81\x81", "\\u{e0041}" }, /* an invisible tag */
		{ "\xc3", "\\xc3" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_free char *safe = mr_term_safe(rows[i].text);

		assert_string_equal(safe, rows[i].safe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(secrets_are_known_by_words),
		cmocka_unit_test(secrets_are_replaced),
		cmocka_unit_test(what_is_left_out_is_told),
		cmocka_unit_test(nothing_reaches_the_terminal_that_it_acts_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings: the builder never overruns, quoting is safe on a terminal, hints hint
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"

static void builder_appends_and_stops_at_the_end(void **state)
{
	char buf[8];
	struct mr_str str;

	(void)state;
	memset(buf, 'x', sizeof(buf));
	mr_str_init(&str, buf, sizeof(buf));
	assert_string_equal(buf, "");
	mr_str_add(&str, "ab");
	mr_str_printf(&str, "%d", 42);
	mr_str_addn(&str, "cdef", 2);
	assert_string_equal(buf, "ab42cd");
	assert_int_equal(str.len, 6);
	assert_false(str.truncated);
	mr_str_add(&str, "e");
	assert_string_equal(buf, "ab42cde");
	assert_false(str.truncated);
	mr_str_add(&str, "f");
	assert_string_equal(buf, "ab42cde");
	assert_true(str.truncated);
	assert_int_equal(str.len, 7);
	mr_str_printf(&str, "more");
	assert_string_equal(buf, "ab42cde");
}

static void builder_cuts_a_format_that_does_not_fit(void **state)
{
	char buf[5];
	struct mr_str str;

	(void)state;
	mr_str_init(&str, buf, sizeof(buf));
	mr_str_printf(&str, "%s", "1234");
	assert_false(str.truncated);
	mr_str_init(&str, buf, sizeof(buf));
	mr_str_printf(&str, "%s", "12345");
	assert_true(str.truncated);
	assert_string_equal(buf, "1234");
	assert_int_equal(str.len, 4);
}

static void quoting(void **state)
{
	char buf[MR_STR_QUOTE_SIZE];
	char small[16];

	(void)state;
	assert_string_equal(mr_str_quote(buf, sizeof(buf), ""), "\"\"");
	assert_string_equal(mr_str_quote(buf, sizeof(buf), "a b"), "\"a b\"");
	assert_string_equal(mr_str_quote(buf, sizeof(buf), "a\"\\\n\t\033\x7f\xc3\xa9"),
			    "\"a\\\"\\\\\\n\\t\\x1b\\x7f\\xc3\\xa9\"");
	assert_string_equal(mr_str_quote(small, sizeof(small), "0123456789"), "\"0123456789\"");
	assert_string_equal(mr_str_quote(small, sizeof(small), "0123456789abcdefgh"),
			    "\"0123456789\"...");
	assert_int_equal(strlen(small), 15);
	assert_string_equal(mr_str_quote(small, sizeof(small), "\n\n\n\n\n\n\n\n\n\n"),
			    "\"\\n\\n\\n\\n\\n\"...");
}

static void prefixes_and_suffixes(void **state)
{
	(void)state;
	assert_true(mr_str_starts_with("SANDBOX_X", "SANDBOX_"));
	assert_false(mr_str_starts_with("SAND", "SANDBOX_"));
	assert_true(mr_str_ends_with("a.py", ".py"));
	assert_false(mr_str_ends_with("py", ".py"));
	assert_true(mr_str_ends_with("x", ""));
	assert_true(mr_str_is_under("/proc", "/proc"));
	assert_true(mr_str_is_under("/proc/1", "/proc"));
	assert_false(mr_str_is_under("/process", "/proc"));
	assert_false(mr_str_is_under("/pro", "/proc"));
	assert_true(mr_str_equal_nocase("Mi", "mI"));
	assert_false(mr_str_equal_nocase("Mi", "Mib"));
	assert_false(mr_str_equal_nocase("Mib", "Mi"));
	assert_false(mr_str_equal_nocase("\xc3\x89", "\xc3\xa9"));
}

static void distances(void **state)
{
	char longest[66];

	(void)state;
	assert_int_equal(mr_str_distance("", ""), 0);
	assert_int_equal(mr_str_distance("abc", ""), 3);
	assert_int_equal(mr_str_distance("", "abc"), 3);
	assert_int_equal(mr_str_distance("memory", "MEMORY"), 0);
	assert_int_equal(mr_str_distance("memroy", "memory"), 1);
	assert_int_equal(mr_str_distance("memry", "memory"), 1);
	assert_int_equal(mr_str_distance("memoryy", "memory"), 1);
	assert_int_equal(mr_str_distance("kitten", "sitting"), 3);
	memset(longest, 'a', 65);
	longest[65] = '\0';
	assert_int_equal(mr_str_distance(longest, "a"), SIZE_MAX);
	longest[64] = '\0';
	assert_int_equal(mr_str_distance(longest, longest), 0);
	assert_int_equal(mr_str_distance(longest, ""), 64);
}

static const char *nearest_of(const char *word, const char *a, const char *b, const char *c)
{
	struct mr_str_nearest nearest;

	mr_str_nearest_init(&nearest, word);
	mr_str_nearest_offer(&nearest, a);
	mr_str_nearest_offer(&nearest, b);
	mr_str_nearest_offer(&nearest, c);
	return nearest.best;
}

static void hints(void **state)
{
	(void)state;
	assert_string_equal(nearest_of("memroy", "memory", "cpus", "pids"), "memory");
	assert_string_equal(nearest_of("pid", "memory", "cpus", "pids"), "pids");
	assert_null(nearest_of("frobnicate", "memory", "cpus", "pids"));
	assert_null(nearest_of("", "memory", "cpus", "pids"));
	assert_null(nearest_of("x", "ab", "c", "d"));
	assert_string_equal(nearest_of("memory", "memory_max_bytes", "memo", "x"),
			    "memory_max_bytes");
	assert_null(nearest_of("mem", "memory_max_bytes", "m", "x"));
	assert_string_equal(nearest_of("pida", "pidb", "pidc", "x"), "pidb");
}

static void utf8(void **state)
{
	static const char *const good[] = {
		"",
		"abc",
		"\xc3\xa9",
		"\xe2\x82\xac",
		"\xf0\x9f\x98\x80",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xf4\x8f\xbf\xbf",
		"\xe0\xa0\x80",
		"\xf0\x90\x80\x80",
		"\xc2\x80",
	};
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xc3",
		"\xc3(",
		"\xe2\x82",
		"\xe2(\xac",
		"\xe0\x9f\xbf",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xff",
		"\xfe",
		"a\xf0\x9f\x98",
		"\xe2\x82(",
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(good); i++)
		assert_true(mr_str_utf8_valid(good[i], strlen(good[i])));
	for (size_t i = 0; i < N_ELEMENTS(bad); i++)
		assert_false(mr_str_utf8_valid(bad[i], strlen(bad[i])));
	assert_true(mr_str_utf8_valid("a\0b", 3));
}

static void base64_of_rfc4648(void **state)
{
	static const char *const rows[][2] = {
		{ "", "" },
		{ "f", "Zg==" },
		{ "fo", "Zm8=" },
		{ "foo", "Zm9v" },
		{ "foob", "Zm9vYg==" },
		{ "fooba", "Zm9vYmE=" },
		{ "foobar", "Zm9vYmFy" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_free char *text = mr_str_base64(rows[i][0], strlen(rows[i][0]));

		assert_string_equal(text, rows[i][1]);
	}
	mr_auto_free char *binary = mr_str_base64("\xff\xfe\0\xfb", 4);

	assert_string_equal(binary, "//4A+w==");
}

static void formatted(void **state)
{
	mr_auto_free char *text = mr_str_format("%s=%d", "a", 5);

	(void)state;
	assert_string_equal(text, "a=5");
}

static void hex(void **state)
{
	char text[9];

	(void)state;
	mr_str_hex("\x00\xff\x1a\x90", 4, text);
	assert_string_equal(text, "00ff1a90");
	mr_str_hex("", 0, text);
	assert_string_equal(text, "");
}

static void octal_escapes(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "" },
		{ "/usr/local", "/usr/local" },
		{ "/in\\040ner\\134\\011x", "/in ner\\\tx" },
		{ "\\377", "\377" },
		{ "\\400\\08\\1", "\\400\\08\\1" }, /* no byte, no octal, too short */
		{ "end\\", "end\\" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		char text[40];

		snprintf(text, sizeof(text), "%s", rows[i].text);
		mr_str_unescape_octal(text);
		assert_string_equal(text, rows[i].want);
	}
}

static void characters(void **state)
{
	static const struct {
		const char *text;
		size_t size, length;
		uint32_t code;
		bool acts;
	} rows[] = {
		{ "a", 1, 1, 'a', false },
		{ "\033[", 2, 1, 0x1b, true },
		{ "\xc2\x9b", 2, 2, 0x9b, true },
		{ "\xc3\xa9x", 3, 2, 0xe9, false },
		{ "\xe2\x80\xae", 3, 3, 0x202e, true },
		{ "\xe2\x82\xac", 3, 3, 0x20ac, false },
		{ "\xf0\x9f\x98\x80", 4, 4, 0x1f600, false },
		{ "\xf3\xa0\x80\x81", 4, 4, 0xe0001, true },
		{ "\xe2\x80", 2, 0, 7, false }, /* ends too early; 7: left as it was */
		{ "\xe2\x80\xae", 2, 0, 7, false },
		{ "\x9b", 1, 0, 7, false },
		{ "\xc0\x80", 2, 0, 7, false },
		{ "\xed\xa0\x80", 3, 0, 7, false },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		uint32_t code = 7;

		assert_int_equal(mr_str_utf8_next(rows[i].text, rows[i].size, &code),
				 rows[i].length);
		assert_int_equal(code, rows[i].code);
		if (rows[i].length > 0)
			assert_int_equal(mr_str_acts(code), rows[i].acts);
	}
}

static void printable(void **state)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "" },
		{ "caf\xc3\xa9 \xf0\x9f\x98\x80\tx", "caf\xc3\xa9 \xf0\x9f\x98\x80\tx" },
		{ "\033[31m\nred\x7f", "?[31m?red?" },
		{ "\xc2\x9b"
		  "31m",
		  "?31m" },
		{ "a\xe2\x80\xae"
		  "b\xe2\x81\xa6"
		  "c",
		  "a?b?c" },
		{ "\x9b"
		  "31m\xff",
		  "?31m?" },
		{ "\xc3\xa9\xc3", "\xc3\xa9?" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		char text[40];

		snprintf(text, sizeof(text), "%s", rows[i].text);
		mr_str_make_printable(text);
		assert_string_equal(text, rows[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builder_appends_and_stops_at_the_end),
		cmocka_unit_test(builder_cuts_a_format_that_does_not_fit),
		cmocka_unit_test(quoting),
		cmocka_unit_test(prefixes_and_suffixes),
		cmocka_unit_test(distances),
		cmocka_unit_test(hints),
		cmocka_unit_test(utf8),
		cmocka_unit_test(base64_of_rfc4648),
		cmocka_unit_test(formatted),
		cmocka_unit_test(hex),
		cmocka_unit_test(octal_escapes),
		cmocka_unit_test(characters),
		cmocka_unit_test(printable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

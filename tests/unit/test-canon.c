/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canonical JSON: the examples of RFC 8785, and what goes beyond them
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/store/canon.h"

static void assert_canon(const char *input, const char *expected)
{
	mr_auto_json json_t *json = NULL;
	mr_auto_free char *text = NULL;
	size_t size = 0;

	assert_int_equal(mr_json_parse(input, strlen(input), "test", &json, NULL), 0);
	text = mr_canon_text(json, &size);
	assert_string_equal(text, expected);
	assert_int_equal(size, strlen(expected));
}

static void literals_numbers_and_strings(void **state)
{
	(void)state;
	assert_canon("{ \"numbers\": [333333333.33333329, 1E30, 4.50, 2e-3, "
		     "0.000000000000000000000000001],\n"
		     "  \"string\": \"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\",\n"
		     "  \"literals\": [null, true, false] }",
		     "{\"literals\":[null,true,false],"
		     "\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
		     "\"string\":\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

/* RFC 8785, 3.2.3: by UTF-16 code units, where U+1F600 stands before U+FB33. */
static void members_are_sorted_as_utf16(void **state)
{
	(void)state;
	assert_canon("{\"\\u20ac\": 1, \"\\r\": 2, \"\\ufb33\": 3, \"1\": 4, "
		     "\"\\ud83d\\ude00\": 5, \"\\u0080\": 6, \"\\u00f6\": 7}",
		     "{\"\\r\":2,\"1\":4,\"\xc2\x80\":6,\"\xc3\xb6\":7,\"\xe2\x82\xac\":1,"
		     "\"\xf0\x9f\x98\x80\":5,\"\xef\xac\xb3\":3}");
	assert_canon("{\"ab\": 1, \"a\": 2, \"\": 3}", "{\"\":3,\"a\":2,\"ab\":1}");
}

/* Large objects are sorted in another way. */
static void any_number_of_members_is_sorted(void **state)
{
	(void)state;
	for (int n = 1; n <= 100; n++) {
		char input[2048] = "{", expected[2048] = "{";

		for (int i = 0; i < n; i++) {
			size_t to = strlen(input), from = strlen(expected);

			snprintf(input + to, sizeof(input) - to, "%s\"k%02d\":%d", i ? "," : "",
				 n - 1 - i, i);
			snprintf(expected + from, sizeof(expected) - from, "%s\"k%02d\":%d",
				 i ? "," : "", i, n - 1 - i);
		}
		strncat(input, "}", sizeof(input) - strlen(input) - 1);
		strncat(expected, "}", sizeof(expected) - strlen(expected) - 1);
		assert_canon(input, expected);
	}
}

/* RFC 8785, appendix B. */
static void doubles_are_printed_as_ecmascript_does(void **state)
{
	static const struct {
		uint64_t bits;
		const char *text;
	} rows[] = {
		{ 0x0000000000000000, "0" },
		{ 0x8000000000000000, "0" },
		{ 0x0000000000000001, "5e-324" },
		{ 0x8000000000000001, "-5e-324" },
		{ 0x7fefffffffffffff, "1.7976931348623157e+308" },
		{ 0xffefffffffffffff, "-1.7976931348623157e+308" },
		{ 0x4340000000000000, "9007199254740992" },
		{ 0xc340000000000000, "-9007199254740992" },
		{ 0x4430000000000000, "295147905179352830000" },
		{ 0x44b52d02c7e14af5, "9.999999999999997e+22" },
		{ 0x44b52d02c7e14af6, "1e+23" },
		{ 0x44b52d02c7e14af7, "1.0000000000000001e+23" },
		{ 0x444b1ae4d6e2ef4e, "999999999999999700000" },
		{ 0x444b1ae4d6e2ef4f, "999999999999999900000" },
		{ 0x444b1ae4d6e2ef50, "1e+21" },
		{ 0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7" },
		{ 0x3eb0c6f7a0b5ed8d, "0.000001" },
		{ 0x41b3de4355555553, "333333333.3333332" },
		{ 0x41b3de4355555554, "333333333.33333325" },
		{ 0x41b3de4355555555, "333333333.3333333" },
		{ 0x41b3de4355555556, "333333333.3333334" },
		{ 0x41b3de4355555557, "333333333.33333343" },
		{ 0xbecbf647612f3696, "-0.0000033333333333333333" },
		{ 0x43143ff3c1cb0959, "1424953923781206.2" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		char buf[MR_CANON_NUMBER_SIZE];
		double value;

		memcpy(&value, &rows[i].bits, sizeof(value));
		assert_string_equal(mr_canon_number(value, buf), rows[i].text);
	}
}

static void whole_numbers_beyond_2_to_the_53_are_texts(void **state)
{
	(void)state;
	assert_canon("[9007199254740992, 9007199254740993, -9007199254740992, -9007199254740993, "
		     "9223372036854775807, 0, -1]",
		     "[9007199254740992,\"9007199254740993\",-9007199254740992,"
		     "\"-9007199254740993\",\"9223372036854775807\",0,-1]");
}

static void a_nul_is_escaped_and_not_an_end(void **state)
{
	(void)state;
	assert_canon("[\"a\\u0000b\", \"\\u007f\\b\\t\\f\"]", "[\"a\\u0000b\",\"\x7f\\b\\t\\f\"]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(literals_numbers_and_strings),
		cmocka_unit_test(members_are_sorted_as_utf16),
		cmocka_unit_test(any_number_of_members_is_sorted),
		cmocka_unit_test(doubles_are_printed_as_ecmascript_does),
		cmocka_unit_test(whole_numbers_beyond_2_to_the_53_are_texts),
		cmocka_unit_test(a_nul_is_escaped_and_not_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

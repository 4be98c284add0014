/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units: exact values, exact complaints, and that what is printed is read back
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
#include "runtime/base/units.h"

#define SIZE_ACCEPTED                                                                            \
	"a number of bytes, or with a unit b, k, m, g or t (also kb, ki, kib; powers of 1024), " \
	"as in 512Mi or 1.5g"
#define UNTOUCHED UINT64_C(0xdeadbeef)

typedef int parse_fn(const char *text, uint64_t *ret, struct mr_error *err);

struct good {
	const char *text;
	uint64_t value;
};

static void check_good(parse_fn *parse, const struct good *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct mr_error err = MR_ERROR_INIT;
		uint64_t value = UNTOUCHED;
		int r = parse(rows[i].text, &value, &err);

		if (r != 0 || value != rows[i].value)
			fail_msg("\"%s\": r=%d value=%llu: %s", rows[i].text, r,
				 (unsigned long long)value, err.msg);
	}
}

static void check_bad(parse_fn *parse, const char *const *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct mr_error err = MR_ERROR_INIT;
		uint64_t value = UNTOUCHED;
		int r = parse(rows[i], &value, &err);

		if (r != -22 || value != UNTOUCHED || err.code != MR_E_USAGE)
			fail_msg("\"%s\": r=%d value=%llu: %s", rows[i], r,
				 (unsigned long long)value, err.msg);
	}
}

static int timespan_seconds(const char *text, uint64_t *ret, struct mr_error *err)
{
	return mr_units_parse_timespan(text, true, ret, err);
}

static int timespan_ms(const char *text, uint64_t *ret, struct mr_error *err)
{
	return mr_units_parse_timespan(text, false, ret, err);
}

static void size_values(void **state)
{
	static const struct good rows[] = {
		{ "0", 0 },
		{ "1", 1 },
		{ "17b", 17 },
		{ "4Mi", 4194304 },
		{ "4gi", 4294967296 },
		{ "512mb", 536870912 },
		{ "1G", 1073741824 },
		{ "1Ki", 1024 },
		{ "1kb", 1024 },
		{ "1KIB", 1024 },
		{ "0.5Gi", 536870912 },
		{ "1.5Mi", 1572864 },
		{ ".5k", 512 },
		{ " 2m ", 2097152 },
		{ "1t", 1099511627776 },
		{ "0.0009765625k", 1 },
		{ "0.00097656249k", 0 },
		{ "1.9b", 1 },
		{ "0.33333333333333333333333333333333333333k", 341 },
		{ "9223372036854775807", INT64_MAX },
		{ "8388607t", UINT64_C(9223370937343148032) },
		{ "000000000000000000000000000000000001", 1 },
	};

	(void)state;
	check_good(mr_units_parse_size, rows, N_ELEMENTS(rows));
}

/* What every grammar of numbers refuses. */
static const char *const never_numbers[] = {
	"",
	" ",
	"-1",
	"+1",
	"-0",
	"nan",
	"NaN",
	"inf",
	"-inf",
	"infinity",
	"1e3",
	"0x10",
	"1 2",
	"1..2",
	"1.",
	"1,5",
	".",
	"--1",
	"1-",
	"one",
	"1\n2",
	"\xff",
	"1\xc2\xa0",
	"unlimited",
	"9223372036854775808",
	"18446744073709551616",
	"99999999999999999999999999999999999999999999999999999999",
	"0b1",
	"1_000",
	"1'000",
};

static void what_no_number_grammar_accepts(void **state)
{
	(void)state;
	check_bad(mr_units_parse_size, never_numbers, N_ELEMENTS(never_numbers));
	check_bad(timespan_seconds, never_numbers, N_ELEMENTS(never_numbers));
	check_bad(timespan_ms, never_numbers, N_ELEMENTS(never_numbers));
	check_bad(mr_units_parse_bandwidth, never_numbers, N_ELEMENTS(never_numbers));
	check_bad(mr_units_parse_count, never_numbers, N_ELEMENTS(never_numbers));
	check_bad(mr_units_parse_milli, never_numbers, N_ELEMENTS(never_numbers));
	check_bad(mr_units_parse_percent, never_numbers, N_ELEMENTS(never_numbers));
	check_bad(mr_units_parse_id, never_numbers, N_ELEMENTS(never_numbers));
}

static void size_refusals(void **state)
{
	static const char *const rows[] = {
		"foo",	"65x",	 "1kbps",      "1Mi5",	   "foo5bar",
		"1 Mi", "1s",	 "1p",	       "8388608t", "9223372036854775808t",
		"1%",	"1mibi", "1kilobytes",
	};

	(void)state;
	check_bad(mr_units_parse_size, rows, N_ELEMENTS(rows));
}

static void size_messages(void **state)
{
	static const struct {
		const char *text;
		const char *message;
	} rows[] = {
		{ "12x", "\"12x\" is not a size: unknown unit \"x\"; accepted: " SIZE_ACCEPTED },
		{ "", "\"\" is not a size: it is empty; accepted: " SIZE_ACCEPTED },
		{ "-1", "\"-1\" is not a size: it is negative; accepted: " SIZE_ACCEPTED },
		{ "+1", "\"+1\" is not a size: a sign is not accepted; accepted: " SIZE_ACCEPTED },
		{ "nan", "\"nan\" is not a size: it is not a number; accepted: " SIZE_ACCEPTED },
		{ "16384Pi",
		  "\"16384Pi\" is not a size: unknown unit \"Pi\"; accepted: " SIZE_ACCEPTED },
		{ "8388608t",
		  "\"8388608t\" is not a size: it is too large; accepted: " SIZE_ACCEPTED },
		{ "1\033[2J", "\"1\\x1b[2J\" is not a size: unknown unit \"\\x1b[2J\"; "
			      "accepted: " SIZE_ACCEPTED },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_error err = MR_ERROR_INIT;
		uint64_t value;

		assert_int_equal(mr_units_parse_size(rows[i].text, &value, &err), -22);
		assert_string_equal(err.msg, rows[i].message);
	}
}

static void timespan_values(void **state)
{
	static const struct good seconds[] = {
		{ "500ms", 500 },   { "10s", 10000 },	 { "2m", 120000 }, { "1h", 3600000 },
		{ "1d", 86400000 }, { "1w", 604800000 }, { "30", 30000 },  { "0.5", 500 },
		{ "0", 0 },	    { "1.5s", 1500 },	 { "0.0019", 1 },  { "1MS", 1 },
		{ "0.9ms", 0 },
	};
	static const struct good ms[] = { { "30", 30 }, { "30s", 30000 }, { "1.9", 1 } };
	static const char *const bad[] = { "1y", "1min", "1us", "ms", "5 s", "1k", "1hours" };

	(void)state;
	check_good(timespan_seconds, seconds, N_ELEMENTS(seconds));
	check_good(timespan_ms, ms, N_ELEMENTS(ms));
	check_bad(timespan_seconds, bad, N_ELEMENTS(bad));
}

static void timespan_message_tells_what_a_bare_number_is(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	uint64_t ms;

	(void)state;
	assert_int_equal(mr_units_parse_timespan("5y", true, &ms, &err), -22);
	assert_string_equal(err.msg, "\"5y\" is not a time: unknown unit \"y\"; accepted: a number "
				     "of seconds, or with a unit ms, s, m, h, d or w, as in 1.5, "
				     "500ms or 2m");
	assert_int_equal(mr_units_parse_timespan("5y", false, &ms, &err), -22);
	assert_string_equal(err.msg, "\"5y\" is not a time: unknown unit \"y\"; accepted: a number "
				     "of milliseconds, or with a unit ms, s, m, h, d or w, as in "
				     "500ms or 2m");
}

static void bandwidth_values(void **state)
{
	static const struct good rows[] = {
		{ "100kbps", 100000 },
		{ "2mbps", 2000000 },
		{ "1gbps", 1000000000 },
		{ "100kbit", 100000 },
		{ "2Mbit", 2000000 },
		{ "10gbit", 10000000000 },
		{ "1", 1 },
		{ "10000000000", 10000000000 },
		{ "0.5mbps", 500000 },
	};
	static const char *const bad[] = {
		"0kbps", "20gbps", "foo", "0", "10000000001", "10.1gbit", "1k", "1mi", "0.0001kbps",
	};

	(void)state;
	check_good(mr_units_parse_bandwidth, rows, N_ELEMENTS(rows));
	check_bad(mr_units_parse_bandwidth, bad, N_ELEMENTS(bad));
}

static void flags(void **state)
{
	static const char *const yes[] = { "1", "true", "T", "Yes", "y", "ON", " on " };
	static const char *const no[] = { "0", "false", "F", "No", "n", "OFF", "off\n" };
	static const char *const bad[] = {
		"", "2", "-1", "yess", "tru", "null", "o", "enabled-it"
	};
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(yes); i++) {
		bool value = false;

		assert_int_equal(mr_units_parse_flag(yes[i], &value, &err), 0);
		assert_true(value);
		value = true;
		assert_int_equal(mr_units_parse_flag(no[i], &value, &err), 0);
		assert_false(value);
	}
	for (size_t i = 0; i < N_ELEMENTS(bad); i++) {
		bool value = true;

		assert_int_equal(mr_units_parse_flag(bad[i], &value, &err), -22);
		assert_true(value);
	}
	assert_int_equal(mr_units_parse_flag("maybe", &(bool){ false }, &err), -22);
	assert_string_equal(err.msg,
			    "\"maybe\" is not a flag: unknown word; accepted: 1 true t yes "
			    "y on, or 0 false f no n off");
}

static void counts(void **state)
{
	static const struct good rows[] = {
		{ "0", 0 },
		{ "64", 64 },
		{ "007", 7 },
		{ "9223372036854775807", INT64_MAX },
	};
	static const char *const bad[] = { " 1", "1 ", "1.0", ".5", "1k", "0x0" };
	struct mr_error err = MR_ERROR_INIT;
	uint64_t value;

	(void)state;
	check_good(mr_units_parse_count, rows, N_ELEMENTS(rows));
	check_bad(mr_units_parse_count, bad, N_ELEMENTS(bad));
	assert_int_equal(mr_units_parse_count("8k", &value, &err), -22);
	assert_string_equal(err.msg, "\"8k\" is not a whole number: it has more than digits; "
				     "accepted: decimal digits, as in 64");
}

static void ids(void **state)
{
	static const struct good rows[] = {
		{ "0", 0 },
		{ "1000", 1000 },
		{ "65534", 65534 },
		{ "4294967294", 4294967294 },
	};
	static const char *const bad[] = {
		"", "0x0", "-1", "1000:", "4294967295", " 1", "1 ", "root", "4294967296", "1.0",
	};
	struct mr_error err = MR_ERROR_INIT;
	uint64_t value;

	(void)state;
	check_good(mr_units_parse_id, rows, N_ELEMENTS(rows));
	check_bad(mr_units_parse_id, bad, N_ELEMENTS(bad));
	assert_int_equal(mr_units_parse_id("4294967295", &value, &err), -22);
	assert_string_equal(err.msg, "\"4294967295\" is not an id: it is out of range; accepted: "
				     "decimal digits, 0 to 4294967294");
}

static void millis(void **state)
{
	static const struct good rows[] = {
		{ "0", 0 },	 { "0.1", 100 },  { "0.5", 500 },
		{ "2", 2000 },	 { "64", 64000 }, { "65", 65000 },
		{ "0.29", 290 }, { "0.0019", 1 }, { "1.9999", 1999 },
	};
	static const char *const bad[] = { "foo", "1m", "1%", "0.5.5" };

	(void)state;
	check_good(mr_units_parse_milli, rows, N_ELEMENTS(rows));
	check_bad(mr_units_parse_milli, bad, N_ELEMENTS(bad));
}

static void percents(void **state)
{
	static const struct good rows[] = {
		{ "0", 0 },	 { "0.0", 0 },	     { "1%", 10000 },
		{ "0.05", 500 }, { "100", 1000000 }, { "100%", 1000000 },
	};
	static const char *const bad[] = { "100.1", "101%", "5%%", "%", "5 %", "-5%" };

	(void)state;
	check_good(mr_units_parse_percent, rows, N_ELEMENTS(rows));
	check_bad(mr_units_parse_percent, bad, N_ELEMENTS(bad));
}

static void exact_printers(void **state)
{
	char buf[MR_UNITS_SIZE];

	(void)state;
	assert_string_equal(mr_units_print_size(buf, 0), "0");
	assert_string_equal(mr_units_print_size(buf, 1000), "1000");
	assert_string_equal(mr_units_print_size(buf, 65536), "64Ki");
	assert_string_equal(mr_units_print_size(buf, 536870912), "512Mi");
	assert_string_equal(mr_units_print_size(buf, UINT64_C(68719476736)), "64Gi");
	assert_string_equal(mr_units_print_size(buf, UINT64_C(1125899906842624)), "1024Ti");
	assert_string_equal(mr_units_print_timespan(buf, 0), "0ms");
	assert_string_equal(mr_units_print_timespan(buf, 1500), "1500ms");
	assert_string_equal(mr_units_print_timespan(buf, 30000), "30s");
	assert_string_equal(mr_units_print_timespan(buf, 120000), "2m");
	assert_string_equal(mr_units_print_timespan(buf, UINT64_C(31536000000)), "365d");
	assert_string_equal(mr_units_print_milli(buf, 500), "0.5");
	assert_string_equal(mr_units_print_milli(buf, 64000), "64");
	assert_string_equal(mr_units_print_milli(buf, 10), "0.01");
	assert_string_equal(mr_units_print_milli(buf, 1001), "1.001");
}

static void printed_is_read_back(void **state)
{
	static const uint64_t values[] = {
		0,
		1,
		9,
		1023,
		1024,
		1025,
		59999,
		60000,
		86400000,
		604800000,
		1048576,
		123456789,
		UINT64_C(1099511627776),
		INT64_MAX / 1024,
		INT64_MAX,
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(values); i++) {
		struct mr_error err = MR_ERROR_INIT;
		char buf[MR_UNITS_SIZE];
		uint64_t value = UNTOUCHED;

		mr_units_print_size(buf, values[i]);
		assert_int_equal(mr_units_parse_size(buf, &value, &err), 0);
		assert_int_equal(value, values[i]);
		mr_units_print_timespan(buf, values[i]);
		assert_int_equal(mr_units_parse_timespan(buf, false, &value, &err), 0);
		assert_int_equal(value, values[i]);
		mr_units_print_milli(buf, values[i]);
		assert_int_equal(mr_units_parse_milli(buf, &value, &err), 0);
		assert_int_equal(value, values[i]);
	}
}

static void human_printers(void **state)
{
	char buf[MR_UNITS_SIZE];

	(void)state;
	assert_string_equal(mr_units_human_size(buf, 0), "0 B");
	assert_string_equal(mr_units_human_size(buf, 1023), "1023 B");
	assert_string_equal(mr_units_human_size(buf, 1024), "1 KiB");
	assert_string_equal(mr_units_human_size(buf, 1536), "1.5 KiB");
	assert_string_equal(mr_units_human_size(buf, 1567), "1.53 KiB");
	assert_string_equal(mr_units_human_size(buf, 10300), "10 KiB");
	assert_string_equal(mr_units_human_size(buf, 536870912), "512 MiB");
	assert_string_equal(mr_units_human_size(buf, UINT64_MAX), "16777215 TiB");
	assert_string_equal(mr_units_human_time(buf, 0), "0 ns");
	assert_string_equal(mr_units_human_time(buf, 850), "850 ns");
	assert_string_equal(mr_units_human_time(buf, 850000), "850 us");
	assert_string_equal(mr_units_human_time(buf, 1250000), "1.25 ms");
	assert_string_equal(mr_units_human_time(buf, 12300000000), "12.3 s");
	assert_string_equal(mr_units_human_time(buf, 59999999999), "59.9 s");
	assert_string_equal(mr_units_human_time(buf, 60000000000), "1 min 0 s");
	assert_string_equal(mr_units_human_time(buf, 3725000000000), "1 h 2 min");
	assert_string_equal(mr_units_human_time(buf, UINT64_MAX), "5124095 h 34 min");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(size_values),
		cmocka_unit_test(what_no_number_grammar_accepts),
		cmocka_unit_test(size_refusals),
		cmocka_unit_test(size_messages),
		cmocka_unit_test(timespan_values),
		cmocka_unit_test(timespan_message_tells_what_a_bare_number_is),
		cmocka_unit_test(bandwidth_values),
		cmocka_unit_test(flags),
		cmocka_unit_test(counts),
		cmocka_unit_test(ids),
		cmocka_unit_test(millis),
		cmocka_unit_test(percents),
		cmocka_unit_test(exact_printers),
		cmocka_unit_test(printed_is_read_back),
		cmocka_unit_test(human_printers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock: what was set is told, and no more than is known
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/base/clock.h"

static int64_t skew(int64_t from, int64_t from_doubt, int64_t to, int64_t to_doubt)
{
	const struct mr_clock_reading a = { from, from_doubt }, b = { to, to_doubt };

	return mr_clock_skew_ns(&a, &b);
}

static void what_was_set_is_told_with_its_sign(void **state)
{
	(void)state;
	assert_int_equal(skew(1700000000000000000, 50, 1700000003000000000, 50), 3000000000);
	assert_int_equal(skew(1700000000000000000, 50, 1699999996500000000, 50), -3500000000);
	assert_int_equal(skew(1000, 50, 1101, 50), 101);
}

static void what_the_readings_may_be_off_is_no_skew(void **state)
{
	(void)state;
	assert_int_equal(skew(1000, 50, 1100, 50), 0);
	assert_int_equal(skew(1000, 50, 900, 50), 0);
	assert_int_equal(skew(1000, 0, 1000, 0), 0);
}

/* Nobody sets the clock between them; a machine that is always this slow would be useless. */
static void readings_are_close(void **state)
{
	struct mr_clock_reading a, b;

	(void)state;
	for (int i = 0; i < 10; i++) {
		mr_clock_read(&a);
		mr_clock_read(&b);
		if (a.doubt_ns <= 100000000)
			break;
	}
	assert_in_range(a.doubt_ns, 1, 100000000);
	assert_true(a.offset_ns > 0);
	assert_int_equal(mr_clock_skew_ns(&a, &b), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_set_is_told_with_its_sign),
		cmocka_unit_test(what_the_readings_may_be_off_is_no_skew),
		cmocka_unit_test(readings_are_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

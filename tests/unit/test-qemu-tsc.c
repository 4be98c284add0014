/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate of the time stamp counter is that of any other two readings, or is not known
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/backend/qemu_tsc.h"
#include "runtime/base/loop.h"

#define SPAN_NS 20000000

static void rate_is_ticks_by_time(void **state)
{
	const struct mr_tsc_mark begin = { 1000, 500 };
	struct mr_tsc_mark end = { 1000 + 26000000, 500 + 10000000 };

	(void)state;
	assert_int_equal(mr_tsc_khz(&begin, &end), 2600000);
	end = (struct mr_tsc_mark){ 1000 + 2600000000000, 500 + 1000000000000 };
	assert_int_equal(mr_tsc_khz(&begin, &end), 2600000);
}

static void rate_that_makes_no_sense_is_not_known(void **state)
{
	const struct mr_tsc_mark none = { 0, 500 }, begin = { 1000, 500 };
	const struct mr_tsc_mark ends[] = {
		{ 1000 + 2600, 500 + 1000 }, /* too near */
		{ 1000, 500 + 10000000 }, /* it stands still */
		{ 900, 500 + 10000000 }, /* or goes back */
		{ 1000 + 26000000, 400 }, /* the clock goes back */
		{ 1000 + 1000, 500 + 10000000 }, /* too slow */
		{ 1000 + 2600000000, 500 + 10000000 }, /* too fast */
		{ UINT64_MAX, 500 + 10000000 },
	};
	const struct mr_tsc_mark end = { 26000000, 500 + 10000000 };

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		assert_int_equal(mr_tsc_khz(&begin, &ends[i]), 0);
	assert_int_equal(mr_tsc_khz(&none, &end), 0);
}

static void wait_a_little(void)
{
	const uint64_t until = mr_now_ns() + SPAN_NS;

	while (mr_now_ns() < until)
		;
}

static void this_counter_has_one_rate(void **state)
{
	struct mr_tsc_mark marks[3];
	uint64_t a, b;

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		mr_tsc_mark(&marks[i]);
		wait_a_little();
	}
	if (marks[0].ticks == 0) {
		print_message("SKIP: no time stamp counter\n");
		skip();
	}
	a = mr_tsc_khz(&marks[0], &marks[1]);
	b = mr_tsc_khz(&marks[1], &marks[2]);
	assert_in_range(a, 100000, 20000000);
	assert_in_range(b, a - a / 1000, a + a / 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_is_ticks_by_time),
		cmocka_unit_test(rate_that_makes_no_sense_is_not_known),
		cmocka_unit_test(this_counter_has_one_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

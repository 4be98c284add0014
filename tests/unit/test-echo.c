/* SPDX-License-Identifier: Apache-2.0 */
/*
 * echo: what has come is counted, however late somebody looks
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "netns/echo.h"
#include "runtime/base/error.h"

#define COUNT 20
#define SECOND_NS 1000000000ULL

static struct mr_echo measure(uint64_t patience_ns)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_echo echo;

	if (mr_echo_measure(COUNT, patience_ns, &echo, &err) < 0)
		fail_msg("%s", err.msg);
	return echo;
}

static void all_come_back(void **state)
{
	const struct mr_echo echo = measure(20 * SECOND_NS);

	(void)state;
	assert_int_equal(echo.sent, COUNT);
	assert_int_equal(echo.answered, COUNT);
	assert_int_equal(echo.repeated, 0);
	assert_true(echo.rtt_min_ns > 0 && echo.rtt_min_ns <= echo.rtt_mean_ns);
	assert_true(echo.rtt_mean_ns <= echo.rtt_max_ns);
	assert_true(echo.took_ns >= (COUNT - 1) * 1000000ULL);
}

/* As one who was kept from the processor until his patience was over: the last one is there by then. */
static void what_came_meanwhile_is_not_lost(void **state)
{
	struct mr_echo echo;
	int tries = 0;

	(void)state;
	do
		echo = measure(1);
	while (echo.answered < COUNT &&
	       ++tries < 20); /* the kernel may hand it over later itself */
	assert_int_equal(echo.answered, COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_come_back),
		cmocka_unit_test(what_came_meanwhile_is_not_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patience: what the table says, and who may scale it
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/patience.h"

#define VARIABLE "MENACE_PATIENCE_SCALE"

/* The child's part: reads one, which has the variable read, too. */
static _Noreturn void read_scaled(const char *percent, uint64_t wanted_ns)
{
	const struct rlimit none = { 0, 0 };

	setrlimit(RLIMIT_CORE, &none);
	dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
	setenv(VARIABLE, percent, 1);
	_exit(MR_PATIENCE_NS(STUB_SAY) == wanted_ns ? 0 : 1);
}

/* Is that what it comes to? */
static bool is_scaled_to(const char *percent, uint64_t wanted_ns)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		read_scaled(percent, wanted_ns);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void units_agree(void **state)
{
	(void)state;
	assert_int_equal(MR_PATIENCE_NS(STUB_SAY), 1000000000);
	assert_int_equal(MR_PATIENCE_MS(STUB_SAY), 1000);
	assert_int_equal(MR_PATIENCE_S(STUB_SAY), 1);
	assert_int_equal(MR_PATIENCE_NS(GATE_IDLE), 600000000000);
	assert_int_equal(MR_PATIENCE_S(GATE_TICK), 1); /* rounded up */
}

/* poll() takes milliseconds as an int, and 0 would be no wait at all. */
static void all_can_be_waited_for(void **state)
{
	(void)state;
	for (int i = 0; i < MR_PATIENCE_COUNT_; i++)
		assert_in_range(mr_patience_ms(i), 1, INT32_MAX / 100);
}

/* Rows that only make sense together. */
static void one_that_waits_for_another_waits_longer(void **state)
{
	(void)state;
	assert_true(MR_PATIENCE_NS(NETD_STOP) > MR_PATIENCE_NS(NETD_DRAIN));
	assert_true(MR_PATIENCE_NS(NETD_STOP_BUSY) > MR_PATIENCE_NS(NETD_STOP));
	assert_true(MR_PATIENCE_NS(HANDOVER_SLACK) > MR_PATIENCE_NS(QEMU_ALL));
	assert_true(MR_PATIENCE_NS(QEMU_ALL) > MR_PATIENCE_NS(QEMU_BOOT));
	assert_true(MR_PATIENCE_NS(GATE_PIN_MOST) > MR_PATIENCE_NS(GATE_PIN_LEAST));
}

#ifdef MENACE_TEST_BUILD
static void a_test_build_is_scaled(void **state)
{
	(void)state;
	assert_true(is_scaled_to("100", 1000000000));
	assert_true(is_scaled_to("250", 2500000000));
	assert_true(is_scaled_to("1", 10000000));
}

static void nonsense_is_not_taken_for_100(void **state)
{
	(void)state;
	assert_false(is_scaled_to("", 1000000000));
	assert_false(is_scaled_to("0", 1000000000));
	assert_false(is_scaled_to("fast", 1000000000));
	assert_false(is_scaled_to("100001", 1000000000));
}
#else
static void the_environment_changes_nothing(void **state)
{
	(void)state;
	assert_true(is_scaled_to("1", 1000000000));
	assert_true(is_scaled_to("100000", 1000000000));
	assert_true(is_scaled_to("fast", 1000000000));
}
#endif

int main(void)
{
	/* First those whose children read the variable: this process must not have read it before. */
	const struct CMUnitTest tests[] = {
#ifdef MENACE_TEST_BUILD
		cmocka_unit_test(a_test_build_is_scaled),
		cmocka_unit_test(nonsense_is_not_taken_for_100),
#else
		cmocka_unit_test(the_environment_changes_nothing),
#endif
		cmocka_unit_test(units_agree),
		cmocka_unit_test(all_can_be_waited_for),
		cmocka_unit_test(one_that_waits_for_another_waits_longer),
	};

	unsetenv(VARIABLE);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

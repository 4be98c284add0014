/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress: a line on a terminal once the work takes long, and nothing anywhere else
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <pty.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/clock_virtual.h"
#include "runtime/base/str.h"
#include "tools/progress.h"

#define MS 1000000ULL

static uint64_t before; /* boiled already; above 0: with a rate */

/* The child's part; its standard error is what is looked at. */
static void work(uint64_t wait_before_ms, uint64_t total)
{
	struct mr_progress progress;

	mr_clock_set_virtual(1000 * MS);
	if (before > 0)
		mr_progress_begin_at(&progress, "eggs boiled", before);
	else
		mr_progress_begin(&progress, "eggs boiled");
	mr_progress_tell(&progress, 1, total);
	mr_clock_advance(wait_before_ms * MS);
	mr_progress_tell(&progress, 20, total);
	mr_progress_tell(&progress, 21, total); /* too soon after the one before */
	mr_clock_advance(wait_before_ms * MS);
	mr_progress_tell(&progress, 3, total);
	mr_progress_end(&progress);
}

/* What it says on a terminal of its own (term: TERM), or into a pipe (term NULL). */
static void say(char *said, size_t size, const char *term, uint64_t wait_before_ms, uint64_t total)
{
	int fds[2], status;
	size_t got = 0;
	ssize_t n;
	pid_t pid;

	if (term)
		assert_int_equal(openpty(&fds[0], &fds[1], NULL, NULL, NULL), 0);
	else
		assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fds[1], STDERR_FILENO);
		setenv("TERM", term ? term : "xterm", 1);
		work(wait_before_ms, total);
		_exit(0);
	}
	close(fds[1]);
	/* A terminal without its other end gives an error after the last byte. */
	while (got + 1 < size && (n = read(fds[0], said + got, size - 1 - got)) > 0)
		got += (size_t)n;
	said[got] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_line_is_shown_and_taken_away(void **state)
{
	char said[512];

	(void)state;
	say(said, sizeof(said), "xterm", 400, 40);
	assert_string_equal(said, "\reggs boiled: 20 of 40 (50 %)\reggs boiled: 3 of 40 (7 %)  "
				  "\r                            \r");
}

static void test_unknown_total_is_left_out(void **state)
{
	char said[512];

	(void)state;
	say(said, sizeof(said), "xterm", 400, 0);
	assert_string_equal(said, "\reggs boiled: 20\reggs boiled: 3 \r               \r");
}

static void test_short_work_is_silent(void **state)
{
	char said[512];

	(void)state;
	say(said, sizeof(said), "xterm", 0, 40);
	assert_string_equal(said, "");
}

static void test_only_a_terminal_is_told(void **state)
{
	char said[512];

	(void)state;
	say(said, sizeof(said), NULL, 400, 40);
	assert_string_equal(said, "");
	say(said, sizeof(said), "dumb", 400, 40);
	assert_string_equal(said, "");
}

/* What was done before has taken no time of this one's. */
static void test_rate_and_what_is_left(void **state)
{
	char said[512];

	(void)state;
	before = 10;
	say(said, sizeof(said), "xterm", 400, 40);
	before = 0;
	/* Ten in 400 ms, and twenty are left. */
	assert_true(mr_str_starts_with(said,
				       "\reggs boiled: 20 of 40 (50 %), 25 a second, 800 ms left"));
	/* Fewer than before: nobody knows. */
	assert_non_null(strstr(said, "\reggs boiled: 3 of 40 (7 %)  "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line_is_shown_and_taken_away),
		cmocka_unit_test(test_unknown_total_is_left_out),
		cmocka_unit_test(test_short_work_is_silent),
		cmocka_unit_test(test_only_a_terminal_is_told),
		cmocka_unit_test(test_rate_and_what_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

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
#include <poll.h>
#include <pty.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/loop.h"
#include "tools/progress.h"

#define EARLY_NS 290000000ULL /* too early for the first line */
#define SOON_NS 90000000ULL /* too soon for another */

static void wait_ms(int ms)
{
	poll(NULL, 0, ms);
}

static uint64_t before; /* boiled already; above 0: with a rate */

/* The child's part; its standard error is what is looked at.  False: others had the processor for so
 * long that a time was another one than is meant. */
static bool work(int wait_before_ms, uint64_t total)
{
	const uint64_t begin = mr_now_ns();
	uint64_t told_first, told, told_again;
	struct mr_progress progress;

	if (before > 0)
		mr_progress_begin_at(&progress, "eggs boiled", before);
	else
		mr_progress_begin(&progress, "eggs boiled");
	mr_progress_tell(&progress, 1, total);
	told_first = mr_now_ns();
	wait_ms(wait_before_ms);
	told = mr_now_ns();
	mr_progress_tell(&progress, 20, total);
	mr_progress_tell(&progress, 21, total); /* too soon after the one before */
	told_again = mr_now_ns();
	wait_ms(wait_before_ms);
	mr_progress_tell(&progress, 3, total);
	mr_progress_end(&progress);
	return told_first - begin < EARLY_NS && told_again - told < SOON_NS &&
	       (wait_before_ms > 0 || mr_now_ns() - begin < EARLY_NS);
}

#define KEPT_WAITING 3

/* What it says on a terminal of its own (term: TERM), or into a pipe (term NULL); its exit status. */
static int say_once(char *said, size_t size, const char *term, int wait_before_ms, uint64_t total)
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
		_exit(work(wait_before_ms, total) ? 0 : KEPT_WAITING);
	}
	close(fds[1]);
	/* A terminal without its other end gives an error after the last byte. */
	while (got + 1 < size && (n = read(fds[0], said + got, size - 1 - got)) > 0)
		got += (size_t)n;
	said[got] = '\0';
	close(fds[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void say(char *said, size_t size, const char *term, int wait_before_ms, uint64_t total)
{
	int status = KEPT_WAITING;

	for (int i = 0; status == KEPT_WAITING && i < 20; i++)
		status = say_once(said, size, term, wait_before_ms, total);
	assert_int_equal(status, 0);
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
	double rate = 0;

	(void)state;
	before = 10;
	say(said, sizeof(said), "xterm", 400, 40);
	before = 0;
	assert_int_equal(sscanf(said, "\reggs boiled: 20 of 40 (50 %%), %lf a second, ", &rate), 1);
	assert_true(rate > 0 && rate <= 25); /* ten in 400 ms, or more where all is slow */
	assert_non_null(strstr(said, "s left"));
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Runners that do not behave, played by shell scripts: none may hold its caller up. */
#include "runtime/backend/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/error.h"

#define PATIENCE_S 60 /* then the test dies of SIGALRM: it was held up */

static char folder[] = "/tmp/test-runner.XXXXXX";
static char program[sizeof(folder) + sizeof("/menace-run")];

static struct mr_runners *runners_of(const char *script)
{
	FILE *f = fopen(program, "we");

	assert_non_null(f);
	assert_true(fprintf(f, "#!/bin/sh\n%s\n", script) > 0);
	assert_int_equal(fchmod(fileno(f), 0700), 0);
	assert_int_equal(fclose(f), 0);
	return mr_runners_new(program, NULL, NULL, false);
}

static void take(struct mr_runners *runners, struct mr_runner *ret)
{
	struct mr_error err = MR_ERROR_INIT;

	assert_int_equal(mr_runners_take(runners, "{}", 2, ret, &err), 0);
}

static void wait_for_line(const struct mr_runner *runner)
{
	struct pollfd p = { .fd = runner->out_fd, .events = POLLIN };
	char line[16];

	assert_int_equal(poll(&p, 1, PATIENCE_S * 1000), 1);
	assert_true(read(runner->out_fd, line, sizeof(line)) > 0);
}

/* It writes more than a pipe holds, to a caller that has lost interest, and does not mind SIGTERM. */
static void a_runner_that_is_given_up_holds_nobody_up(void **state)
{
	struct mr_runners *runners =
		runners_of("trap '' TERM; read -r line; head -c 1000000 /dev/zero; exit 0");
	struct mr_runner runner;
	struct pollfd p = { .events = POLLIN };

	(void)state;
	take(runners, &runner);
	p.fd = runner.out_fd;
	assert_int_equal(poll(&p, 1, PATIENCE_S * 1000), 1);
	mr_runner_end(&runner);
	assert_int_equal(runner.out_fd, -1);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* it is gone */
	assert_int_equal(errno, ECHILD);
	mr_runners_free(runners);
}

static void a_new_runner_that_dies_says_how(void **state)
{
	static char line[1 << 20]; /* more than a socket holds: sending it waits for the end */
	struct mr_runners *runners = runners_of("exit 3");
	struct mr_error err = MR_ERROR_INIT;
	struct mr_runner runner;

	(void)state;
	memset(line, 'x', sizeof(line));
	assert_true(mr_runners_take(runners, line, sizeof(line), &runner, &err) < 0);
	assert_non_null(strstr(err.msg, program));
	assert_non_null(strstr(err.msg, "ended with status 3"));
	assert_int_equal(runner.in_fd, -1);
	mr_runners_free(runners);
}

/* Messages of runs long past are thrown away; those of this run are whole. */
static void messages_do_not_pile_up(void **state)
{
	struct mr_runners *runners = runners_of("n=0; while read -r line; do n=$((n + 1)); "
						"printf '%040000d' $n >&2; echo {}; done");
	struct mr_runner runner;
	struct stat st;
	char last;

	(void)state;
	for (int i = 1; i <= 5; i++) {
		take(runners, &runner);
		wait_for_line(&runner);
		assert_int_equal(fstat(runner.said_fd, &st), 0);
		assert_int_equal(st.st_size - runner.said_from, 40000);
		assert_true(st.st_size <= 120000);
		assert_int_equal(pread(runner.said_fd, &last, 1, st.st_size - 1), 1);
		assert_int_equal(last, '0' + i);
		if (i < 5)
			mr_runners_put(runners, &runner);
	}
	mr_runner_end(&runner);
	mr_runners_free(runners);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_runner_that_is_given_up_holds_nobody_up),
		cmocka_unit_test(a_new_runner_that_dies_says_how),
		cmocka_unit_test(messages_do_not_pile_up),
	};
	int r;

	alarm(PATIENCE_S);
	if (!mkdtemp(folder))
		return 1;
	snprintf(program, sizeof(program), "%s/menace-run", folder);
	r = cmocka_run_group_tests_name("runner", tests, NULL, NULL);
	unlink(program);
	rmdir(folder);
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QEMU's control protocol, with the answers written before the questions
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/socket.h>

#include "runtime/backend/qemu_qmp.h"
#include "runtime/base/clock.h"
#include "runtime/base/clock_virtual.h"
#include "runtime/base/error.h"
#include "tests/lib/temptree.h"

#define GREETING "{\"QMP\": {\"version\": {}}}\r\n"
#define DONE "{\"return\": {}}\r\n"
#define EVENT(status) "{\"event\": \"MIGRATION\", \"data\": {\"status\": \"" status "\"}}\r\n"

#define MS 1000000ULL
#define LONG_NS (20000 * MS)

/* What is said to a QEMU that answers so and then is gone, or silent: the last word of ours. */
static int migrate(const char *answers, bool gone, uint64_t patience_ns, struct mr_error *err)
{
	struct mr_qmp qmp;
	int pair[2], r;

	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	MUST(send(pair[1], answers, strlen(answers), MSG_NOSIGNAL) == (ssize_t)strlen(answers));
	if (gone)
		MUST(shutdown(pair[1], SHUT_WR) == 0);
	r = mr_qmp_init(&qmp, pair[0], mr_now_ns() + patience_ns, err);
	if (r == 0)
		r = mr_qmp_migrate(&qmp, "migrate-incoming", "fd:10", err);
	mr_qmp_deinit(&qmp);
	close(pair[0]);
	close(pair[1]);
	return r;
}

static void expect_failure(const char *answers, bool gone, uint64_t patience_ns,
			   const char *message)
{
	struct mr_error err = MR_ERROR_INIT;

	assert_true(migrate(answers, gone, patience_ns, &err) < 0);
	assert_int_equal(err.code, MR_E_KERNEL);
	assert_string_equal(err.msg, message);
}

static void events_are_waited_for_wherever_they_come(void **state)
{
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(migrate(GREETING DONE DONE DONE EVENT("active") EVENT("completed"), false,
				 LONG_NS, &err),
			 0);
	assert_int_equal(migrate(GREETING DONE DONE EVENT("setup") EVENT("completed") DONE, false,
				 LONG_NS, &err),
			 0);
	assert_int_equal(migrate(GREETING "{\"event\": \"STOP\"}\r\n" DONE DONE DONE
					  "{\"event\": \"RESUME\"}\r\n" EVENT("completed"),
				 false, LONG_NS, &err),
			 0);
}

static void what_qemu_does_not_do_is_told(void **state)
{
	static char endless[70000];

	(void)state;
	expect_failure(GREETING DONE DONE DONE EVENT("active") EVENT("failed"), false, LONG_NS,
		       "QEMU could not move the machine's state");
	expect_failure(GREETING DONE "{\"error\": {\"class\": \"x\", \"desc\": \"not today\"}}\r\n",
		       false, LONG_NS, "QEMU refuses migrate-set-capabilities: not today");
	expect_failure(GREETING DONE DONE DONE, true, LONG_NS, "QEMU closed its control socket");
	expect_failure(GREETING DONE DONE DONE EVENT("active"), false, LONG_NS,
		       "QEMU does not answer on its control socket");
	expect_failure(DONE, false, LONG_NS, "QEMU does not greet on its control socket");
	memset(endless, ' ', sizeof(endless) - 1);
	expect_failure(endless, false, LONG_NS, "QEMU sent an endless line");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_waited_for_wherever_they_come),
		cmocka_unit_test(what_qemu_does_not_do_is_told),
	};

	mr_clock_set_virtual(1000 * MS);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

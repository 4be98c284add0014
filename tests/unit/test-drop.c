/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that are added while packets pass
 *
 * The program in the kernel looks at a rule whenever it likes.  So does this test: after each
 * instruction of a process that adds one.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "netns/drop.h"
#include "runtime/base/cleanup.h"

#define WINDOW 5
#define STEPS_MAX 2000000

static struct mr_drop_state *state;

static int set_up(void **unused)
{
	(void)unused;
	state = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	return state == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	return munmap(state, sizeof(*state));
}

static bool add(unsigned int window, const char *address, uint16_t port)
{
	struct in6_addr bytes;
	const struct mr_drop_rule_opts opts = { .window = window,
						.address = &bytes,
						.length = 128,
						.port = port,
						.flags = MR_DROP_RULE_IPV6 };

	return inet_pton(AF_INET6, address, &bytes) == 1 && mr_drop_add_rule(state, &opts);
}

static bool is_whole(const struct mr_drop_rule *rule)
{
	struct in6_addr address;

	memcpy(&address, rule->address, sizeof(address));
	return address.s6_addr[0] == 0x20 && address.s6_addr[15] == 7 &&
	       rule->mask[0] == UINT64_MAX && rule->mask[1] == UINT64_MAX &&
	       rule->port == htons(80) && rule->port_mask == UINT16_MAX &&
	       rule->flags == MR_DROP_RULE_IPV6;
}

/* One instruction of the other process; false when it has ended well. */
static bool step(pid_t pid)
{
	int status = 0;

	assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSTOPPED(status)) {
		assert_int_equal(WSTOPSIG(status), SIGTRAP);
		return true;
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	return false;
}

static void test_a_rule_is_nobodys_until_it_is_whole(void **unused)
{
	struct mr_drop_rule *rule = &state->rules[1];
	unsigned int steps = 0, before = 0, between = 0;
	int status = 0;
	pid_t pid;

	(void)unused;
	assert_true(add(0, "2001:db8::1", 0));
	pid = fork();
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		raise(SIGSTOP);
		_exit(add(WINDOW, "2001:db8::7", 80) ? 0 : 1);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	while (step(pid)) {
		const bool taken = __atomic_load_n(&rule->window_bit, __ATOMIC_ACQUIRE) != 0;

		assert_true(++steps < STEPS_MAX);
		before += !taken && state->n_rules == 1;
		between += taken && state->n_rules == 1;
		assert_true(!taken || is_whole(rule));
		assert_true(state->n_rules == 1 || taken);
	}
	assert_true(before > 0);
	assert_true(between > 0); /* the number comes after it */
	assert_int_equal(state->n_rules, 2);
	assert_int_equal(rule->window_bit, 1ULL << WINDOW);
	assert_true(is_whole(rule));
}

static void test_one_that_is_there_is_not_added_again(void **unused)
{
	(void)unused;
	assert_true(add(0, "2001:db8::1", 80));
	assert_true(add(0, "2001:db8::1", 80));
	assert_int_equal(state->n_rules, 1);
	/* Another window's, and another port's, is another. */
	assert_true(add(1, "2001:db8::1", 80));
	assert_true(add(0, "2001:db8::1", 81));
	assert_int_equal(state->n_rules, 3);
}

static void test_there_is_room_for_so_many(void **unused)
{
	(void)unused;
	for (unsigned int i = 0; i < MR_DROP_RULES; i++)
		assert_true(add(0, "2001:db8::1", (uint16_t)(i + 1)));
	assert_false(add(0, "2001:db8::1", MR_DROP_RULES + 1));
	assert_true(add(0, "2001:db8::1", MR_DROP_RULES));
	assert_int_equal(state->n_rules, MR_DROP_RULES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_rule_is_nobodys_until_it_is_whole),
		TEST(test_one_that_is_there_is_not_added_again),
		TEST(test_there_is_room_for_so_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Narrowed seccomp programs: what is allowed is what level and policy both allow
 */
#include <errno.h>
#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/launch/seccomp.h"
#include "runtime/spec/policy.h"
#include "tests/lib/seccomp.h"

#define X86_64 AUDIT_ARCH_X86_64
#define OWN_FD 4711
#define NOTIFY(data) (SECCOMP_RET_USER_NOTIF | (uint32_t)(data))

static struct mr_policy *parse(const char *text)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_policy *policy = NULL;

	if (mr_policy_parse(text, strlen(text), "p", &policy, &err) < 0)
		fail_msg("%s", err.msg);
	return policy;
}

static uint32_t ask(const struct sock_fprog *prog, uint32_t arch, int nr, uint64_t arg)
{
	const struct seccomp_data data = { .nr = nr, .arch = arch, .args = { arg } };

	return seccomp_answer(prog, &data);
}

/* Of each call number and each level: the level's answer where the policy lists the call, a denial
 * where only the level allows it, and never more. */
static void check_all(const struct mr_policy *document)
{
	for (unsigned int i = 0; i < MR_SECCOMP_LEVELS * MR_SECCOMP_NETS_ * 2; i++) {
		struct mr_seccomp_policy policy = { .level = 1 + i / 2 / MR_SECCOMP_NETS_,
						    .net = (enum mr_seccomp_net)(i / 2 %
										 MR_SECCOMP_NETS_),
						    .watch_opens = i % 2 };
		const struct sock_fprog *level = mr_seccomp_program(&policy);
		struct sock_fprog *narrowed;

		policy.document = document;
		policy.own_fd = OWN_FD;
		narrowed = mr_seccomp_narrow(&policy);
		for (int nr = 0; nr < 1024; nr++) {
			uint32_t before = ask(level, X86_64, nr, 0);
			uint32_t after = ask(narrowed, X86_64, nr, 0);

			if (mr_seccomp_level_allows(policy.level, (unsigned int)nr) &&
			    !mr_policy_allows_call(document, (unsigned int)nr))
				assert_true(after == NOTIFY(EPERM) ||
					    after == NOTIFY(MR_SECCOMP_ALONE_REFUSE));
			else
				assert_int_equal(after, before);
		}
		for (int nr = 0; nr < 600; nr++) {
			assert_int_equal(ask(narrowed, AUDIT_ARCH_I386, nr, 0),
					 ask(level, AUDIT_ARCH_I386, nr, 0));
			assert_int_equal(ask(narrowed, X86_64, 0x40000000 + nr, 0),
					 ask(level, X86_64, 0x40000000 + nr, 0));
		}
		assert_int_equal(ask(narrowed, X86_64, -1, 0), ask(level, X86_64, -1, 0));
		mr_seccomp_free(narrowed);
	}
}

static void nothing_more_than_both(void **state)
{
	static const char *const documents[] = {
		"{\"schema\": \"menace.policy/1\", \"syscalls\": []}",
		"{\"schema\": \"menace.policy/1\", \"syscalls\": [\"read\", \"mount\"]}",
		"{\"schema\": \"menace.policy/1\", \"syscalls\": [\"@io\", \"@file\", \"@bpf\"]}",
		"{\"schema\": \"menace.policy/1\", \"syscalls\": [\"file_setattr\"]}",
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(documents); i++) {
		mr_auto_policy struct mr_policy *policy = parse(documents[i]);

		check_all(policy);
	}
}

/* As many stretches as there can be. */
static void every_other_call(void **state)
{
	mr_auto_policy struct mr_policy *policy =
		parse("{\"schema\": \"menace.policy/1\", \"syscalls\": []}");

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(policy->syscalls); i++)
		policy->syscalls[i] = UINT64_C(0x5555555555555555);
	check_all(policy);
	for (size_t i = 0; i < N_ELEMENTS(policy->syscalls); i++)
		policy->syscalls[i] = UINT64_C(0xaaaaaaaaaaaaaaaa);
	check_all(policy);
}

/* Arguments are judged as before where the policy lists the call. */
static void checks_of_the_level_stay(void **state)
{
	mr_auto_policy struct mr_policy *document =
		parse("{\"schema\": \"menace.policy/1\", \"syscalls\": [\"clone\", \"prctl\"]}");
	const struct mr_seccomp_policy policy = { .level = 3, .document = document };
	struct sock_fprog *narrowed = mr_seccomp_narrow(&policy);

	(void)state;
	assert_int_equal(ask(narrowed, X86_64, SYS_clone, 0x11), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(narrowed, X86_64, SYS_clone, 0x10000000), NOTIFY(EPERM));
	assert_int_equal(ask(narrowed, X86_64, SYS_prctl, 35), NOTIFY(EPERM));
	mr_seccomp_free(narrowed);
}

/* The one call that must pass before anybody listens, and on that descriptor alone. */
static void our_own_sendmsg_passes_by_its_descriptor(void **state)
{
	mr_auto_policy struct mr_policy *document =
		parse("{\"schema\": \"menace.policy/1\", \"syscalls\": []}");
	const struct mr_seccomp_policy policy = { .level = 3,
						  .document = document,
						  .own_fd = OWN_FD };
	struct sock_fprog *narrowed = mr_seccomp_narrow(&policy);

	(void)state;
	assert_true(mr_seccomp_needs_own_fd(&policy));
	assert_int_equal(ask(narrowed, X86_64, SYS_sendmsg, OWN_FD), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(narrowed, X86_64, SYS_sendmsg, OWN_FD - 1), NOTIFY(EPERM));
	assert_int_equal(ask(narrowed, X86_64, SYS_sendmsg, 3), NOTIFY(EPERM));
	assert_int_equal(ask(narrowed, X86_64, SYS_sendmmsg, OWN_FD), NOTIFY(EPERM));
	mr_seccomp_free(narrowed);
}

static void recording_hands_over_all_that_is_allowed(void **state)
{
	struct mr_seccomp_policy policy = { .level = 3, .record = true, .own_fd = OWN_FD };
	const struct sock_fprog *level = mr_seccomp_program(&policy);
	struct sock_fprog *narrowed = mr_seccomp_narrow(&policy);

	(void)state;
	for (int nr = 0; nr < 600; nr++) {
		uint32_t after = ask(narrowed, X86_64, nr, 0);

		if (mr_seccomp_level_allows(3, (unsigned int)nr))
			assert_int_equal(after, NOTIFY(MR_SECCOMP_ALONE_REFUSE));
		else
			assert_int_equal(after, ask(level, X86_64, nr, 0));
	}
	assert_int_equal(ask(narrowed, X86_64, SYS_sendmsg, OWN_FD), SECCOMP_RET_ALLOW);
	mr_seccomp_free(narrowed);
}

static void rules_say_whose_they_are(void **state)
{
	mr_auto_policy struct mr_policy *document =
		parse("{\"schema\": \"menace.policy/1\", \"syscalls\": [\"mount\"]}");
	const struct mr_seccomp_policy policy = { .level = 3, .document = document };

	(void)state;
	assert_string_equal(mr_seccomp_rule(&policy, X86_64, SYS_read)->set, "policy");
	assert_string_equal(mr_seccomp_rule(&policy, X86_64, SYS_read)->syscall, "read");
	assert_int_equal(mr_seccomp_rule(&policy, X86_64, SYS_read)->errnum, EPERM);
	/* The level's own, although the policy lists it. */
	assert_string_equal(mr_seccomp_rule(&policy, X86_64, SYS_mount)->set, "mount");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_more_than_both),
		cmocka_unit_test(every_other_call),
		cmocka_unit_test(checks_of_the_level_stay),
		cmocka_unit_test(our_own_sendmsg_passes_by_its_descriptor),
		cmocka_unit_test(recording_hands_over_all_that_is_allowed),
		cmocka_unit_test(rules_say_whose_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

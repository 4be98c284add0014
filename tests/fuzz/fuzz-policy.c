/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the policy document
 *
 * Holds: a refusal is MR_E_USAGE with a printable message; what is accepted is
 * printed to a text that is accepted again, prints the same and has the same hash;
 * no request becomes larger by it, and no system call allowed.
 */
#include <linux/audit.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/launch/seccomp.h"
#include "runtime/spec/policy.h"
#include "tests/lib/seccomp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct mr_error *err)
{
	mr_assert(err->code == MR_E_USAGE && err->msg[0] != '\0');
	for (const char *p = err->msg; *p; p++)
		mr_assert(*p >= 0x20 && *p < 0x7f);
}

static void check_text(const struct mr_policy *policy)
{
	mr_auto_json json_t *json = mr_policy_to_json(policy);
	mr_auto_free char *text = json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT);
	mr_auto_policy struct mr_policy *again = NULL;
	struct mr_error err = MR_ERROR_INIT;

	mr_assert(mr_policy_parse(text, strlen(text), "again", &again, &err) == 0);
	mr_assert(strcmp(policy->sha256, again->sha256) == 0);
	mr_auto_json json_t *second = mr_policy_to_json(again);

	mr_assert(json_equal(json, second));
	for (size_t i = 1; i < policy->n_paths; i++)
		mr_assert(strcmp(policy->paths[i - 1].path, policy->paths[i].path) < 0);
}

static void check_narrowing(struct mr_policy *policy)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec before, after;

	mr_spec_init(&before);
	mr_spec_init(&after);
	mr_assert(mr_spec_set_policy(&after, policy, &err) == 0);
	mr_assert(mr_policy_narrow(&after, NULL, &err) == 0); /* it asks for no network */
	for (int i = 0; i < MR_FIELD_COUNT_; i++)
		if (mr_spec_fields()[i].type != MR_FIELD_STR)
			mr_assert(mr_spec_get(&after, (enum mr_field_id)i) <=
				  mr_spec_get(&before, (enum mr_field_id)i));
	mr_spec_deinit(&before);
	mr_spec_deinit(&after);
}

static void check_calls(const struct mr_policy *policy)
{
	struct mr_seccomp_policy seccomp = { .level = 3 };
	const struct sock_fprog *level = mr_seccomp_program(&seccomp);
	struct sock_fprog *narrowed;

	seccomp.document = policy->has_syscalls ? policy : NULL;
	seccomp.watch_paths = policy->has_paths;
	seccomp.own_fd = 4096;
	narrowed = mr_seccomp_narrow(&seccomp);
	for (int nr = -1; nr < MR_POLICY_SYSCALLS + 2; nr++) {
		const struct seccomp_data data = { .nr = nr, .arch = AUDIT_ARCH_X86_64 };

		if (seccomp_answer(narrowed, &data) != SECCOMP_RET_ALLOW)
			continue;
		mr_assert(seccomp_answer(level, &data) == SECCOMP_RET_ALLOW);
		mr_assert(mr_policy_allows_call(policy, (unsigned int)nr));
	}
	mr_seccomp_free(narrowed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	mr_auto_policy struct mr_policy *policy = NULL;
	struct mr_error err = MR_ERROR_INIT;

	if (mr_policy_parse((const char *)data, size, "policy", &policy, &err) < 0) {
		check_refusal(&err);
		return 0;
	}
	check_text(policy);
	check_narrowing(policy);
	check_calls(policy);
	return 0;
}

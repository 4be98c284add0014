/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Narrowing: a policy's part in a run
 *
 * The request stays as it was made, and is what the result names; the run is driven
 * by a copy from which the policy has taken what it does not give.  The receipt
 * says for each part what was asked, what the policy says and what holds.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/spec/policy.h"
#include "runtime/supervise/datagrams.h"
#include "runtime/supervise/state.h"

#define ABI_TRUNCATE 3

bool mr_narrowing_needs_landlock(const struct mr_spec *spec)
{
	return spec->sandbox_level >= 3 || (spec->policy && spec->policy->has_paths);
}

int mr_narrowing_begin(struct mr_run *run, struct mr_error *err)
{
	const char *unenforced = NULL;
	int r;

	if (!run->opts.spec->policy)
		return 0;
	mr_spec_copy(&run->narrowed, run->opts.spec);
	run->spec = &run->narrowed;
	r = mr_policy_narrow(&run->narrowed, &unenforced, err);
	if (r == 0 && unenforced)
		mr_receipt_degrade(&run->receipt, "policy-hosts", "%s", unenforced);
	return r;
}

int mr_narrowing_verify(const struct mr_run *run, struct mr_error *err)
{
	const struct mr_policy *policy = run->spec->policy;
	const uint32_t seen = run->built.built.policy_rules + run->built.built.policy_missing;

	if (!policy || !policy->has_paths || !run->built.built.landlock_abi)
		return 0; /* without Landlock the receipt tells, or there is no run */
	if (seen == policy->n_paths)
		return 0;
	return mr_err(err, MR_E_KERNEL, EPERM, "verify: policy: %u of its %zu paths were judged",
		      seen, policy->n_paths);
}

struct mr_notify_payload mr_narrowing_payload(struct mr_run *run, pid_t pid)
{
	const struct mr_policy *policy = run->spec->policy;
	struct mr_notify_payload payload = { .pid = pid,
					     .uid = run->launched.ids.host_uid,
					     .gid = run->launched.ids.host_gid,
					     .net_mode = run->spec->net_mode,
					     .on_socket = mr_datagrams_watch,
					     .socket_owner = run };

	if (run->spec->net_mode == MR_NET_STUB)
		payload.mocks = &run->spec->mocks;
	if (policy && policy->has_paths && run->built.built.landlock_abi)
		payload.paths_of = run->spec;
	if (run->spec->sandbox_record_access) {
		mr_recorder_init(&run->recorder, run->pool_fd);
		payload.recorder = &run->recorder;
	}
	return payload;
}

void mr_narrowing_end(struct mr_run *run)
{
	mr_recorder_deinit(&run->recorder);
	if (run->spec == &run->narrowed)
		mr_spec_deinit(&run->narrowed);
	run->spec = run->opts.spec;
}

/* --- the receipt --------------------------------------------------------------------- */

static bool is_degraded(const struct mr_run *run, const char *item)
{
	for (size_t i = 0; i < run->receipt.n_degraded; i++) {
		if (strcmp(run->receipt.degraded[i].item, item) == 0)
			return true;
	}
	return false;
}

static const char *state_of(const struct mr_run *run, const char *item)
{
	if (item && is_degraded(run, item))
		return "degraded";
	return run->receipt.complete ? "enforced" : "unknown";
}

static json_t *syscalls_json(const struct mr_run *run)
{
	const struct mr_policy *policy = run->spec->policy;
	const unsigned int level = (unsigned int)run->spec->sandbox_level;
	json_int_t allowed = 0, refused = 0;
	json_t *beyond;

	if (!policy->has_syscalls)
		return json_null();
	beyond = json_array();
	for (unsigned int nr = 0; nr < MR_POLICY_SYSCALLS; nr++) {
		const bool listed = mr_policy_allows_call(policy, nr);

		if (mr_seccomp_level_allows(level, nr)) {
			allowed += listed;
			refused += !listed;
		} else if (listed && mr_policy_call_name(nr)) {
			json_array_append_new(beyond, json_string(mr_policy_call_name(nr)));
		}
	}
	return json_pack("{s:s, s:I, s:I, s:o}", "state", state_of(run, NULL), "allowed", allowed,
			 "refused", refused, "not_of_the_level", beyond);
}

static json_t *paths_json(const struct mr_run *run)
{
	if (!run->spec->policy->has_paths)
		return json_null();
	return json_pack("{s:s, s:i, s:i, s:i, s:b}", "state", state_of(run, "landlock"), "rules",
			 (int)run->built.built.policy_rules, "missing",
			 (int)run->built.built.policy_missing, "of_the_program",
			 (int)run->built.built.policy_floor, "truncation_judged",
			 run->built.built.landlock_abi >= ABI_TRUNCATE);
}

static json_t *hosts_json(const struct mr_run *run)
{
	static const char *const words[] = { MR_WORDS_net };

	if (!run->spec->policy->has_hosts)
		return json_null();
	return json_pack("{s:s, s:i, s:{s:s, s:s}}", "state", state_of(run, "policy-hosts"),
			 "allowed", (int)run->spec->policy->n_hosts, "net", "asked",
			 words[run->opts.spec->net_mode], "applied", words[run->spec->net_mode]);
}

static json_t *amount(uint64_t value)
{
	return value == MR_UNLIMITED ? json_string("unlimited") : json_integer((json_int_t)value);
}

static json_t *limits_json(const struct mr_run *run)
{
	json_t *limits = json_object();

	for (size_t i = 0; i < MR_POLICY_LIMITS; i++) {
		const enum mr_field_id id = mr_policy_limit_field(i);
		const struct mr_policy_limit *limit = &run->spec->policy->limits[i];

		if (!limit->given)
			continue;
		json_object_set_new(limits, mr_spec_fields()[id].name,
				    json_pack("{s:o, s:o, s:o}", "asked",
					      amount(mr_spec_get(run->opts.spec, id)), "policy",
					      amount(limit->value), "applied",
					      amount(mr_spec_get(run->spec, id))));
	}
	return limits;
}

json_t *mr_narrowing_to_json(const struct mr_run *run)
{
	const struct mr_policy *policy = run->opts.spec->policy;
	bool degraded = is_degraded(run, "policy-hosts");

	if (!policy || run->spec != &run->narrowed)
		return NULL;
	degraded |= policy->has_paths && is_degraded(run, "landlock");
	return json_pack("{s:s, s:s, s:s?, s:o, s:o, s:o, s:o}", "state",
			 degraded ? "degraded" : state_of(run, NULL), "sha256", policy->sha256,
			 "name", policy->name, "syscalls", syscalls_json(run), "paths",
			 paths_json(run), "hosts", hosts_json(run), "limits", limits_json(run));
}

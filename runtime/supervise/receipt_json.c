/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receipt as JSON
 *
 * One member a layer: requested, state (enforced, degraded, not_requested), and the
 * proof.  A value that could not be read is null.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/json.h"
#include "runtime/spec/policy.h"
#include "runtime/supervise/receipt.h"

static const char *state_of(const struct mr_receipt *r, const char *item)
{
	for (size_t i = 0; i < r->n_degraded; i++) {
		if (strcmp(r->degraded[i].item, item) == 0)
			return "degraded";
	}
	return r->complete ? "enforced" : "unknown";
}

static json_t *namespaces_json(const struct mr_receipt *r)
{
	json_t *proof = json_object();

	for (unsigned int i = 0; i < MR_NS_COUNT_; i++) {
		if (!(r->ns_made & (1U << i)))
			continue;
		json_object_set_new(proof, mr_ns_name(i),
				    r->ns_inode[i] ? json_integer((json_int_t)r->ns_inode[i])
						   : json_null());
	}
	return json_pack("{s:s, s:o}", "state", state_of(r, "time-ns"), "inodes", proof);
}

static json_t *amount(uint64_t value)
{
	return value == MR_UNLIMITED ? json_string("unlimited") : json_integer((json_int_t)value);
}

static json_t *cgroup_json(const struct mr_receipt *r)
{
	json_t *limits = json_object();

	for (size_t i = 0; i < r->n_limits; i++) {
		json_object_set_new(limits, r->limits[i].key,
				    json_pack("{s:o, s:s}", "value", amount(r->limits[i].value),
					      "file", r->limits[i].file));
	}
	return json_pack("{s:s, s:s?, s:s, s:s?, s:o}", "state", state_of(r, "cgroup"), "note",
			 r->cgroup_note[0] ? r->cgroup_note : NULL, "mode",
			 mr_cgroup_mode_name(r->cgroup_mode), "path",
			 r->cgroup_path[0] ? r->cgroup_path : NULL, "limits", limits);
}

static json_t *hex64(uint64_t bits)
{
	char text[17];

	snprintf(text, sizeof(text), "%016jx", (uintmax_t)bits);
	return json_string(text);
}

static json_t *identity_json(const struct mr_receipt *r)
{
	return json_pack("{s:s, s:I, s:I, s:b, s:o, s:o, s:o, s:o, s:o}", "state",
			 r->complete ? "enforced" : "unknown", "host_uid", (json_int_t)r->uid,
			 "host_gid", (json_int_t)r->gid, "no_new_privs", r->caps.no_new_privs,
			 "cap_inheritable", hex64(r->caps.inheritable), "cap_permitted",
			 hex64(r->caps.permitted), "cap_effective", hex64(r->caps.effective),
			 "cap_bounding", hex64(r->caps.bounding), "cap_ambient",
			 hex64(r->caps.ambient));
}

static json_t *landlock_json(const struct mr_receipt *r, const struct mr_spec *spec)
{
	const bool by_policy = spec->policy && spec->policy->has_paths;
	const char *state =
		spec->sandbox_level < 3 && !by_policy ? "not_requested" : state_of(r, "landlock");

	return json_pack("{s:s, s:o}", "state", state, "abi",
			 r->landlock_abi ? json_integer(r->landlock_abi) : json_null());
}

static json_t *seccomp_json(const struct mr_receipt *r, const struct mr_spec *spec)
{
	return json_pack("{s:s, s:i, s:s?, s:i, s:s, s:b}", "state",
			 state_of(r, "seccomp-listener"), "level", (int)spec->sandbox_level,
			 "filter_sha256", r->filter_hash[0] ? r->filter_hash : NULL,
			 "filter_instructions", (int)r->filter_length, "default_action",
			 "errno(ENOSYS)", "denials_recorded", r->notified);
}

static json_t *network_json(const struct mr_receipt *r, const struct mr_spec *spec)
{
	static const char *const words[] = { MR_WORDS_net };

	return json_pack("{s:s, s:s, s:s, s:i}", "state",
			 spec->net_mode == MR_NET_HOST ? "not_requested"
			 : r->complete		       ? "enforced"
						       : "unknown",
			 "mode", words[spec->net_mode], "links", r->links, "routes",
			 (int)r->n_routes);
}

static json_t *degraded_json(const struct mr_receipt *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->n_degraded; i++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "item", r->degraded[i].item,
						      "why", r->degraded[i].why));
	return list;
}

json_t *mr_receipt_to_json(const struct mr_receipt *r, const struct mr_spec *spec)
{
	json_t *mounts =
		json_pack("{s:s, s:s?, s:i}", "state", r->complete ? "enforced" : "unknown",
			  "mountinfo_sha256", r->mounts_hash[0] ? r->mounts_hash : NULL, "count",
			  (int)r->n_mounts);

	return json_pack("{s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "verified_before_start",
			 r->complete, "namespaces", namespaces_json(r), "cgroup", cgroup_json(r),
			 "identity", identity_json(r), "mounts", mounts, "landlock",
			 landlock_json(r, spec), "seccomp", seccomp_json(r, spec), "network",
			 network_json(r, spec), "degraded", degraded_json(r));
}

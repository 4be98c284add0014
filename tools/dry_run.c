/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dry run: the resolved spec, and what this host can enforce of it
 *
 * Its member "spec" is a document that --spec takes as it is; where each knob of it
 * came from is told beside it.
 *
 * Probed, not guessed from version numbers.  Exit status 0 when the run would be
 * started, 125 when something it needs is missing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cgroups/cgroup.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/launch/landlock.h"
#include "runtime/launch/launch.h"
#include "runtime/spec/policy.h"
#include "tools/session.h"

static json_t *feature(const char *name, bool available, bool needed, const char *why, bool *ok)
{
	*ok = *ok && (available || !needed);
	return json_pack("{s:s, s:b, s:b, s:s?}", "name", name, "available", available, "needed",
			 needed, "why", why && why[0] ? why : NULL);
}

static json_t *features(const struct mr_run_host *host, const struct mr_spec *spec, bool *ok)
{
	json_t *list = json_array();
	int landlock_errno = 0;
	int abi = mr_landlock_abi(&landlock_errno);

	json_array_append_new(list, feature("cgroup",
					    mr_cgroup_host_mode(host->cgroups) != MR_CGROUP_NONE,
					    !mr_spec_tolerates(spec, "cgroup"),
					    mr_cgroup_host_why(host->cgroups), ok));
	json_array_append_new(list, feature("landlock", abi > 0,
					    (spec->sandbox_level >= 3 ||
					     (spec->policy && spec->policy->has_paths)) &&
						    !mr_spec_tolerates(spec, "landlock"),
					    abi > 0 ? "" : strerror(landlock_errno), ok));
	for (unsigned int i = 0; i < MR_NS_COUNT_; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/ns/%s", mr_ns_name(i));
		json_array_append_new(list,
				      feature(mr_ns_name(i), access(path, F_OK) == 0,
					      i != MR_NS_TIME ||
						      !mr_spec_tolerates(spec, "time-ns"),
					      access(path, F_OK) == 0 ? "" : strerror(errno), ok));
	}
	return list;
}

/* Of the program that would be loaded, with the policy's part in front. */
static void hash_filter(const struct mr_spec *spec, char ret_hex[65])
{
	struct mr_seccomp_policy policy = mr_launch_policy(spec);
	struct sock_fprog *narrowed = NULL;

	policy.own_fd = mr_launch_own_fd(spec, 0);
	if (mr_seccomp_is_narrowed(&policy))
		policy.program = narrowed = mr_seccomp_narrow(&policy);
	mr_seccomp_hash(mr_seccomp_program(&policy), ret_hex);
	mr_seccomp_free(narrowed);
}

/* The knobs that the policy has changed, explained as all of them are. */
static json_t *narrowed_knobs(const struct mr_spec *narrowed)
{
	mr_auto_json json_t *all = mr_spec_explain_json(narrowed);
	json_t *some = json_object();

	for (size_t i = 0; i < MR_FIELD_COUNT_; i++) {
		const char *key = mr_spec_fields()[i].key;

		if (narrowed->origin[i] == MR_ORIGIN_POLICY)
			json_object_set(some, key, json_object_get(all, key));
	}
	return some;
}

/* What the policy leaves of the request, or why it would be refused. */
static int look_at_policy(const struct mr_spec *spec, char ret_filter[65], json_t **ret,
			  struct mr_error *err)
{
	const char *unenforced = NULL;
	struct mr_spec narrowed;
	int r;

	mr_spec_copy(&narrowed, spec);
	r = mr_policy_narrow(&narrowed, &unenforced, err);
	if (r == 0)
		hash_filter(&narrowed, ret_filter);
	*ret = NULL;
	if (r == 0 && spec->policy)
		*ret = json_pack("{s:s, s:s?, s:o}", "sha256", spec->policy->sha256, "unenforced",
				 unenforced, "knobs", narrowed_knobs(&narrowed));
	mr_spec_deinit(&narrowed);
	return r;
}

int mr_dry_run_main(struct mr_run_host *host, struct mr_cli *cli)
{
	mr_auto_json json_t *document = NULL, *left = NULL;
	struct mr_error err = MR_ERROR_INIT;
	struct utsname uts;
	char hash[65], filter[65];
	struct mr_ids ids;
	bool ok = true;
	json_t *list;

	if (mr_launch_check(&cli->spec, &err) < 0 || mr_launch_ids(&cli->spec, 0, &ids, &err) < 0 ||
	    look_at_policy(&cli->spec, filter, &left, &err) < 0)
		return mr_session_fail(&err);
	if (uname(&uts) < 0)
		memset(&uts, 0, sizeof(uts));
	list = features(host, &cli->spec, &ok);
	mr_spec_hash(&cli->spec, hash);
	document = json_pack("{s:o, s:o, s:s, s:b, s:{s:s, s:s, s:i, s:o}, s:{s:b, s:I, s:I, s:s}}",
			     "spec", mr_spec_to_json(&cli->spec), "knobs",
			     mr_spec_explain_json(&cli->spec), "spec_sha256", hash, "would_start",
			     ok, "host", "kernel", uts.release, "cgroup_mode",
			     mr_cgroup_mode_name(mr_cgroup_host_mode(host->cgroups)),
			     "landlock_abi", mr_landlock_abi(NULL), "features", list, "payload",
			     "user_namespace", ids.userns, "host_uid", (json_int_t)ids.host_uid,
			     "host_gid", (json_int_t)ids.host_gid, "filter_sha256", filter);
	mr_assert(document);
	if (left)
		json_object_set(document, "policy", left);
	if (mr_session_flush("--dry-run",
			     json_dumpf(document, stdout, JSON_INDENT(2)) == 0 &&
				     fputc('\n', stdout) != EOF,
			     &err) < 0)
		return mr_session_fail(&err);
	return ok ? 0 : 125;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unseen
 *
 * One row of blind[] is one kind of refusal that leaves no denial, for the specs for which its
 * `holds` is true.  A row that is `whole` stands for all that its layer refuses.  The one
 * without `holds` stands for what could not be seen in this run, for the reasons that the run has.
 */
#include "runtime/supervise/unseen.h"

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/launch/launch.h"
#include "runtime/spec/policy.h"
#include "runtime/spec/spec.h"
#include "runtime/supervise/denials.h"

static bool always(const struct mr_spec *spec)
{
	(void)spec;
	return true;
}

static bool watches_opens(const struct mr_spec *spec)
{
	return mr_launch_policy(spec).watch_opens;
}

static bool ignores_opens(const struct mr_spec *spec)
{
	return !watches_opens(spec);
}

/* A policy's paths are judged by us, too: its denials are known. */
static bool has_own_landlock(const struct mr_spec *spec)
{
	return spec->sandbox_level >= 3 && !(spec->policy && spec->policy->has_paths);
}

static bool has_loopback(const struct mr_spec *spec)
{
	return spec->net_mode == MR_NET_LOOPBACK;
}

static const struct blind {
	enum mr_denial_layer layer;
	bool whole;
	bool (*holds)(const struct mr_spec *spec);
	const char *what, *why;
} blind[] = {
	{ MR_DENIAL_SECCOMP, false, always, "system calls answered with ENOSYS",
	  "programs ask for them to learn whether they are there; the kernel answers by itself" },
	{ MR_DENIAL_NETWORK, false, NULL, NULL, NULL },
	{ MR_DENIAL_NETWORK, false, has_loopback, "what is sent to groups (multicast, broadcast)",
	  "a program may have groups on loopback, and only the kernel knows whether it does" },
	{ MR_DENIAL_MOUNT, true, ignores_opens, "files that could not be opened or changed",
	  "opens are watched with --explain-denials and at level 5" },
	{ MR_DENIAL_MOUNT, false, watches_opens, "changes by other calls than those that open",
	  "mkdir, rename, unlink and the like are not watched" },
	{ MR_DENIAL_LANDLOCK, true, has_own_landlock, "what Landlock refused",
	  "the kernel tells nobody, or from Linux 6.15 on its audit log" },
	{ MR_DENIAL_LIMITS, true, always, "what a limit refused",
	  "limits_hit and usage count it; the kernel does not tell whose call it was" },
};

static void add(json_t *unseen, const char *layer, const char *what, const char *why)
{
	json_array_append_new(unseen, json_pack("{s:s, s:s, s:s}", "layer", layer, "what", what,
						"why", why));
}

void mr_unseen_tell(struct json_t *denials, const struct mr_spec *spec,
		    const struct mr_unseen_part *parts, size_t n_parts)
{
	json_t *by_layer = json_object_get(denials, "by_layer"), *unseen = json_array();

	for (size_t i = 0; i < N_ELEMENTS(blind); i++) {
		const char *layer = mr_denials_layer_name(blind[i].layer);

		for (size_t j = 0; !blind[i].holds && j < n_parts; j++)
			if (parts[j].why)
				add(unseen, layer, parts[j].what, parts[j].why);
		if (!blind[i].holds || !blind[i].holds(spec))
			continue;
		if (blind[i].whole && json_integer_value(json_object_get(by_layer, layer)) == 0)
			json_object_set_new(by_layer, layer, json_null());
		add(unseen, layer, blind[i].what, blind[i].why);
	}
	json_object_set_new(denials, "unseen", unseen);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles: the canonical hostile conditions, each at two levels
 *
 * All of it is profiles.def; here is how a row becomes a preset.
 */
#include "runtime/scenario/profile.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"

static const struct mr_profile profiles[] = {
#define PROFILE(name_, core_, low_, high_, help_) \
	{ .name = (name_), .core = (core_), .variables = { low_, high_ }, .help = (help_) },
#define PROFILE_ALIAS(alias_, name_)
#include "runtime/scenario/profiles.def"
#undef PROFILE
#undef PROFILE_ALIAS
};

static const struct alias {
	const char *alias, *name;
} aliases[] = {
#define PROFILE(name_, core_, low_, high_, help_)
#define PROFILE_ALIAS(alias_, name_) { alias_, name_ },
#include "runtime/scenario/profiles.def"
#undef PROFILE
#undef PROFILE_ALIAS
};

static const char *const levels[MR_PROFILE_LEVELS] = { "low", "high" };

const struct mr_profile *mr_profile_rows(size_t *ret_n)
{
	*ret_n = N_ELEMENTS(profiles);
	return profiles;
}

static const char *resolve_alias(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(aliases); i++)
		if (strcmp(aliases[i].alias, name) == 0)
			return aliases[i].name;
	return name;
}

int mr_profile_find(const char *name, const struct mr_profile **ret, struct mr_error *err)
{
	const char *resolved = resolve_alias(name);
	char quoted[MR_STR_QUOTE_SIZE];
	struct mr_str_nearest nearest;
	struct mr_str list;
	char names[256];

	mr_str_nearest_init(&nearest, name);
	mr_str_init(&list, names, sizeof(names));
	for (size_t i = 0; i < N_ELEMENTS(profiles); i++) {
		if (strcmp(profiles[i].name, resolved) == 0) {
			*ret = &profiles[i];
			return 0;
		}
		mr_str_nearest_offer(&nearest, profiles[i].name);
		mr_str_printf(&list, "%s%s", i > 0 ? ", " : "", profiles[i].name);
	}
	for (size_t i = 0; i < N_ELEMENTS(aliases); i++)
		mr_str_nearest_offer(&nearest, aliases[i].alias);
	mr_str_quote(quoted, sizeof(quoted), name);
	if (nearest.best)
		return mr_err(err, MR_E_USAGE, EINVAL, "unknown profile %s; did you mean \"%s\"?",
			      quoted, nearest.best);
	return mr_err(err, MR_E_USAGE, EINVAL, "unknown profile %s; accepted: %s", quoted, names);
}

const char *mr_profile_level_name(enum mr_profile_level level)
{
	mr_assert(level < MR_PROFILE_LEVELS);
	return levels[level];
}

int mr_profile_parse_level(const char *word, enum mr_profile_level *ret, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];

	for (size_t i = 0; i < N_ELEMENTS(levels); i++) {
		if (strcmp(levels[i], word) != 0)
			continue;
		*ret = (enum mr_profile_level)i;
		return 0;
	}
	return mr_err(err, MR_E_USAGE, EINVAL, "unknown level %s; accepted: low, high",
		      mr_str_quote(quoted, sizeof(quoted), word));
}

json_t *mr_profile_overlay(const struct mr_profile *profile, enum mr_profile_level level)
{
	const char *text = profile->variables[level];
	json_t *overlay = NULL;

	mr_assert(mr_json_parse(text, strlen(text), profile->name, &overlay, NULL) == 0);
	json_object_set_new(overlay, "SCENARIO_NAME", json_string(profile->name));
	return overlay;
}

json_t *mr_profile_preset(const struct mr_profile *profile, enum mr_profile_level level)
{
	json_t *preset = json_pack("{s:s, s:s}", "CPU_LIMIT", "1", "MEMORY_LIMIT", "512Mi");
	mr_auto_json json_t *overlay = mr_profile_overlay(profile, level);

	mr_assert(preset && json_object_update(preset, overlay) == 0);
	return preset;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenario
 */
#include "runtime/scenario/scenario.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/scenario/profile.h"

static const struct mr_scenario scenarios[] = {
#define SCENARIO(name_, default_, profile_, variables_, advice_) \
	{ name_, default_, profile_, variables_, advice_ },
#define SCENARIO_ALIAS(alias_, name_)
#include "runtime/scenario/scenarios.def"
#undef SCENARIO
#undef SCENARIO_ALIAS
};

static const struct alias {
	const char *alias, *name;
} aliases[] = {
#define SCENARIO(name_, default_, profile_, variables_, advice_)
#define SCENARIO_ALIAS(alias_, name_) { alias_, name_ },
#include "runtime/scenario/scenarios.def"
#undef SCENARIO
#undef SCENARIO_ALIAS
};

const struct mr_scenario *mr_scenario_rows(size_t *ret_n)
{
	*ret_n = N_ELEMENTS(scenarios);
	return scenarios;
}

static bool is_there(const json_t *list, const char *name, const char *level)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *row = json_array_get(list, i);

		if (strcmp(json_string_value(json_object_get(row, "name")), name) == 0 &&
		    strcmp(json_string_value(json_object_get(row, "level")), level) == 0)
			return true;
	}
	return false;
}

const char *mr_scenario_advice(const char *name, const char *profile)
{
	const char *advice = NULL;

	for (size_t i = 0; i < N_ELEMENTS(scenarios); i++)
		if (strcmp(scenarios[i].name, name) == 0 ||
		    (profile && scenarios[i].profile && strcmp(scenarios[i].profile, profile) == 0))
			advice = scenarios[i].advice;
	return advice;
}

static void append(json_t *list, const char *name, const char *level, const char *profile,
		   json_t *preset)
{
	json_array_append_new(list, json_pack("{s:s, s:s, s:s?, s:s?, s:o}", "name", name, "level",
					      level, "profile", profile, "advice",
					      mr_scenario_advice(name, profile), "preset", preset));
}

static void add_row(json_t *list, const struct mr_scenario *row)
{
	json_t *preset = json_loads(row->variables, 0, NULL);

	mr_assert(preset);
	json_object_set_new(preset, "SCENARIO_NAME", json_string(row->name));
	if (is_there(list, row->name, "-"))
		json_decref(preset);
	else
		append(list, row->name, "-", row->profile, preset);
}

static void add_level(json_t *list, const struct mr_profile *profile, enum mr_profile_level level)
{
	const char *word = mr_profile_level_name(level);

	if (!is_there(list, profile->name, word))
		append(list, profile->name, word, profile->name,
		       mr_profile_overlay(profile, level));
}

int mr_scenario_add_profile(json_t *list, const char *name, const char *level, struct mr_error *err)
{
	const struct mr_profile *profile = NULL;
	enum mr_profile_level at = MR_PROFILE_HIGH;
	int r = mr_profile_find(name, &profile, err);

	if (r == 0)
		r = mr_profile_parse_level(level, &at, err);
	if (r == 0)
		add_level(list, profile, at);
	return r;
}

static void add_canonical(json_t *list)
{
	size_t n;
	const struct mr_profile *profiles = mr_profile_rows(&n);

	for (size_t i = 0; i < n; i++)
		for (int level = 0; level < MR_PROFILE_LEVELS; level++)
			add_level(list, &profiles[i], (enum mr_profile_level)level);
}

static int refuse(const char *word, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	struct mr_str_nearest nearest;
	size_t n;
	const struct mr_profile *profiles = mr_profile_rows(&n);

	mr_str_nearest_init(&nearest, word);
	for (size_t i = 0; i < N_ELEMENTS(scenarios); i++)
		mr_str_nearest_offer(&nearest, scenarios[i].name);
	for (size_t i = 0; i < n; i++)
		mr_str_nearest_offer(&nearest, profiles[i].name);
	mr_str_quote(quoted, sizeof(quoted), word);
	if (nearest.best)
		return mr_err(err, MR_E_USAGE, EINVAL, "unknown scenario %s; did you mean \"%s\"?",
			      quoted, nearest.best);
	return mr_err(err, MR_E_USAGE, EINVAL,
		      "unknown scenario %s; see menace-flow(5) for those there are", quoted);
}

static const char *resolve_alias(const char *word)
{
	for (size_t i = 0; i < N_ELEMENTS(aliases); i++)
		if (strcmp(aliases[i].alias, word) == 0)
			return aliases[i].name;
	return word;
}

int mr_scenario_add(json_t *list, const char *word, struct mr_error *err)
{
	const char *colon = strchr(word, ':');
	const bool all = strcmp(word, "all") == 0;
	const struct mr_profile *profile = NULL;
	bool found = all;

	if (colon) {
		mr_auto_free char *name = mr_str_ndup(word, (size_t)(colon - word));

		return mr_scenario_add_profile(list, name, colon + 1, err);
	}
	if (strcmp(word, "canonical") == 0) {
		add_canonical(list);
		return 0;
	}
	word = resolve_alias(word);
	for (size_t i = 0; i < N_ELEMENTS(scenarios); i++) {
		const bool asked = all || strcmp(word, scenarios[i].name) == 0 ||
				   (scenarios[i].is_default && strcmp(word, "default") == 0);

		found = found || asked;
		if (asked)
			add_row(list, &scenarios[i]);
	}
	if (!found && mr_profile_find(word, &profile, NULL) == 0) {
		for (int level = 0; level < MR_PROFILE_LEVELS; level++)
			add_level(list, profile, (enum mr_profile_level)level);
		found = true;
	}
	return found ? 0 : refuse(word, err);
}

int mr_scenario_add_preset(json_t *list, const char *name, json_t *preset, struct mr_error *err)
{
	if (is_there(list, name, "-"))
		return mr_err(err, MR_E_USAGE, EEXIST,
			      "two scenarios are called \"%.80s\"; tell presets apart by their "
			      "SCENARIO_NAME",
			      name);
	append(list, name, "-", NULL, json_incref(preset));
	return 0;
}

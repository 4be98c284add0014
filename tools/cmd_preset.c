/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace preset: make, judge and change presets
 *
 * One verb is one struct mr_cmd; those that make presets are here, what reads them
 * is in cmd_preset_use.c and cmd_preset_adapt.c.  Presets go to standard output as
 * menace-run --preset takes them, what is said about them goes to standard error.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/rand.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/scenario/adapt.h"
#include "runtime/scenario/evidence.h"
#include "runtime/scenario/generate.h"
#include "runtime/scenario/profile.h"
#include "tools/cmd_preset.h"

/* --- generate -------------------------------------------------------------- */

struct generate {
	struct mr_cmd_common common;
	int64_t seed, count;
	struct mr_cmd_list profile, profiles, severity, metrics;
	const char *output, *policy;
	bool user_misuse, unsafe, linux_only, explain;
};

static const struct mr_cmd_row generate_rows[] = {
	MR_CMD_ROW("seed", 's', "N", COUNT, generate, seed,
		   "draw from this seed, 0 to 9007199254740991; without it from PRESET_SEED of "
		   "the environment, else from a new one"),
	MR_CMD_ROW("count", 'n', "N", COUNT, generate, count,
		   "so many presets; 3 if not given, and at least one for each profile"),
	MR_CMD_ROW("profile", 'p', "NAME", LIST, generate, profile,
		   "one preset with the variables of this profile; NAME+NAME: of several; none: "
		   "of no profile; may be given again, and words are more of them"),
	MR_CMD_ROW("profiles", 0, "NAME", LIST, generate, profiles, "the same"),
	MR_CMD_ROW("severity", 0, "LEVEL", LIST, generate, severity,
		   "low or high (if not given) for all profiles, or NAME=LEVEL for one"),
	MR_CMD_ROW("metrics", 'm', "FILE", LIST, generate, metrics,
		   "make a step after these metrics, as adapt takes them; then the seed makes the "
		   "presets again with the same metrics only"),
	MR_CMD_ROW("policy", 0, "FILE", PATH, generate, policy,
		   "with --metrics: follow this learned policy where it knows the state"),
	MR_CMD_ROW("explain", 0, NULL, FLAG, generate, explain,
		   "with --policy: say the state, and what the policy knows of it"),
	MR_CMD_ROW("user-misuse", 0, NULL, FLAG, generate, user_misuse,
		   "draw misuse, too; also by SANDBOX_INCLUDE_USER_MISUSE and "
		   "SANDBOX_PRESET_MODE of the environment"),
	MR_CMD_ROW("unsafe", 0, NULL, FLAG, generate, unsafe,
		   "draw SECURITY_LEVEL 1, too, which menace-run takes only with --unsafe"),
	MR_CMD_ROW("linux-only", 0, NULL, FLAG, generate, linux_only, "leave other systems out"),
	MR_CMD_ROW("output", 'o', "FILE", PATH, generate, output,
		   "write them there; without it on standard output"),
	MR_CMD_ROW("json", 0, NULL, FLAG, generate, common.json,
		   "print an object with the seed, not only the list"),
	MR_CMD_HELP_ROW(generate),
};

static int check_seed(const char *label, uint64_t seed, struct mr_error *err)
{
	if (seed <= MR_RAND_SEED_MAX)
		return 0;
	return mr_err(err, MR_E_USAGE, ERANGE, "%s: %ju is out of range; accepted: 0 to %ju", label,
		      (uintmax_t)seed, (uintmax_t)MR_RAND_SEED_MAX);
}

static int choose_seed(int64_t option, uint64_t *ret, struct mr_error *err)
{
	const char *text = getenv("PRESET_SEED");
	int r;

	if (option != MR_CMD_NOT_GIVEN) {
		*ret = (uint64_t)option;
		return check_seed("--seed", *ret, err);
	}
	if (!text || text[0] == '\0')
		return mr_rand_fresh_seed(ret, err);
	r = mr_units_parse_count(text, ret, err);
	return r < 0 ? mr_err_wrap(err, r, "PRESET_SEED") : check_seed("PRESET_SEED", *ret, err);
}

/* All names of profiles, wherever they were given; malloc'd array. */
static const char **collect_profiles(const struct generate *g, char **words, size_t *ret_n)
{
	size_t n = g->profile.n + g->profiles.n, at = 0;
	const char **all;

	for (size_t i = 0; words[i]; i++)
		n++;
	all = mr_str_alloc((n + 1) * sizeof(*all));
	for (size_t i = 0; i < g->profile.n; i++)
		all[at++] = g->profile.v[i];
	for (size_t i = 0; i < g->profiles.n; i++)
		all[at++] = g->profiles.v[i];
	for (size_t i = 0; words[i]; i++)
		all[at++] = words[i];
	*ret_n = n;
	return all;
}

static int take_options(const struct generate *g, struct mr_generate_opts *opts,
			struct mr_error *err)
{
	opts->count = MR_GENERATE_COUNT_DEFAULT;
	if (g->count > MR_GENERATE_COUNT_MAX)
		return mr_err(err, MR_E_USAGE, ERANGE,
			      "--count: %jd is out of range; accepted: 0 to %d", (intmax_t)g->count,
			      MR_GENERATE_COUNT_MAX);
	if (g->count != MR_CMD_NOT_GIVEN)
		opts->count = (size_t)g->count;
	opts->severities = g->severity.v;
	opts->n_severities = g->severity.n;
	opts->unsafe = g->unsafe;
	opts->linux_only = g->linux_only;
	return mr_cmd_preset_misuse(g->user_misuse, &opts->user_misuse, err);
}

static void adapt_all(const struct generate *g, json_t *list, const struct mr_evidence *evidence,
		      const json_t *policy)
{
	const struct mr_adapt_opts opts = { .drawn = true, .policy = policy };

	for (size_t i = 0; i < json_array_size(list); i++) {
		mr_auto_json json_t *adapted = mr_adapt(json_array_get(list, i), evidence, &opts);
		mr_auto_free char *path = mr_str_format("[%zu]", i);

		mr_cmd_preset_tell(path, adapted);
		if (g->explain)
			mr_cmd_preset_explain_policy(path, adapted);
		json_array_set(list, i, json_object_get(adapted, "preset"));
	}
}

static int follow_metrics(const struct generate *g, json_t *list, struct mr_error *err)
{
	mr_auto_json json_t *policy = NULL;
	struct mr_evidence evidence;
	int r = 0;

	if (g->policy && g->metrics.n == 0)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--policy needs --metrics: it goes by what changed");
	if (g->metrics.n > 0)
		r = mr_cmd_preset_policy_to_follow(g->policy, &policy, err);
	if (r < 0)
		return r;
	if (g->explain && !policy)
		return mr_err(err, MR_E_USAGE, EINVAL, "--explain needs --policy");
	if (g->metrics.n == 0)
		return 0;
	mr_evidence_init(&evidence);
	for (size_t i = 0; r == 0 && i < g->metrics.n; i++)
		r = mr_cmd_preset_add_evidence(&evidence, g->metrics.v[i], err);
	if (r == 0)
		adapt_all(g, list, &evidence, policy);
	mr_evidence_deinit(&evidence);
	return r;
}

static int run_generate(void *values, char **words, struct mr_error *err)
{
	const struct generate *g = values;
	struct mr_generate_opts opts = { 0 };
	mr_auto_free const char **profiles = collect_profiles(g, words, &opts.n_profiles);
	mr_auto_json json_t *document = NULL;
	mr_auto_json json_t *list = NULL;
	int r = take_options(g, &opts, err);

	opts.profiles = profiles;
	if (r == 0)
		r = choose_seed(g->seed, &opts.seed, err);
	if (r == 0)
		r = mr_generate(&opts, &list, err);
	if (r == 0)
		r = follow_metrics(g, list, err);
	if (r < 0)
		return r;
	if (g->common.json)
		document = json_pack("{s:s, s:I, s:O}", "schema", "menace.presets/1", "seed",
				     (json_int_t)opts.seed, "presets", list);
	mr_log_notice("seed %ju", (uintmax_t)opts.seed);
	return mr_cmd_preset_write(g->output, g->common.json ? document : list, err);
}

static const struct mr_cmd generate = {
	.name = "preset generate",
	.synopsis = "[PROFILE...]",
	.summary = "Draw presets from a seed, which makes them again",
	.options = MR_OPTABLE(generate_rows),
	.size = sizeof(struct generate),
	.max_words = SIZE_MAX,
	.heeds_environment = true,
	.run = run_generate,
};

/* --- canonical ------------------------------------------------------------- */

struct canonical {
	struct mr_cmd_common common;
	const char *level, *output;
	bool core;
};

static const struct mr_cmd_row canonical_rows[] = {
	MR_CMD_ROW("level", 'l', "LEVEL", TEXT, canonical, level,
		   "only this level: low or high; with one profile: its preset alone"),
	MR_CMD_ROW("core", 0, NULL, FLAG, canonical, core,
		   "only the four profiles that every report has to cover"),
	MR_CMD_ROW("output", 'o', "FILE", PATH, canonical, output,
		   "write them there; without it on standard output"),
	MR_CMD_ROW("json", 0, NULL, FLAG, canonical, common.json,
		   "as without it: presets are JSON"),
	MR_CMD_HELP_ROW(canonical),
};

static void add_levels(const struct canonical *c, const struct mr_profile *profile,
		       enum mr_profile_level only, json_t *mapping)
{
	json_t *levels = json_object();

	for (unsigned int level = 0; level < MR_PROFILE_LEVELS; level++)
		if (!c->level || level == only)
			json_object_set_new(levels,
					    mr_profile_level_name((enum mr_profile_level)level),
					    mr_profile_preset(profile,
							      (enum mr_profile_level)level));
	json_object_set_new(mapping, profile->name, levels);
}

static int run_canonical(void *values, char **words, struct mr_error *err)
{
	const struct canonical *c = values;
	mr_auto_json json_t *mapping = json_object();
	mr_auto_json json_t *one = NULL;
	enum mr_profile_level level = MR_PROFILE_HIGH;
	size_t n;
	const struct mr_profile *rows = mr_profile_rows(&n), *profile = NULL;
	int r = c->level ? mr_profile_parse_level(c->level, &level, err) : 0;

	if (r < 0)
		return mr_err_wrap(err, r, "--level");
	for (size_t i = 0; words[i]; i++) {
		r = mr_profile_find(words[i], &profile, err);
		if (r < 0)
			return r;
		add_levels(c, profile, level, mapping);
	}
	for (size_t i = 0; !words[0] && i < n; i++)
		if (rows[i].core || !c->core)
			add_levels(c, &rows[i], level, mapping);
	if (!c->level || !words[0] || words[1])
		return mr_cmd_preset_write(c->output, mapping, err);
	one = mr_profile_preset(profile, level);
	return mr_cmd_preset_write(c->output, one, err);
}

static const struct mr_cmd canonical = {
	.name = "preset canonical",
	.synopsis = "[PROFILE...]",
	.summary = "Print the canonical profiles, each at two levels",
	.options = MR_OPTABLE(canonical_rows),
	.size = sizeof(struct canonical),
	.max_words = SIZE_MAX,
	.heeds_environment = true,
	.run = run_canonical,
};

static const struct mr_cmd *const verbs[] = {
	&generate,
	&canonical,
	&mr_cmd_preset_combine,
	&mr_cmd_preset_suggest,
	&mr_cmd_preset_adapt,
	&mr_cmd_preset_learn,
	&mr_cmd_preset_policy_import,
	&mr_cmd_preset_policy_export,
	&mr_cmd_preset_policy_show,
	&mr_cmd_preset_check,
	&mr_cmd_preset_show,
	NULL,
};

const struct mr_cmd mr_cmd_preset = {
	.name = "preset",
	.synopsis = "VERB",
	.summary = "Make, judge and change presets of variables for menace-run --preset",
	.verbs = verbs,
};

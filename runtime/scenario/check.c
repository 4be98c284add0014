/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check: what menace-run would make of a preset
 *
 * It is not judged by a second set of rules: each variable is applied alone to a
 * request that tolerates it, by what menace-run itself applies presets with, and
 * what changed in the request is the verdict.  What a version comes to enforce is
 * therefore told without a change here.
 */
#include "runtime/scenario/check.h"

#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/scenario/draws.h"
#include "runtime/scenario/modes.h"
#include "runtime/scenario/profile.h"
#include "runtime/spec/failures.h"
#include "runtime/spec/net.h"
#include "runtime/spec/spec.h"

#define PATH_SIZE 128

struct check {
	const struct mr_json *preset;
	json_t *variables, *problems, *best_effort;
	const char *net; /* the net.mode it is for; NULL: any */
	enum mr_check_verdict verdict;
};

const char *mr_check_verdict_name(enum mr_check_verdict verdict)
{
	static const char *const names[] = {
		[MR_CHECK_ACCEPTED] = "accepted",
		[MR_CHECK_REFUSED] = "refused",
		[MR_CHECK_MALFORMED] = "malformed",
	};

	return names[verdict];
}

static bool is_unenforced(const char *name)
{
	size_t n;
	const struct mr_preset_var *vars = mr_preset_vars(&n);

	if (strcmp(name, MR_PRESET_FAILURES) == 0) /* some modes are */
		return true;
	for (size_t i = 0; i < n; i++)
		if (strcmp(vars[i].name, name) == 0)
			return true;
	return false;
}

static void set(json_t *object, const char *key, json_t *value)
{
	mr_assert(json_object_set_new(object, key, value) == 0);
}

/* A message may quote what is no UTF-8, or have been cut within a character. */
static json_t *text_json(const char *text)
{
	char quoted[512];

	if (mr_str_utf8_valid(text, strlen(text)))
		return json_string(text);
	return json_string(mr_str_quote(quoted, sizeof(quoted), text));
}

static void worsen(struct check *c, enum mr_check_verdict verdict, const char *problem)
{
	if (verdict > c->verdict)
		c->verdict = verdict;
	if (problem)
		json_array_append_new(c->problems, text_json(problem));
}

static void tolerate(struct mr_spec *spec, const char *name)
{
	if (is_unenforced(name))
		mr_assert(mr_spec_add_best_effort(spec, name, NULL) == 0);
}

/* The knobs that a preset has set, with their values in words. */
static json_t *knobs_set(const struct mr_spec *spec)
{
	const struct mr_field *fields = mr_spec_fields();
	json_t *knobs = json_object();

	for (size_t i = 0; i < MR_FIELD_COUNT_; i++) {
		char buf[MR_SPEC_TEXT_SIZE];

		if (spec->origin[i] != MR_ORIGIN_PRESET)
			continue;
		if (fields[i].type == MR_FIELD_STR)
			set(knobs, fields[i].key, json_null());
		else
			set(knobs, fields[i].key,
			    json_string(mr_spec_value_text(&fields[i],
							   mr_spec_get(spec, (enum mr_field_id)i),
							   buf)));
	}
	return knobs;
}

static void add_effect(struct check *c, json_t *row, const struct mr_spec *spec, const char *name)
{
	mr_auto_json json_t *knobs = knobs_set(spec);
	const char *effect = "nothing";

	if (json_object_size(knobs) > 0) {
		effect = "applied";
		json_object_set(row, "knobs", knobs);
	}
	if (spec->unenforced.n > 0) { /* some of it, or all */
		effect = "refused";
		json_array_append_new(c->best_effort, json_string(name));
		worsen(c, MR_CHECK_REFUSED, NULL);
	} else if (json_object_size(knobs) == 0 &&
		   (spec->name || mr_str_starts_with(name, "PRESET_"))) {
		effect = "label";
	}
	set(row, "effect", json_string(effect));
}

static void add_help(json_t *row, const char *name)
{
	size_t n;
	const struct mr_preset_var *vars = mr_preset_vars(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(vars[i].name, name) == 0)
			set(row, "message", json_string(vars[i].help));
}

static void check_variable(struct check *c, const char *name, json_t *value)
{
	mr_auto_json json_t *alone = json_object();
	json_t *row = json_pack("{s:s, s:O}", "variable", name, "value", value);
	struct mr_json object = *c->preset;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec spec;

	json_object_set(alone, name, value);
	object.value = alone;
	mr_spec_init(&spec);
	tolerate(&spec, name);
	if (mr_preset_apply_object(&spec, &object, MR_ORIGIN_PRESET, &err) < 0) {
		set(row, "effect", json_string("malformed"));
		set(row, "message", text_json(err.msg));
		worsen(c, MR_CHECK_MALFORMED, err.msg);
	} else {
		add_effect(c, row, &spec, name);
		add_help(row, name);
	}
	mr_spec_deinit(&spec);
	json_array_append_new(c->variables, row);
}

/* All variables of a well-formed preset, what nobody enforces tolerated. */
static int resolve(const struct mr_json *preset, struct mr_spec *spec, struct mr_error *err)
{
	const char *name;
	json_t *value;
	int r;

	mr_spec_init(spec);
	json_object_foreach (preset->value, name, value)
		tolerate(spec, name);
	r = mr_preset_apply_object(spec, preset, MR_ORIGIN_PRESET, err);
	mr_strv_clear(&spec->best_effort);
	return r;
}

static bool needs(const struct mr_spec *spec, enum mr_failure_needs what)
{
	const uint32_t asked = mr_spec_failures(spec);

	for (unsigned int i = 0; i < MR_FAILURE_COUNT_; i++)
		if ((asked & MR_FAILURE_BIT(i)) &&
		    mr_failure_row((enum mr_failure_mode)i)->needs == what)
			return true;
	return false;
}

/* A preset says what the network is like, and not what it is: it is judged in the least that
 * all of it can be applied to.  The name of that net.mode; NULL: it asks for nothing of a network. */
static const char *choose_net(struct mr_spec *spec)
{
	struct mr_conditions conditions;

	mr_spec_conditions(spec, &conditions);
	if (spec->net_api_latency_ms || needs(spec, MR_FAILURE_NEEDS_MOCKS))
		spec->net_mode = MR_NET_STUB;
	else if (mr_conditions_asked(&conditions) || needs(spec, MR_FAILURE_NEEDS_LINK))
		spec->net_mode = MR_NET_LOOPBACK;
	else
		return NULL;
	return mr_spec_fields()[MR_FIELD_net_mode].words[spec->net_mode];
}

/* What only all variables together tell; a run would say the first of it, too. */
static void check_whole(struct check *c)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec spec;
	int r = resolve(c->preset, &spec, &err);

	if (r == 0) {
		c->net = choose_net(&spec);
		r = mr_draws_check_orders(c->preset->value, NULL, &err);
		if (r < 0)
			mr_json_wrap(c->preset, r, &err);
	}
	if (r < 0)
		worsen(c, MR_CHECK_MALFORMED, err.msg);
	mr_strv_add(&spec.argv, "true"); /* a preset has no program */
	for (size_t i = 0; r == 0 && i < spec.unenforced.n; i++) /* told of already */
		if (strcmp(spec.unenforced.v[i], MR_PRESET_FAILURES) == 0)
			mr_assert(mr_spec_add_best_effort(&spec, MR_PRESET_FAILURES, NULL) == 0);
	if (r == 0 && mr_spec_validate(&spec, &err) < 0) {
		mr_json_wrap(c->preset, -1, &err);
		worsen(c, MR_CHECK_REFUSED, err.msg);
	}
	mr_spec_deinit(&spec);
}

static void check_misuse(struct check *c)
{
	const char *name = json_string_value(json_object_get(c->preset->value, "SCENARIO_NAME"));
	struct mr_error err = MR_ERROR_INIT;

	if (!mr_modes_has(c->preset->value, MR_PROFILE_MISUSE) &&
	    !(name && strstr(name, MR_PROFILE_MISUSE)))
		return;
	mr_json_err(c->preset, &err,
		    "it misuses on purpose; to admit that, say --user-misuse or set "
		    "ALLOW_USER_MISUSE_PRESETS=1");
	worsen(c, MR_CHECK_REFUSED, err.msg);
}

static json_t *path_json(const struct mr_json *preset)
{
	char path[PATH_SIZE];

	return text_json(mr_json_path(preset, path, sizeof(path)));
}

enum mr_check_verdict mr_check_preset(const struct mr_json *preset, bool misuse, json_t **ret)
{
	struct check c = { .preset = preset,
			   .variables = json_array(),
			   .problems = json_array(),
			   .best_effort = json_array() };
	const char *name;
	json_t *value;

	json_object_foreach (preset->value, name, value)
		check_variable(&c, name, value);
	if (c.verdict != MR_CHECK_MALFORMED)
		check_whole(&c);
	if (!misuse)
		check_misuse(&c);
	*ret = json_pack("{s:o, s:s, s:s?, s:o, s:o, s:o}", "preset", path_json(preset), "verdict",
			 mr_check_verdict_name(c.verdict), "net", c.net, "variables", c.variables,
			 "problems", c.problems, "best_effort", c.best_effort);
	mr_assert(*ret);
	return c.verdict;
}

/* Of mr_spec_explain_json() what the preset has set. */
static json_t *explain_set(const struct mr_spec *spec)
{
	mr_auto_json json_t *all = mr_spec_explain_json(spec);
	const struct mr_field *fields = mr_spec_fields();
	json_t *knobs = json_object();

	for (size_t i = 0; i < MR_FIELD_COUNT_; i++)
		if (spec->origin[i] == MR_ORIGIN_PRESET)
			json_object_set(knobs, fields[i].key, json_object_get(all, fields[i].key));
	return knobs;
}

int mr_check_explain(const struct mr_json *preset, json_t **ret, struct mr_error *err)
{
	mr_auto_json json_t *unenforced = json_object();
	struct mr_spec spec;
	int r = resolve(preset, &spec, err);

	for (size_t i = 0; i < spec.unenforced.n; i++)
		json_object_set(unenforced, spec.unenforced.v[i],
				json_object_get(preset->value, spec.unenforced.v[i]));
	if (r == 0) {
		mr_auto_json json_t *document = mr_spec_to_json(&spec); /* of the preset alone */

		*ret = json_pack("{s:o, s:s?, s:s?, s:O, s:o, s:O}", "preset", path_json(preset),
				 "name", spec.name, "net", choose_net(&spec), "spec", document,
				 "knobs", explain_set(&spec), "unenforced", unenforced);
	}
	mr_spec_deinit(&spec);
	mr_assert(r < 0 || *ret);
	return r;
}

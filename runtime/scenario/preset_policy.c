/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy
 *
 * There are no more states than the signs have combinations, and no more actions than
 * preset_policy.def has, so a document whose every key is known is bounded.  A state of which nothing is
 * known asks for nothing: what was not learned is not guessed.
 */
#include "runtime/scenario/preset_policy.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/scenario/evidence.h"

static const struct feature {
	const char *series;
	int weight;
} features[] = {
#define FEATURE(series_, weight_) { #series_, weight_ },
#define ACTION(name_, steps_)
#include "runtime/scenario/preset_policy.def"
#undef FEATURE
#undef ACTION
};

static const struct action {
	const char *name, *steps;
} actions[] = {
#define FEATURE(series_, weight_)
#define ACTION(name_, steps_) { name_, steps_ },
#include "runtime/scenario/preset_policy.def"
#undef FEATURE
#undef ACTION
};

_Static_assert(N_ELEMENTS(features) <= MR_PRESET_POLICY_FEATURES_MAX &&
		       N_ELEMENTS(features) * 3 <= MR_PRESET_POLICY_STATE_SIZE,
	       "room for a state");

#define OLDER_ACTIONS 7 /* that the older format has numbers for */

const char *mr_preset_policy_feature(size_t i)
{
	return i < N_ELEMENTS(features) ? features[i].series : NULL;
}

const char *mr_preset_policy_action(size_t i)
{
	return i < N_ELEMENTS(actions) ? actions[i].name : NULL;
}

/* --- reading --------------------------------------------------------------- */

/* As many of -1, 0 and 1 as there are features, between commas. */
static bool is_state(const char *text)
{
	for (size_t i = 0; i < N_ELEMENTS(features); i++) {
		text += text[0] == '-' && text[1] == '1';
		if (*text != '0' && *text != '1')
			return false;
		text++;
		if (i + 1 < N_ELEMENTS(features) && *text++ != ',')
			return false;
	}
	return *text == '\0';
}

static int find_action(const struct mr_json *at, const char *word, const char **ret,
		       struct mr_error *err)
{
	struct mr_str_nearest nearest;
	char quoted[MR_STR_QUOTE_SIZE];

	mr_str_nearest_init(&nearest, word);
	for (size_t i = 0; i < N_ELEMENTS(actions); i++) {
		if (strcmp(actions[i].name, word) == 0) {
			*ret = actions[i].name;
			return 0;
		}
		mr_str_nearest_offer(&nearest, actions[i].name);
	}
	mr_str_quote(quoted, sizeof(quoted), word);
	return nearest.best ? mr_json_err(at, err, "no action %s; did you mean \"%s\"?", quoted,
					  nearest.best)
			    : mr_json_err(at, err, "no action %s; see menace(1)", quoted);
}

/* "0" to "6" */
static int find_number(const struct mr_json *at, const char *word, const char **ret,
		       struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];

	if (word[0] >= '0' && word[0] < '0' + OLDER_ACTIONS && word[1] == '\0') {
		*ret = actions[word[0] - '0'].name;
		return 0;
	}
	return mr_json_err(at, err, "no action %s; accepted: 0 to %d",
			   mr_str_quote(quoted, sizeof(quoted), word), OLDER_ACTIONS - 1);
}

static int read_values(const struct mr_json *state, bool older, json_t **ret, struct mr_error *err)
{
	mr_auto_json json_t *values = json_object();
	const char *key;
	json_t *value;
	int r = mr_json_want_object(state, err);

	if (r < 0)
		return r;
	if (json_object_size(state->value) == 0)
		return mr_json_err(state, err, "no action has a value");
	json_object_foreach (state->value, key, value) {
		const char *name = NULL;
		struct mr_json member;

		mr_assert(mr_json_member(state, key, &member));
		r = older ? find_number(state, key, &name, err)
			  : find_action(state, key, &name, err);
		if (r < 0)
			return r;
		if (!json_is_number(value))
			return mr_json_err(&member, err, "%s where a number is expected",
					   mr_json_type_name(value));
		if (!(fabs(json_number_value(value)) <= MR_PRESET_POLICY_VALUE_MAX))
			return mr_json_err(&member, err, "out of range; accepted: -1e9 to 1e9");
		json_object_set_new(values, name, json_real(json_number_value(value)));
	}
	*ret = mr_take_ptr(values);
	return 0;
}

static int read_states(const struct mr_json *states, bool older, json_t **ret, struct mr_error *err)
{
	mr_auto_json json_t *read = json_object();
	const char *key;
	json_t *value;
	int r = mr_json_want_object(states, err);

	if (r < 0)
		return r;
	json_object_foreach (states->value, key, value) {
		json_t *values = NULL;
		struct mr_json member;
		char quoted[MR_STR_QUOTE_SIZE];

		(void)value;
		if (!is_state(key))
			return mr_json_err(states, err,
					   "no state %s; accepted: %zu of -1, 0 and 1 between "
					   "commas",
					   mr_str_quote(quoted, sizeof(quoted), key),
					   N_ELEMENTS(features));
		mr_assert(mr_json_member(states, key, &member));
		r = read_values(&member, older, &values, err);
		if (r < 0)
			return r;
		json_object_set_new(read, key, values);
	}
	*ret = mr_take_ptr(read);
	return 0;
}

/* The features are in the document, so that one of another order is not taken for ours. */
static int check_features(const struct mr_json *list, struct mr_error *err)
{
	int r = mr_json_want_array(list, err);

	if (r == 0 && json_array_size(list->value) != N_ELEMENTS(features))
		return mr_json_err(list, err,
				   "%zu features; accepted: these %zu, in this order: "
				   "%s, ...",
				   json_array_size(list->value), N_ELEMENTS(features),
				   features[0].series);
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(features); i++) {
		const struct mr_json item = mr_json_item(list, i);
		const char *name = NULL;

		r = mr_json_get_string(&item, &name, err);
		if (r == 0 && strcmp(name, features[i].series) != 0)
			return mr_json_err(&item, err,
					   "not the feature of this place; did you "
					   "mean \"%s\"?",
					   features[i].series);
	}
	return r;
}

static int check_head(const struct mr_json *document, struct mr_json *ret_states,
		      struct mr_error *err)
{
	static const char *const known[] = { "schema", "features", "states", NULL };
	struct mr_json member;
	const char *schema = NULL;
	int r = mr_json_check_keys(document, known, err);

	mr_assert(mr_json_member(document, "schema", &member));
	if (r == 0)
		r = mr_json_get_string(&member, &schema, err);
	if (r == 0 && strcmp(schema, MR_PRESET_POLICY_SCHEMA) != 0)
		return mr_json_err(&member, err, "accepted: \"" MR_PRESET_POLICY_SCHEMA "\"");
	if (r == 0 && mr_json_member(document, "features", &member))
		r = check_features(&member, err);
	else if (r == 0)
		return mr_json_err(document, err, "\"features\" is missing");
	if (r == 0 && !mr_json_member(document, "states", ret_states))
		return mr_json_err(document, err, "\"states\" is missing");
	return r;
}

static json_t *features_json(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < N_ELEMENTS(features); i++)
		json_array_append_new(list, json_string(features[i].series));
	return list;
}

json_t *mr_preset_policy_new(json_t *states)
{
	json_t *policy = json_pack("{s:s, s:o, s:o}", "schema", MR_PRESET_POLICY_SCHEMA, "features",
				   features_json(), "states", states);

	mr_assert(policy);
	return policy;
}

int mr_preset_policy_parse(const struct mr_json *document, json_t **ret, struct mr_error *err)
{
	struct mr_json states = *document;
	json_t *read = NULL;
	bool older;
	int r = mr_json_want_object(document, err);

	if (r < 0)
		return r;
	older = !json_object_get(document->value, "schema");
	if (!older)
		r = check_head(document, &states, err);
	if (r == 0)
		r = read_states(&states, older, &read, err);
	if (r < 0)
		return r;
	*ret = mr_preset_policy_new(read);
	return 0;
}

json_t *mr_preset_policy_export(const json_t *policy, size_t *ret_left_out)
{
	json_t *table = json_object(), *values;
	const char *state;

	*ret_left_out = 0;
	json_object_foreach (json_object_get(policy, "states"), state, values) {
		json_t *row = json_object();

		for (size_t i = 0; i < N_ELEMENTS(actions); i++) {
			json_t *value = json_object_get(values, actions[i].name);
			const char number[] = { (char)('0' + i), '\0' };

			if (value && i < OLDER_ACTIONS)
				json_object_set(row, number, value);
			*ret_left_out += value && i >= OLDER_ACTIONS;
		}
		if (json_object_size(row) > 0)
			json_object_set(table, state, row);
		json_decref(row);
	}
	return table;
}

/* --- using ----------------------------------------------------------------- */

const char *mr_preset_policy_series(const struct mr_evidence *evidence, size_t i)
{
	if (i >= N_ELEMENTS(features))
		return NULL;
	if (strcmp(features[i].series, "roi") == 0 && mr_evidence_count(evidence, "roi") == 0)
		return "success";
	return features[i].series;
}

int mr_preset_policy_weight(size_t i)
{
	mr_assert(i < N_ELEMENTS(features));
	return features[i].weight;
}

static int sign_of(const struct mr_evidence *evidence, const char *series)
{
	double change;

	if (!mr_evidence_change(evidence, series, &change))
		return 0;
	return (change > 0) - (change < 0);
}

void mr_preset_policy_state(const struct mr_evidence *evidence,
			    char ret[MR_PRESET_POLICY_STATE_SIZE])
{
	size_t used = 0;

	for (size_t i = 0; i < N_ELEMENTS(features); i++)
		used += (size_t)snprintf(ret + used, MR_PRESET_POLICY_STATE_SIZE - used, "%s%d",
					 i > 0 ? "," : "",
					 sign_of(evidence, mr_preset_policy_series(evidence, i)));
}

const json_t *mr_preset_policy_values(const json_t *policy, const char *state)
{
	return json_object_get(json_object_get(policy, "states"), state);
}

const char *mr_preset_policy_best(const json_t *values, const char **ret_steps, double *ret_value)
{
	const struct action *best = NULL;

	for (size_t i = 0; i < N_ELEMENTS(actions); i++) {
		const json_t *value = json_object_get(values, actions[i].name);

		if (!value || (best && json_number_value(value) <= *ret_value))
			continue;
		best = &actions[i];
		*ret_value = json_number_value(value);
	}
	mr_assert(best);
	*ret_steps = best->steps;
	return best->name;
}

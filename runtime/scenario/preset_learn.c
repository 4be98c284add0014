/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learn
 *
 * Q-learning over what is on record: Q(s, a) += rate (reward + discount max Q(s', .) - Q(s, a)), once for each
 * step.  An action that nobody took in a state has no value there, but for "none", which has 0 from
 * the first step on: of actions that were all tried and were all bad, none is the best.
 *
 * A state takes two runs to be in one, so the first step of a history is that from its second run.
 */
#include "runtime/scenario/preset_learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/scenario/evidence.h"
#include "runtime/scenario/preset_policy.h"

#define NONE "none"

/* What an action changes, where a result says it; a run without one has no limit of it. */
static const struct setting {
	const char *larger, *smaller; /* actions */
	const char *path;
} settings[] = {
	{ "cpu+", "cpu-", "limits.cpus" },
	{ "memory+", "memory-", "limits.memory_max_bytes" },
	{ "bandwidth+", "bandwidth-", "receipt.network.shaping.applied.rate" },
};

/* As far as the last run of the history. */
struct place {
	double settings[N_ELEMENTS(settings)];
	char state[MR_PRESET_POLICY_STATE_SIZE];
};

struct mr_preset_learner {
	double rate, discount;
	json_t *states;
	struct mr_evidence evidence; /* of the history */
	struct place place;
	struct mr_preset_learned told;
};

struct mr_preset_learner *mr_preset_learner_new(const struct mr_preset_learn_opts *opts)
{
	struct mr_preset_learner *learner = mr_str_alloc(sizeof(*learner));
	const json_t *states = json_object_get(opts->policy, "states");

	learner->rate = opts->rate;
	learner->discount = opts->discount;
	learner->states = states ? json_deep_copy(states) : json_object();
	mr_evidence_init(&learner->evidence);
	return learner;
}

struct mr_preset_learner *mr_preset_learner_free(struct mr_preset_learner *learner)
{
	if (!learner)
		return NULL;
	json_decref(learner->states);
	mr_evidence_deinit(&learner->evidence);
	free(learner);
	return NULL;
}

void mr_preset_learner_begin(struct mr_preset_learner *learner)
{
	mr_evidence_deinit(&learner->evidence);
	mr_evidence_init(&learner->evidence);
}

/* --- a step ---------------------------------------------------------------- */

static void read_settings(const json_t *result, double ret[N_ELEMENTS(settings)])
{
	for (size_t i = 0; i < N_ELEMENTS(settings); i++) {
		ret[i] = INFINITY;
		(void)mr_evidence_number_at(result, settings[i].path, &ret[i]);
	}
}

/* NULL: there were several. */
static const char *find_action(const double *before, const double *after)
{
	const char *action = NONE;

	for (size_t i = 0; i < N_ELEMENTS(settings); i++) {
		if (!(after[i] > before[i]) && !(after[i] < before[i]))
			continue;
		if (strcmp(action, NONE) != 0)
			return NULL;
		action = after[i] > before[i] ? settings[i].larger : settings[i].smaller;
	}
	return action;
}

/* Of the last run; what was not measured of it is no difference.  counts: values there were before it. */
static double find_reward(const struct mr_evidence *evidence, const size_t *counts)
{
	const char *series;
	double reward = 0;

	for (size_t i = 0; (series = mr_preset_policy_series(evidence, i)); i++) {
		double change;

		if (mr_evidence_count(evidence, series) > counts[i] &&
		    mr_evidence_change(evidence, series, &change))
			reward += mr_preset_policy_weight(i) * change;
	}
	return reward;
}

/* The values of a state that something is learned of. */
static json_t *take_values(struct mr_preset_learner *learner, const char *state)
{
	json_t *values = json_object_get(learner->states, state);

	if (values)
		return values;
	values = json_pack("{s:f}", NONE, 0.0);
	mr_assert(values);
	json_object_set_new(learner->states, state, values);
	return values;
}

static void update(struct mr_preset_learner *learner, const char *action, double reward,
		   const char *next)
{
	json_t *values = take_values(learner, learner->place.state);
	const json_t *later = json_object_get(learner->states, next);
	const double old = json_number_value(json_object_get(values, action));
	double best = 0, value;
	const char *steps;

	if (later)
		mr_preset_policy_best(later, &steps, &best);
	value = old + learner->rate * (reward + learner->discount * best - old);
	value = fmin(fmax(value, -MR_PRESET_POLICY_VALUE_MAX), MR_PRESET_POLICY_VALUE_MAX);
	json_object_set_new(values, action, json_real(value));
	learner->told.steps++;
}

/* counts: of each series before the run that led to the place. */
static void learn(struct mr_preset_learner *learner, const struct place *place,
		  const size_t *counts)
{
	const char *action = find_action(learner->place.settings, place->settings);

	if (action)
		update(learner, action, find_reward(&learner->evidence, counts), place->state);
	else
		learner->told.several++;
}

int mr_preset_learner_add(struct mr_preset_learner *learner, const struct mr_json *result,
			  struct mr_error *err)
{
	struct mr_evidence *evidence = &learner->evidence;
	size_t counts[MR_PRESET_POLICY_FEATURES_MAX] = { 0 };
	struct place place;
	const char *series;
	int r;

	for (size_t i = 0; (series = mr_preset_policy_series(evidence, i)); i++)
		counts[i] = mr_evidence_count(evidence, series);
	r = mr_evidence_add(evidence, result, err);
	if (r < 0)
		return r;
	read_settings(result->value, place.settings);
	mr_preset_policy_state(evidence, place.state);
	if (evidence->n_results > 2)
		learn(learner, &place, counts);
	learner->told.histories += evidence->n_results == 1;
	learner->told.runs++;
	learner->place = place;
	return 0;
}

json_t *mr_preset_learner_policy(const struct mr_preset_learner *learner)
{
	return mr_preset_policy_new(json_deep_copy(learner->states));
}

void mr_preset_learner_tell(const struct mr_preset_learner *learner, struct mr_preset_learned *ret)
{
	*ret = learner->told;
}

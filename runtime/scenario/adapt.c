/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapt: a preset after what the runs under it told
 *
 * Each rule of adapt_rules.def that fires votes for steps; the votes for a variable
 * are added up and it makes one step at most, along its values in draws.def.  A
 * step is held back when it would break a bound of orders.def or take away what a
 * run was measured to need.  Whatever is done or held back is told with its reason.
 */
#include "runtime/scenario/adapt.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/scenario/draws.h"
#include "runtime/scenario/evidence.h"
#include "runtime/scenario/preset_policy.h"

#define WINDOW 3
#define POLICY_LEAST 3 /* values of what a run is worth, before a policy is asked */
#define POLICY_LEAST_DRAWN 5 /* the same for presets that were just drawn */
#define WHY_SIZE 1024

enum source { SOURCE_METRICS, SOURCE_RESULTS, SOURCE_DRAWN };
enum statistic { STAT_MEAN, STAT_PREDICTED, STAT_TREND };
enum test { TEST_OVER, TEST_UNDER, TEST_AT_LEAST, TEST_WITHIN };
enum when { WHEN_ALWAYS, WHEN_ROI_UP, WHEN_ROI_DOWN };

static const struct rule {
	const char *name;
	enum source source;
	const char *series;
	enum statistic statistic;
	enum test test;
	double bound;
	enum when when;
	int weight;
	const char *steps;
} rules[] = {
#define RULE(name_, source_, series_, stat_, test_, bound_, when_, weight_, steps_) \
	{ name_,  SOURCE_##source_, series_, STAT_##stat_, TEST_##test_,            \
	  bound_, WHEN_##when_,	    weight_, steps_ },
#include "runtime/scenario/adapt_rules.def"
#undef RULE
};

static const char *const tests[] = {
	[TEST_OVER] = "over",
	[TEST_UNDER] = "under",
	[TEST_AT_LEAST] = "at least",
	[TEST_WITHIN] = "within",
};

/* Votes for one variable. */
struct ballot {
	const struct mr_draw *draw;
	int sum;
	bool voted, settled;
	char why[WHY_SIZE];
};

struct adaptation {
	json_t *preset; /* ours */
	const struct mr_evidence *evidence;
	const struct mr_adapt_opts *opts;
	struct ballot *ballots; /* one a row of draws.def */
	size_t n;
	json_t *changes, *held, *fired, *notes;
	json_t *policy; /* what a policy said; NULL: there is none */
	bool decided; /* by a policy: the rules over metrics are not considered */
};

/* --- rules ----------------------------------------------------------------- */

/* What a run is worth is its success, where nobody says better. */
static const char *worth_of(const struct mr_evidence *evidence)
{
	return mr_evidence_count(evidence, "roi") ? "roi" : "success";
}

static bool is_when(const struct mr_evidence *evidence, enum when when)
{
	const char *roi = worth_of(evidence);
	double change = 0;

	if (when == WHEN_ALWAYS)
		return true;
	if (!mr_evidence_trend(evidence, roi, WINDOW, &change, NULL))
		return false;
	return when == WHEN_ROI_UP ? change > 0 : change < 0;
}

static bool measure(const struct mr_evidence *evidence, const struct rule *rule, double *ret)
{
	double tolerance = 1;

	switch (rule->statistic) {
	case STAT_MEAN:
		return mr_evidence_mean(evidence, rule->series, WINDOW, ret);
	case STAT_PREDICTED:
		return mr_evidence_mean_predicted(evidence, rule->series, WINDOW, ret);
	case STAT_TREND:
		if (!mr_evidence_trend(evidence, rule->series, WINDOW, ret, &tolerance))
			return false;
		*ret /= tolerance;
		return true;
	}
	return false;
}

static bool passes(const struct rule *rule, double value)
{
	switch (rule->test) {
	case TEST_OVER:
		return value > rule->bound;
	case TEST_UNDER:
		return value < rule->bound;
	case TEST_AT_LEAST:
		return value >= rule->bound;
	case TEST_WITHIN:
		return value >= -rule->bound && value <= rule->bound;
	}
	return false;
}

static void vote(struct adaptation *a, const char *name, int votes, const char *who,
		 const char *because)
{
	struct ballot *ballot;
	size_t at = 0, length;

	while (at < a->n && strcmp(a->ballots[at].draw->name, name) != 0)
		at++;
	mr_assert(at < a->n); /* else adapt_rules.def names what draws.def has not */
	ballot = &a->ballots[at];
	ballot->voted = true;
	ballot->sum += votes;
	length = strlen(ballot->why);
	snprintf(ballot->why + length, sizeof(ballot->why) - length, "%s%s%s: %s",
		 length ? "; " : "", who, votes > 0 ? " (up)" : " (down)", because);
}

/* "VARIABLE+ VARIABLE-" */
static void cast_votes(struct adaptation *a, const char *steps, int weight, const char *who,
		       const char *because)
{
	while (*steps) {
		size_t n = strcspn(steps, "+-");
		mr_auto_free char *name = mr_str_ndup(steps, n);

		vote(a, name, steps[n] == '+' ? weight : -weight, who, because);
		steps += n + 1;
		steps += *steps == ' ';
	}
}

static bool is_considered(const struct adaptation *a, const struct rule *rule)
{
	switch (rule->source) {
	case SOURCE_METRICS:
		return !a->opts->drawn && !a->decided &&
		       mr_evidence_count(a->evidence, "security_score") > 0;
	case SOURCE_RESULTS:
		return !a->opts->drawn;
	case SOURCE_DRAWN:
		return a->opts->drawn && !a->decided;
	}
	return false;
}

static void apply_rules(struct adaptation *a)
{
	for (size_t i = 0; i < N_ELEMENTS(rules); i++) {
		const struct rule *rule = &rules[i];
		mr_auto_free char *because = NULL;
		double value = 0;

		if (!is_considered(a, rule) || !measure(a->evidence, rule, &value) ||
		    !passes(rule, value) || !is_when(a->evidence, rule->when))
			continue;
		json_array_append_new(a->fired, json_string(rule->name));
		because = mr_str_format("%s %.4g is %s %.4g", rule->series, value,
					tests[rule->test], rule->bound);
		cast_votes(a, rule->steps, rule->weight, rule->name, because);
	}
}

/* --- a policy -------------------------------------------------------------- */

/* Text (to free) why it is not asked, or NULL. */
static char *refuse_policy(const struct adaptation *a, const json_t *values, const char *state)
{
	const size_t least = a->opts->drawn ? POLICY_LEAST_DRAWN : POLICY_LEAST;
	const char *worth = worth_of(a->evidence);
	const size_t n = mr_evidence_count(a->evidence, worth);

	if (n < least)
		return mr_str_format("not asked: %zu values of %s, and it takes %zu", n, worth,
				     least);
	return values ? NULL : mr_str_format("it knows nothing of the state %s", state);
}

static void ask_policy(struct adaptation *a)
{
	char state[MR_PRESET_POLICY_STATE_SIZE];
	const json_t *values;
	const char *action = NULL, *steps = "";
	mr_auto_free char *why = NULL;
	double value = 0;

	if (!a->opts->policy)
		return;
	mr_preset_policy_state(a->evidence, state);
	values = mr_preset_policy_values(a->opts->policy, state);
	why = refuse_policy(a, values, state);
	if (!why) {
		action = mr_preset_policy_best(values, &steps, &value);
		why = mr_str_format("in the state %s it gives %s %.4g, the most of %zu", state,
				    action, value, json_object_size(values));
		a->decided = true;
		cast_votes(a, steps, 1, "policy", why);
	}
	a->policy = json_pack("{s:s, s:O?, s:s?, s:s}", "state", state, "values", values, "action",
			      action, "why", why);
}

/* --- steps ----------------------------------------------------------------- */

static void hold(struct adaptation *a, struct ballot *ballot, const char *reason)
{
	mr_auto_free char *why = mr_str_format("%s; %s", reason, ballot->why);
	json_t *value = json_object_get(a->preset, ballot->draw->name);

	json_array_append_new(a->held, json_pack("{s:s, s:O?, s:s}", "variable", ballot->draw->name,
						 "value", value, "why", why));
	ballot->settled = true;
}

/* Index of the value next to the present one; false when it is at the end. */
static bool find_step(const struct ballot *ballot, uint64_t amount, size_t *ret)
{
	const struct mr_draw *draw = ballot->draw;

	if (ballot->sum > 0) {
		*ret = mr_draws_at_least(draw, amount + (amount != UINT64_MAX));
		return *ret < draw->n && amount != UINT64_MAX;
	}
	*ret = mr_draws_at_least(draw, amount);
	if (*ret == 0)
		return false;
	(*ret)--;
	return true;
}

/* Would the value be less than what a run used? */
static bool is_needed(const struct adaptation *a, const struct ballot *ballot, size_t index)
{
	const json_t *peak = json_object_get(a->evidence->peaks, ballot->draw->name);
	mr_auto_json json_t *value = mr_draws_json(ballot->draw, index);
	double amount;
	uint64_t units = 0;

	if (!peak || ballot->sum > 0)
		return false;
	mr_assert(mr_draws_amount(ballot->draw->grammar, value, &units));
	amount = (double)units / (ballot->draw->grammar == MR_DRAW_SIZE ? 1 : 1000);
	return amount < json_number_value(peak);
}

static void make_step(struct adaptation *a, struct ballot *ballot, size_t index)
{
	const char *name = ballot->draw->name;
	json_t *value = mr_draws_json(ballot->draw, index);

	json_array_append_new(a->changes, json_pack("{s:s, s:O, s:O, s:s}", "variable", name, "old",
						    json_object_get(a->preset, name), "new", value,
						    "why", ballot->why));
	json_object_set_new(a->preset, name, value);
	ballot->settled = true;
}

/* True: it is settled; false: another step may make room for it. */
static bool settle(struct adaptation *a, struct ballot *ballot)
{
	const json_t *peak = json_object_get(a->evidence->peaks, ballot->draw->name);
	json_t *value = json_object_get(a->preset, ballot->draw->name);
	size_t index = 0, from, to;
	uint64_t amount = 0;

	if (!value)
		hold(a, ballot, "the preset does not set it");
	else if (ballot->sum == 0)
		hold(a, ballot, "as much for it as against it");
	else if (!mr_draws_amount(ballot->draw->grammar, value, &amount) ||
		 !find_step(ballot, amount, &index))
		hold(a, ballot, ballot->sum > 0 ? "no larger value" : "no smaller value");
	else if (index == 0 && !a->opts->unsafe &&
		 strcmp(ballot->draw->name, "SECURITY_LEVEL") == 0)
		hold(a, ballot, "level 1 needs --unsafe");
	else if (is_needed(a, ballot, index)) {
		mr_auto_free char *why =
			mr_str_format("a run used %.0f of it", json_number_value(peak));

		hold(a, ballot, why);
	} else {
		mr_draws_range(ballot->draw, a->preset, &from, &to);
		if (index < from || index >= to)
			return false;
		make_step(a, ballot, index);
	}
	return true;
}

static void settle_all(struct adaptation *a)
{
	bool moved = true;

	while (moved) {
		moved = false;
		for (size_t i = 0; i < a->n; i++)
			if (a->ballots[i].voted && !a->ballots[i].settled)
				moved |= settle(a, &a->ballots[i]);
	}
	for (size_t i = 0; i < a->n; i++)
		if (a->ballots[i].voted && !a->ballots[i].settled)
			hold(a, &a->ballots[i], "another variable is in its way");
}

/* --- the whole ------------------------------------------------------------- */

/* What was adapted is not what the seed makes. */
static void forget_seed(struct adaptation *a)
{
	static const char *const names[] = { "PRESET_SEED", "PRESET_DRAWS" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		json_t *value = json_object_get(a->preset, names[i]);

		if (!value || json_array_size(a->changes) == 0)
			continue;
		json_array_append_new(a->changes,
				      json_pack("{s:s, s:O, s:n, s:s}", "variable", names[i], "old",
						value, "new", "why",
						"the preset is no longer what the seed makes"));
		json_object_del(a->preset, names[i]);
	}
}

static bool is_used(const struct adaptation *a, const char *series, struct mr_str_nearest *nearest)
{
	for (size_t i = 0; a->opts->policy && mr_preset_policy_feature(i); i++)
		if (strcmp(mr_preset_policy_feature(i), series) == 0)
			return true;
	for (size_t i = 0; i < N_ELEMENTS(rules); i++) {
		if (strcmp(rules[i].series, series) == 0)
			return true;
		mr_str_nearest_offer(nearest, rules[i].series);
	}
	return strcmp(series, "success") == 0;
}

static void note(struct adaptation *a, char *text)
{
	json_array_append_new(a->notes, json_string(text));
	free(text);
}

static void take_notes(struct adaptation *a)
{
	const char *name;
	json_t *values;
	bool metrics = false;

	json_object_foreach (a->evidence->series, name, values) {
		struct mr_str_nearest nearest;

		mr_str_nearest_init(&nearest, name);
		if (!is_used(a, name, &nearest))
			note(a, nearest.best
					? mr_str_format("no rule looks at metric \"%s\"; did "
							"you mean \"%s\"?",
							name, nearest.best)
					: mr_str_format("no rule looks at metric \"%s\"", name));
		metrics |= mr_str_starts_with(name, "synergy_") || strcmp(name, "roi") == 0;
	}
	if (metrics && !a->opts->drawn && mr_evidence_count(a->evidence, "security_score") == 0)
		note(a, mr_str_format("the metrics have no security_score, so no rule over "
				      "metrics was considered"));
	if (json_object_size(a->evidence->series) == 0)
		note(a, mr_str_format("there are no results and no metrics, so nothing changes"));
}

json_t *mr_adapt(json_t *preset, const struct mr_evidence *evidence,
		 const struct mr_adapt_opts *opts)
{
	struct adaptation a = {
		.preset = json_deep_copy(preset),
		.evidence = evidence,
		.opts = opts,
		.changes = json_array(),
		.held = json_array(),
		.fired = json_array(),
		.notes = json_array(),
	};
	const struct mr_draw *rows = mr_draws_rows(&a.n);
	mr_auto_free struct ballot *ballots = mr_str_alloc(a.n * sizeof(*ballots));

	a.ballots = ballots;
	for (size_t i = 0; i < a.n; i++)
		ballots[i].draw = &rows[i];
	take_notes(&a);
	ask_policy(&a);
	apply_rules(&a);
	settle_all(&a);
	if (!opts->drawn)
		forget_seed(&a);
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o?}", "preset", a.preset, "changes",
			 a.changes, "held", a.held, "fired", a.fired, "notes", a.notes, "policy",
			 a.policy);
}

bool mr_adapt_rule_get(size_t i, struct mr_adapt_rule *ret)
{
	static const char *const statistics[] = {
		[STAT_MEAN] = "mean",
		[STAT_PREDICTED] = "mean with the prediction",
		[STAT_TREND] = "trend",
	};
	static const char *const whens[] = {
		[WHEN_ALWAYS] = "",
		[WHEN_ROI_UP] = "roi rises",
		[WHEN_ROI_DOWN] = "roi falls",
	};
	const struct rule *rule;

	if (i >= N_ELEMENTS(rules))
		return false;
	rule = &rules[i];
	*ret = (struct mr_adapt_rule){ .name = rule->name,
				       .series = rule->series,
				       .steps = rule->steps,
				       .statistic = statistics[rule->statistic],
				       .test = tests[rule->test],
				       .when = whens[rule->when],
				       .bound = rule->bound,
				       .weight = rule->weight,
				       .of_results = rule->source == SOURCE_RESULTS,
				       .of_drawn = rule->source == SOURCE_DRAWN };
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapt: a preset after what the runs under it told
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_t;
struct mr_evidence;

struct mr_adapt_opts {
	bool unsafe; /* SECURITY_LEVEL may go down to 1 */
	bool drawn; /* the preset was just drawn: by the rules for such, and it keeps its seed */
	const struct json_t *policy; /* learned, of mr_preset_policy_parse(); NULL: none */
};

/* {"preset", "changes": [{variable, old, new, why}], "held": [{variable, value, why}],
 * "fired": [name], "notes": [text], "policy": {state, values, action, why}}, new reference.  preset was
 * checked; it is not changed.  What a policy knows of the state takes the place of the rules over
 * metrics; what runs were measured to want counts as ever.  policy is null without one. */
struct json_t *mr_adapt(struct json_t *preset, const struct mr_evidence *evidence,
			const struct mr_adapt_opts *opts);

/* Rows of adapt_rules.def, for documents and tests. */
struct mr_adapt_rule {
	const char *name, *series, *steps;
	const char *statistic, *test, *when; /* in words; when may be empty */
	double bound;
	int weight; /* negative: the opposite steps */
	bool of_results, of_drawn;
};
/* The i-th; false after the last. */
bool mr_adapt_rule_get(size_t i, struct mr_adapt_rule *ret);

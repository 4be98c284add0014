/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plan: which step waits for which
 *
 * Without any "needs" each step needs the one before it.  With some, those without
 * need nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/flow/workflow.h"

static int find_step(const struct mr_flow *flow, const struct mr_json *json, size_t *ret,
		     struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	struct mr_str_nearest nearest;
	const char *name = NULL;
	int r = mr_json_get_string(json, &name, err);

	if (r < 0)
		return r;
	mr_str_nearest_init(&nearest, name);
	for (size_t i = 0; i < flow->n_steps; i++) {
		*ret = i;
		if (strcmp(flow->steps[i].name, name) == 0)
			return 0;
		mr_str_nearest_offer(&nearest, flow->steps[i].name);
	}
	mr_str_quote(quoted, sizeof(quoted), name);
	if (nearest.best)
		return mr_json_err(json, err, "there is no step %s; did you mean \"%s\"?", quoted,
				   nearest.best);
	return mr_json_err(json, err, "there is no step %s", quoted);
}

static int take_needs(struct mr_flow *flow, size_t at, const struct mr_json *list,
		      struct mr_error *err)
{
	struct mr_flow_step *step = &flow->steps[at];
	const size_t n = json_array_size(list->value);
	int r = mr_json_want_array(list, err);

	if (r < 0)
		return r;
	step->needs = mr_str_alloc((n + 1) * sizeof(*step->needs));
	for (size_t i = 0; i < n; i++) {
		struct mr_json item = mr_json_item(list, i);
		size_t other = 0;

		r = find_step(flow, &item, &other, err);
		if (r < 0)
			return r;
		if (other == at)
			return mr_json_err(&item, err, "step \"%s\" needs itself", step->name);
		for (size_t k = 0; k < step->n_needs; k++)
			if (step->needs[k] == other)
				return mr_json_err(&item, err, "\"%s\" is there twice",
						   flow->steps[other].name);
		step->needs[step->n_needs++] = other;
	}
	return 0;
}

static int refuse_equal_names(const struct mr_flow *flow, const struct mr_json *steps,
			      struct mr_error *err)
{
	for (size_t i = 0; i < flow->n_steps; i++)
		for (size_t k = 0; k < i; k++) {
			struct mr_json item = mr_json_item(steps, i);

			if (strcmp(flow->steps[i].name, flow->steps[k].name) == 0)
				return mr_json_err(&item, err,
						   "step %zu is called \"%s\", too; names are "
						   "those of one step each",
						   k, flow->steps[i].name);
		}
	return 0;
}

static void need_the_one_before(struct mr_flow *flow)
{
	for (size_t i = 1; i < flow->n_steps; i++) {
		flow->steps[i].needs = mr_str_alloc(sizeof(*flow->steps[i].needs));
		flow->steps[i].needs[0] = i - 1;
		flow->steps[i].n_needs = 1;
	}
}

static bool is_ready(const struct mr_flow_step *step, const bool *placed)
{
	for (size_t i = 0; i < step->n_needs; i++)
		if (!placed[step->needs[i]])
			return false;
	return true;
}

/* Of the steps that could not be placed each needs another one of them: whoever walks along comes
 * back. */
static int refuse_cycle(const struct mr_flow *flow, const bool *placed, const struct mr_json *steps,
			struct mr_error *err)
{
	mr_auto_free bool *seen = mr_str_alloc(flow->n_steps * sizeof(*seen));
	char buf[300];
	struct mr_str text;
	size_t at = 0, first;

	while (placed[at])
		at++;
	while (!seen[at]) {
		const struct mr_flow_step *step = &flow->steps[at];
		size_t i = 0;

		seen[at] = true;
		while (placed[step->needs[i]])
			i++;
		at = step->needs[i];
	}
	mr_str_init(&text, buf, sizeof(buf));
	mr_str_printf(&text, "\"%s\"", flow->steps[at].name);
	first = at;
	do {
		size_t i = 0;

		while (placed[flow->steps[at].needs[i]])
			i++;
		at = flow->steps[at].needs[i];
		mr_str_printf(&text, " needs \"%s\"", flow->steps[at].name);
	} while (at != first);
	return mr_json_err(steps, err, "no order: %s%s", buf, text.truncated ? " ..." : "");
}

static int order_steps(struct mr_flow *flow, const struct mr_json *steps, struct mr_error *err)
{
	mr_auto_free bool *placed = mr_str_alloc(flow->n_steps * sizeof(*placed));
	size_t n = 0;

	flow->order = mr_str_alloc(flow->n_steps * sizeof(*flow->order));
	while (n < flow->n_steps) {
		size_t i = 0;

		while (i < flow->n_steps && (placed[i] || !is_ready(&flow->steps[i], placed)))
			i++;
		if (i == flow->n_steps)
			return refuse_cycle(flow, placed, steps, err);
		placed[i] = true;
		flow->order[n++] = i;
	}
	return 0;
}

int mr_flow_plan(struct mr_flow *flow, const struct mr_json *steps, struct mr_error *err)
{
	bool any = false;
	int r = refuse_equal_names(flow, steps, err);

	for (size_t i = 0; r == 0 && i < flow->n_steps; i++) {
		struct mr_json step = mr_json_item(steps, i), needs;

		if (!mr_json_member(&step, "needs", &needs))
			continue;
		any = true;
		r = take_needs(flow, i, &needs, err);
	}
	if (r < 0)
		return r;
	if (!any)
		need_the_one_before(flow);
	return order_steps(flow, steps, err);
}

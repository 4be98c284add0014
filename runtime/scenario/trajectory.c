/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trajectory
 *
 * All is measured by the first stage: what a copy is worth (roi, summary.h) less what it was worth there;
 * resilience, the share of copies that ended well over that share there.  scenario_degradation is the worst
 * difference so far; stability is 1 / (1 + s), with s the standard deviation of the worths of the last WINDOW
 * stages, and 0 of fewer than two.  Only worths go into it: one number of several units would mean nothing.
 */
#include "runtime/scenario/trajectory.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/scenario/outcome.h"
#include "runtime/scenario/scenario.h"

#define WINDOW 10

static const struct mr_stage stages[] = {
#define STAGE(name_, alias_) { name_, alias_ },
#include "runtime/scenario/stages.def"
#undef STAGE
};

const struct mr_stage *mr_trajectory_stages(size_t *ret_n)
{
	*ret_n = N_ELEMENTS(stages);
	return stages;
}

void mr_trajectory_add(json_t *list)
{
	for (size_t i = 0; i < N_ELEMENTS(stages); i++)
		mr_assert(mr_scenario_add(list, stages[i].name, NULL) == 0);
}

struct walk {
	double roi[N_ELEMENTS(stages)]; /* of stages with a verdict, so far */
	size_t n;
	double base_roi, base_success, degradation;
	bool has_base;
};

static bool is_verdict(const char *verdict)
{
	return strcmp(verdict, "passed") == 0 || strcmp(verdict, "failed") == 0;
}

/* The share of copies that ended well with the conditions of a stage. */
static double success_of(const struct mr_outcomes *outcomes, size_t stage)
{
	double passed = 0, copies = 0;

	for (size_t i = 0; stage < outcomes->n_scenarios && i < outcomes->n_replicates; i++) {
		const size_t n = mr_cells_place(stage, i, true, outcomes->n_scenarios);

		passed += outcomes->cells[n].copies_passed;
		copies += outcomes->cells[n].copies;
	}
	return copies > 0 ? passed / copies : 0;
}

static double stability_of(const struct walk *walk)
{
	const size_t n = walk->n < WINDOW ? walk->n : WINDOW;
	const double *last = walk->roi + walk->n - n;
	double mean = 0, squares = 0;

	if (n < 2)
		return 0;
	for (size_t i = 0; i < n; i++)
		mean += last[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (last[i] - mean) * (last[i] - mean);
	return 1 / (1 + sqrt(squares / (double)(n - 1)));
}

static void put_number(json_t *row, json_t *metrics, const struct mr_stage *stage, const char *key,
		       const char *metric, json_t *value)
{
	mr_auto_free char *name = mr_str_format("%s_%s", stage->alias, metric);

	json_object_set(row, key, value);
	json_object_set_new(metrics, name, value);
}

static void add_numbers(struct walk *walk, const struct mr_outcomes *outcomes,
			const json_t *scenario, const struct mr_stage *stage, json_t *row,
			json_t *metrics)
{
	const bool known = is_verdict(mr_json_text_or_empty(scenario, "verdict"));
	const double roi = json_number_value(json_object_get(scenario, "roi_on"));
	const double success = success_of(outcomes, (size_t)(stage - stages));
	const bool is_base = stage == stages;
	bool compares;

	if (known && is_base) {
		walk->has_base = true;
		walk->base_roi = roi;
		walk->base_success = success;
	}
	if (known)
		walk->roi[walk->n++] = roi;
	compares = known && walk->has_base;
	if (compares && roi - walk->base_roi < walk->degradation)
		walk->degradation = roi - walk->base_roi;
	put_number(row, metrics, stage, "roi", "roi", known ? json_real(roi) : json_null());
	put_number(row, metrics, stage, "roi_delta", "roi_delta",
		   compares ? json_real(roi - walk->base_roi) : json_null());
	put_number(row, metrics, stage, "success", "success",
		   known ? json_real(success) : json_null());
	put_number(row, metrics, stage, "resilience", "resilience",
		   compares && walk->base_success > 0 ? json_real(success / walk->base_success)
						      : json_null());
	put_number(row, metrics, stage, "stability", "stability",
		   known ? json_real(stability_of(walk)) : json_null());
	put_number(row, metrics, stage, "scenario_degradation", "degradation",
		   compares ? json_real(walk->degradation) : json_null());
}

/* The worst of what stages came to. */
static const char *worse(const char *a, const char *b)
{
	static const char *const order[] = { "error", "failed", "inconclusive" };

	for (size_t i = 0; i < N_ELEMENTS(order); i++)
		if (strcmp(a, order[i]) == 0 || strcmp(b, order[i]) == 0)
			return order[i];
	return "passed";
}

json_t *mr_trajectory_make(const json_t *scenarios, const struct mr_outcomes *outcomes)
{
	json_t *rows = json_array(), *metrics = json_object();
	const char *verdict = "passed", *broke_at = NULL;
	struct walk walk = { 0 };
	bool recovered = false;

	for (size_t i = 0; i < N_ELEMENTS(stages); i++) {
		const json_t *scenario = json_array_get(scenarios, i);
		const char *own = mr_json_text_or_empty(scenario, "verdict");
		json_t *row = json_pack("{s:s, s:s, s:s, s:O?}", "stage", stages[i].name,
					"stage_alias", stages[i].alias, "verdict", own, "why",
					json_object_get(scenario, "why"));

		add_numbers(&walk, outcomes, scenario, &stages[i], row, metrics);
		json_array_append_new(rows, row);
		verdict = worse(verdict, own);
		recovered = recovered || (broke_at && strcmp(own, "passed") == 0);
		if (!broke_at && strcmp(own, "failed") == 0)
			broke_at = stages[i].name;
	}
	return json_pack("{s:s, s:s?, s:b, s:i, s:o, s:o}", "verdict", verdict, "broke_at",
			 broke_at, "recovered", recovered, "window", WINDOW, "stages", rows,
			 "metrics", metrics);
}

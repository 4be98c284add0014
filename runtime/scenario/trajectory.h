/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trajectory: one workflow through five stages, each harder than the one before
 */
#pragma once

#include <stddef.h>

struct json_t;
struct mr_outcomes;

/* One row of stages.def. */
struct mr_stage {
	const char *name; /* of a scenario */
	const char *alias;
};
const struct mr_stage *mr_trajectory_stages(size_t *ret_n);
/* Add the scenarios of all stages to an array, as mr_scenario_add() does. */
void mr_trajectory_add(struct json_t *list);

/* What the rows "scenarios" of a summary (summary.h; all stages, in their order) and its cells say of it; new
 * reference:
 *
 *   {"verdict", "broke_at", "recovered", "window", "stages": [{"stage", "stage_alias", "verdict", "why", "roi",
 *   "roi_delta", "success", "resilience", "stability", "scenario_degradation"}], "metrics": {"ALIAS_roi": ...}}
 *
 * verdict: "error" or "failed" if one stage is that; "inconclusive" if one is; else "passed".  Numbers of a
 * stage that came to no verdict are null: they are not those of its conditions. */
struct json_t *mr_trajectory_make(const struct json_t *scenarios,
				  const struct mr_outcomes *outcomes);

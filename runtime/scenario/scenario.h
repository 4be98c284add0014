/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scenario: named conditions that a matrix tries
 *
 * As JSON: {"name", "level": "low", "high" or "-", "profile": name or null, "advice": text or
 * null, "preset": {...}}.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_t;
struct mr_error;

/* One row of scenarios.def. */
struct mr_scenario {
	const char *name;
	bool is_default;
	const char *profile; /* NULL: none */
	const char *variables; /* JSON */
	const char *advice;
};

const struct mr_scenario *mr_scenario_rows(size_t *ret_n);
/* What to look at in a program that fails the scenario of that name, or one of that canonical profile (NULL:
 * of none); NULL: there is nothing to say. */
const char *mr_scenario_advice(const char *name, const char *profile);
/* Add those that a word means to an array: a scenario, "PROFILE:LEVEL", "default", "all" (every scenario)
 * or "canonical" (every profile at both levels).  What is there already is not added again.
 * MR_E_USAGE with a hint. */
int mr_scenario_add(struct json_t *list, const char *word, struct mr_error *err);
/* A canonical profile at a level ("low", "high"), whatever else has its name. */
int mr_scenario_add_profile(struct json_t *list, const char *profile, const char *level,
			    struct mr_error *err);
/* A preset of somebody's own, under a name. */
int mr_scenario_add_preset(struct json_t *list, const char *name, struct json_t *preset,
			   struct mr_error *err);

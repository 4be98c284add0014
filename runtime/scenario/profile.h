/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles: the canonical hostile conditions, each at two levels
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_t;
struct mr_error;

enum mr_profile_level { MR_PROFILE_LOW, MR_PROFILE_HIGH, MR_PROFILE_LEVELS };

/* The profile whose use must be asked for: it does on purpose what is forbidden. */
#define MR_PROFILE_MISUSE "user_misuse"

/* One row of profiles.def. */
struct mr_profile {
	const char *name;
	bool core;
	const char *variables[MR_PROFILE_LEVELS]; /* JSON */
	const char *help;
};

const struct mr_profile *mr_profile_rows(size_t *ret_n);
/* By its name or another name for it.  MR_E_USAGE with a hint. */
int mr_profile_find(const char *name, const struct mr_profile **ret, struct mr_error *err);
const char *mr_profile_level_name(enum mr_profile_level level);
int mr_profile_parse_level(const char *word, enum mr_profile_level *ret, struct mr_error *err);
/* The variables of the level alone, SCENARIO_NAME with them; new reference. */
struct json_t *mr_profile_overlay(const struct mr_profile *profile, enum mr_profile_level level);
/* The same over the base that every canonical preset has: a preset; new reference. */
struct json_t *mr_profile_preset(const struct mr_profile *profile, enum mr_profile_level level);

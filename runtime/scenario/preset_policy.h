/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policy: what was learned to be worth doing with presets, by state
 *
 * A table of values: for a state, the signs of what changed last, what each action is
 * worth there.  It is a document, menace.preset-policy/1, and nothing else: whoever uses one reads
 * it whole.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_t;
struct mr_error;
struct mr_evidence;
struct mr_json;

#define MR_PRESET_POLICY_SCHEMA "menace.preset-policy/1"
#define MR_PRESET_POLICY_VALUE_MAX 1e9 /* of an action, either sign */
#define MR_PRESET_POLICY_STATE_SIZE 32 /* "-1,0,1,0,0,0,0" */
#define MR_PRESET_POLICY_FEATURES_MAX 8

/* A document of ours, or a table {"STATE": {"NUMBER OF ACTION": VALUE}} of the older format, which has no
 * member schema.  *ret: a document of ours, new reference.  MR_E_USAGE with the path of what is wrong. */
int mr_preset_policy_parse(const struct mr_json *document, struct json_t **ret,
			   struct mr_error *err);
/* A document of these states, which are stolen: what parse gives; new reference. */
struct json_t *mr_preset_policy_new(struct json_t *states);
/* The table of the older format, new reference; *ret_left_out: actions that it has no number for. */
struct json_t *mr_preset_policy_export(const struct json_t *policy, size_t *ret_left_out);

/* The state that evidence is in; a series of fewer than two values did not change. */
void mr_preset_policy_state(const struct mr_evidence *evidence,
			    char ret[MR_PRESET_POLICY_STATE_SIZE]);
/* The series of the i-th feature, or what stands in for it; NULL after the last. */
const char *mr_preset_policy_series(const struct mr_evidence *evidence, size_t i);
/* What a difference of it is worth. */
int mr_preset_policy_weight(size_t i);
/* Values of the actions in a state, borrowed; NULL: nothing is known of it. */
const struct json_t *mr_preset_policy_values(const struct json_t *policy, const char *state);
/* The action of the greatest value, of equals the first in preset_policy.def: its name, and its steps ("": none).
 * values are not empty. */
const char *mr_preset_policy_best(const struct json_t *values, const char **ret_steps,
				  double *ret_value);
/* Names of the features, of the actions; NULL after the last. */
const char *mr_preset_policy_feature(size_t i);
const char *mr_preset_policy_action(size_t i);

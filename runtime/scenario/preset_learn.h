/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learn: a policy of presets (preset_policy.h) from runs that were
 *
 * Runs of one program in the order of time are a history.  From one run to the next a limit became larger or
 * smaller, which is the action that was taken in the state before it; what that was worth is
 * how success rose and how the shares of the limits that were used fell.  These are facts
 * that the kernel measured and the program's exit status, and nothing else that it says of itself.
 *
 * Nothing is random: the same runs in the same order give the same policy.
 */
#pragma once

#include <stddef.h>

struct json_t;
struct mr_error;
struct mr_json;
struct mr_preset_learner;

struct mr_preset_learn_opts {
	const struct json_t *policy; /* to go on from; NULL: from nothing */
	double rate; /* of learning, over 0 and at most 1 */
	double discount; /* of what comes later, 0 to 1 */
};

struct mr_preset_learned {
	size_t histories, runs;
	size_t steps; /* from one run to the next that were learned from */
	size_t several; /* that changed more than one limit: nobody knows which of them did it */
};

/* Never NULL. */
struct mr_preset_learner *mr_preset_learner_new(const struct mr_preset_learn_opts *opts);
/* Accepts NULL, returns NULL. */
struct mr_preset_learner *mr_preset_learner_free(struct mr_preset_learner *learner);
/* Another history begins with the next run. */
void mr_preset_learner_begin(struct mr_preset_learner *learner);
/* The next run of it: a document of schema menace.result/1. */
int mr_preset_learner_add(struct mr_preset_learner *learner, const struct mr_json *result,
			  struct mr_error *err);
/* What was learned: a document of mr_preset_policy_parse(), new reference. */
struct json_t *mr_preset_learner_policy(const struct mr_preset_learner *learner);
void mr_preset_learner_tell(const struct mr_preset_learner *learner, struct mr_preset_learned *ret);

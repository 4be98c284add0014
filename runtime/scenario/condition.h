/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Condition: a preset in a request, and whether it took effect
 *
 * A preset of a scenario wins over what a request says for itself, but for
 * everything that it does not name.  What was asked for is never taken for what
 * was: mr_condition_judge() goes by results alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;
struct mr_error;

/* Variables that whoever gives stubs their values acts on: menace-run takes no stubs. */
struct mr_condition_inputs {
	char *strategy; /* SANDBOX_STUB_STRATEGY, or NULL */
	bool corrupt; /* PAYLOAD_INDICATOR corrupted_bytes, with a strategy */
	bool edge_cases; /* INJECT_EDGE_CASES */
};
/* Take them out of a preset.  MR_E_USAGE: there is no such strategy. */
int mr_condition_take_inputs(struct json_t *preset, struct mr_condition_inputs *ret,
			     struct mr_error *err);
void mr_condition_inputs_deinit(struct mr_condition_inputs *inputs);

struct mr_condition {
	struct json_t *preset; /* with its seed, without what is made by who runs copies */
	struct json_t
		*knobs; /* {"section.name": ...} that it sets: by their names, whatever the seed */
	struct json_t *best_effort; /* what may go unenforced, so that the run says so */
	const char *net; /* net.mode that it needs, or NULL */
	uint64_t copies; /* CONCURRENCY_LEVEL times CONCURRENCY_MULTIPLIER */
	struct mr_condition_inputs inputs; /* what is made by who gives stubs their values */
	bool on; /* false: the same request without the conditions */
};

/* MR_E_USAGE: the preset is malformed. */
int mr_condition_init(const struct json_t *preset, uint64_t seed, bool on, struct mr_condition *ret,
		      struct mr_error *err);
/* The same with another seed.  What a preset means does not depend on that: it is not looked at again. */
void mr_condition_init_like(const struct mr_condition *like, uint64_t seed,
			    struct mr_condition *ret);
void mr_condition_deinit(struct mr_condition *condition);
/* Put it into a request, menace.spec/1. */
void mr_condition_apply(const struct mr_condition *condition, struct json_t *spec);

/* Are values of stubs made up to do harm?  Ordinary ones are what the failure mode hostile_input puts
 * another input in the place of. */
bool mr_condition_feeds(const struct mr_condition *condition);
/* The standard input of this request is a stub that is made up to do harm: the failure mode hostile_input
 * would put another in its place, and is left out of it.  False: it was not in it. */
bool mr_condition_keep_stdin(struct json_t *spec);

/* What results say of it, one after the other. */
struct mr_condition_proof {
	struct json_t *missing; /* texts: what was not in force; any of them is enough */
	struct json_t *unmet; /* {condition: in how many results nothing met it, and why} */
	struct json_t *in_force; /* {name: what the kernel, or who does it, says} */
	size_t n; /* results */
};
void mr_condition_proof_init(struct mr_condition_proof *proof);
void mr_condition_proof_deinit(struct mr_condition_proof *proof);
/* inputs: records of the stubs that the run took (runtime/stub/input.h), or NULL. */
void mr_condition_judge(const struct mr_condition *condition, const struct json_t *result,
			const struct json_t *inputs, struct mr_condition_proof *proof);
/* After that, of a step that mr_condition_keep_stdin() was true of: tell it. */
void mr_condition_judge_kept_stdin(const struct mr_condition *condition, const char *step,
				   struct mr_condition_proof *proof);
/* Texts why nothing can be concluded, new reference; empty: it took effect. */
struct json_t *mr_condition_why(const struct mr_condition_proof *proof);

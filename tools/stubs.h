/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stubs: what commands that run workflows give them as values, and keep of these
 *
 * Read from the environment: SANDBOX_STUB_STRATEGY, SANDBOX_STUB_STRATEGY_ORDER, SANDBOX_STUB_SEED,
 * SANDBOX_STUB_RANDOM_CONFIG, SANDBOX_STUB_MODEL, SANDBOX_STUB_PLUGINS, SANDBOX_HOSTILE_PAYLOADS,
 * SANDBOX_HOSTILE_PAYLOADS_FILE.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/json.h"
#include "runtime/flow/plugin.h"

struct mr_condition_inputs;
struct mr_error;
struct mr_flow;
struct mr_flow_session;
struct mr_input_opts;

struct mr_stubs {
	const struct mr_flow_session *session;
	struct mr_flow_plugin plugin; /* its loop is set by who has one, before a value is made */
	const char *strategy; /* of all stubs, or NULL; borrowed */
	uint64_t seed; /* of the environment, or MR_STUBS_NO_SEED */
	bool keeps; /* there is a store, and something for it */
	json_t *history, *secrets; /* texts that no value of the history may hold */
	json_t *programs; /* {"plugin:FILE": content, or null: it could not be read} that values are
			   * made with, whatever is in the files, and "payloads" of hostile; or NULL: as they
			   * are when a value is made */
};
#define MR_STUBS_NO_SEED UINT64_MAX

/* strategy: of an option, or NULL.  The workflow is known; history is as it is now: what a command adds
 * to it changes none of its own values. */
int mr_stubs_init(struct mr_stubs *stubs, const struct mr_flow_session *session,
		  const char *strategy, const char *menace_run, const char *store,
		  struct mr_error *err);
/* The same without a workflow and its history; nothing is to be released. */
int mr_stubs_begin(struct mr_stubs *stubs, const char *strategy, const char *menace_run,
		   const char *store, struct mr_error *err);
/* With the session prepared: what is begun keeps the history that it began with in its folder, what is
 * resumed takes that, so that it chooses as if it had never ended. */
int mr_stubs_hold_history(struct mr_stubs *stubs, struct mr_error *err);
void mr_stubs_deinit(struct mr_stubs *stubs);

/* Read, once, the programs of all plugins that the environment and the presets of these scenarios name, and
 * the payloads of the environment, which are refused where they are none. */
int mr_stubs_hold_programs(struct mr_stubs *stubs, const json_t *scenarios, struct mr_error *err);
/* The seed of who is given none by an option: SANDBOX_STUB_SEED, or a fresh one. */
int mr_stubs_default_seed(uint64_t *ret, struct mr_error *err);
/* {"VARIABLE": text or null}: all that decides values, but for the seed.  New reference. */
json_t *mr_stubs_environment(void);
/* Before mr_stubs_init(): make the environment that again, and say where it was another one. */
int mr_stubs_restore_environment(const json_t *environment, struct mr_error *err);

/* How values are made up: all but seed, index, names and history.  strategy: one that wins, or NULL.
 * *ret borrows from stubs and from *ret_programs, a new reference. */
int mr_stubs_input(const struct mr_stubs *stubs, const char *strategy, struct mr_input_opts *ret,
		   json_t **ret_programs, struct mr_error *err);

struct mr_stubs_opts {
	uint64_t seed, index;
	const struct mr_condition_inputs *inputs; /* of a preset: they win; or NULL */
	bool answers; /* the network has answers */
};
/* Would anything of the workflow be another one? */
bool mr_stubs_change(const struct mr_stubs *stubs, const struct mr_condition_inputs *inputs);
/* The workflow with values for its stubs. */
int mr_stubs_make(const struct mr_stubs *stubs, const struct mr_stubs_opts *opts,
		  struct mr_flow **ret, size_t *ret_edge_cases, struct mr_error *err);
/* The values that a step had, and how it went, into the history.  document: the workflow with its values;
 * row: of the step; scenario or NULL. */
int mr_stubs_keep(const struct mr_stubs *stubs, const json_t *document, const json_t *row,
		  const char *scenario, struct mr_error *err);
/* Take SANDBOX_STUB_STRATEGY and its like out of the presets of the environment, which menace-run
 * would refuse. */
int mr_stubs_take_environment(struct mr_condition_inputs *ret, struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugin: a program that makes up a value, in a sandbox
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/json.h"

struct mr_error;
struct mr_loop;

#define MR_FLOW_PLUGIN_MEMORY (64u << 20)

struct mr_flow_plugin {
	const char *menace_run; /* path */
	const char *store; /* as of struct mr_child_opts */
	struct mr_loop *loop; /* the caller's; it is never called from within a callback of this */
	bool stopped; /* set from a callback: the plugin that runs is ended, and none is started */
	/* The loop has run once while a plugin did: what ended meanwhile can be looked after; or NULL. */
	void (*on_turn)(void *owner);
	void *owner;
};

/* owner: a struct mr_flow_plugin; see mr_input_plugin_fn.  The run has no network, no workspace and the
 * limits above.  Waits for it, in the loop: whatever else is in there goes on.  -EINTR: it was stopped. */
int mr_flow_plugin_run(const json_t *program, const json_t *request, json_t **ret_value,
		       void *owner, struct mr_error *err);

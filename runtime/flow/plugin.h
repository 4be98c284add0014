/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugin: a program that makes up a value, in a sandbox
 */
#pragma once

#include <stdint.h>

#include "runtime/base/json.h"

struct mr_error;

#define MR_FLOW_PLUGIN_WALL_MS 5000
#define MR_FLOW_PLUGIN_MEMORY (64u << 20)

struct mr_flow_plugin {
	const char *menace_run; /* path */
	const char *store; /* as of struct mr_child_opts */
};

/* owner: a struct mr_flow_plugin; see mr_input_plugin_fn.  The run has no network, no workspace and the
 * limits above.  Waits for it. */
int mr_flow_plugin_run(const json_t *program, const json_t *request, json_t **ret_value,
		       void *owner, struct mr_error *err);

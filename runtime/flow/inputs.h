/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs: a workflow whose stubs have values
 *
 * A workflow that takes stubs ("stubs", {{stub:NAME}}, {"stub": NAME}) cannot be run as it is.  What
 * is made of it by one seed is a workflow without stubs, and with "inputs": a record of each value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/stub/input.h"

struct mr_error;
struct mr_flow;
struct mr_json;

/* Are its stubs declared, each used, and each use of one that is?  document: resolved. */
int mr_flow_check_inputs(const struct mr_json *document, struct mr_error *err);
bool mr_flow_takes_inputs(const json_t *document);
/* For a command: each place of a stub in it is declared as a text. */
int mr_flow_declare_words(json_t *document, char *const *argv, struct mr_error *err);

struct mr_flow_inputs_opts {
	struct mr_input_opts input; /* step, stub, plain and history are set here */
	const json_t *history; /* [{"stub", "value", "failed"}], newest first; or NULL */
	bool edge_cases; /* add them */
	bool answers; /* those that are answers, too: the network has answers */
};

/* The document of that workflow, new reference.  *ret_edge_cases: how many were added. */
int mr_flow_make_inputs(const json_t *document, const struct mr_flow_inputs_opts *opts,
			json_t **ret, size_t *ret_edge_cases, struct mr_error *err);
/* The contents of its variables that are 8 bytes or more, in which no stub is; new reference. */
json_t *mr_flow_secrets(const json_t *document);

/* The records of a step, those of all steps among them; new reference. */
json_t *mr_flow_inputs_of(const json_t *document, const char *step);
/* The same as the row of a step tells them, each in full once: in the row of its step, and what is of all
 * steps in that of the first.  Elsewhere it has "again": true and no value.  step NULL: of all steps
 * together. */
json_t *mr_flow_inputs_told(const json_t *document, const char *step, bool first);

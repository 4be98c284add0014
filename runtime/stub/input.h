/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: a value for a stub, made up
 *
 * A value is a function of seed, step, stub, index, declaration and history alone: the same of these,
 * the same value, on every machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/json.h"

struct mr_error;

enum mr_input_strategy {
#define STRATEGY(name, ...) MR_INPUT_##name,
#include "runtime/stub/strategies.def"
#undef STRATEGY
	MR_INPUT_STRATEGIES,
};

/* One row of strategies.def. */
struct mr_input_row {
	const char *name;
	const char *mode; /* "none": of no failure mode */
	const char *help;
};
const struct mr_input_row *mr_input_rows(void);

#define MR_INPUT_PLUGIN \
	"plugin:" /* and the path of a program: a strategy that is none of the table */
#define MR_INPUT_PLAIN_MAX 32768 /* bytes of a value in an argument or a variable */
#define MR_INPUT_REPLY_MAX (1u << 20) /* of a plugin */
#define MR_INPUT_SECRET_MIN 8 /* bytes: shorter texts are found everywhere, secret or not */
#define MR_INPUT_NAME_MAX 64
#define MR_INPUT_NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

/* Is it a name of the table, or a plugin (of a path that is UTF-8)?  MR_E_USAGE with a hint. */
int mr_input_check_strategy(const char *strategy, struct mr_error *err);
/* The failure mode that it is another way of, or NULL. */
const char *mr_input_mode(const char *strategy);

/* A declaration: {"type"} or {"parameters"}, "templates", "strategy"; see menace-flow(5). */
int mr_input_check_declaration(const struct mr_json *declaration, struct mr_error *err);

/* Run a plugin; request and reply: see mr_input_plugin_request().  Negative: its failure. */
typedef int mr_input_plugin_fn(const json_t *program, const json_t *request, json_t **ret_reply,
			       void *owner, struct mr_error *err);

struct mr_input_opts {
	uint64_t seed;
	uint64_t index; /* of copies and repetitions */
	const char *step, *stub;
	const char *strategy; /* NULL: the declaration's, or the first of order that has a value */
	const char *order; /* names with commas between; NULL: "templates,smart" */
	bool plain; /* it has to go into an argument or a variable */
	bool corrupt; /* every second value has bytes that are others */
	bool secret; /* the place that it goes to has the name of a secret */
	const json_t *secrets; /* texts that no record may hold; or NULL */
	/* [{"value", "raw", "class", "payload", "ordinary", "failed"}] of this stub, newest first; or
	 * NULL */
	const json_t *history;
	/* Files of programs with ':' between: each is given what is not hostile, and what it replies takes
	 * its place; or NULL */
	const char *plugins;
	const json_t *payloads; /* [{"id", "value"}]: hostile has them beside its own; or NULL */
	const char *random_config; /* JSON; or NULL */
	const char *model; /* of synthetic; or NULL */
	/* {"plugin:FILE": content}: of those that strategy, order, model and plugins name */
	const json_t *programs;
	mr_input_plugin_fn *plugin; /* or NULL: none can be run */
	void *owner;
};

/* What a record says of a value. */
enum mr_input_told {
	MR_INPUT_TOLD_ALL,
	MR_INPUT_TOLD_OPEN_MEMBERS, /* those that have the name of a secret are left out */
	MR_INPUT_TOLD_NOTHING, /* it is a secret, or was made from one: how it was made, and its size */
};

struct mr_input {
	const char *strategy; /* borrowed from the table or from the options */
	json_t *value; /* NULL: it is absent, or bytes */
	char *bytes; /* that are no JSON, or not surely; malloc'd */
	size_t size;
	bool absent; /* on purpose there is none */
	const char *class; /* of a payload or a change; static, or of the history; or NULL */
	char *id; /* which one; or NULL */
	bool passed; /* through the plugins of the options */
	bool reshaped; /* which part of it came from which member cannot be seen any more */
	enum mr_input_told told;
	/* What corrupt asked for: bytes that are others, and the class is MR_INPUT_CORRUPTED; the class and
	 * id that it had before; or (static) why there are none. */
	size_t corrupted;
	const char *was_class;
	char *was_id;
	const char *uncorrupted;
};
#define MR_INPUT_CORRUPTED "corrupted"
#define MR_INPUT_OWN "own" /* class of payloads that are not shipped */

/* Negative: refused, or a plugin's failure; a strategy that has no value says why. */
int mr_input_make(const json_t *declaration, const struct mr_input_opts *opts, struct mr_input *ret,
		  struct mr_error *err);
void mr_input_deinit(struct mr_input *input);
/* What stands in its place: a text as it is, other values as JSON; malloc'd, with a NUL after it.
 * quoted: a text is JSON, too. */
char *mr_input_render(const struct mr_input *input, bool quoted, size_t *ret_size);
/* {"stub", "step", "strategy", "seed", "index", "class", "id", "absent", "raw", "size", "sha256", "value"},
 * new reference.  "raw": the value is bytes that stand for themselves; "value" is missing where there
 * is none, and where it is over 4 KiB.  "secret": "members" were left out of the value, or it is "all" secret
 * and missing; neither has "sha256".  Where corrupt was asked for: "corrupted" bytes, and "was"
 * {"class", "id"}, or "uncorrupted": why.  "plugins": those of the options that it went
 * through, where it did. */
json_t *mr_input_record(const struct mr_input *input, const struct mr_input_opts *opts);

/* Take members out of a value that have the name of a secret; true: there was one. */
bool mr_input_remove_secrets(json_t *value);
/* Is one of these texts in a text or in the name of a member of it? */
bool mr_input_holds_secret(const json_t *value, const json_t *secrets);

/* Why these bytes go into no argument or variable (static); NULL: they do. */
const char *mr_input_why_not_plain(const char *bytes, size_t size);

/* The means of numbers and the most frequent of other values, by key; new reference. values: array
 * of objects. */
json_t *mr_input_aggregate(const json_t *values);

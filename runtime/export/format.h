/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format: what a writer of this folder is
 *
 * One file FORMAT.c defines one mr_export_FORMAT; formats.def lists them.
 */
#pragma once

#include <stddef.h>

#include "runtime/base/buf.h"

struct json_t;
struct mr_error;
struct mr_export_opts;
struct mr_fact;
struct mr_facts;
struct mr_store;

/* An export under way. */
struct mr_export {
	struct mr_store *store;
	const struct mr_export_opts *opts;
	char *store_id; /* of the chain */
	struct mr_buf buf[2]; /* of the writer: what waits to be written */
	size_t waits[2]; /* of the writer: how many things wait there */
};

struct mr_export_format {
	const char *name, *help;
	unsigned int mode;
	/* One of these two: all runs at once, or each; head: run_id, seq, hash, prev, time_us. */
	int (*whole)(struct mr_export *x, struct mr_error *err);
	int (*run)(struct mr_export *x, const struct json_t *head, struct mr_error *err);
	/* After the last run; may be NULL. */
	int (*end)(struct mr_export *x, struct mr_error *err);
};

#define FORMAT(name) extern const struct mr_export_format mr_export_##name;
#include "runtime/export/formats.def"
#undef FORMAT

/* The filter as what export.* of statements.sql want to be bound; new reference. */
struct json_t *mr_export_binds(const struct mr_export *x);
int mr_export_write(struct mr_export *x, const char *text, size_t size, struct mr_error *err);
/* A document without line breaks, in ASCII that can be printed. */
void mr_export_json_text(const struct json_t *json, struct mr_buf *out);
/* The same on a line of its own. */
int mr_export_write_json(struct mr_export *x, const struct json_t *json, struct mr_error *err);
/* For a format that is a document for each fact of a run: make gives it, new reference. */
typedef struct json_t *mr_export_make_fn(const struct mr_export *x, const struct json_t *head,
					 const struct mr_facts *facts, const struct mr_fact *fact);
int mr_export_write_facts(struct mr_export *x, const struct json_t *head, mr_export_make_fn *make,
			  struct mr_error *err);

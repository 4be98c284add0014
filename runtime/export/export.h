/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Export: runs of a store in the formats of other programs
 *
 * Only what the store has is written: what nobody measured is left out, never 0.
 * One run at a time is in memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct mr_error;
struct mr_export_format;
struct mr_store;

#define MR_EXPORT_ANY_TIME INT64_MIN

/* Which runs; NULL and MR_EXPORT_ANY_TIME: no matter. */
struct mr_export_filter {
	const char *run_id, *reason;
	const char *program; /* pattern with * and ?, of the program or the name */
	int64_t since_us, until_us; /* start, since 1970 */
};

struct mr_export_opts {
	struct mr_export_filter filter;
	const char *signal; /* OTLP: "metrics" or "logs" only; NULL: both */
	FILE *out;
	/* May be NULL.  Now and then: runs written, and how many there are. */
	void (*progress)(void *owner, uint64_t done, uint64_t total);
	void *owner;
};

/* The i-th format; NULL after the last. */
const struct mr_export_format *mr_export_format_get(size_t i);
const char *mr_export_format_name(const struct mr_export_format *format);
const char *mr_export_format_help(const struct mr_export_format *format);
/* Rights of a new file of it: only sums over all runs are for everybody. */
unsigned int mr_export_format_mode(const struct mr_export_format *format);

/* Runs in the order in which the store took them in.  Errors: those of the store; MR_E_SYS when
 * out cannot be written; MR_E_PROTO when a record is damaged. */
int mr_export(struct mr_store *store, const struct mr_export_format *format,
	      const struct mr_export_opts *opts, struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verify: is the store what was written into it?
 *
 * Walks the chain, every link of every run, and makes the rows of all tables again
 * to compare them.  Stops at the first thing that is not right and names its place.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct json_t;
struct mr_error;
struct mr_store;

struct mr_verify_opts {
	const struct json_t *checkpoint; /* from outside of the store; NULL: none */
	bool old_seals; /* count a checkpoint for a seal, as early versions made them */
	const char *public_key; /* whose signatures count, 64 hex digits; NULL: none given */
	void (*progress)(int64_t seq, void *owner); /* NULL: none; called for each row */
	void *owner;
};

struct mr_verify_report {
	int64_t rows; /* of the chain that were walked and are right */
	int64_t sealed; /* rows that are sealed: only their signature remains */
	int64_t old_sealed; /* of these, rows whose seal is no more than a checkpoint */
	int64_t runs; /* compared in full */
	int64_t purged; /* runs of which only the head remains */
	int64_t losses; /* rows that tell of records lost to the spool */
	int64_t unchained; /* rows of workflows, matrices and inputs: the chain says nothing of them */
	int64_t proven_seq; /* the end of what the checkpoint proves; 0: nothing */
	bool checkpoint_sealed; /* the checkpoint's row is inside of a sealed part: nothing to compare */
	int64_t bad_seq; /* first row that is not right; 0: none, or no row of the chain */
	char what[400]; /* what is wrong; "" when nothing is */
};

/* 0: all is right, 1: something is not (report->what), negative: it could not be found out. */
int mr_verify(struct mr_store *store, const struct mr_verify_opts *opts,
	      struct mr_verify_report *report, struct mr_error *err);

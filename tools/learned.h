/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learned: the smallest policy that would have let runs pass
 *
 * A pure function of results of menace-run --record-access: the union of what the
 * runs used, made a little wider where the next run would differ by chance.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct json_t;
struct mr_error;
struct mr_learned;

struct mr_learned_opts {
	size_t threshold; /* more files of one folder than this are the folder */
	uint64_t margin_percent; /* of every limit; MR_LEARNED_MARGINS: those of limits[] */
};
#define MR_LEARNED_THRESHOLD 16
#define MR_LEARNED_MARGINS UINT64_MAX

struct mr_learned *mr_learned_new(void);
struct mr_learned *mr_learned_free(struct mr_learned *learned);
/* Take in one result.  MR_E_USAGE: it did not end by itself, or its record is not complete. */
int mr_learned_add(struct mr_learned *learned, const struct json_t *result, struct mr_error *err);
/* The document, schema menace.policy/1; new reference. */
struct json_t *mr_learned_policy(const struct mr_learned *learned,
				 const struct mr_learned_opts *opts);
/* Limits that no run told the peak of: their knobs, NULL after the last. */
const char *mr_learned_unknown(const struct mr_learned *learned, size_t i);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To the store: what menace-run keeps of its runs
 *
 * The record of a run is appended to the spool of the store (runtime/store/spool.h);
 * the database itself is not touched, so what is wrong with it cannot reach a run.
 * In the result, `store` says
 *
 *   state  off     nobody wants it kept
 *          queued  there is a place and room for it; it is appended right after the result has
 *                  been written.  With `why`: in the refuge, for this reason
 *          failed  it is not kept; `why` says why
 *   path   the store
 *   spool  where the record waits
 *
 * A failure is told on standard error and changes nothing else.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/store/place.h"
#include "runtime/store/spool.h"

struct json_t;
struct mr_spec;

struct mr_to_store {
	struct mr_place place;
	bool off;
	char *failed; /* why nothing can be kept; NULL: it can */
	struct mr_spool spool;
	char *record; /* that is queued; NULL: none */
	size_t record_size;
	char run_id[64]; /* of that record */
	uint64_t lost; /* runs that are not kept; more than one are told at the end */
};

/* choice: of --store, or NULL. */
void mr_to_store_init(struct mr_to_store *to, const char *choice);
void mr_to_store_deinit(struct mr_to_store *to);
/* Make the record of a run, find a place for it and put `store` into the result.  batch_index:
 * -1 outside of a batch. */
void mr_to_store_queue(struct mr_to_store *to, const struct mr_spec *spec, struct json_t *result,
		       int64_t batch_index);
/* Append what is queued, if anything. */
void mr_to_store_append(struct mr_to_store *to);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Record: one run as a document, schema "menace.record/1", into rows
 *
 *   schema, run_id, program, argv, argv_bytes, argv_truncated, lang, snippet_sha256, host,
 *   kernel, uid, batch_index, stored_boot_ns, stored_real_us
 *   result        schema menace.result/1, with timings.steps a list of {name, took_ns}, and the
 *                 output cut to a head of 1 KiB
 *   result.telemetry  optional: complete, usage, processes, events, counters, histograms,
 *                 syscalls, connections, dns, probes, losses; members as the columns are called
 */
#pragma once

struct json_t;
struct mr_error;
struct mr_store;

#define MR_RECORD_SCHEMA "menace.record/1"

/* Insert, in a transaction of the caller's.  Returns 1 when the store has this very record
 * already, or had it before it was purged.  MR_E_USAGE: it is no record, or another one of the
 * same run is there; the caller undoes what was done (savepoint). */
int mr_record_insert(struct mr_store *store, const struct json_t *record, struct mr_error *err);
/* Make the rows that come from one link. */
int mr_record_project(struct mr_store *store, const char *kind, const char *body,
		      struct mr_error *err);

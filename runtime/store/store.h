/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Store: the database of runs
 *
 * One SQLite file in WAL mode, read and written by any number of processes.  It is
 * never deleted or made anew: what cannot be used is said, and records wait in the
 * spool.  What the tables mean is in schema.sql.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct mr_error;
struct mr_place;
struct mr_store;

enum mr_store_mode {
	MR_STORE_READ, /* changes nothing, works on read-only file systems */
	MR_STORE_WRITE, /* made when missing, brought to the present schema */
};

/* Open.  Waits at most busy_ms for other writers, here and in every later call.  With
 * MR_STORE_READ returns 1 when there is no database yet (*ret untouched).  Errors: MR_E_BUSY
 * locked, MR_E_KERNEL full, MR_E_DENIED read-only or no right, MR_E_PROTO corrupt, of something
 * else or from a newer version; with MR_STORE_READ also of an older schema (-ESTALE). */
int mr_store_open(const struct mr_place *place, enum mr_store_mode mode, unsigned int busy_ms,
		  struct mr_store **ret, struct mr_error *err);
/* An empty one in memory: what others are compared with. */
int mr_store_open_memory(struct mr_store **ret, struct mr_error *err);
/* Accepts NULL, returns NULL; an open transaction is rolled back. */
struct mr_store *mr_store_close(struct mr_store *store);
static inline void mr_store_closep(struct mr_store **store)
{
	*store = mr_store_close(*store);
}
#define mr_auto_store __attribute__((cleanup(mr_store_closep)))

/* Path of the database, for messages. */
const char *mr_store_path(const struct mr_store *store);
/* Bring the database to the last version of `sections` (see schema.sql): all or nothing. */
int mr_store_migrate(struct mr_store *store, const char *sections, struct mr_error *err);

/* A transaction that can write from its start (BEGIN IMMEDIATE). */
int mr_store_begin(struct mr_store *store, struct mr_error *err);
int mr_store_commit(struct mr_store *store, struct mr_error *err);
/* No-op when none is open. */
void mr_store_rollback(struct mr_store *store);
/* From now on a commit also survives a crash of the host; or, as at first, is quicker, and with a
 * crash the last ones may be gone, in order and whole. */
int mr_store_set_durable(struct mr_store *store, bool durable, struct mr_error *err);
/* Keep no more than 256 KiB of pages in memory, for those who write much and read little of it again. */
int mr_store_spare_memory(struct mr_store *store, struct mr_error *err);
/* As many again as at first. */
void mr_store_spend_memory(struct mr_store *store);
/* Overwrite what is deleted from now on. */
int mr_store_wipe_deleted(struct mr_store *store, struct mr_error *err);
/* After deleting: give space back, and leave no old page in the write-ahead log. */
int mr_store_compact(struct mr_store *store, struct mr_error *err);

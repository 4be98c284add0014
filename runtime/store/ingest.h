/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ingest: from the spool into the database
 *
 * A spool file goes only when everything in it is in the database and synced, or is
 * kept in PATH.aside and counted.  Whatever ends it early, the next one goes on: a
 * record that is there already is known by its hash.
 */
#pragma once

#include <stddef.h>

struct mr_error;
struct mr_place;
struct mr_store;

struct mr_ingest_stats {
	size_t records; /* taken in now */
	size_t known; /* were there already */
	size_t aside; /* pieces that are no record */
	size_t busy; /* files left: another process writes or takes them in */
};

/* Told after each record; or NULL. */
struct mr_ingest_watch {
	void (*progress)(const struct mr_ingest_stats *stats, void *owner);
	void *owner;
};

/* Take in all that waits at place into store (MR_STORE_WRITE). *stats (never NULL) is valid
 * also after a failure.  A file of the spool that cannot be read keeps no other out: the first of
 * them is the failure that is told when the rest is done. */
int mr_ingest(const struct mr_place *place, struct mr_store *store, struct mr_ingest_stats *stats,
	      struct mr_error *err);
/* The same, watched. */
int mr_ingest_watched(const struct mr_place *place, struct mr_store *store,
		      const struct mr_ingest_watch *watch, struct mr_ingest_stats *stats,
		      struct mr_error *err);

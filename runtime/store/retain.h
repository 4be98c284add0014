/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Retention: what may go, and the account of it
 *
 * Every act is a row of the chain.  A purged run keeps its head in the chain; with
 * a key, the beginning of the chain that tells only of what is gone is sealed: its
 * rows go too, and last number, head and signature stay.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct json_t;
struct mr_error;
struct mr_sign_key;
struct mr_store;

/* Protect a run from purges, or lift that. Returns 1 when it is so already. */
int mr_retain_hold(struct mr_store *store, const char *run_id, const char *reason,
		   struct mr_error *err);
int mr_retain_release(struct mr_store *store, const char *run_id, const char *reason,
		      struct mr_error *err);

struct mr_purge_opts {
	int64_t before_us; /* runs that began before, since 1970; 0: whenever */
	const char *run_id; /* only this one; NULL: all that before_us lets through */
	const char *reason; /* for the account */
	const struct mr_sign_key *key; /* NULL: seal nothing */
	/* So many of the steps are done, each table being one; or NULL. */
	void (*progress)(size_t done, size_t total, void *owner);
	void *owner;
};

/* Runs that a purge would delete: array of {run_id}, new reference. */
int mr_retain_candidates(struct mr_store *store, const struct mr_purge_opts *opts,
			 struct json_t **ret, struct mr_error *err);
/* Delete them and overwrite the space.  *ret_runs and *ret_sealed: runs that went, rows that were
 * sealed. */
int mr_retain_purge(struct mr_store *store, const struct mr_purge_opts *opts, int64_t *ret_runs,
		    int64_t *ret_sealed, struct mr_error *err);

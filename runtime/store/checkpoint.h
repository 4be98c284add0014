/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checkpoints: what the end of the chain was at a time, signed
 *
 *   {"schema": "menace.checkpoint/1", "store", "seq", "count", "head", "time_us",
 *    "public_key", "signature"}
 *
 * The signature covers the canonical text of all other members.  Kept where the
 * writer of the store cannot reach it, it proves what a bare chain cannot: that no
 * row up to seq is gone and that the whole was not written anew.
 *
 * A seal says of rows that were purged what the last of them was:
 *
 *   {"schema": "menace.seal/1", "store", "first_seq", "seq", "head", "time_us",
 *    "public_key", "signature"}
 *
 * Two schemas, since who has a checkpoint must not be able to put it in the place of
 * the rows that it covers.
 */
#pragma once

#include <stdint.h>

struct json_t;
struct mr_error;
struct mr_sign_key;
struct mr_store;

#define MR_CHECKPOINT_SCHEMA "menace.checkpoint/1"
#define MR_CHECKPOINT_SEAL_SCHEMA "menace.seal/1"

/* The store's name for itself, malloc'd; whoever can write the store can choose it. */
int mr_checkpoint_store_id(struct mr_store *store, char **ret, struct mr_error *err);
/* Of the present head; a new reference.  MR_E_USAGE when there is nothing yet. */
int mr_checkpoint_make(struct mr_store *store, const struct mr_sign_key *key, struct json_t **ret,
		       struct mr_error *err);
/* The seal of rows first_seq to seq, the last of which has the hash head; a new reference. */
int mr_checkpoint_make_seal(struct mr_store *store, const struct mr_sign_key *key,
			    int64_t first_seq, int64_t seq, const char *head, struct json_t **ret,
			    struct mr_error *err);
/* Keep a copy in the store, in a transaction of the caller's. */
int mr_checkpoint_keep(struct mr_store *store, const struct json_t *checkpoint,
		       struct mr_error *err);
/* Is it well-formed, of this store and signed by this key (64 hex digits)?  MR_E_USAGE not. */
int mr_checkpoint_check(struct mr_store *store, const struct json_t *checkpoint,
			const char *public_key, struct mr_error *err);
/* The same of a seal.  1: it is a good checkpoint, as early versions sealed with. */
int mr_checkpoint_check_seal(struct mr_store *store, const struct json_t *seal,
			     const char *public_key, struct mr_error *err);

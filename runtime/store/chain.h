/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chain: what makes a change of the past show
 *
 * A run's record is a chain of links, the store's rows are a chain over the heads
 * of the runs.  Each body is canonical JSON that holds the hash of the one before;
 * it is kept as the very bytes that were hashed.
 *
 *   link  {"data":…,"kind":…,"n":…,"prev":…,"run_id":…}
 *   row   {"data":…,"kind":…,"prev":…,"seq":…,"subject":…,"time_us":…}
 *
 * A bare chain proves nothing about its end: a signed checkpoint does.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/hash.h"

struct json_t;
struct mr_error;
struct mr_store;

/* What the first body names as the one before. */
#define MR_CHAIN_START "0000000000000000000000000000000000000000000000000000000000000000"

/* Append a row and give its seq (ret_seq may be NULL).  Inside a transaction that can write, so
 * that nobody gets between the head that is read and the row; data is borrowed. */
int mr_chain_append(struct mr_store *store, const char *kind, const char *subject,
		    const struct json_t *data, int64_t *ret_seq, struct mr_error *err);
/* The last row: its number (0: none) and hash (MR_CHAIN_START then). */
int mr_chain_head(struct mr_store *store, int64_t *ret_seq, char ret_hash[MR_HASH_HEX_SIZE],
		  struct mr_error *err);
/* Body (malloc'd) and hash of a link; data is borrowed. */
char *mr_chain_link(const char *run_id, int n, const char *kind, const char *prev,
		    const struct json_t *data, char ret_hash[MR_HASH_HEX_SIZE]);
/* Microseconds since 1970. */
int64_t mr_chain_now_us(void);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query: rows of the store as JSON objects, by the name of a statement
 *
 * The names are those of statements.sql; what they ask for is bound by name from
 * the members of an object.
 */
#pragma once

#include <stdint.h>

struct json_t;
struct mr_error;
struct mr_store;

/* One row, borrowed.  0 goes on; a positive value ends the query well, a negative one (with the
 * error filled) ends it badly. */
typedef int mr_query_fn(const struct json_t *row, void *owner, struct mr_error *err);

/* binds: an object, stolen; NULL: nothing to bind. A member that the statement does not have is
 * a bug. Returns 0, or what fn returned. */
int mr_query_each(struct mr_store *store, const char *name, struct json_t *binds, mr_query_fn *fn,
		  void *owner, struct mr_error *err);
/* All rows as an array, new reference. */
int mr_query_all(struct mr_store *store, const char *name, struct json_t *binds,
		 struct json_t **ret, struct mr_error *err);
/* The first row, new reference; returns 1 when there is none. */
int mr_query_one(struct mr_store *store, const char *name, struct json_t *binds,
		 struct json_t **ret, struct mr_error *err);
/* A statement that gives no rows. */
int mr_query_run(struct mr_store *store, const char *name, struct json_t *binds,
		 struct mr_error *err);

/* What somebody else wrote: one SELECT over a store opened with MR_STORE_READ.  An authorizer lets
 * through reading of the store's own tables, and functions from a list; time, memory and text are
 * bounded.  fn gets each row. Errors: MR_E_USAGE refused or wrong, MR_E_BUSY over time_ms.
 * The time is looked at between the steps of the statement, and one call of a function is one step,
 * which can take days: who lets strangers ask ends the process when it is over. */
int mr_query_adhoc(struct mr_store *store, const char *sql, uint64_t time_ms, mr_query_fn *fn,
		   void *owner, struct mr_error *err);
/* The error of mr_query_adhoc() over time_ms. */
int mr_query_overdue(const struct mr_store *store, struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a prepared statement, for the files of the store
 */
#pragma once

#include <sqlite3.h>
#include <stddef.h>

#include "runtime/store/query.h"

/* Text, with '?' for what is not ASCII when it is not UTF-8; new reference. */
struct json_t *mr_rows_text(const char *text, size_t size);
/* The present row as an object, new reference. */
struct json_t *mr_rows_json(sqlite3_stmt *stmt);
/* Step through all rows; fn may be NULL.  As mr_query_each(). */
int mr_rows_each(struct mr_store *store, sqlite3_stmt *stmt, const char *doing, mr_query_fn *fn,
		 void *owner, struct mr_error *err);

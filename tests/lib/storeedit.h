/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that is open, and changes to it that go past the product, as somebody with an editor of databases
 * makes them, for unit tests
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "runtime/base/hash.h"
#include "tests/lib/storetree.h"

/* The store to write to; another writer is waited for 200 ms. */
static inline struct mr_store *open_store(struct storetree *t)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_store *store = NULL;

	if (mr_store_open(&t->place, MR_STORE_WRITE, 200, &store, &err) < 0)
		fail_msg("%s", err.msg);
	return store;
}

/* sha256(TEXT): with it somebody with an editor makes a row that fits to its hash. */
static inline void sql_sha256(sqlite3_context *context, int n, sqlite3_value **values)
{
	char hash[MR_HASH_HEX_SIZE];

	(void)n;
	mr_hash_hex(sqlite3_value_text(values[0]), (size_t)sqlite3_value_bytes(values[0]), hash);
	sqlite3_result_text(context, hash, -1, SQLITE_TRANSIENT);
}

/* As somebody with an editor would. */
static inline void edit(const struct storetree *t, const char *sql)
{
	char *message = NULL;
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(t->place.db, &db), SQLITE_OK);
	assert_int_equal(sqlite3_create_function(db, "sha256", 1, SQLITE_UTF8, NULL, sql_sha256,
						 NULL, NULL),
			 SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s: %s", sql, message);
	sqlite3_close(db);
}

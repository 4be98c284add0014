/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: queries that somebody else wrote
 *
 * Runs on a store that could be written, so that only the authorizer stands in
 * between.  Holds: afterwards every byte of the database is as it was, nothing else
 * is attached or made beside it, no statement and no transaction is left open, and a
 * refusal says why.
 *
 * The bytes stand for what audit verify would say of them, and for the tables that
 * it has no word on; to verify once is enough, and takes a hundred times as long.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/store/internal.h"
#include "runtime/store/query.h"
#include "runtime/store/record.h"
#include "runtime/store/store.h"
#include "runtime/store/verify.h"

#define TIME_MS 20 /* a query without an end is easily made */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char record_text[] =
	"{\"schema\": \"" MR_RECORD_SCHEMA "\", \"run_id\": \"a\", \"program\": \"true\","
	" \"argv\": [\"true\"], \"argv_bytes\": 5, \"argv_truncated\": false,"
	" \"result\": {\"run_id\": \"a\", \"version\": \"1\", \"reason\": \"exited\","
	" \"exit\": {\"status\": 0}, \"usage\": {\"wall_us\": 1}}}";

static struct mr_store *make_store(void)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_json json_t *record = NULL;
	struct mr_store *store = NULL;

	mr_assert(mr_json_parse(record_text, strlen(record_text), "record", &record, &err) == 0);
	mr_assert(mr_store_open_memory(&store, &err) == 0);
	mr_assert(mr_store_begin(store, &err) == 0);
	mr_assert(mr_record_insert(store, record, &err) == 0);
	mr_assert(mr_store_commit(store, &err) == 0);
	return store;
}

/* One whose bytes can be looked at without copying them, and a copy of them to compare with. */
static struct mr_store *open_store(unsigned char **ret_bytes, sqlite3_int64 *ret_size)
{
	const unsigned flags = SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE;
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_store struct mr_store *made = make_store();
	unsigned char *bytes = sqlite3_serialize(made->db, "main", ret_size, 0);
	unsigned char *copy = sqlite3_serialize(made->db, "main", ret_size, 0);
	struct mr_store *store = NULL;

	mr_assert(bytes && copy);
	mr_assert(mr_store_open_memory(&store, &err) == 0);
	mr_assert(sqlite3_deserialize(store->db, "main", bytes, *ret_size, *ret_size, flags) ==
		  SQLITE_OK);
	*ret_bytes = copy;
	return store;
}

static int on_row(const json_t *row, void *owner, struct mr_error *err)
{
	size_t *n = owner;

	(void)err;
	mr_assert(json_is_object(row));
	return ++*n > 1000;
}

static void check_verified(struct mr_store *store)
{
	const struct mr_verify_opts opts = { 0 };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_verify_report report;

	mr_assert(mr_verify(store, &opts, &report, &err) == 0 && report.runs == 1);
}

static void check_untouched(struct mr_store *store, const unsigned char *before, sqlite3_int64 size)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_json json_t *names = NULL;
	sqlite3_int64 size_now = 0, temporary = 0;
	const unsigned char *now;

	for (sqlite3_stmt *stmt = NULL; (stmt = sqlite3_next_stmt(store->db, stmt));)
		mr_assert(!sqlite3_stmt_busy(stmt));
	mr_assert(sqlite3_get_autocommit(store->db));
	now = sqlite3_serialize(store->db, "main", &size_now, SQLITE_SERIALIZE_NOCOPY);
	mr_assert(now && size_now == size && memcmp(now, before, (size_t)size) == 0);
	mr_assert(mr_query_all(store, "adhoc.databases", NULL, &names, &err) == 0);
	mr_assert(json_array_size(names) == 1);
	mr_assert(mr_store_get_int(store, "SELECT count(*) FROM temp.sqlite_schema", &temporary,
				   &err) == 0);
	mr_assert(temporary == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mr_store *store;
	static unsigned char *before;
	static sqlite3_int64 before_size;
	mr_auto_free char *sql = mr_str_alloc(size + 1);
	struct mr_error err = MR_ERROR_INIT;
	size_t n = 0;

	if (!store) {
		store = open_store(&before, &before_size);
		check_verified(store);
	}
	if (size > 0)
		memcpy(sql, data, size);
	if (mr_query_adhoc(store, sql, TIME_MS, on_row, &n, &err) < 0)
		mr_assert(err.msg[0] && err.errnum > 0);
	check_untouched(store, before, before_size);
	return 0;
}

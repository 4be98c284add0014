/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compare
 *
 * A second store, in memory and of the same schema, takes what the links of one run
 * say; then both are read side by side.  The list of tables comes from the schema,
 * so that a new table is compared without a word about it here.
 */
#include "runtime/store/compare.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/store/internal.h"
#include "runtime/store/query.h"
#include "runtime/store/record.h"
#include "runtime/store/store.h"

#define TABLES_MAX 48

struct table {
	char name[48];
	sqlite3_stmt *there, *made;
};

struct mr_compare {
	struct mr_store *store;
	struct mr_store *memory;
	struct table tables[TABLES_MAX];
	size_t n;
};

static int prepare_on(struct mr_store *store, const char *sql, sqlite3_stmt **ret,
		      struct mr_error *err)
{
	int rc = sqlite3_prepare_v2(store->db, sql, -1, ret, NULL);

	return rc == SQLITE_OK ? 0 : mr_store_fail(store, rc, "compare", err);
}

static int add_table(const json_t *row, void *owner, struct mr_error *err)
{
	struct mr_compare *compare = owner;
	struct table *table = &compare->tables[compare->n];
	const char *name = json_string_value(json_object_get(row, "name"));
	mr_auto_free char *sql = mr_str_format("SELECT * FROM %s WHERE run_id = ?1", name);
	int r;

	mr_assert(compare->n < TABLES_MAX && strlen(name) < sizeof(table->name));
	compare->n++;
	memcpy(table->name, name, strlen(name) + 1);
	r = prepare_on(compare->store, sql, &table->there, err);
	return r < 0 ? r : prepare_on(compare->memory, sql, &table->made, err);
}

int mr_compare_new(struct mr_store *store, struct mr_compare **ret, struct mr_error *err)
{
	struct mr_compare *compare = mr_str_alloc(sizeof(*compare));
	int r;

	compare->store = store;
	r = mr_store_open_memory(&compare->memory, err);
	if (r == 0)
		r = mr_query_each(compare->memory, "verify.tables", NULL, add_table, compare, err);
	if (r < 0) {
		mr_compare_free(compare);
		return r;
	}
	*ret = compare;
	return 0;
}

struct mr_compare *mr_compare_free(struct mr_compare *compare)
{
	if (!compare)
		return NULL;
	for (size_t i = 0; i < compare->n; i++) {
		sqlite3_finalize(compare->tables[i].there);
		sqlite3_finalize(compare->tables[i].made);
	}
	mr_store_close(compare->memory);
	free(compare);
	return NULL;
}

int mr_compare_begin(struct mr_compare *compare, struct mr_error *err)
{
	return mr_store_begin(compare->memory, err);
}

int mr_compare_project(struct mr_compare *compare, const char *kind, const char *body,
		       struct mr_error *err)
{
	return mr_record_project(compare->memory, kind, body, err);
}

static void print_value(sqlite3_stmt *stmt, int i, char *buf, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(stmt, i);

	if (text)
		mr_str_quote(buf, size, text);
	else
		snprintf(buf, size, "nothing");
}

static bool values_differ(sqlite3_stmt *a, sqlite3_stmt *b, int i)
{
	int type = sqlite3_column_type(a, i);

	if (type != sqlite3_column_type(b, i))
		return true;
	if (type == SQLITE_NULL)
		return false;

	const void *x = sqlite3_column_blob(a, i), *y = sqlite3_column_blob(b, i);
	int size = sqlite3_column_bytes(a, i);

	return size != sqlite3_column_bytes(b, i) || (size > 0 && memcmp(x, y, (size_t)size) != 0);
}

static int compare_row(const struct table *table, int n, char *what, size_t size)
{
	char there[40], made[40];

	for (int i = 0; i < sqlite3_column_count(table->there); i++) {
		if (!values_differ(table->there, table->made, i))
			continue;
		print_value(table->there, i, there, sizeof(there));
		print_value(table->made, i, made, sizeof(made));
		snprintf(what, size, "table %s, row %d: %s is %s, the chain says %s", table->name,
			 n, sqlite3_column_name(table->there, i), there, made);
		return 1;
	}
	return 0;
}

static int compare_table(struct mr_compare *compare, const struct table *table, char *what,
			 size_t size, struct mr_error *err)
{
	for (int n = 1;; n++) {
		int there = sqlite3_step(table->there);
		int made = sqlite3_step(table->made);

		if (there != SQLITE_ROW && there != SQLITE_DONE)
			return mr_store_fail(compare->store, there, "compare", err);
		if (made != SQLITE_ROW && made != SQLITE_DONE)
			return mr_store_fail(compare->memory, made, "compare", err);
		if (there != made) {
			snprintf(what, size, "table %s: row %d %s", table->name, n,
				 there == SQLITE_DONE ? "is gone" : "was added");
			return 1;
		}
		if (there == SQLITE_DONE)
			return 0;
		if (compare_row(table, n, what, size))
			return 1;
	}
}

int mr_compare_end(struct mr_compare *compare, const char *run_id, char *what, size_t size,
		   struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; i < compare->n && r == 0; i++) {
		const struct table *table = &compare->tables[i];

		sqlite3_bind_text(table->there, 1, run_id, -1, SQLITE_TRANSIENT);
		sqlite3_bind_text(table->made, 1, run_id, -1, SQLITE_TRANSIENT);
		r = compare_table(compare, table, what, size, err);
		sqlite3_reset(table->there);
		sqlite3_reset(table->made);
	}
	mr_store_rollback(compare->memory);
	return r;
}

int mr_compare_strangers(struct mr_compare *compare, char *what, size_t size, struct mr_error *err)
{
	for (size_t i = 0; i < compare->n; i++) {
		const char *name = compare->tables[i].name;
		mr_auto_free char *sql = mr_str_format("SELECT run_id FROM %s WHERE run_id NOT IN "
						       "(SELECT run_id FROM links) "
						       "LIMIT 1",
						       name);
		char run_id[40] = "";
		sqlite3_stmt *stmt = NULL;
		int r = prepare_on(compare->store, sql, &stmt, err);
		int rc = r < 0 ? SQLITE_DONE : sqlite3_step(stmt);

		if (rc == SQLITE_ROW)
			print_value(stmt, 0, run_id, sizeof(run_id));
		sqlite3_finalize(stmt);
		if (r < 0)
			return r;
		if (rc == SQLITE_ROW) {
			snprintf(what, size,
				 "table %s has a row of run %s, which is not in the chain", name,
				 run_id);
			return 1;
		}
		if (rc != SQLITE_DONE)
			return mr_store_fail(compare->store, rc, "compare", err);
	}
	return 0;
}

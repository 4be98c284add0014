/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Query
 *
 * Rows become JSON here, so nothing outside of this folder knows SQLite.  Text
 * that is not UTF-8 (somebody edited the file) is shown with '?' in its place.
 */
#include "runtime/store/query.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/store/internal.h"
#include "runtime/store/rows.h"
#include "runtime/store/store.h"

json_t *mr_rows_text(const char *text, size_t size)
{
	mr_auto_free char *copy = NULL;

	if (mr_str_utf8_valid(text, size))
		return json_stringn_nocheck(text, size);
	copy = mr_str_alloc(size + 1);
	for (size_t i = 0; i < size; i++)
		copy[i] = (unsigned char)text[i] < 0x80 ? text[i] : '?';
	return json_stringn_nocheck(copy, size);
}

static json_t *blob_json(const void *data, size_t size)
{
	mr_auto_free char *hex = mr_str_alloc(size * 2 + 1);

	mr_str_hex(data, size, hex);
	return json_string_nocheck(hex);
}

static json_t *column_json(sqlite3_stmt *stmt, int i)
{
	size_t size;

	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_INTEGER:
		return json_integer(sqlite3_column_int64(stmt, i));
	case SQLITE_FLOAT: {
		json_t *real = json_real(sqlite3_column_double(stmt, i));

		return real ? real : json_null(); /* infinite */
	}
	case SQLITE_TEXT:
		size = (size_t)sqlite3_column_bytes(stmt, i);
		return mr_rows_text((const char *)sqlite3_column_text(stmt, i), size);
	case SQLITE_BLOB:
		size = (size_t)sqlite3_column_bytes(stmt, i);
		return blob_json(sqlite3_column_blob(stmt, i), size);
	default: /* SQLITE_NULL */
		return json_null();
	}
}

/* Of two columns with the same name, as a join has them, the second gets its place behind it. */
static void set_column(json_t *row, const char *name, int i, json_t *value)
{
	mr_auto_free char *placed = NULL;

	if (json_object_get(row, name)) {
		placed = mr_str_format("%s:%d", name, i + 1);
		name = placed;
	}
	json_object_set_new_nocheck(row, name, value);
}

json_t *mr_rows_json(sqlite3_stmt *stmt)
{
	json_t *row = json_object();

	for (int i = 0; i < sqlite3_column_count(stmt); i++) {
		const char *name = sqlite3_column_name(stmt, i);

		if (!name || !mr_str_utf8_valid(name, strlen(name)))
			name = "?";
		set_column(row, name, i, column_json(stmt, i));
	}
	return row;
}

int mr_rows_each(struct mr_store *store, sqlite3_stmt *stmt, const char *doing, mr_query_fn *fn,
		 void *owner, struct mr_error *err)
{
	int r = 0;
	int rc;

	while (r == 0 && (rc = sqlite3_step(stmt)) != SQLITE_DONE) {
		mr_auto_json json_t *row = NULL;

		if (rc != SQLITE_ROW)
			return mr_store_fail(store, rc, doing, err);
		if (!fn)
			continue;
		row = mr_rows_json(stmt);
		r = fn(row, owner, err);
	}
	return r;
}

static int bind_value(sqlite3_stmt *stmt, int i, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return sqlite3_bind_text64(stmt, i, json_string_value(value),
					   json_string_length(value), SQLITE_TRANSIENT,
					   SQLITE_UTF8);
	case JSON_INTEGER:
		return sqlite3_bind_int64(stmt, i, json_integer_value(value));
	case JSON_REAL:
		return sqlite3_bind_double(stmt, i, json_real_value(value));
	case JSON_TRUE:
	case JSON_FALSE:
		return sqlite3_bind_int(stmt, i, json_is_true(value));
	case JSON_NULL:
	case JSON_OBJECT:
	case JSON_ARRAY:
		break;
	}
	return sqlite3_bind_null(stmt, i);
}

static int bind_all(sqlite3_stmt *stmt, json_t *binds)
{
	const char *name;
	json_t *value;
	int rc = SQLITE_OK;

	json_object_foreach (binds, name, value) {
		char parameter[48];
		struct mr_str text;
		int i;

		mr_str_init(&text, parameter, sizeof(parameter));
		mr_str_printf(&text, ":%s", name);
		i = sqlite3_bind_parameter_index(stmt, parameter);
		mr_assert(i > 0);
		if (rc == SQLITE_OK)
			rc = bind_value(stmt, i, value);
	}
	return rc;
}

int mr_query_each(struct mr_store *store, const char *name, json_t *stolen, mr_query_fn *fn,
		  void *owner, struct mr_error *err)
{
	mr_auto_json json_t *binds = stolen;
	sqlite3_stmt *stmt = mr_store_statement(store, name, err);
	int rc, r;

	if (!stmt)
		return err && err->errnum ? -err->errnum : -EIO;
	rc = bind_all(stmt, binds);
	if (rc != SQLITE_OK)
		return mr_store_fail(store, rc, name, err);
	r = mr_rows_each(store, stmt, name, fn, owner, err);
	sqlite3_reset(stmt);
	return r;
}

static int collect(const json_t *row, void *owner, struct mr_error *err)
{
	(void)err;
	json_array_append((json_t *)owner, (json_t *)(uintptr_t)row);
	return 0;
}

int mr_query_all(struct mr_store *store, const char *name, json_t *binds, json_t **ret,
		 struct mr_error *err)
{
	mr_auto_json json_t *rows = json_array();
	int r = mr_query_each(store, name, binds, collect, rows, err);

	if (r == 0)
		*ret = mr_take_ptr(rows);
	return r;
}

static int take_first(const json_t *row, void *owner, struct mr_error *err)
{
	(void)err;
	*(json_t **)owner = json_incref((json_t *)(uintptr_t)row);
	return 1;
}

int mr_query_one(struct mr_store *store, const char *name, json_t *binds, json_t **ret,
		 struct mr_error *err)
{
	int r = mr_query_each(store, name, binds, take_first, ret, err);

	return r < 0 ? r : r == 0;
}

int mr_query_run(struct mr_store *store, const char *name, json_t *binds, struct mr_error *err)
{
	return mr_query_each(store, name, binds, NULL, NULL, err);
}

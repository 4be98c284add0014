/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: queries that somebody else wrote
 *
 * Runs on a store that could be written, so that only the authorizer stands in
 * between.  Holds: afterwards every table is as it was, nothing else is attached,
 * and a refusal says why.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/store/query.h"
#include "runtime/store/record.h"
#include "runtime/store/store.h"
#include "runtime/store/verify.h"

#define TIME_MS 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char record_text[] =
	"{\"schema\": \"" MR_RECORD_SCHEMA "\", \"run_id\": \"a\", \"program\": \"true\","
	" \"argv\": [\"true\"], \"argv_bytes\": 5, \"argv_truncated\": false,"
	" \"result\": {\"run_id\": \"a\", \"version\": \"1\", \"reason\": \"exited\","
	" \"exit\": {\"status\": 0}, \"usage\": {\"wall_us\": 1}}}";

static struct mr_store *open_store(void)
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

static int on_row(const json_t *row, void *owner, struct mr_error *err)
{
	size_t *n = owner;

	(void)err;
	mr_assert(json_is_object(row));
	return ++*n > 1000;
}

static void check_untouched(struct mr_store *store)
{
	const struct mr_verify_opts opts = { 0 };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_verify_report report;
	mr_auto_json json_t *names = NULL;

	mr_assert(mr_verify(store, &opts, &report, &err) == 0 && report.runs == 1);
	mr_assert(mr_query_all(store, "adhoc.databases", NULL, &names, &err) == 0);
	mr_assert(json_array_size(names) == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mr_store *store;
	mr_auto_free char *sql = mr_str_alloc(size + 1);
	struct mr_error err = MR_ERROR_INIT;
	size_t n = 0;

	if (!store)
		store = open_store();
	if (size > 0)
		memcpy(sql, data, size);
	if (mr_query_adhoc(store, sql, TIME_MS, on_row, &n, &err) < 0)
		mr_assert(err.msg[0] && err.errnum > 0);
	check_untouched(store);
	return 0;
}

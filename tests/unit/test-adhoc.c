/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries that somebody else wrote: what the authorizer lets through and what not
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/store/ingest.h"
#include "runtime/store/query.h"
#include "tests/lib/storetree.h"

static struct storetree tree;
static struct mr_store *store;

static int set_up(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_ingest_stats stats;

	(void)state;
	storetree_make(&tree);
	spool_record(&tree, "a");
	spool_record(&tree, "b");
	MUST(mr_store_open(&tree.place, MR_STORE_WRITE, 100, &store, &err) == 0);
	MUST(mr_ingest(&tree.place, store, &stats, &err) == 0 && stats.records == 2);
	mr_store_close(store);
	MUST(mr_store_open(&tree.place, MR_STORE_READ, 100, &store, &err) == 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	store = mr_store_close(store);
	storetree_remove(&tree);
	return 0;
}

static int add_row(const json_t *row, void *owner, struct mr_error *err)
{
	(void)err;
	json_array_append(owner, (json_t *)(uintptr_t)row);
	return 0;
}

static void what_reads_is_answered(void **state)
{
	static const struct {
		const char *sql, *rows;
	} rows[] = {
		{ "SELECT run_id, exit_status FROM runs ORDER BY run_id",
		  "[{\"run_id\":\"a\",\"exit_status\":0},{\"run_id\":\"b\",\"exit_status\":0}]" },
		{ "SELECT count(*) AS n FROM runs;  ", "[{\"n\":2}]" },
		{ "SELECT sum(wall_us) AS w, avg(cpu_us) AS c FROM usage",
		  "[{\"w\":2000,\"c\":500.0}]" },
		{ "SELECT NULL AS x, x'00ff' AS y, 'z' AS z",
		  "[{\"x\":null,\"y\":\"00ff\",\"z\":\"z\"}]" },
		{ "SELECT j.value AS v FROM runs, json_each(argv) AS j WHERE run_id = 'a'",
		  "[{\"v\":\"true\"},{\"v\":\"x\"}]" },
		{ "SELECT body ->> '$.kind' AS k FROM links WHERE run_id = 'a' AND n = 1",
		  "[{\"k\":\"result\"}]" },
		{ "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 3) "
		  "SELECT count(*) AS n FROM c",
		  "[{\"n\":3}]" },
		{ "SELECT count(*) AS n FROM (SELECT 1 UNION SELECT 2) AS sub", "[{\"n\":2}]" },
		{ "SELECT name FROM sqlite_schema WHERE name = 'runs'", "[{\"name\":\"runs\"}]" },
		{ "EXPLAIN QUERY PLAN SELECT 1", NULL }, /* not asked for: either way, no harm */
		{ "SELECT 1 WHERE 0", "[]" },
		/* No column is lost that has the name of another. */
		{ "SELECT a.run_id, b.run_id, 1 AS n FROM runs AS a, runs AS b WHERE a.run_id < "
		  "b.run_id",
		  "[{\"run_id\":\"a\",\"run_id:2\":\"b\",\"n\":1}]" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_json json_t *answer = json_array();
		struct mr_error err = MR_ERROR_INIT;
		mr_auto_free char *text = NULL;
		int r = mr_query_adhoc(store, rows[i].sql, 5000, add_row, answer, &err);

		if (!rows[i].rows)
			continue;
		if (r < 0)
			fail_msg("%s: %s", rows[i].sql, err.msg);
		text = json_dumps(answer, JSON_COMPACT);
		assert_string_equal(text, rows[i].rows);
	}
}

static void what_does_more_is_refused(void **state)
{
	static const struct {
		const char *sql, *why;
	} rows[] = {
		{ "DELETE FROM runs", "not allowed: anything but SELECT" },
		{ "INSERT INTO runs (run_id) VALUES ('x')", "not allowed: anything but SELECT" },
		{ "UPDATE runs SET reason = 'x'", "not allowed: anything but SELECT" },
		{ "DROP TABLE runs", "not allowed: anything but SELECT" },
		{ "CREATE TABLE x (y)", "not allowed: anything but SELECT" },
		{ "CREATE TEMP TABLE x (y)", "not allowed: anything but SELECT" },
		{ "CREATE TEMP VIEW x AS SELECT 1", "not allowed: anything but SELECT" },
		{ "CREATE VIRTUAL TABLE temp.x USING fts5(y)", "not allowed: anything but SELECT" },
		{ "ATTACH '/etc/passwd' AS p", "not allowed: anything but SELECT" },
		{ "DETACH main", "not allowed: anything but SELECT" },
		{ "VACUUM INTO '/tmp/copy'", "not allowed: writing" },
		{ "PRAGMA user_version", "not allowed: anything but SELECT" },
		{ "PRAGMA writable_schema = ON", "not allowed: anything but SELECT" },
		{ "PRAGMA temp_store_directory = '/tmp'", "not allowed: anything but SELECT" },
		{ "BEGIN", "not allowed: anything but SELECT" },
		{ "COMMIT", "not allowed: anything but SELECT" },
		{ "SAVEPOINT s", "not allowed: anything but SELECT" },
		{ "REINDEX", "not allowed: anything but SELECT" },
		{ "ANALYZE", "not allowed: anything but SELECT" },
		{ "SELECT * FROM pragma_database_list", "not allowed: " },
		{ "SELECT count(*) FROM pragma_database_list", "not allowed: " },
		{ "SELECT * FROM pragma_table_info('runs')", "not allowed: " },
		{ "SELECT * FROM sqlite_dbpage", "query: " },
		{ "SELECT count(*) FROM dbstat", "query: " },
		{ "SELECT load_extension('/tmp/x.so')", "not allowed: function load_extension" },
		{ "SELECT fts3_tokenizer('x')", "query: " },
		{ "SELECT readfile('/etc/shadow')", "query: " },
		{ "SELECT writefile('/tmp/x', 'y')", "query: " },
		{ "SELECT randomblob(1000000000)", "not allowed: function randomblob" },
		{ "SELECT zeroblob(1000000000)", "not allowed: function zeroblob" },
		{ "SELECT sqlite_compileoption_get(1)",
		  "not allowed: function sqlite_compileoption_get" },
		{ "SELECT (SELECT load_extension('x')) FROM runs",
		  "not allowed: function load_extension" },
		{ "SELECT 1; SELECT 2", "more than one statement" },
		{ "SELECT 1; DELETE FROM runs", "more than one statement" },
		{ "", "there is no statement" },
		{ "-- nothing", "there is no statement" },
		{ "SELEC 1", "does not understand this (near \"SELEC\": syntax error)" },
		{ "SELECT nosuch FROM runs", "no such column: nosuch" },
		{ "SELECT 'x' LIKE replace(printf('%2000d', 1), ' ', '%')", "query: " },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		mr_auto_json json_t *answer = json_array();
		struct mr_error err = MR_ERROR_INIT;

		if (mr_query_adhoc(store, rows[i].sql, 5000, add_row, answer, &err) >= 0)
			fail_msg("let through: %s", rows[i].sql);
		if (!strstr(err.msg, rows[i].why))
			fail_msg("%s: \"%s\" does not say \"%s\"", rows[i].sql, err.msg,
				 rows[i].why);
		assert_int_equal(json_array_size(answer), 0);
	}
}

static void what_does_not_end_is_ended(void **state)
{
	mr_auto_json json_t *answer = json_array();
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(mr_query_adhoc(store,
					"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 "
					"FROM c) SELECT sum(n) FROM c",
					200, add_row, answer, &err),
			 -ETIME);
	assert_int_equal(err.code, MR_E_BUSY);
	assert_non_null(strstr(err.msg, "took too long to answer"));
}

static void what_eats_memory_is_ended(void **state)
{
	mr_auto_json json_t *answer = json_array();
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_true(mr_query_adhoc(store,
				   "WITH RECURSIVE c(n, s) AS (SELECT 1, '0123456789abcdef' UNION "
				   "ALL SELECT n + 1, s || s FROM c WHERE n < 40) SELECT length(s) "
				   "FROM c WHERE n > 35",
				   20000, add_row, answer, &err) < 0);
	if (!strstr(err.msg, "does not accept anything so large"))
		fail_msg("%s", err.msg);
}

/* The bounds are those of the query: the next named statement does not have them. */
static void the_store_can_be_used_afterwards(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_json json_t *answer = json_array();
	mr_auto_json json_t *rows = NULL;

	(void)state;
	assert_true(mr_query_adhoc(store, "DELETE FROM runs", 10, add_row, answer, &err) < 0);
	assert_int_equal(mr_query_all(store, "verify.tables", NULL, &rows, &err), 0);
	assert_in_range(json_array_size(rows), 15, 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_reads_is_answered),
		cmocka_unit_test(what_does_more_is_refused),
		cmocka_unit_test(what_does_not_end_is_ended),
		cmocka_unit_test(what_eats_memory_is_ended),
		cmocka_unit_test(the_store_can_be_used_afterwards),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Store: making, migrating and refusing databases
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sqlite3.h>
#include <cmocka.h>

#include "runtime/base/io.h"
#include "tests/lib/storeedit.h"
#include "tests/lib/storetree.h"

#define SECTION_1 "\n--@ 1\nCREATE TABLE a (x);\n"

static void assert_fails(struct storetree *t, enum mr_store_mode mode, const char *text)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_store *store = NULL;

	assert_true(mr_store_open(&t->place, mode, 50, &store, &err) < 0);
	assert_null(store);
	if (!strstr(err.msg, text))
		fail_msg("\"%s\" does not say \"%s\"", err.msg, text);
}

static void a_new_store_is_ours_alone(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_store *store = NULL;
	struct storetree t;
	struct stat st;

	(void)state;
	storetree_make(&t);
	assert_int_equal(mr_store_open(&t.place, MR_STORE_READ, 50, &store, &err), 1);
	store = mr_store_close(open_store(&t));
	assert_int_equal(stat(t.place.db, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(mr_store_open(&t.place, MR_STORE_READ, 50, &store, &err), 0);
	store = mr_store_close(store);
	store = mr_store_close(open_store(&t)); /* again: nothing to do */
	storetree_remove(&t);
}

static void what_cannot_be_used_is_left_as_it_is(void **state)
{
	static const char foreign[] =
		"this is no database, but somebody's file of more than "
		"a hundred bytes, which must not be lost for any reason at all";
	mr_auto_free char *text = NULL;
	struct mr_error err = MR_ERROR_INIT;
	struct storetree t;
	size_t size = 0;

	(void)state;
	storetree_make(&t);
	temptree_file(t.tree.fd, "s.db", foreign);
	assert_fails(&t, MR_STORE_WRITE, "is no database or is damaged, and was left as it is");
	assert_fails(&t, MR_STORE_READ, "is no database or is damaged, and was left as it is");
	assert_int_equal(mr_read_whole_file(t.place.db, 4096, &text, &size, &err), 0);
	assert_string_equal(text, foreign);
	assert_int_equal(unlinkat(t.tree.fd, "s.db", 0), 0);

	edit(&t, "CREATE TABLE theirs (x)");
	assert_fails(&t, MR_STORE_WRITE, "is a database of something else");
	edit(&t, "PRAGMA user_version = 1");
	assert_fails(&t, MR_STORE_WRITE, "is a database of something else");
	assert_int_equal(unlinkat(t.tree.fd, "s.db", 0), 0);

	mr_store_close(open_store(&t));
	edit(&t, "PRAGMA user_version = 99");
	assert_fails(&t, MR_STORE_WRITE, "has schema version 99, this program knows up to 5");
	assert_fails(&t, MR_STORE_READ, "has schema version 99, this program knows up to 5");
	storetree_remove(&t);
}

static void a_link_or_a_folder_is_no_store(void **state)
{
	struct storetree t;

	(void)state;
	storetree_make(&t);
	assert_int_equal(symlinkat("elsewhere", t.tree.fd, "s.db"), 0);
	assert_fails(&t, MR_STORE_WRITE, "is not a regular file");
	assert_int_equal(faccessat(t.tree.fd, "elsewhere", F_OK, 0), -1);
	assert_int_equal(unlinkat(t.tree.fd, "s.db", 0), 0);
	temptree_mkdir(t.tree.fd, "s.db");
	assert_fails(&t, MR_STORE_WRITE, "is not a regular file");
	storetree_remove(&t);
}

static void a_locked_store_is_waited_for_and_then_told(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_store *one, *two;
	struct storetree t;

	(void)state;
	storetree_make(&t);
	one = open_store(&t);
	two = open_store(&t);
	assert_int_equal(mr_store_begin(one, &err), 0);
	assert_int_equal(mr_store_begin(two, &err), -EBUSY);
	assert_non_null(strstr(err.msg, "is locked by another process; try again"));
	mr_store_rollback(one);
	assert_int_equal(mr_store_begin(two, &err), 0);
	mr_store_close(one);
	mr_store_close(two);
	storetree_remove(&t);
}

static void migrations_go_on_where_they_are_and_are_whole(void **state)
{
	static const char two[] =
		SECTION_1 "\n--@ 2\nALTER TABLE a ADD y;\nINSERT INTO a VALUES (1, 2);\n";
	static const char broken[] =
		SECTION_1 "\n--@ 2\nALTER TABLE a ADD y;\nINSERT INTO a VALUES (1, 2);\n"
			  "\n--@ 3\nCREATE TABLE b (z);\nSYNTAX ERROR;\n";
	struct mr_error err = MR_ERROR_INIT;
	struct mr_store *store = NULL;
	sqlite3_stmt *stmt = NULL;
	sqlite3 *db = NULL;
	struct storetree t;

	(void)state;
	storetree_make(&t);
	store = open_store(&t);
	edit(&t, "CREATE TABLE a (x); PRAGMA user_version = 1");
	assert_true(mr_store_migrate(store, broken, &err) < 0);
	assert_non_null(strstr(err.msg, "bring to the present schema"));
	assert_int_equal(mr_store_migrate(store, two, &err), 0);
	assert_int_equal(mr_store_migrate(store, two, &err), 0); /* nothing to do */
	mr_store_close(store);
	assert_int_equal(sqlite3_open(t.place.db, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT count(*), sum(y), (SELECT user_version FROM "
					    "pragma_user_version), (SELECT count(*) FROM "
					    "sqlite_schema WHERE name = 'b') FROM a",
					    -1, &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_int_equal(sqlite3_column_int(stmt, 0), 1);
	assert_int_equal(sqlite3_column_int(stmt, 1), 2);
	assert_int_equal(sqlite3_column_int(stmt, 2), 2);
	assert_int_equal(sqlite3_column_int(stmt, 3), 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	storetree_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_store_is_ours_alone),
		cmocka_unit_test(what_cannot_be_used_is_left_as_it_is),
		cmocka_unit_test(a_link_or_a_folder_is_no_store),
		cmocka_unit_test(a_locked_store_is_waited_for_and_then_told),
		cmocka_unit_test(migrations_go_on_where_they_are_and_are_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spool: frames, what is torn, sealing, the refuge; and taking all that in
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "runtime/base/hash.h"
#include "runtime/base/io.h"
#include "runtime/store/ingest.h"
#include "runtime/store/query.h"
#include "tests/lib/storetree.h"

static void assert_pieces(const char *text, size_t size, const char *const *expected)
{
	struct mr_spool_piece piece;
	size_t at = 0;

	for (; expected[0]; expected += 2) {
		assert_true(mr_spool_next(text, size, &at, &piece));
		assert_int_equal(piece.size, strlen(expected[0]));
		assert_memory_equal(piece.text, expected[0], piece.size);
		if (expected[1][0])
			assert_string_equal(piece.why, expected[1]);
		else
			assert_null(piece.why);
	}
	assert_false(mr_spool_next(text, size, &at, &piece));
	assert_int_equal(at, size);
}

#define HASH_OF_AB "fb8e20fc2e4c3f248c60c39bd652f3c1347298bb977b8b4d5903b85055620603"
#define FRAME_AB "mr1 2 " HASH_OF_AB " ab"
#define HEAD_DAMAGED "is cut off or has a damaged head"

static void frames_and_what_is_none(void **state)
{
	static const struct {
		const char *text;
		const char *const pieces[7];
	} rows[] = {
		/* NOLINTBEGIN(bugprone-suspicious-missing-comma): a hash amid the text */
		{ "", { NULL } },
		{ "\n\n\n", { NULL } },
		{ "\n" FRAME_AB "\n", { "ab", "", NULL } },
		{ "\n" FRAME_AB "\n\n" FRAME_AB "\n", { "ab", "", "ab", "", NULL } },
		{ "\n" FRAME_AB, { "ab", "", NULL } }, /* only its line feed is gone */
		{ "\nmr1 2 " HASH_OF_AB " a\n\n" FRAME_AB "\n",
		  { "mr1 2 " HASH_OF_AB " a", "is not as long as it says", "ab", "", NULL } },
		{ "mr1 2 " HASH_OF_AB " ac\n",
		  { "mr1 2 " HASH_OF_AB " ac", "does not have the hash it says", NULL } },
		{ "mr1 3 " HASH_OF_AB " ab\n",
		  { "mr1 3 " HASH_OF_AB " ab", "is not as long as it says", NULL } },
		{ "mr1 16777217 " HASH_OF_AB " ab\n",
		  { "mr1 16777217 " HASH_OF_AB " ab", "says it is larger than a record can be",
		    NULL } },
		{ "mr1 99999999999999999999999999 x\n",
		  { "mr1 99999999999999999999999999 x", "says it is larger than a record can be",
		    NULL } },
		{ "mr1 2 fb8e\n", { "mr1 2 fb8e", HEAD_DAMAGED, NULL } },
		{ "mr1 \n", { "mr1 ", HEAD_DAMAGED, NULL } },
		{ "mr1 -2 " HASH_OF_AB " ab\n",
		  { "mr1 -2 " HASH_OF_AB " ab", HEAD_DAMAGED, NULL } },
		{ "mr", { "mr", "does not begin as a record", NULL } },
		{ "garbage\n" FRAME_AB "\n",
		  { "garbage", "does not begin as a record", "ab", "", NULL } },
		/* NOLINTEND(bugprone-suspicious-missing-comma) */
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_pieces(rows[i].text, strlen(rows[i].text), rows[i].pieces);
}

/* Cut at every byte, a file of two frames gives the first, and never something that is no record. */
static void every_cut_is_noticed(void **state)
{
	static const char file[] = "\n" FRAME_AB "\n\n" FRAME_AB "\n";
	size_t whole = strlen("\n" FRAME_AB "\n");

	(void)state;
	for (size_t size = 0; size <= strlen(file); size++) {
		size_t frames = 0, at = 0;
		struct mr_spool_piece piece;

		while (mr_spool_next(file, size, &at, &piece)) {
			if (piece.why)
				continue;
			assert_int_equal(piece.size, 2);
			assert_memory_equal(piece.text, "ab", 2);
			frames++;
		}
		assert_int_equal(frames, (size >= whole - 1) + (size >= 2 * whole - 1));
	}
}

static void what_is_appended_is_one_frame(void **state)
{
	static const char *const frames[] = { "ab", "", "{\"x\": 1}", "", NULL };
	mr_auto_free char *text = NULL;
	struct mr_error err = MR_ERROR_INIT;
	struct storetree t;
	struct stat st;
	size_t size = 0;

	(void)state;
	storetree_make(&t);
	spool_text(&t, "ab");
	spool_text(&t, "{\"x\": 1}");
	assert_int_equal(mr_read_whole_file(t.place.spool, 4096, &text, &size, &err), 0);
	assert_pieces(text, size, frames);
	assert_int_equal(stat(t.place.spool, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	storetree_remove(&t);
}

static void a_record_that_is_no_line_is_refused(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spool spool;
	struct storetree t;
	struct stat st;

	(void)state;
	storetree_make(&t);
	assert_int_equal(mr_spool_open(&t.place, 2, &spool, &err), 0);
	assert_int_equal(mr_spool_append(&spool, "a\nb", 3, &err), -EFBIG);
	assert_string_equal(err.msg, "a record of 3 bytes is too large, or more than a line");
	mr_spool_close(&spool);
	assert_int_equal(stat(t.place.spool, &st), 0);
	assert_int_equal(st.st_size, 0);
	storetree_remove(&t);
}

/* Whoever was told that there is a place may say "queued". */
static void there_is_no_place_for_a_record_that_is_too_large(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spool spool;
	struct storetree t;
	struct stat st;

	(void)state;
	storetree_make(&t);
	assert_int_equal(mr_spool_open(&t.place, MR_SPOOL_RECORD_MAX + 1, &spool, &err), -EFBIG);
	assert_string_equal(err.msg,
			    "a record of 16777217 bytes is too large, or more than a line");
	assert_int_equal(stat(t.place.spool, &st), -1);
	assert_int_equal(mr_spool_open(&t.place, MR_SPOOL_RECORD_MAX, &spool, &err), 0);
	mr_spool_close(&spool);
	storetree_remove(&t);
}

static void a_link_is_not_followed(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spool spool;
	struct storetree t;

	(void)state;
	storetree_make(&t);
	temptree_file(t.tree.fd, "target", "kept");
	assert_int_equal(symlinkat("target", t.tree.fd, "s.db.spool"), 0);
	assert_int_equal(mr_spool_open(&t.place, 10, &spool, &err), 1); /* into the refuge */
	assert_non_null(strstr(err.msg, "Too many levels of symbolic links"));
	assert_true(spool.in_refuge);
	assert_int_equal(mr_spool_append(&spool, "ab", 2, &err), 0);
	mr_spool_close(&spool);
	storetree_remove(&t);
}

static void a_folder_that_others_can_write_is_refused(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spool spool;
	struct storetree t;

	(void)state;
	storetree_make(&t);
	assert_int_equal(fchmod(t.tree.fd, 0777), 0);
	free(t.place.refuge);
	t.place.refuge = NULL;
	assert_int_equal(mr_spool_open(&t.place, 10, &spool, &err), -EPERM);
	assert_non_null(strstr(err.msg, "can be written by others"));
	/* As /tmp is: others can put there what is not there yet. */
	assert_int_equal(fchmod(t.tree.fd, 01777), 0);
	assert_int_equal(mr_spool_open(&t.place, 10, &spool, &err), -EPERM);
	assert_non_null(strstr(err.msg, "can be written by others: make a folder of your own"));
	assert_int_equal(fchmod(t.tree.fd, 0755), 0);
	assert_int_equal(mr_spool_open(&t.place, 10, &spool, &err), 0);
	mr_spool_close(&spool);
	storetree_remove(&t);
}

static void a_folder_of_another_user_is_refused(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spool spool;
	struct storetree t;

	(void)state;
	if (geteuid() != 0) {
		print_message("not root\n");
		skip();
	}
	storetree_make(&t);
	assert_int_equal(fchown(t.tree.fd, 65534, 65534), 0);
	assert_int_equal(mr_spool_open(&t.place, 10, &spool, &err), 1); /* into the refuge */
	assert_non_null(strstr(err.msg, "belongs to user 65534, who can put anything there"));
	mr_spool_close(&spool);
	assert_int_equal(fchown(t.tree.fd, 0, 65534), 0);
	assert_int_equal(mr_spool_open(&t.place, 10, &spool, &err), 0);
	mr_spool_close(&spool);
	storetree_remove(&t);
}

/* A writer that is about to write keeps its file; who seals comes back later. */
static void a_busy_writer_is_waited_for_by_nobody(void **state)
{
	struct mr_ingest_stats stats;
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_store struct mr_store *store = NULL;
	mr_auto_json json_t *record = make_record("b");
	mr_auto_free char *text = json_dumps(record, JSON_COMPACT);
	struct mr_spool spool;
	struct storetree t;

	(void)state;
	storetree_make(&t);
	spool_record(&t, "a");
	assert_int_equal(mr_spool_open(&t.place, 10, &spool, &err), 0);
	assert_int_equal(mr_store_open(&t.place, MR_STORE_WRITE, 100, &store, &err), 0);
	assert_int_equal(mr_ingest(&t.place, store, &stats, &err), 0);
	assert_int_equal(stats.records, 0);
	assert_int_equal(stats.busy, 1);
	assert_true(mr_spool_waits(&t.place));
	spool_record(&t, "c"); /* a new file */
	assert_int_equal(mr_spool_append(&spool, text, strlen(text), &err), 0);
	mr_spool_close(&spool);
	assert_int_equal(mr_ingest(&t.place, store, &stats, &err), 0);
	assert_int_equal(stats.records, 3);
	assert_int_equal(stats.busy, 0);
	assert_false(mr_spool_waits(&t.place));
	store = mr_store_close(store);
	storetree_remove(&t);
}

/* As whoever takes records in does with an empty piece, over and over. */
static void take_empty_pieces(const struct storetree *t)
{
	for (;;) {
		DIR *dir = opendir(t->tree.path);
		const struct dirent *entry;

		while (dir && (entry = readdir(dir))) {
			struct stat st;
			int fd;

			if (!mr_str_starts_with(entry->d_name, "s.db.spool."))
				continue;
			fd = openat(t->tree.fd, entry->d_name, O_RDONLY | O_CLOEXEC);
			if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 &&
			    st.st_size == 0)
				unlinkat(t->tree.fd, entry->d_name, 0);
			if (fd >= 0)
				close(fd);
		}
		if (dir)
			closedir(dir);
	}
}

/* The open file cannot be had, so each writer makes a piece of its own: it is not taken from him
 * between its making and its lock, with the record that he writes then. */
static void a_piece_of_ones_own_is_not_taken_away(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	struct storetree t;
	pid_t pid;
	int busy;

	(void)state;
	storetree_make(&t);
	busy = open(t.place.spool, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(flock(busy, LOCK_EX), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) { /* goes with a test that fails */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		take_empty_pieces(&t);
	}
	for (int i = 0; i < 5000; i++) {
		struct mr_spool spool;
		struct stat st;

		if (mr_spool_open(&t.place, 2, &spool, &err) != 0)
			fail_msg("open %d: %s", i, err.msg);
		assert_int_equal(mr_spool_append(&spool, "ab", 2, &err), 0);
		if (stat(spool.path, &st) < 0 || st.st_size == 0)
			fail_msg("record %d is gone", i);
		assert_int_equal(unlink(spool.path), 0);
		mr_spool_close(&spool);
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(busy);
	storetree_remove(&t);
}

static void assert_losses(struct mr_store *store, json_int_t expected)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_json json_t *rows = NULL;

	assert_int_equal(mr_query_all(store, "loss.total", NULL, &rows, &err), 0);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(rows, 0), "pieces")),
			 expected);
}

static void torn_and_foreign_records_are_kept_aside_and_counted(void **state)
{
	static const char torn[] = "\nmr1 5000 fb8e20fc2e4c3f248c60";
	struct mr_ingest_stats stats;
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_store struct mr_store *store = NULL;
	mr_auto_free char *text = NULL;
	struct storetree t;
	size_t size = 0;

	(void)state;
	storetree_make(&t);
	spool_record(&t, "a");
	spool_bytes(&t, torn, strlen(torn)); /* its writer was killed */
	spool_record(&t, "b");
	spool_text(&t, "{\"schema\": \"something/1\"}");
	spool_text(&t, "no JSON");
	assert_int_equal(mr_store_open(&t.place, MR_STORE_WRITE, 100, &store, &err), 0);
	assert_int_equal(mr_ingest(&t.place, store, &stats, &err), 0);
	assert_int_equal(stats.records, 2);
	assert_int_equal(stats.aside, 3);
	assert_losses(store, 3);
	assert_int_equal(mr_read_whole_file(t.place.aside, 4096, &text, &size, &err), 0);
	assert_non_null(
		strstr(text, ": is cut off or has a damaged head, 29 bytes\nmr1 5000 fb8e"));
	assert_non_null(strstr(text, ": is not of schema menace.record/1, 25 bytes\n{\"schema\""));
	assert_non_null(strstr(text, "no JSON\n"));
	assert_false(mr_spool_waits(&t.place));
	store = mr_store_close(store);
	storetree_remove(&t);
}

static void what_is_known_is_not_taken_twice(void **state)
{
	struct mr_ingest_stats stats;
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_store struct mr_store *store = NULL;
	mr_auto_json json_t *other = make_record("a");
	mr_auto_free char *text = NULL;
	struct storetree t;

	(void)state;
	storetree_make(&t);
	spool_record(&t, "a");
	spool_record(&t, "a");
	json_object_set_new(other, "uid", json_integer(7));
	text = json_dumps(other, JSON_COMPACT);
	spool_text(&t, text);
	assert_int_equal(mr_store_open(&t.place, MR_STORE_WRITE, 100, &store, &err), 0);
	assert_int_equal(mr_ingest(&t.place, store, &stats, &err), 0);
	assert_int_equal(stats.records, 1);
	assert_int_equal(stats.known, 1);
	assert_int_equal(stats.aside, 1); /* the same run with other contents */
	store = mr_store_close(store);
	storetree_remove(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_and_what_is_none),
		cmocka_unit_test(every_cut_is_noticed),
		cmocka_unit_test(what_is_appended_is_one_frame),
		cmocka_unit_test(a_record_that_is_no_line_is_refused),
		cmocka_unit_test(there_is_no_place_for_a_record_that_is_too_large),
		cmocka_unit_test(a_link_is_not_followed),
		cmocka_unit_test(a_folder_that_others_can_write_is_refused),
		cmocka_unit_test(a_folder_of_another_user_is_refused),
		cmocka_unit_test(a_busy_writer_is_waited_for_by_nobody),
		cmocka_unit_test(a_piece_of_ones_own_is_not_taken_away),
		cmocka_unit_test(torn_and_foreign_records_are_kept_aside_and_counted),
		cmocka_unit_test(what_is_known_is_not_taken_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes: reading the two directories of an overlay
 *
 * The trees are made by hand.  What needs root is in test-changes-root.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "runtime/base/cleanup.h"
#include "runtime/supervise/walk.h"
#include "tests/lib/workspace.h"

static void nothing_changed(void **state)
{
	struct fixture *f = *state;

	temptree_file(f->lower, "a", "abc");
	scan(f, NULL);
	expect(f, "");
	assert_int_equal(f->changes.visited, 0);
	assert_false(f->changes.truncated);
}

static void added_entries_of_every_type(void **state)
{
	struct fixture *f = *state;
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	temptree_file(f->upper, "file", "abc");
	temptree_mkdir(f->upper, "dir");
	temptree_file(f->upper, "dir/inside", "abc");
	temptree_file(f->upper, "dir-", "abc");
	MUST(symlinkat("/etc/passwd", f->upper, "link") == 0);
	MUST(mkfifoat(f->upper, "fifo", 0600) == 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/sock", f->upper);
	MUST(bind(sock, (struct sockaddr *)&addr, sizeof(addr)) == 0);
	close(sock);
	scan(f, NULL);
	expect(f, "added dir dir\n"
		  "added file dir-\n"
		  "added file dir/inside\n"
		  "added fifo fifo\n"
		  "added file file\n"
		  "added symlink link\n"
		  "added socket sock\n");
	assert_int_equal(f->changes.counts[MR_CHANGE_ADDED], 7);
	expect_row_json(f, "file",
			"{\"kind\":\"added\",\"mode\":\"0644\",\"path\":\"file\",\"sha256\":\"" ABC
			"\",\"size\":3,\"type\":\"file\"}");
	/* the link's own text, and nothing of what it leads to */
	assert_string_equal(row(f, "link")->link_target, "/etc/passwd");
	expect_row_json(f, "link",
			"{\"kind\":\"added\",\"mode\":\"0777\",\"path\":\"link\",\"target\":"
			"\"/etc/passwd\",\"type\":\"symlink\"}");
	expect_row_json(f, "fifo",
			"{\"kind\":\"added\",\"mode\":\"0600\",\"path\":\"fifo\",\"type\":"
			"\"fifo\"}");
}

static void without_lower_everything_is_added(void **state)
{
	struct fixture *f = *state;
	struct mr_error err = MR_ERROR_INIT;

	temptree_file(f->lower, "a", "abc");
	temptree_file(f->upper, "a", "abc");
	assert_int_equal(mr_changes_scan(f->upper, -1, NULL, &f->changes, &err), 0);
	expect(f, "added file a\n");
}

static void content_tells_modified_from_metadata(void **state)
{
	struct fixture *f = *state;
	struct timespec later[2] = { { .tv_sec = 1000000001 }, { .tv_sec = 1000000001 } };
	const char *names[] = { "same", "chmod", "touch", "other", "longer" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		temptree_file(f->lower, names[i], "abc");
		temptree_file(f->upper, names[i], "abc");
	}
	temptree_file(f->upper, "other", "abd");
	temptree_file(f->upper, "longer", "abcd");
	MUST(fchmodat(f->upper, "chmod", 0755, 0) == 0);
	MUST(utimensat(f->upper, "touch", later, 0) == 0);
	MUST(symlinkat("x", f->lower, "ln") == 0);
	MUST(symlinkat("y", f->upper, "ln") == 0);
	scan(f, NULL);
	expect(f, "metadata file chmod\n"
		  "modified symlink ln\n"
		  "modified file longer\n"
		  "modified file other\n"
		  "metadata file same\n"
		  "metadata file touch\n");
	assert_int_equal(row(f, "same")->differs, 0);
	assert_int_equal(row(f, "chmod")->differs, MR_CHANGE_MODE);
	assert_int_equal(row(f, "touch")->differs, MR_CHANGE_MTIME);
	assert_int_equal(row(f, "other")->differs, MR_CHANGE_CONTENT);
	assert_true(row(f, "other")->content_compared);
	assert_int_equal(f->changes.counts[MR_CHANGE_METADATA], 3);
	assert_int_equal(f->changes.counts[MR_CHANGE_MODIFIED], 3);
	expect_row_json(f, "chmod",
			"{\"differs\":[\"mode\"],\"kind\":\"metadata\",\"mode\":\"0755\","
			"\"path\":\"chmod\",\"sha256\":\"" ABC "\",\"size\":3,\"type\":\"file\"}");
}

static void a_directory_copied_up_is_no_change(void **state)
{
	struct fixture *f = *state;

	temptree_mkdir(f->lower, "a");
	temptree_mkdir(f->lower, "a/b");
	temptree_mkdir(f->lower, "a/c");
	temptree_mkdir(f->upper, "a");
	temptree_mkdir(f->upper, "a/b");
	temptree_mkdir(f->upper, "a/c");
	temptree_file(f->upper, "a/b/new", "abc");
	MUST(fchmodat(f->upper, "a/c", 0700, 0) == 0);
	scan(f, NULL);
	expect(f, "added file a/b/new\nmetadata dir a/c\n");
}

static void another_type_in_its_place(void **state)
{
	struct fixture *f = *state;

	temptree_file(f->lower, "was-file", "abc");
	temptree_mkdir(f->lower, "was-dir");
	temptree_file(f->lower, "was-dir/inside", "abc");
	temptree_mkdir(f->upper, "was-file");
	temptree_file(f->upper, "was-file/inside", "abc");
	MUST(symlinkat("was-file", f->upper, "was-dir") == 0);
	scan(f, NULL);
	expect(f, "type_changed symlink was-dir\n"
		  "type_changed dir was-file\n"
		  "added file was-file/inside\n");
	assert_int_equal(row(f, "was-dir")->old_type, MR_CHANGE_DIR);
	expect_row_json(f, "was-file",
			"{\"kind\":\"type_changed\",\"mode\":\"0755\",\"old_type\":\"file\","
			"\"path\":\"was-file\",\"type\":\"dir\"}");
}

static void names_are_bytes(void **state)
{
	struct fixture *f = *state;

	temptree_file(f->upper, "-rf", "abc");
	temptree_file(f->upper, "new\nline", "abc");
	temptree_file(f->upper, "bad\xff\\", "abc");
	temptree_file(f->upper, "caf\xc3\xa9", "abc");
	MUST(symlinkat("\xfe", f->upper, "$(touch x)") == 0);
	scan(f, NULL);
	assert_int_equal(f->changes.n_rows, 5);
	expect_row_json(f, "bad\xff\\",
			"{\"kind\":\"added\",\"mode\":\"0644\",\"path\":\"bad\\\\xff\\\\\\\\\","
			"\"path_base64\":\"YmFk/1w=\",\"sha256\":\"" ABC
			"\",\"size\":3,\"type\":\"file\"}");
	expect_row_json(f, "$(touch x)",
			"{\"kind\":\"added\",\"mode\":\"0777\",\"path\":\"$(touch x)\",\"target\":"
			"\"\\\\xfe\",\"target_base64\":\"/g==\",\"type\":\"symlink\"}");
	expect_row_json(f, "new\nline",
			"{\"kind\":\"added\",\"mode\":\"0644\",\"path\":\"new\\nline\",\"sha256\":"
			"\"" ABC "\",\"size\":3,\"type\":\"file\"}");
}

static void rows_end_and_counts_go_on(void **state)
{
	struct fixture *f = *state;
	struct mr_changes_opts opts = MR_CHANGES_OPTS_INIT;
	char name[16];

	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "f%02d", i);
		temptree_file(f->upper, name, "abc");
		if (i < 5)
			temptree_file(f->lower, name, "abc");
	}
	opts.max_entries = 50;
	scan(f, &opts);
	assert_int_equal(f->changes.n_rows, 50);
	assert_false(f->changes.truncated);
	opts.max_entries = 49;
	scan(f, &opts);
	assert_int_equal(f->changes.n_rows, 49);
	assert_true(f->changes.truncated);
	assert_false(f->changes.incomplete);
	opts.max_entries = 0;
	scan(f, &opts);
	assert_int_equal(f->changes.n_rows, 0);
	assert_int_equal(f->changes.counts[MR_CHANGE_ADDED], 45);
	assert_int_equal(f->changes.counts[MR_CHANGE_METADATA], 5);
	opts.max_entries = 1000;
	opts.max_path_bytes = 30; /* ten names of three bytes */
	scan(f, &opts);
	assert_int_equal(f->changes.n_rows, 10);
	assert_true(f->changes.truncated);
	assert_string_equal(f->changes.rows[9].path, "f09");
}

static void a_bound_on_visits_ends_the_scan(void **state)
{
	struct fixture *f = *state;
	struct mr_changes_opts opts = MR_CHANGES_OPTS_INIT;

	temptree_file(f->upper, "a", "abc");
	temptree_file(f->upper, "b", "abc");
	temptree_file(f->upper, "c", "abc");
	opts.max_visited = 3;
	scan(f, &opts);
	assert_false(f->changes.incomplete);
	opts.max_visited = 2;
	scan(f, &opts);
	expect(f, "added file a\nadded file b\n");
	assert_true(f->changes.incomplete);
	assert_true(f->changes.truncated);
}

static void count_turn(void *owner)
{
	++*(int *)owner;
}

static void others_get_turns(void **state)
{
	struct fixture *f = *state;
	int given = 0;
	struct mr_turns turns = { .give = count_turn, .owner = &given };
	struct mr_changes_opts opts = MR_CHANGES_OPTS_INIT;
	char name[16];
	int fd;

	opts.turns = &turns;
	for (int i = 0; i < 1023; i++) {
		snprintf(name, sizeof(name), "p%04d", i);
		MUST(mkfifoat(f->upper, name, 0600) == 0);
	}
	scan(f, &opts);
	assert_int_equal(given, 0);
	MUST(mkfifoat(f->upper, "p1023", 0600) == 0);
	turns.spent = 0;
	scan(f, &opts);
	assert_int_equal(given, 1);
	/* a file to hash takes one, however few entries there were */
	turns.spent = 0;
	fd = openat(f->upper, "a", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	MUST(fd >= 0 && ftruncate(fd, 4 << 20) == 0 && close(fd) == 0);
	scan(f, &opts);
	assert_int_equal(given, 3);
}

/* d/d/d/... of `levels` directories. */
static void make_deep(int at, int levels)
{
	int fd = dup(at);

	for (int i = 0; i < levels; i++) {
		int sub = temptree_dir(fd, "d");

		close(fd);
		fd = sub;
	}
	close(fd);
}

static void depth_is_bounded(void **state)
{
	struct fixture *f = *state;
	struct mr_changes_opts opts = MR_CHANGES_OPTS_INIT;

	make_deep(f->upper, 300);
	make_deep(f->lower, 20);
	scan(f, &opts);
	assert_int_equal(f->changes.n_rows, 256 - 20);
	assert_int_equal(strlen(f->changes.rows[235].path), 256 * 2 - 1);
	assert_true(f->changes.incomplete);
	opts.max_depth = 400;
	scan(f, &opts);
	assert_int_equal(f->changes.n_rows, 300 - 20);
	assert_false(f->changes.incomplete);
	assert_false(f->changes.truncated);
}

static void running_out_of_descriptors_is_reported(void **state)
{
	struct fixture *f = *state;
	struct rlimit old, few = { .rlim_cur = 60 };

	make_deep(f->upper, 100);
	MUST(getrlimit(RLIMIT_NOFILE, &old) == 0);
	few.rlim_max = old.rlim_max;
	MUST(setrlimit(RLIMIT_NOFILE, &few) == 0);
	scan(f, NULL);
	MUST(setrlimit(RLIMIT_NOFILE, &old) == 0);
	assert_true(f->changes.n_rows > 20);
	assert_int_equal(f->changes.unreadable, 1);
	assert_int_equal(f->changes.rows[f->changes.n_rows - 1].errnum, EMFILE);
}

static void a_directory_with_more_names_than_are_held(void **state)
{
	struct fixture *f = *state;
	struct mr_changes_opts opts = MR_CHANGES_OPTS_INIT;
	char name[256];

	memset(name, 'n', sizeof(name));
	for (int i = 0; i < 18000; i++) { /* 255 bytes each: over 4 MiB */
		int fd;

		snprintf(name + 245, 11, "%010d", i);
		fd = openat(f->upper, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		MUST(fd >= 0);
		close(fd);
	}
	opts.max_entries = 100;
	scan(f, &opts);
	assert_int_equal(f->changes.counts[MR_CHANGE_ADDED], 18000);
	assert_int_equal(f->changes.n_rows, 100);
	assert_true(f->changes.truncated);
	assert_false(f->changes.incomplete);
}

static void hashing_is_bounded(void **state)
{
	struct fixture *f = *state;
	struct mr_changes_opts opts = MR_CHANGES_OPTS_INIT;
	int fd = openat(f->upper, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	MUST(ftruncate(fd, 1LL << 30) == 0);
	close(fd);
	temptree_file(f->upper, "a", "abc");
	temptree_file(f->upper, "b", "abc");
	scan(f, NULL);
	assert_int_equal(row(f, "sparse")->size, 1LL << 30);
	assert_string_equal(row(f, "sparse")->sha256, "");
	assert_string_equal(row(f, "sparse")->sha256_why, "larger than hash_max_bytes");
	assert_string_equal(row(f, "a")->sha256, ABC);
	opts.hash_max_bytes = 2;
	scan(f, &opts);
	assert_string_equal(row(f, "a")->sha256_why, "larger than hash_max_bytes");
	opts.hash_max_bytes = 3;
	opts.hash_total_max_bytes = 5;
	scan(f, &opts);
	assert_string_equal(row(f, "a")->sha256, ABC);
	assert_string_equal(row(f, "b")->sha256_why, "hash_total_max_bytes is used up");
	assert_int_equal(f->changes.unreadable, 0);
}

/* What is too large to compare counts as modified, and says that it was not compared. */
static void content_that_is_not_compared_counts_as_modified(void **state)
{
	struct fixture *f = *state;
	struct mr_changes_opts opts = MR_CHANGES_OPTS_INIT;

	temptree_file(f->upper, "a", "abc");
	temptree_file(f->lower, "a", "abc");
	opts.hash_max_bytes = 2;
	scan(f, &opts);
	expect_row_json(f, "a",
			"{\"content_compared\":false,\"differs\":[\"content\"],\"kind\":"
			"\"modified\","
			"\"mode\":\"0644\",\"path\":\"a\",\"sha256\":null,\"sha256_why\":"
			"\"larger than hash_max_bytes\",\"size\":3,\"type\":\"file\"}");
	/* enough for upper's but not for lower's */
	opts.hash_max_bytes = 3;
	opts.hash_total_max_bytes = 5;
	scan(f, &opts);
	assert_int_equal(row(f, "a")->kind, MR_CHANGE_MODIFIED);
	assert_string_equal(row(f, "a")->sha256, ABC);
	assert_false(row(f, "a")->content_compared);
	opts.hash_total_max_bytes = 6;
	scan(f, &opts);
	assert_int_equal(row(f, "a")->kind, MR_CHANGE_METADATA);
}

static void hard_links_are_files(void **state)
{
	struct fixture *f = *state;

	temptree_file(f->upper, "a", "abc");
	MUST(linkat(f->upper, "a", f->upper, "b", 0) == 0);
	scan(f, NULL);
	expect(f, "added file a\nadded file b\n");
	assert_string_equal(row(f, "b")->sha256, ABC);
}

static void upper_that_cannot_be_read_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_changes untouched = { .n_rows = 7 };

	assert_int_equal(mr_changes_scan(-1, f->lower, NULL, &untouched, &err), -EBADF);
	assert_string_equal(err.msg, "read the workspace's changes: Bad file descriptor");
	assert_int_equal(untouched.n_rows, 7);
}

static void the_document_has_counts(void **state)
{
	struct fixture *f = *state;
	mr_auto_json json_t *json = NULL;
	char *text;

	temptree_mkdir(f->upper, "d");
	scan(f, NULL);
	json = mr_changes_to_json(&f->changes);
	text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text,
			    "{\"counts\":{\"added\":1,\"deleted\":0,\"metadata\":0,\"modified\":0,"
			    "\"type_changed\":0,\"unreadable\":0},\"entries\":[{\"kind\":\"added\","
			    "\"mode\":\"0755\",\"path\":\"d\",\"type\":\"dir\"}],\"incomplete\":"
			    "false,"
			    "\"truncated\":false,\"unreadable\":0}");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_changed),
		TEST(added_entries_of_every_type),
		TEST(without_lower_everything_is_added),
		TEST(content_tells_modified_from_metadata),
		TEST(a_directory_copied_up_is_no_change),
		TEST(another_type_in_its_place),
		TEST(names_are_bytes),
		TEST(rows_end_and_counts_go_on),
		TEST(a_bound_on_visits_ends_the_scan),
		TEST(others_get_turns),
		TEST(depth_is_bounded),
		TEST(running_out_of_descriptors_is_reported),
		TEST(a_directory_with_more_names_than_are_held),
		TEST(hashing_is_bounded),
		TEST(content_that_is_not_compared_counts_as_modified),
		TEST(hard_links_are_files),
		TEST(upper_that_cannot_be_read_is_an_error),
		TEST(the_document_has_counts),
	};

	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

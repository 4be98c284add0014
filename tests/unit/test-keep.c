/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keep: copying what changed, as untrusted as it is
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sched.h>
#include <sys/mount.h>

#include "runtime/base/cleanup.h"
#include "runtime/supervise/walk.h"
#include "tests/lib/workspace.h"

static int keep(struct fixture *f, const struct mr_keep_opts *opts, struct mr_error *err)
{
	return mr_keep_changes(f->upper, f->lower, f->out, opts, &f->kept, err);
}

static void keep_well(struct fixture *f)
{
	struct mr_error err = MR_ERROR_INIT;
	int r = keep(f, NULL, &err);

	if (r < 0)
		fail_msg("%s", err.msg);
}

static void expect_text(int at, const char *path, const char *want, size_t size)
{
	char buf[256];
	int fd = openat(at, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		fail_msg("%s is not there", path);
	assert_int_equal(read(fd, buf, sizeof(buf)), size);
	assert_memory_equal(buf, want, size);
	close(fd);
}

static struct stat stat_of(int at, const char *path)
{
	struct stat st;

	if (fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		fail_msg("%s: %s", path, strerror(errno));
	return st;
}

static void expect_absent(int at, const char *path)
{
	struct stat st;

	assert_int_equal(fstatat(at, path, &st, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(errno, ENOENT);
}

static void expect_note(const struct fixture *f, const char *path, const char *why)
{
	for (size_t i = 0; i < f->kept.n_notes; i++) {
		if (strcmp(f->kept.notes[i].path, path) == 0) {
			assert_string_equal(f->kept.notes[i].why, why);
			return;
		}
	}
	fail_msg("no note for %s", path);
}

static void copies_what_changed_and_nothing_else(void **state)
{
	struct fixture *f = *state;
	char target[64] = "";

	temptree_mkdir(f->lower, "d");
	temptree_file(f->lower, "d/edited", "old");
	temptree_file(f->lower, "d/touched", "abc");
	temptree_file(f->lower, "d/untouched", "abc");
	temptree_file(f->lower, "run.sh", "abc");
	temptree_mkdir(f->upper, "d");
	temptree_file(f->upper, "d/edited", "new!");
	temptree_file(f->upper, "d/touched", "abc");
	temptree_file(f->upper, "run.sh", "abc");
	MUST(fchmodat(f->upper, "run.sh", 0755, 0) == 0);
	temptree_mkdir(f->upper, "new");
	temptree_mkdir(f->upper, "new/empty");
	temptree_file(f->upper, "new/file", "abc");
	MUST(symlinkat("/etc/passwd", f->upper, "new/link") == 0);
	keep_well(f);
	expect_text(f->out, "d/edited", "new!", 4);
	expect_text(f->out, "new/file", "abc", 3);
	expect_text(f->out, "run.sh", "abc", 3);
	expect_absent(f->out, "d/touched");
	expect_absent(f->out, "d/untouched");
	expect_absent(f->out, MR_KEEP_DELETED_NAME);
	assert_int_equal(stat_of(f->out, "run.sh").st_mode & 07777, 0755);
	assert_int_equal(stat_of(f->out, "new/file").st_mtim.tv_sec, 1000000000);
	assert_true(S_ISDIR(stat_of(f->out, "new/empty").st_mode));
	assert_int_equal(readlinkat(f->out, "new/link", target, sizeof(target) - 1), 11);
	assert_string_equal(target, "/etc/passwd");
	assert_int_equal(f->kept.files, 3);
	assert_int_equal(f->kept.dirs, 3);
	assert_int_equal(f->kept.symlinks, 1);
	assert_int_equal(f->kept.bytes, 10);
	assert_int_equal(f->kept.skipped, 0);
	assert_true(f->kept.complete);
}

static void modes_lose_their_power_and_times_stay(void **state)
{
	struct fixture *f = *state;
	struct timespec times[2] = { { .tv_sec = 5 }, { .tv_sec = 1234567890, .tv_nsec = 42 } };

	temptree_file(f->upper, "suid", "abc");
	MUST(fchmodat(f->upper, "suid", 06755, 0) == 0);
	temptree_mkdir(f->upper, "locked");
	temptree_file(f->upper, "locked/inside", "abc");
	MUST(utimensat(f->upper, "locked", times, 0) == 0);
	MUST(fchmodat(f->upper, "locked", 03500, 0) == 0);
	keep_well(f);
	assert_int_equal(stat_of(f->out, "suid").st_mode & 07777, 0755);
	assert_int_equal(stat_of(f->out, "locked").st_mode & 07777, 0500);
	assert_int_equal(stat_of(f->out, "locked").st_mtim.tv_sec, 1234567890);
	assert_int_equal(stat_of(f->out, "locked").st_mtim.tv_nsec, 42);
	expect_text(f->out, "locked/inside", "abc", 3);
}

static void deletions_are_a_list(void **state)
{
	struct fixture *f = *state;

	temptree_file(f->lower, "a\nb", "abc");
	temptree_mkdir(f->lower, "d");
	temptree_file(f->lower, "d/x", "abc");
	temptree_file(f->lower, "was-file", "abc");
	temptree_mkdir(f->upper, "d");
	whiteout(f->upper, "a\nb");
	whiteout(f->upper, "d/x");
	temptree_mkdir(f->upper, "was-file");
	keep_well(f);
	expect_text(f->out, MR_KEEP_DELETED_NAME, "a\nb\0d/x\0was-file", 17);
	assert_int_equal(f->kept.deletions, 3);
	assert_true(S_ISDIR(stat_of(f->out, "was-file").st_mode));
	expect_absent(f->out, "d");
	assert_true(f->kept.complete);
}

static void the_list_has_its_name_for_itself(void **state)
{
	struct fixture *f = *state;
	const char *why = "the name is reserved for the list of deletions";

	temptree_mkdir(f->upper, MR_KEEP_DELETED_NAME);
	temptree_file(f->upper, MR_KEEP_DELETED_NAME "/x", "abc");
	temptree_file(f->upper, MR_KEEP_DELETED_NAME "-not", "abc");
	temptree_mkdir(f->upper, "d");
	temptree_file(f->upper, "d/" MR_KEEP_DELETED_NAME, "abc");
	keep_well(f);
	expect_absent(f->out, MR_KEEP_DELETED_NAME);
	expect_text(f->out, MR_KEEP_DELETED_NAME "-not", "abc", 3);
	expect_text(f->out, "d/" MR_KEEP_DELETED_NAME, "abc", 3);
	expect_note(f, MR_KEEP_DELETED_NAME, why);
	expect_note(f, MR_KEEP_DELETED_NAME "/x", why);
	assert_int_equal(f->kept.skipped, 2);
	assert_false(f->kept.complete);
}

static void special_files_are_skipped(void **state)
{
	struct fixture *f = *state;
	mr_auto_json json_t *json = NULL;
	char *text;

	MUST(mkfifoat(f->upper, "fifo", 0600) == 0);
	keep_well(f);
	expect_absent(f->out, "fifo");
	json = mr_keep_to_json(&f->kept);
	text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, "{\"bytes\":0,\"complete\":false,\"deletions\":0,\"dirs\":0,"
				  "\"files\":0,\"lost\":0,\"notes\":[{\"errno\":null,\"path\":"
				  "\"fifo\",\"why\":"
				  "\"not a file, directory or symbolic link\"}],\"skipped\":1,"
				  "\"symlinks\":0}");
	free(text);
}

static void notes_are_bounded(void **state)
{
	struct fixture *f = *state;
	char name[16];

	for (int i = 0; i < 150; i++) {
		snprintf(name, sizeof(name), "fifo%d", i);
		MUST(mkfifoat(f->upper, name, 0600) == 0);
	}
	keep_well(f);
	assert_int_equal(f->kept.skipped, 150);
	assert_int_equal(f->kept.n_notes, MR_KEEP_MAX_NOTES);
}

static void only_an_empty_directory_is_filled(void **state)
{
	struct fixture *f = *state;
	struct mr_error err = MR_ERROR_INIT;

	temptree_file(f->upper, "a", "abc");
	MUST(symlinkat("/etc/passwd", f->out, "a") == 0);
	assert_int_equal(keep(f, NULL, &err), -ENOTEMPTY);
	assert_string_equal(err.msg, "the directory for kept changes is not empty");
	assert_int_equal(err.code, MR_E_USAGE);
	assert_false(f->kept.complete);
}

static void bytes_are_bounded(void **state)
{
	struct fixture *f = *state;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_keep_opts opts = { .max_bytes = 6 };

	temptree_file(f->upper, "a", "abc");
	temptree_file(f->upper, "b", "abcd");
	temptree_file(f->upper, "c", "abc");
	temptree_file(f->upper, "d", "x");
	temptree_file(f->upper, "e", "");
	assert_int_equal(keep(f, &opts, &err), 0);
	expect_text(f->out, "a", "abc", 3);
	expect_absent(f->out, "b");
	expect_text(f->out, "c", "abc", 3);
	expect_absent(f->out, "d");
	expect_text(f->out, "e", "", 0);
	expect_note(f, "b", "max_bytes is used up");
	expect_note(f, "d", "max_bytes is used up");
	assert_int_equal(f->kept.bytes, 6);
	assert_false(f->kept.complete);
}

static void count_turn(void *owner)
{
	++*(int *)owner;
}

static void others_get_turns(void **state)
{
	static const char block[1 << 20];
	struct fixture *f = *state;
	struct mr_error err = MR_ERROR_INIT;
	int given = 0;
	struct mr_turns turns = { .give = count_turn, .owner = &given };
	struct mr_keep_opts opts = MR_KEEP_OPTS_INIT;
	int fd = openat(f->upper, "a", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	for (int i = 0; i < 9; i++)
		MUST(write(fd, block, sizeof(block)) == sizeof(block));
	MUST(close(fd) == 0);
	opts.turns = &turns;
	assert_int_equal(keep(f, &opts, &err), 0);
	assert_int_equal(f->kept.bytes, 9 << 20);
	assert_int_equal(given, 2);
}

static void holes_stay_holes(void **state)
{
	struct fixture *f = *state;
	struct stat st;
	char buf[4];
	int fd = openat(f->upper, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	MUST(pwrite(fd, "abc", 3, 512 << 20) == 3);
	MUST(ftruncate(fd, 1LL << 30) == 0);
	close(fd);
	keep_well(f);
	st = stat_of(f->out, "sparse");
	assert_int_equal(st.st_size, 1LL << 30);
	assert_true(st.st_blocks * 512 < 1 << 20);
	fd = openat(f->out, "sparse", O_RDONLY | O_CLOEXEC);
	assert_int_equal(pread(fd, buf, 4, 512 << 20), 4);
	assert_memory_equal(buf, "abc\0", 4);
	close(fd);
}

static void hard_links_become_files(void **state)
{
	struct fixture *f = *state;

	temptree_file(f->upper, "a", "abc");
	MUST(linkat(f->upper, "a", f->upper, "b", 0) == 0);
	keep_well(f);
	expect_text(f->out, "a", "abc", 3);
	expect_text(f->out, "b", "abc", 3);
	assert_int_equal(stat_of(f->out, "a").st_nlink, 1);
}

static void names_are_data(void **state)
{
	struct fixture *f = *state;
	const char *names[] = { "-rf", "new\nline", "bad\xff", "$(touch x)", "...", "a b" };

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		temptree_file(f->upper, names[i], "abc");
	keep_well(f);
	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		expect_text(f->out, names[i], "abc", 3);
}

/* Copying a large file first gives others a turn: a moment at which the tree can change. */
static void large_file(int at, const char *path)
{
	static const char block[1 << 20];
	int fd = openat(at, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	for (int i = 0; i < 5; i++)
		MUST(write(fd, block, sizeof(block)) == sizeof(block));
	MUST(close(fd) == 0);
}

static void put_a_link_for_the_directory(void *owner)
{
	struct fixture *f = owner;

	if (renameat(f->upper, "d", f->t.fd, "moved") == 0)
		MUST(symlinkat("../secret", f->upper, "d") == 0);
}

/* The scan is in a directory; by then that is a link out of the tree. */
static void a_link_in_place_of_a_directory_is_not_followed(void **state)
{
	struct fixture *f = *state;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_turns turns = { .give = put_a_link_for_the_directory, .owner = f };
	struct mr_keep_opts opts = MR_KEEP_OPTS_INIT;

	temptree_mkdir(f->t.fd, "secret");
	temptree_mkdir(f->t.fd, "secret/z");
	temptree_file(f->t.fd, "secret/z/x", "secret");
	temptree_mkdir(f->upper, "d");
	large_file(f->upper, "d/a");
	temptree_mkdir(f->upper, "d/z");
	temptree_file(f->upper, "d/z/x", "abc");
	opts.turns = &turns;
	assert_int_equal(keep(f, &opts, &err), 0);
	expect_note(f, "d/z/x", "its directory cannot be entered");
	expect_absent(f->out, "d/z/x");
	assert_int_equal(f->kept.files, 1);
	assert_true(f->kept.lost > 0);
}

static void remove_b(void *owner)
{
	struct fixture *f = owner;

	(void)unlinkat(f->upper, "b", 0);
}

static void what_vanished_is_noted(void **state)
{
	struct fixture *f = *state;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_turns turns = { .give = remove_b, .owner = f };
	struct mr_keep_opts opts = MR_KEEP_OPTS_INIT;

	large_file(f->upper, "a");
	temptree_file(f->upper, "b", "abc");
	opts.turns = &turns;
	assert_int_equal(keep(f, &opts, &err), 0);
	expect_note(f, "b", "unreadable");
	assert_int_equal(f->kept.notes[0].errnum, ENOENT);
	assert_int_equal(mr_keep_check(&f->kept, &err), -ENOENT);
	assert_string_equal(err.msg, "keep changes: 1 not kept, the first is \"b\": unreadable: "
				     "No such file or directory");
}

/* 256 levels are entered.  What is deeper is lost, and said to be. */
static void levels_that_are_not_entered_are_lost(void **state)
{
	struct fixture *f = *state;
	struct mr_error err = MR_ERROR_INIT;
	int fd = dup(f->upper);

	for (int i = 0; i < 257; i++) {
		int sub = temptree_dir(fd, "d");

		close(fd);
		fd = sub;
	}
	temptree_file(fd, "end", "abc");
	close(fd);
	temptree_file(f->upper, "e", "abc");
	keep_well(f);
	expect_text(f->out, "e", "abc", 3);
	assert_int_equal(f->kept.lost, 1);
	assert_string_equal(f->kept.notes[0].why, "more levels of directories than are entered");
	assert_true(mr_keep_check(&f->kept, &err) < 0);
}

static void paths_longer_than_path_max(void **state)
{
	struct fixture *f = *state;
	char name[201];
	int fd = dup(f->upper);

	memset(name, 'x', 200);
	name[200] = '\0';
	for (int i = 0; i < 40; i++) {
		int sub = temptree_dir(fd, name);

		close(fd);
		fd = sub;
	}
	temptree_file(fd, "end", "abc");
	close(fd);
	keep_well(f);
	assert_true(f->kept.complete);
	fd = dup(f->out);
	for (int i = 0; i < 40; i++) {
		int sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		MUST(sub >= 0);
		close(fd);
		fd = sub;
	}
	expect_text(fd, "end", "abc", 3);
	close(fd);
}

/* The list of changes has 10,000 rows at most: that is no bound of the copy. */
static void more_than_a_list_holds_is_copied(void **state)
{
	struct fixture *f = *state;
	char name[16];

	for (int i = 0; i < 10050; i++) {
		snprintf(name, sizeof(name), "%05d", i);
		temptree_file(f->upper, name, "");
	}
	temptree_file(f->lower, "z", "abc");
	whiteout(f->upper, "z");
	scan(f, NULL);
	assert_int_equal(f->changes.n_rows, 10000);
	assert_true(f->changes.truncated);
	keep_well(f);
	assert_int_equal(f->kept.files, 10050);
	assert_int_equal(f->kept.deletions, 1);
	assert_true(f->kept.complete);
	expect_text(f->out, "10049", "", 0);
	expect_text(f->out, MR_KEEP_DELETED_NAME, "z", 2);
}

static int keep_locked(struct fixture *f)
{
	struct mr_error err = MR_ERROR_INIT;
	struct stat st;

	CHECK(become_nobody() == 0);
	temptree_mkdir(f->upper, "dir");
	temptree_mkdir(f->upper, "dir/sub");
	temptree_file(f->upper, "dir/sub/inside", "abc");
	MUST(fchmodat(f->upper, "dir/sub/inside", 0, 0) == 0);
	MUST(fchmodat(f->upper, "dir/sub", 0, 0) == 0);
	MUST(fchmodat(f->upper, "dir", 0, 0) == 0);
	CHECK(keep(f, NULL, &err) == 0);
	CHECK(f->kept.complete);
	CHECK(f->kept.files == 1 && f->kept.dirs == 2);
	CHECK(fstatat(f->out, "dir", &st, 0) == 0 && (st.st_mode & 07777) == 0);
	CHECK(fstatat(f->upper, "dir", &st, 0) == 0 && (st.st_mode & 07777) == 0);
	return 0;
}

static void an_owner_keeps_what_the_payload_locked(void **state)
{
	struct fixture *f = *state;

	MUST(chmod(f->t.path, 0755) == 0);
	MUST(fchown(f->upper, 65534, 65534) == 0);
	MUST(fchown(f->out, 65534, 65534) == 0);
	in_child(f, keep_locked);
}

/* Keep on a file system of 64 KiB: the end of the disk is an error with a name, and what was
 * begun is not left half written. */
static int keep_on_a_full_disk(struct fixture *f)
{
	struct mr_error err = MR_ERROR_INIT;
	char path[300];
	struct stat st;

	CHECK(unshare(CLONE_NEWNS) == 0);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	snprintf(path, sizeof(path), "%s/out", f->t.path);
	CHECK(mount("tmpfs", path, "tmpfs", 0, "size=64k") == 0);
	f->out = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(keep(f, NULL, &err) == -ENOSPC);
	CHECK(strcmp(err.msg, "keep \"big\": No space left on device") == 0);
	CHECK(f->kept.files == 1);
	CHECK(!f->kept.complete);
	CHECK(fstatat(f->out, "a", &st, 0) == 0);
	CHECK(fstatat(f->out, "big", &st, 0) < 0);
	return 0;
}

static void a_full_disk_is_an_error(void **state)
{
	struct fixture *f = *state;
	char block[1024];
	int fd = openat(f->upper, "big", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	memset(block, 'x', sizeof(block));
	for (int i = 0; i < 100; i++)
		MUST(write(fd, block, sizeof(block)) == (ssize_t)sizeof(block));
	close(fd);
	temptree_file(f->upper, "a", "abc");
	in_child(f, keep_on_a_full_disk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(copies_what_changed_and_nothing_else),
		TEST(modes_lose_their_power_and_times_stay),
		TEST(deletions_are_a_list),
		TEST(the_list_has_its_name_for_itself),
		TEST(special_files_are_skipped),
		TEST(notes_are_bounded),
		TEST(only_an_empty_directory_is_filled),
		TEST(bytes_are_bounded),
		TEST(others_get_turns),
		TEST(holes_stay_holes),
		TEST(hard_links_become_files),
		TEST(names_are_data),
		TEST(a_link_in_place_of_a_directory_is_not_followed),
		TEST(what_vanished_is_noted),
		TEST(levels_that_are_not_entered_are_lost),
		TEST(paths_longer_than_path_max),
		TEST(more_than_a_list_holds_is_copied),
		TEST(an_owner_keeps_what_the_payload_locked),
		TEST(a_full_disk_is_an_error),
	};

	if (geteuid() != 0) {
		puts("skip: needs root: whiteouts, mounts, other users");
		return 77;
	}
	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes: what only root can lay out
 *
 * Whiteouts and other marks of overlayfs, files of another user, mount points, and
 * last what a real overlay writes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>

#include "runtime/base/cleanup.h"
#include "tests/lib/workspace.h"

static void whiteouts_are_deletions(void **state)
{
	struct fixture *f = *state;

	temptree_file(f->lower, "file", "abc");
	temptree_mkdir(f->lower, "dir");
	temptree_file(f->lower, "dir/inside", "abc");
	temptree_mkdir(f->lower, "d");
	temptree_file(f->lower, "d/x", "abc");
	temptree_mkdir(f->upper, "d");
	whiteout(f->upper, "file");
	whiteout(f->upper, "dir");
	whiteout(f->upper, "d/x");
	whiteout(f->upper, "never-was");
	/* a device that is no whiteout */
	MUST(mknodat(f->upper, "null", S_IFCHR | 0600, makedev(1, 3)) == 0);
	scan(f, NULL);
	expect(f, "deleted file d/x\n"
		  "deleted dir dir\n"
		  "deleted file file\n"
		  "added device null\n");
	assert_int_equal(f->changes.counts[MR_CHANGE_DELETED], 3);
	expect_row_json(f, "file",
			"{\"kind\":\"deleted\",\"mode\":\"0644\",\"path\":\"file\",\"sha256\":null,"
			"\"sha256_why\":\"deleted\",\"size\":3,\"type\":\"file\"}");
}

static void marked_whiteouts_are_deletions(void **state)
{
	struct fixture *f = *state;
	const struct mr_changes_opts user = { .max_entries = 10,
					      .max_path_bytes = 1000,
					      .max_visited = 100,
					      .max_depth = 10,
					      .hash_max_bytes = 100,
					      .hash_total_max_bytes = 1000,
					      .userxattr = true };

	temptree_file(f->lower, "trusted", "abc");
	temptree_file(f->lower, "user", "abc");
	temptree_file(f->upper, "trusted", "");
	temptree_file(f->upper, "user", "");
	set_mark(f->upper, "trusted", "trusted.overlay.whiteout", "y");
	set_mark(f->upper, "user", "user.overlay.whiteout", "y");
	/* only marks of the kind the overlay itself writes count: the payload sets user ones */
	scan(f, NULL);
	expect(f, "deleted file trusted\nmodified file user\n");
	scan(f, &user);
	expect(f, "modified file trusted\ndeleted file user\n");
	/* with content it is no whiteout */
	temptree_file(f->upper, "trusted", "x");
	scan(f, NULL);
	expect(f, "modified file trusted\nmodified file user\n");
}

static void an_opaque_directory_hides_what_it_lacks(void **state)
{
	struct fixture *f = *state;
	struct mr_changes_opts opts = MR_CHANGES_OPTS_INIT;

	temptree_mkdir(f->lower, "d");
	temptree_file(f->lower, "d/gone", "abc");
	temptree_file(f->lower, "d/same", "abc");
	temptree_mkdir(f->lower, "d/gone-dir");
	temptree_file(f->lower, "d/gone-dir/inside", "abc");
	temptree_mkdir(f->lower, "d/sub");
	temptree_file(f->lower, "d/sub/gone", "abc");
	temptree_mkdir(f->upper, "d");
	temptree_file(f->upper, "d/same", "abc");
	temptree_file(f->upper, "d/new", "abc");
	temptree_mkdir(f->upper, "d/sub"); /* opaque by inheritance */
	scan(f, &opts);
	expect(f, "added file d/new\nmetadata file d/same\n");

	set_mark(f->upper, "d", "user.overlay.opaque", "y"); /* forged */
	set_mark(f->upper, "d", "trusted.overlay.opaque", "x"); /* not opaque */
	scan(f, &opts);
	expect(f, "added file d/new\nmetadata file d/same\n");

	set_mark(f->upper, "d", "trusted.overlay.opaque", "y");
	scan(f, &opts);
	expect(f, "deleted file d/gone\n"
		  "deleted dir d/gone-dir\n"
		  "added file d/new\n"
		  "metadata file d/same\n"
		  "deleted file d/sub/gone\n");
}

/* Upper in the hands of another user, who then runs body. */
static void as_nobody(struct fixture *f, int (*body)(struct fixture *f))
{
	MUST(chmod(f->t.path, 0755) == 0);
	MUST(fchown(f->upper, 65534, 65534) == 0);
	in_child(f, body);
}

static int scan_own_unreadable(struct fixture *f)
{
	struct mr_error err = MR_ERROR_INIT;
	struct stat st;

	CHECK(become_nobody() == 0);
	temptree_file(f->upper, "secret", "abc");
	temptree_mkdir(f->upper, "dir");
	temptree_mkdir(f->upper, "dir/sub");
	temptree_file(f->upper, "dir/sub/inside", "abc");
	MUST(fchmodat(f->upper, "secret", 0, 0) == 0);
	MUST(fchmodat(f->upper, "dir/sub", 0, 0) == 0);
	MUST(fchmodat(f->upper, "dir", 0200, 0) == 0);
	CHECK(mr_changes_scan(f->upper, f->lower, NULL, &f->changes, &err) == 0);
	CHECK(f->changes.n_rows == 4);
	CHECK(f->changes.unreadable == 0);
	CHECK(strcmp(f->changes.rows[2].path, "dir/sub/inside") == 0);
	CHECK(strcmp(f->changes.rows[2].sha256, ABC) == 0);
	CHECK(strcmp(f->changes.rows[3].sha256, ABC) == 0);
	CHECK(f->changes.rows[3].mode == 0);
	/* what was borrowed was given back */
	CHECK(fstatat(f->upper, "secret", &st, 0) == 0 && (st.st_mode & 07777) == 0);
	CHECK(fstatat(f->upper, "dir", &st, 0) == 0 && (st.st_mode & 07777) == 0200);
	mr_changes_deinit(&f->changes);
	return 0;
}

static void an_owner_reads_what_the_payload_locked(void **state)
{
	as_nobody(*state, scan_own_unreadable);
}

static int scan_foreign_unreadable(struct fixture *f)
{
	struct mr_error err = MR_ERROR_INIT;

	CHECK(become_nobody() == 0);
	CHECK(mr_changes_scan(f->upper, f->lower, NULL, &f->changes, &err) == 0);
	CHECK(f->changes.n_rows == 6);
	CHECK(f->changes.unreadable == 4);
	/* new, but it cannot be listed */
	CHECK(strcmp(f->changes.rows[0].path, "dir") == 0);
	CHECK(f->changes.rows[0].kind == MR_CHANGE_ADDED);
	CHECK(f->changes.rows[0].errnum == EACCES);
	/* new, and its content cannot be read */
	CHECK(strcmp(f->changes.rows[1].path, "file") == 0);
	CHECK(f->changes.rows[1].kind == MR_CHANGE_ADDED);
	CHECK(f->changes.rows[1].errnum == EACCES);
	CHECK(strcmp(f->changes.rows[1].sha256_why, "unreadable") == 0);
	/* in both, but what is inside cannot be told */
	CHECK(strcmp(f->changes.rows[2].path, "in-both") == 0);
	CHECK(f->changes.rows[2].kind == MR_CHANGE_UNREADABLE);
	CHECK(f->changes.rows[2].errnum == EACCES);
	/* lower's directory has no right of entry */
	CHECK(strcmp(f->changes.rows[3].path, "locked-below") == 0);
	CHECK(f->changes.rows[3].kind == MR_CHANGE_METADATA);
	CHECK(strcmp(f->changes.rows[4].path, "locked-below/x") == 0);
	CHECK(f->changes.rows[4].kind == MR_CHANGE_UNREADABLE);
	/* lower's file cannot be read, so nothing is compared */
	CHECK(strcmp(f->changes.rows[5].path, "locked-file-below") == 0);
	CHECK(f->changes.rows[5].kind == MR_CHANGE_MODIFIED);
	CHECK(!f->changes.rows[5].content_compared);
	mr_changes_deinit(&f->changes);
	return 0;
}

static void what_cannot_be_read_is_a_row(void **state)
{
	struct fixture *f = *state;

	temptree_mkdir(f->upper, "dir");
	MUST(fchmodat(f->upper, "dir", 0, 0) == 0);
	temptree_file(f->upper, "file", "abc");
	MUST(fchmodat(f->upper, "file", 0, 0) == 0);
	temptree_mkdir(f->upper, "in-both");
	temptree_mkdir(f->lower, "in-both");
	MUST(fchmodat(f->upper, "in-both", 0, 0) == 0);
	MUST(fchmodat(f->lower, "in-both", 0, 0) == 0);
	temptree_mkdir(f->upper, "locked-below");
	temptree_mkdir(f->lower, "locked-below");
	temptree_file(f->upper, "locked-below/x", "abc");
	temptree_file(f->lower, "locked-below/x", "abc");
	MUST(fchmodat(f->lower, "locked-below", 0644, 0) == 0);
	temptree_file(f->upper, "locked-file-below", "abc");
	temptree_file(f->lower, "locked-file-below", "abc");
	MUST(fchmodat(f->lower, "locked-file-below", 0, 0) == 0);
	as_nobody(f, scan_foreign_unreadable);
}

/* A mount point inside upper is not entered. */
static int scan_with_mount(struct fixture *f)
{
	struct mr_error err = MR_ERROR_INIT;
	char path[300];
	int upper;

	CHECK(unshare(CLONE_NEWNS) == 0);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	snprintf(path, sizeof(path), "%s/upper/m", f->t.path);
	CHECK(mount(path, path, NULL, MS_BIND, NULL) == 0); /* st_dev stays the same */
	snprintf(path, sizeof(path), "%s/upper", f->t.path);
	upper = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK(mr_changes_scan(upper, f->lower, NULL, &f->changes, &err) == 0);
	CHECK(f->changes.n_rows == 1);
	CHECK(f->changes.rows[0].kind == MR_CHANGE_UNREADABLE);
	CHECK(f->changes.rows[0].errnum == EXDEV);
	mr_changes_deinit(&f->changes);
	return 0;
}

static int write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	CHECK(file);
	CHECK(fputs(text, file) >= 0);
	return fclose(file);
}

/* An overlay on a tmpfs of the child's own: not every /tmp can be an upper directory. */
static int mount_overlay(struct fixture *f)
{
	char options[1200], merged[300];

	CHECK(unshare(CLONE_NEWNS) == 0);
	CHECK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("tmpfs", f->t.path, "tmpfs", 0, "size=1m") == 0);
	f->t.fd = open(f->t.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->upper = temptree_dir(f->t.fd, "upper");
	f->lower = temptree_dir(f->t.fd, "lower");
	temptree_mkdir(f->t.fd, "work");
	temptree_mkdir(f->t.fd, "merged");
	temptree_file(f->lower, "chmod-me", "abc");
	temptree_mkdir(f->lower, "dir-gone");
	temptree_file(f->lower, "dir-gone/inside", "abc");
	temptree_mkdir(f->lower, "emptied");
	temptree_file(f->lower, "emptied/old", "abc");
	temptree_file(f->lower, "gone", "abc");
	temptree_mkdir(f->lower, "keep");
	temptree_file(f->lower, "keep/edited", "abc");
	temptree_file(f->lower, "keep/untouched", "abc");
	temptree_file(f->lower, "was-file", "abc");
	snprintf(merged, sizeof(merged), "%s/merged", f->t.path);
	snprintf(options, sizeof(options),
		 "lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/"
		 "work,redirect_dir=off,metacopy=off",
		 f->t.path, f->t.path, f->t.path);
	CHECK(mount("overlay", merged, "overlay", 0, options) == 0);
	CHECK(chdir(merged) == 0);
	return 0;
}

/* What a payload does, in the overlay as working directory. */
static int change_things(void)
{
	CHECK(chmod("chmod-me", 0755) == 0);
	CHECK(unlink("dir-gone/inside") == 0 && rmdir("dir-gone") == 0);
	CHECK(unlink("emptied/old") == 0 && rmdir("emptied") == 0);
	CHECK(mkdir("emptied", 0755) == 0 && mkdir("emptied/new", 0755) == 0);
	CHECK(unlink("gone") == 0);
	CHECK(write_text("keep/edited", "xyz") == 0);
	CHECK(unlink("was-file") == 0 && symlink("gone", "was-file") == 0);
	CHECK(write_text("temporary", "x") == 0 && unlink("temporary") == 0);
	return 0;
}

static int scan_real_overlay(struct fixture *f)
{
	static const char *const want[] = {
		"metadata file chmod-me",
		"deleted dir dir-gone",
		"added dir emptied/new",
		"deleted file emptied/old",
		"deleted file gone",
		"modified file keep/edited",
		"type_changed symlink was-file",
	};
	struct mr_error err = MR_ERROR_INIT;

	CHECK(mount_overlay(f) == 0);
	CHECK(change_things() == 0);
	CHECK(mr_changes_scan(f->upper, f->lower, NULL, &f->changes, &err) == 0);
	for (size_t i = 0; i < f->changes.n_rows; i++) {
		const struct mr_change *c = &f->changes.rows[i];
		char got[300];

		snprintf(got, sizeof(got), "%s %s %s", mr_changes_kind_name(c->kind),
			 mr_changes_type_name(c->type), c->path);
		if (i >= N_ELEMENTS(want) || strcmp(got, want[i]) != 0) {
			fprintf(stderr, "row %zu is \"%s\"\n", i, got);
			return 1;
		}
	}
	CHECK(f->changes.n_rows == N_ELEMENTS(want));
	return 0;
}

static void a_mount_point_is_not_entered(void **state)
{
	struct fixture *f = *state;

	temptree_mkdir(f->upper, "m");
	in_child(f, scan_with_mount);
}

static void reads_what_a_real_overlay_writes(void **state)
{
	in_child(*state, scan_real_overlay);
}

static bool have_overlay(void)
{
	mr_auto_fclose FILE *file = fopen("/proc/filesystems", "re");
	char line[128];

	while (file && fgets(line, sizeof(line), file)) {
		if (strcmp(line, "nodev\toverlay\n") == 0)
			return true;
	}
	return false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(whiteouts_are_deletions),
		TEST(marked_whiteouts_are_deletions),
		TEST(an_opaque_directory_hides_what_it_lacks),
		TEST(an_owner_reads_what_the_payload_locked),
		TEST(what_cannot_be_read_is_a_row),
		TEST(a_mount_point_is_not_entered),
		TEST(reads_what_a_real_overlay_writes),
	};

	if (geteuid() != 0) {
		puts("skip: needs root: whiteouts, trusted attributes, mounts, other users");
		return 77;
	}
	if (!have_overlay()) {
		puts("skip: needs a kernel with overlayfs");
		return 77;
	}
	umask(022);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

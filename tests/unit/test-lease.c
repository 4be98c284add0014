/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases: who holds one keeps it, who does not is swept, and nothing else is touched
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "cgroups/cgroup.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/supervise/lease.h"
#include "tests/lib/temptree.h"

#define SOMEBODY 65534

static const struct mr_lease_note note = { .program = "/bin/\033[1m", .begin_ns = 7 };

struct fixture {
	struct temptree tree;
	struct mr_cgroup_host *host;
};

static int set_up(void **state)
{
	static struct fixture f;
	struct mr_error err;

	temptree_make(&f.tree);
	*state = &f;
	return mr_cgroup_detect(&f.host, &err);
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	f->host = mr_cgroup_host_free(f->host);
	temptree_remove(&f->tree);
	return 0;
}

static int take(struct fixture *f, const char *id)
{
	struct mr_error err = MR_ERROR_INIT;
	int fd = mr_lease_take(f->tree.fd, id, f->host, &note, &err);

	if (fd < 0)
		fail_msg("%s", err.msg);
	return fd;
}

static void expect_sweep(struct fixture *f, int swept, size_t failed)
{
	struct mr_error err = MR_ERROR_INIT;
	size_t n = 99;

	assert_int_equal(mr_lease_sweep(f->tree.fd, &n, &err), swept);
	assert_int_equal(n, failed);
}

static bool is_there(struct fixture *f, const char *name)
{
	return faccessat(f->tree.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void ids_are_unique_and_sort_by_time(void **state)
{
	char ids[1000][MR_RUN_ID_SIZE];

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(ids); i++) {
		mr_lease_new_id(ids[i]);
		assert_int_equal(strlen(ids[i]), 26);
		assert_int_equal(strspn(ids[i], "0123456789abcdefghjkmnpqrstvwxyz"), 26);
		if (i > 0)
			assert_true(strncmp(ids[i - 1], ids[i], 10) <= 0);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(ids[j] + 10, ids[i] + 10);
	}
}

static void lease_that_is_held_survives(void **state)
{
	struct fixture *f = *state;
	int fd = take(f, "held");

	expect_sweep(f, 0, 0);
	assert_true(is_there(f, "held"));
	assert_int_equal(mr_lease_release(f->tree.fd, "held", fd), -1);
	assert_false(is_there(f, "held"));
	expect_sweep(f, 0, 0);
}

static void lease_is_for_its_owner_alone(void **state)
{
	struct fixture *f = *state;
	int fd = take(f, "mine");
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	mr_lease_release(f->tree.fd, "mine", fd);
}

static void lease_that_is_abandoned_is_swept(void **state)
{
	struct fixture *f = *state;
	int held = take(f, "held");

	close(take(f, "abandoned-1"));
	close(take(f, "abandoned-2"));
	expect_sweep(f, 2, 0);
	assert_false(is_there(f, "abandoned-1"));
	assert_false(is_there(f, "abandoned-2"));
	assert_true(is_there(f, "held"));
	mr_lease_release(f->tree.fd, "held", held);
}

/* The folder "leases" of the tree, so that what lies beside it is the tree's. */
static void enter_leases(struct fixture *f, int *ret_outer)
{
	int fd;

	MUST(mkdirat(f->tree.fd, "leases", 0700) == 0);
	fd = openat(f->tree.fd, "leases", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(fd >= 0);
	*ret_outer = f->tree.fd;
	f->tree.fd = fd;
}

static void leave_leases(struct fixture *f, int outer)
{
	close(f->tree.fd);
	f->tree.fd = outer;
}

static void make_files(int fd, const char *folder, const char *inner)
{
	mr_auto_close int folder_fd = -1, inner_fd = -1;

	MUST(mkdirat(fd, folder, 0711) == 0);
	folder_fd = openat(fd, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(folder_fd >= 0 && mkdirat(folder_fd, inner, 0711) == 0);
	inner_fd = openat(folder_fd, inner, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(inner_fd >= 0);
	MUST(mknodat(folder_fd, "hosts", S_IFREG | 0444, 0) == 0);
	MUST(mknodat(inner_fd, "code", S_IFREG | 0444, 0) == 0);
	MUST(symlinkat("../../kept", inner_fd, "link") == 0);
}

static void files_go_with_an_abandoned_lease_alone(void **state)
{
	struct fixture *f = *state;
	int outer, held;

	enter_leases(f, &outer);
	held = take(f, "held");
	close(take(f, "abandoned"));
	make_files(outer, "docker-held", "snippet");
	make_files(outer, "docker-abandoned", "snippet");
	make_files(outer, "docker-nobodys", "snippet"); /* a prepared container's have a record */
	make_files(outer, "kept", "deep");
	expect_sweep(f, 1, 0);
	assert_int_equal(faccessat(outer, "docker-abandoned", F_OK, 0), -1);
	assert_int_equal(faccessat(outer, "docker-held/snippet/code", F_OK, 0), 0);
	assert_int_equal(faccessat(outer, "docker-nobodys/snippet/code", F_OK, 0), 0);
	assert_int_equal(faccessat(outer, "kept/deep/code", F_OK, 0), 0);
	mr_lease_release(f->tree.fd, "held", held);
	leave_leases(f, outer);
}

static void files_that_stay_keep_the_lease(void **state)
{
	struct fixture *f = *state;
	int outer;

	enter_leases(f, &outer);
	close(take(f, "abandoned"));
	make_files(outer, "docker-abandoned", "snippet");
	MUST(mkdirat(outer, "docker-abandoned/snippet/unknown", 0700) == 0);
	expect_sweep(f, 0, 1);
	assert_true(is_there(f, "abandoned"));
	leave_leases(f, outer);
}

/* The lock is the description's: it lasts as long as one copy does, and a copy that closes takes
 * nothing away. */
static void lock_lasts_as_long_as_its_last_copy(void **state)
{
	struct fixture *f = *state;
	int fd = take(f, "shared"), gate[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(gate), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(gate[1]);
		_exit(read(gate[0], &byte, 1) != 0);
	}
	close(gate[0]);
	close(fcntl(fd, F_DUPFD_CLOEXEC, 3));
	expect_sweep(f, 0, 0);
	close(fd);
	expect_sweep(f, 0, 0);
	close(gate[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	expect_sweep(f, 1, 0);
}

static void name_that_is_taken_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct mr_error err = MR_ERROR_INIT;
	int fd = take(f, "same");

	assert_int_equal(mr_lease_take(f->tree.fd, "same", f->host, &note, &err), -EEXIST);
	assert_string_equal(err.msg, "name the lease of run same: File exists");
	expect_sweep(f, 0, 0);
	mr_lease_release(f->tree.fd, "same", fd);
}

static void what_is_no_lease_is_left_alone(void **state)
{
	struct fixture *f = *state;
	struct mr_error err = MR_ERROR_INIT;
	char text[8];
	size_t failed;
	int fd;

	temptree_mkdir(f->tree.fd, "outside");
	temptree_file(f->tree.fd, "outside/target", "stay");
	temptree_mkdir(f->tree.fd, "leases");
	fd = openat(f->tree.fd, "leases", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(symlinkat("../outside/target", fd, "link"), 0);
	temptree_mkdir(fd, "folder");
	assert_int_equal(mkfifoat(fd, "fifo", 0600), 0);
	assert_int_equal(mr_lease_sweep(fd, &failed, &err), 0);
	assert_int_equal(failed, 3);
	assert_non_null(strstr(err.msg, "the lease of run "));
	assert_int_equal(faccessat(fd, "link", F_OK, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(faccessat(fd, "folder", F_OK, 0), 0);
	assert_int_equal(faccessat(fd, "fifo", F_OK, 0), 0);
	close(fd);
	fd = openat(f->tree.fd, "outside/target", O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, text, sizeof(text)), 4);
	close(fd);
}

/* --- the folder, as an ordinary user --------------------------------------------- */

/* In a child, as SOMEBODY when we are root: the message, or "" for success. */
static void open_as_user(struct fixture *f, char *ret, size_t size)
{
	int out[2];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(out), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct mr_error err = MR_ERROR_INIT;

		if ((geteuid() == 0 && (setresgid(SOMEBODY, SOMEBODY, SOMEBODY) < 0 ||
					setresuid(SOMEBODY, SOMEBODY, SOMEBODY) < 0)) ||
		    setenv("XDG_RUNTIME_DIR", f->tree.path, 1) < 0)
			_exit(1);
		if (mr_lease_open_dir(&err) >= 0)
			err.msg[0] = '\0';
		_exit(write(out[1], err.msg, strlen(err.msg)) < 0);
	}
	close(out[1]);
	n = read(out[0], ret, size - 1);
	assert_true(n >= 0);
	ret[n] = '\0';
	close(out[0]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void give_away(struct fixture *f, const char *name)
{
	if (geteuid() == 0)
		assert_int_equal(fchownat(f->tree.fd, name, SOMEBODY, SOMEBODY,
					  AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW),
				 0);
}

static void folder_is_made_for_its_owner_alone(void **state)
{
	struct fixture *f = *state;
	char msg[600];
	struct stat st;

	give_away(f, "");
	for (int i = 0; i < 2; i++) {
		open_as_user(f, msg, sizeof(msg));
		assert_string_equal(msg, "");
	}
	assert_int_equal(fstatat(f->tree.fd, "menace/leases", &st, AT_SYMLINK_NOFOLLOW), 0);
	assert_true(S_ISDIR(st.st_mode));
	assert_int_equal(st.st_mode & 07777, 0700);
}

static void folder_that_is_a_link_is_refused(void **state)
{
	struct fixture *f = *state;
	char msg[600], want[400];

	temptree_mkdir(f->tree.fd, "elsewhere");
	give_away(f, "elsewhere");
	assert_int_equal(symlinkat("elsewhere", f->tree.fd, "menace"), 0);
	give_away(f, "");
	open_as_user(f, msg, sizeof(msg));
	snprintf(want, sizeof(want),
		 "XDG_RUNTIME_DIR (unset it and /tmp is used): %s: open folder menace: Not a "
		 "directory",
		 f->tree.path);
	assert_string_equal(msg, want);
	assert_int_equal(faccessat(f->tree.fd, "elsewhere/leases", F_OK, 0), -1);
}

static void folder_that_others_can_write_is_refused(void **state)
{
	struct fixture *f = *state;
	char msg[600];

	temptree_mkdir(f->tree.fd, "menace");
	assert_int_equal(fchmodat(f->tree.fd, "menace", 0720, 0), 0);
	give_away(f, "menace");
	give_away(f, "");
	open_as_user(f, msg, sizeof(msg));
	assert_non_null(strstr(msg, "folder menace belongs to user "));
	assert_non_null(strstr(msg, "with mode 0720; it must be ours alone"));
}

static void folder_of_somebody_else_is_refused(void **state)
{
	struct fixture *f = *state;
	char msg[600];

	if (geteuid() != 0)
		skip();
	temptree_mkdir(f->tree.fd, "menace");
	give_away(f, "");
	open_as_user(f, msg, sizeof(msg));
	assert_non_null(strstr(msg, "folder menace belongs to user 0 with mode 0755"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#define ID "00000000000000000000000000"

/* A lease of somebody's own making, held; what is read of it. */
static int read_text(struct fixture *f, const char *text, size_t size, struct mr_lease_info *info)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	mr_auto_close int fd = openat(f->tree.fd, ID, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int r;

	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(mr_lease_read(f->tree.fd, ID, info), 1); /* nobody holds it */
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	r = mr_lease_read(f->tree.fd, ID, info);
	assert_int_equal(unlinkat(f->tree.fd, ID, 0), 0);
	return r;
}

static void lease_tells_who_holds_it(void **state)
{
	static const struct mr_lease_note named = { "prog \033[1m\n", "a name\377", 123456789 };
	struct fixture *f = *state;
	struct mr_error err;
	struct mr_lease_info info;
	char bases[16384];
	int fd = mr_lease_take(f->tree.fd, ID, f->host, &named, &err);

	assert_true(fd >= 0);
	assert_int_equal(mr_lease_read(f->tree.fd, ID, &info), 0);
	assert_string_equal(info.id, ID);
	assert_int_equal(info.pid, getpid());
	assert_int_equal(info.uid, geteuid());
	assert_int_equal(info.begin_ns, 123456789);
	assert_string_equal(info.program, named.program);
	assert_string_equal(info.name, named.name);
	assert_true(mr_cgroup_host_bases(f->host, bases, sizeof(bases)) >= 0);
	assert_string_equal(info.bases, bases);
	mr_lease_info_deinit(&info);
	mr_lease_release(f->tree.fd, ID, fd);
	assert_int_equal(mr_lease_read(f->tree.fd, ID, &info), 1);
}

static void lease_that_makes_no_sense_is_none(void **state)
{
	static const struct {
		const char *text;
		size_t size;
	} texts[] = {
#define LEASE(literal) { literal, sizeof(literal) - 1 }
		LEASE("/a"),
		LEASE("/a\n"),
		LEASE("\n"),
		LEASE("\n\n"),
		LEASE("/a\n\n"),
		LEASE("/a\n\n1"),
		LEASE("/a\n\n1 2"),
		LEASE("/a\n\n1\nsh\0\0"),
		LEASE("/a\n\n-1 2\nsh\0\0"),
		LEASE("/a\n\n0 2\nsh\0\0"),
		LEASE("/a\n\n4294967297 2\nsh\0\0"),
		LEASE("/a\n\n1 99999999999999999999\nsh\0\0"),
		LEASE("/a\n\n1 x\nsh\0\0"),
		LEASE("/a\0\n\n1 2\nsh\0\0"),
		LEASE("\0\0\0\0"),
#undef LEASE
	};
	struct fixture *f = *state;
	struct mr_lease_info info;

	for (size_t i = 0; i < N_ELEMENTS(texts); i++)
		if (read_text(f, texts[i].text, texts[i].size, &info) != 1)
			fail_msg("text %zu is taken for a lease", i);
	/* Cut anywhere in its names it is one still. */
	assert_int_equal(read_text(f, "/a\n\n1 2\nsh", 11, &info), 0);
	assert_string_equal(info.program, "sh");
	assert_null(info.name);
	mr_lease_info_deinit(&info);
	assert_int_equal(read_text(f, "\n1 2\n", 6, &info), 0);
	assert_string_equal(info.program, "");
	assert_string_equal(info.bases, "");
	mr_lease_info_deinit(&info);
}

/* Whoever clears up after a dead supervisor holds the text alone: the run is over. */
static void lease_that_is_being_swept_is_no_living_runs(void **state)
{
	static const struct mr_lease_note named = { "sh", NULL, 1 };
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
	struct fixture *f = *state;
	struct mr_lease_info info;
	struct mr_error err;
	int fd = mr_lease_take(f->tree.fd, ID, f->host, &named, &err);
	mr_auto_close int sweeper = openat(f->tree.fd, ID, O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0 && sweeper >= 0);
	assert_int_equal(fcntl(sweeper, F_OFD_SETLK, &lock), -1); /* not while it lives */
	assert_int_equal(errno, EAGAIN);
	mr_close(fd);
	assert_int_equal(fcntl(sweeper, F_OFD_SETLK, &lock), 0);
	assert_int_equal(mr_lease_read(f->tree.fd, ID, &info), 1);
	assert_int_equal(unlinkat(f->tree.fd, ID, 0), 0);
}

static void name_that_is_no_run_id_is_none(void **state)
{
	static const char *const names[] = { "short", "0000000000000000000000000u",
					     "000000000000000000000000000", ".." };
	struct fixture *f = *state;
	struct mr_lease_info info;

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		assert_int_equal(mr_lease_read(f->tree.fd, names[i], &info), 1);
}

/* Nobody's things are removed because his lease could not be read. */
static void only_who_is_known_to_be_dead_is_taken_for_it(void **state)
{
	struct fixture *f = *state;
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	mr_auto_close int fd = openat(f->tree.fd, ID, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct rlimit limit, none;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "of another version", 18), 18);
	assert_false(mr_lease_may_live(f->tree.fd, ID)); /* nobody holds it */
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	assert_true(mr_lease_may_live(f->tree.fd, ID));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ .rlim_cur = 3, .rlim_max = limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(openat(f->tree.fd, ID, O_RDONLY | O_CLOEXEC), -1);
	assert_int_equal(errno, EMFILE);
	assert_true(mr_lease_may_live(f->tree.fd, ID)); /* who knows? */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(unlinkat(f->tree.fd, ID, 0), 0);
	assert_false(mr_lease_may_live(f->tree.fd, ID));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lease_tells_who_holds_it),
		TEST(lease_that_makes_no_sense_is_none),
		TEST(lease_that_is_being_swept_is_no_living_runs),
		TEST(name_that_is_no_run_id_is_none),
		TEST(only_who_is_known_to_be_dead_is_taken_for_it),
		cmocka_unit_test(ids_are_unique_and_sort_by_time),
		TEST(lease_that_is_held_survives),
		TEST(lease_is_for_its_owner_alone),
		TEST(lease_that_is_abandoned_is_swept),
		TEST(files_go_with_an_abandoned_lease_alone),
		TEST(files_that_stay_keep_the_lease),
		TEST(lock_lasts_as_long_as_its_last_copy),
		TEST(name_that_is_taken_is_an_error),
		TEST(what_is_no_lease_is_left_alone),
		TEST(folder_is_made_for_its_owner_alone),
		TEST(folder_that_is_a_link_is_refused),
		TEST(folder_that_others_can_write_is_refused),
		TEST(folder_of_somebody_else_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: forked children restrict themselves and try
 *
 * A body returns 0 or the number of the first step that came out otherwise; it
 * runs with a temporary folder as working directory that holds ro/, rw/ and
 * the file `single`.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <termios.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/launch/landlock.h"

struct fixture {
	char dir[64];
	struct mr_error *err; /* shared with the children */
};

static void need_abi(int abi)
{
	if (mr_landlock_abi(NULL) >= abi)
		return;
	print_message("needs Landlock ABI %d\n", abi);
	skip();
}

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "text", 4), 4);
	close(fd);
}

static int set_up(void **state)
{
	static struct fixture f;

	strcpy(f.dir, "/tmp/landlock-XXXXXX");
	assert_non_null(mkdtemp(f.dir));
	assert_int_equal(chdir(f.dir), 0);
	assert_int_equal(mkdir("ro", 0755), 0);
	assert_int_equal(mkdir("rw", 0755), 0);
	make_file("ro/file");
	make_file("rw/file");
	make_file("single");
	f.err = mmap(NULL, sizeof(*f.err), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	assert_ptr_not_equal(f.err, MAP_FAILED);
	*state = &f;
	return 0;
}

static int tear_down(void **state)
{
	static const char *const files[] = { "ro/file", "rw/file", "rw/moved",
					     "rw/new",	"rw/fifo", "single" };
	struct fixture *f = *state;

	for (size_t i = 0; i < N_ELEMENTS(files); i++)
		unlink(files[i]);
	rmdir("rw/dir");
	assert_int_equal(rmdir("ro"), 0);
	assert_int_equal(rmdir("rw"), 0);
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(rmdir(f->dir), 0);
	return munmap(f->err, sizeof(*f->err));
}

static int run_restricted(struct fixture *f, const struct mr_landlock_rule *rules, size_t n,
			  int (*body)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
			_exit(90);
		if (mr_landlock_restrict(rules, n, f->err) < 0)
			_exit(91);
		_exit(body());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 91)
		print_message("%s\n", f->err->msg);
	return WEXITSTATUS(status);
}

/* The errno of opening a path, 0 where it opens. */
static int open_errno(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int try_write_set(void)
{
	if (open_errno("ro/file", O_RDONLY) || open_errno("ro", O_RDONLY | O_DIRECTORY))
		return 1;
	if (open_errno("ro/file", O_WRONLY) != EACCES || truncate("ro/file", 0) == 0)
		return 2;
	if (open_errno("ro/new", O_WRONLY | O_CREAT) != EACCES || unlink("ro/file") == 0)
		return 3;
	if (open_errno("rw/file", O_RDWR | O_TRUNC) || open_errno("rw/new", O_WRONLY | O_CREAT))
		return 4;
	if (mkdir("rw/dir", 0755) < 0 || mkfifo("rw/fifo", 0644) < 0)
		return 5;
	if (rename("rw/file", "rw/moved") < 0 || unlink("rw/moved") < 0 || rmdir("rw/dir") < 0)
		return 6;
	if (open_errno("single", O_RDONLY) != EACCES)
		return 7;
	return open_errno("/etc/passwd", O_RDONLY) == EACCES ? 0 : 8;
}

static void only_the_write_set_may_be_written(void **state)
{
	static const struct mr_landlock_rule rules[] = { { "ro", MR_LANDLOCK_READ, 0 },
							 { "rw", MR_LANDLOCK_WRITE, 0 } };

	need_abi(3);
	assert_int_equal(run_restricted(*state, rules, N_ELEMENTS(rules), try_write_set), 0);
}

static int try_make_device(void)
{
	if (mknod("rw/dev", S_IFCHR | 0600, makedev(1, 3)) == 0 || errno != EACCES)
		return 1;
	return mknod("rw/dev", S_IFBLK | 0600, makedev(7, 0)) == 0 || errno != EACCES ? 2 : 0;
}

static void device_nodes_may_not_be_made(void **state)
{
	static const struct mr_landlock_rule rules[] = { { "rw", MR_LANDLOCK_WRITE, 0 } };

	need_abi(1);
	if (geteuid() != 0) {
		print_message("needs root\n");
		skip();
	}
	assert_int_equal(run_restricted(*state, rules, N_ELEMENTS(rules), try_make_device), 0);
}

static int try_single_file(void)
{
	if (open_errno("single", O_RDWR | O_TRUNC) || open_errno("ro/file", O_RDONLY) != EACCES)
		return 1;
	return open_errno("rw/file", O_RDONLY) || open_errno("rw/file", O_WRONLY) != EACCES ? 2 : 0;
}

/* A rule with a right for folders only would be refused by the kernel with EINVAL. */
static void rules_on_single_files_work(void **state)
{
	static const struct mr_landlock_rule rules[] = { { "single", MR_LANDLOCK_WRITE, 0 },
							 { "rw/file", MR_LANDLOCK_READ, 0 } };

	need_abi(3);
	assert_int_equal(run_restricted(*state, rules, N_ELEMENTS(rules), try_single_file), 0);
}

static int tty_ioctl_errno(const char *path)
{
	mr_auto_close int fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	int n;

	if (fd < 0)
		return errno;
	return ioctl(fd, TIOCGPTN, &n) < 0 ? errno : 0;
}

static int try_device(void)
{
	if (open_errno("/dev/null", O_RDWR | O_TRUNC))
		return 1;
	if (open_errno("/dev/zero", O_RDWR) != EACCES || open_errno("/dev/zero", O_RDONLY))
		return 2;
	return tty_ioctl_errno("/dev/ptmx");
}

static void devices_need_their_rule_for_ioctl(void **state)
{
	static const struct mr_landlock_rule without[] = { { "/dev/null", MR_LANDLOCK_DEVICE, 0 },
							   { "/dev", MR_LANDLOCK_READ, 0 },
							   { "/dev/ptmx", MR_LANDLOCK_WRITE, 0 },
							   { "/dev/pts", MR_LANDLOCK_WRITE, 0 } };
	static const struct mr_landlock_rule with[] = { { "/dev/null", MR_LANDLOCK_DEVICE, 0 },
							{ "/dev", MR_LANDLOCK_READ, 0 },
							{ "/dev/ptmx", MR_LANDLOCK_DEVICE, 0 },
							{ "/dev/pts", MR_LANDLOCK_DEVICE, 0 } };

	need_abi(5);
	if (tty_ioctl_errno("/dev/ptmx") != 0) {
		print_message("needs /dev/ptmx\n");
		skip();
	}
	assert_int_equal(run_restricted(*state, with, N_ELEMENTS(with), try_device), 0);
	assert_int_equal(run_restricted(*state, without, N_ELEMENTS(without), try_device), EACCES);
}

static int signal_parent(void)
{
	if (kill(getppid(), 0) == 0 || errno != EPERM)
		return 1;
	return kill(getpid(), 0) == 0 ? 0 : 2;
}

static void signals_stay_inside(void **state)
{
	need_abi(6);
	assert_int_equal(run_restricted(*state, NULL, 0, signal_parent), 0);
}

static struct sockaddr_un abstract_name(void)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };

	snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "menace-test-%d", getpgid(0));
	return name;
}

static int connect_abstract(void)
{
	struct sockaddr_un name = abstract_name();
	mr_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return 1;
	return connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0 && errno == EPERM ? 0 : 2;
}

static void abstract_sockets_outside_are_out_of_reach(void **state)
{
	struct sockaddr_un name = abstract_name();
	mr_auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	need_abi(6);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(run_restricted(*state, NULL, 0, connect_abstract), 0);
}

static int nothing(void)
{
	return 0;
}

static void missing_paths_are_errors_unless_optional(void **state)
{
	static const struct mr_landlock_rule optional[] = {
		{ "/nonexistent/a", MR_LANDLOCK_READ, 1 },
	};
	static const struct mr_landlock_rule required[] = {
		{ "/nonexistent/a", MR_LANDLOCK_READ, 0 },
	};
	static const struct mr_landlock_rule not_a_folder[] = {
		{ "single/a", MR_LANDLOCK_READ, 1 },
	};
	struct fixture *f = *state;

	need_abi(1);
	assert_int_equal(run_restricted(f, optional, 1, nothing), 0);
	assert_int_equal(run_restricted(f, required, 1, nothing), 91);
	assert_string_equal(f->err->msg, "open /nonexistent/a: No such file or directory");
	assert_int_equal(f->err->errnum, ENOENT);
	/* optional forgives a path that is missing, nothing else */
	assert_int_equal(run_restricted(f, not_a_folder, 1, nothing), 91);
	assert_string_equal(f->err->msg, "open single/a: Not a directory");
}

static void restricting_needs_no_new_privs(void **state)
{
	struct fixture *f = *state;
	int status;
	pid_t pid;

	need_abi(1);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
			_exit(90);
		_exit(mr_landlock_restrict(NULL, 0, f->err) == -EPERM ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_string_equal(f->err->msg, "restrict by Landlock: Operation not permitted");
}

static void abi_comes_with_its_errno(void **state)
{
	int why = -1, abi = mr_landlock_abi(&why);

	(void)state;
	if (abi > 0)
		assert_int_equal(why, 0);
	else
		assert_true(why == ENOSYS || why == EOPNOTSUPP);
	assert_int_equal(mr_landlock_abi(NULL), abi);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_the_write_set_may_be_written),
		TEST(device_nodes_may_not_be_made),
		TEST(rules_on_single_files_work),
		TEST(devices_need_their_rule_for_ioctl),
		TEST(signals_stay_inside),
		TEST(abstract_sockets_outside_are_out_of_reach),
		TEST(missing_paths_are_errors_unless_optional),
		TEST(restricting_needs_no_new_privs),
		TEST(abi_comes_with_its_errno),
	};

	if (mr_landlock_abi(NULL) == 0) {
		printf("needs Landlock\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

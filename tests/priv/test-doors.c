/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doors: whoever made them is at home again, or is no more
 * kernel
 * security
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "netns/doors.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

/* In the calling process's namespace; a kernel without it has no switch. */
static bool switch_ipv6_off(void)
{
	mr_auto_close int fd =
		open("/proc/sys/net/ipv6/conf/all/disable_ipv6", O_WRONLY | O_CLOEXEC);

	return fd < 0 ? errno == ENOENT : write(fd, "1", 1) == 1;
}

/* A process in a namespace of its own, that ends with our end of the pipe. */
static pid_t start_other(bool without_ipv6, int *ret_end)
{
	int ready[2], end[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(end), 0);
	pid = fork();
	if (pid == 0) {
		close(end[1]);
		if (unshare(CLONE_NEWNET) < 0)
			_exit(1);
		byte = (char)(without_ipv6 && !switch_ipv6_off());
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		_exit(read(end[0], &byte, 1) == 0 ? 0 : 1);
	}
	assert_true(pid > 0);
	close(ready[1]);
	close(end[0]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	assert_int_equal(byte, 0);
	*ret_end = end[1];
	return pid;
}

static void stop_other(pid_t pid, int end)
{
	close(end);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static ino_t own_namespace(void)
{
	struct stat st;

	assert_int_equal(stat("/proc/thread-self/ns/net", &st), 0);
	return st.st_ino;
}

static int make_doors(pid_t pid)
{
	static const struct mr_anyip_prefix everything[] = { { .family = AF_INET } };
	struct mr_doors doors = MR_DOORS_INIT;
	struct mr_error err = MR_ERROR_INIT;
	int r = mr_doors_open(pid, everything, N_ELEMENTS(everything), &doors, &err);

	mr_doors_close(&doors);
	return r;
}

static void who_makes_doors_is_at_home_again(void **state)
{
	const ino_t home = own_namespace();
	int end;
	pid_t other = start_other(false, &end);

	(void)state;
	assert_int_equal(make_doors(other), 0);
	assert_true(own_namespace() == home);
	stop_other(other, end);
}

static void without_ipv6_there_are_doors_of_ipv4(void **state)
{
	static const struct mr_anyip_prefix everything[] = { { .family = AF_INET },
							     { .family = AF_INET6 } };
	struct mr_doors doors = MR_DOORS_INIT;
	struct mr_error err = MR_ERROR_INIT;
	int end;
	pid_t other = start_other(true, &end);

	(void)state;
	if (mr_doors_open(other, everything, N_ELEMENTS(everything), &doors, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(doors.without_ipv6, 1);
	assert_int_equal(doors.n_routes, 1);
	mr_doors_close(&doors);
	stop_other(other, end);
}

/* From now on setns() of this descriptor is refused. */
static int forbid_setns(int fd)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setns, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 (uint32_t)offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)fd, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	const struct sock_fprog program = { .len = N_ELEMENTS(filter), .filter = filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

/* The way home is the first descriptor that is opened. */
static _Noreturn void make_without_way_home(pid_t pid)
{
	const struct rlimit none = { 0, 0 };
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

	signal(SIGABRT, SIG_DFL);
	close(next);
	if (next < 0 || setrlimit(RLIMIT_CORE, &none) < 0 || forbid_setns(next) < 0)
		_exit(2);
	make_doors(pid);
	_exit(0);
}

static void who_cannot_go_home_is_no_more(void **state)
{
	int end, status;
	pid_t other = start_other(false, &end), child = fork();

	(void)state;
	if (child == 0)
		make_without_way_home(other);
	assert_int_equal(waitpid(child, &status, 0), child);
	stop_other(other, end);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_makes_doors_is_at_home_again),
		cmocka_unit_test(without_ipv6_there_are_doors_of_ipv4),
		cmocka_unit_test(who_cannot_go_home_is_no_more),
	};

	if (geteuid() != 0) {
		printf("SKIP: not root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

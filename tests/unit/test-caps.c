/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capabilities: dropped for good, and read back from what the kernel shows
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/launch/caps.h"

static const char sample[] = "Name:\tCapInh:\n"
			     "Umask:\t0022\n"
			     "State:\tR (running)\n"
			     "CapInh:\t0000000000000001\n"
			     "CapPrm:\t000001ffffffffff\n"
			     "CapEff:\t00000000a80425fb\n"
			     "CapBnd:\tffffffffffffffff\n"
			     "CapAmb:\t0000000000000000\n"
			     "NoNewPrivs:\t1\n"
			     "Seccomp:\t2\n"
			     "Seccomp_filters:\t3\n";

static void status_is_parsed(void **state)
{
	struct mr_caps_shown shown;
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(mr_caps_parse_status(sample, &shown, &err), 0);
	assert_true(shown.inheritable == 1);
	assert_true(shown.permitted == 0x1ffffffffff);
	assert_true(shown.effective == 0xa80425fb);
	assert_true(shown.bounding == UINT64_MAX);
	assert_true(shown.ambient == 0);
	assert_int_equal(shown.no_new_privs, 1);
	assert_int_equal(shown.seccomp, 2);
}

/* The sample with one piece replaced must be refused with exactly this message. */
static void assert_refused(const char *piece, const char *by, const char *message)
{
	const char *at = strstr(sample, piece);
	struct mr_caps_shown shown = { .effective = 7 };
	struct mr_error err = MR_ERROR_INIT;
	char text[1024];

	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - sample), sample, by,
		 at + strlen(piece));
	assert_int_equal(mr_caps_parse_status(text, &shown, &err), -EBADMSG);
	assert_int_equal(err.code, MR_E_PROTO);
	assert_string_equal(err.msg, message);
	assert_true(shown.effective == 7);
}

static void bad_status_is_refused_by_field(void **state)
{
	(void)state;
	assert_refused("CapAmb:", "CapXmb:", "no CapAmb in /proc/PID/status");
	assert_refused("Seccomp:", "seccomp:", "no Seccomp in /proc/PID/status");
	assert_refused("NoNewPrivs:\t1\n", "", "no NoNewPrivs in /proc/PID/status");
	assert_refused("00000000a80425fb", "", "CapEff in /proc/PID/status is not a number");
	assert_refused("00000000a80425fb", "-1", "CapEff in /proc/PID/status is not a number");
	assert_refused("00000000a80425fb", "0x1", "CapEff in /proc/PID/status is not a number");
	assert_refused("00000000a80425fb", "a80425fb ",
		       "CapEff in /proc/PID/status is not a number");
	assert_refused("00000000a80425fb", "00000000a80425fb0",
		       "CapEff in /proc/PID/status is not a number");
	assert_refused("NoNewPrivs:\t1", "NoNewPrivs:\ta",
		       "NoNewPrivs in /proc/PID/status is not a number");
	assert_refused("\nCapInh:", "\n\nxCapInh:", "no CapInh in /proc/PID/status");
}

static void empty_status_is_refused(void **state)
{
	struct mr_caps_shown shown;
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	assert_int_equal(mr_caps_parse_status("", &shown, &err), -EBADMSG);
	assert_int_equal(mr_caps_parse_status("\n\n", &shown, &err), -EBADMSG);
	assert_string_equal(err.msg, "no CapInh in /proc/PID/status");
	assert_int_equal(mr_caps_parse_status("CapInh", &shown, NULL), -EBADMSG);
}

static int read_own_status(struct mr_caps_shown *ret)
{
	mr_auto_close int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	char text[8192];
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return mr_caps_parse_status(text, ret, NULL);
}

static int lock_is_on(void)
{
	int bits = prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
	int wanted = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED |
		     SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED | SECBIT_KEEP_CAPS_LOCKED;

	return bits >= 0 && (bits & wanted) == wanted;
}

static int drop_and_look(struct mr_error *err)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct admin[2] = { { .permitted = 1U << CAP_SYS_ADMIN } };
	struct mr_caps_shown shown = { 0 };

	if (mr_caps_drop_all(err) < 0)
		return 1;
	if (read_own_status(&shown) < 0)
		return 2;
	if (shown.inheritable | shown.permitted | shown.effective | shown.bounding | shown.ambient)
		return 3;
	if (!lock_is_on())
		return 4;
	if (prctl(PR_SET_SECUREBITS, 0, 0, 0, 0) == 0 || errno != EPERM)
		return 5;
	if (syscall(SYS_capset, &header, admin) == 0 || errno != EPERM)
		return 6;
	/* dropping what is gone is no error, though no right is left */
	return mr_caps_drop_all(err) == 0 ? 0 : 7;
}

static struct mr_error *shared_error(void)
{
	struct mr_error *err =
		mmap(NULL, sizeof(*err), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(err, MAP_FAILED);
	return err;
}

static int run_forked(int (*body)(struct mr_error *err), struct mr_error *err)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(body(err));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void need_root(void)
{
	if (geteuid() == 0)
		return;
	print_message("needs root\n");
	skip();
}

static void nothing_is_left_and_nothing_comes_back(void **state)
{
	struct mr_error *err = shared_error();

	(void)state;
	need_root();
	assert_int_equal(run_forked(drop_and_look, err), 0);
	munmap(err, sizeof(*err));
}

/* After exec as uid 0, which gives root everything where SECBIT_NOROOT is not set. */
static int drop_and_exec(struct mr_error *err)
{
	if (mr_caps_drop_all(err) < 0)
		return 90;
	execl("/bin/sh", "sh", "-c",
	      "while read -r k v; do case $k in Cap*) [ $v = 0000000000000000 ] || exit 1;; esac; "
	      "done < /proc/self/status",
	      (char *)NULL);
	return 91;
}

static void exec_as_root_gains_nothing(void **state)
{
	struct mr_error *err = shared_error();

	(void)state;
	need_root();
	assert_int_equal(run_forked(drop_and_exec, err), 0);
	munmap(err, sizeof(*err));
}

static int drop_as_nobody(struct mr_error *err)
{
	if (setresuid(65534, 65534, 65534) < 0)
		return 90;
	return mr_caps_drop_all(err) == -EPERM ? 0 : 1;
}

/* Without CAP_SETPCAP the bounding set stays, so this is an error and not a shrug. */
static void without_the_right_it_fails(void **state)
{
	struct mr_error *err = shared_error();

	(void)state;
	need_root();
	assert_int_equal(run_forked(drop_as_nobody, err), 0);
	assert_string_equal(err->msg, "drop capability 0 from the bounding set: "
				      "Operation not permitted");
	munmap(err, sizeof(*err));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(status_is_parsed),
		cmocka_unit_test(bad_status_is_refused_by_field),
		cmocka_unit_test(empty_status_is_refused),
		cmocka_unit_test(nothing_is_left_and_nothing_comes_back),
		cmocka_unit_test(exec_as_root_gains_nothing),
		cmocka_unit_test(without_the_right_it_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seccomp: the kernel does what the programs say
 *
 * Forked children load a program and make the bad calls, once with the answers
 * in the filter (another listener is above) and once with a listener whose
 * notifications the parent answers by the rules.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/launch/seccomp.h"
#include "tests/helpers/bad-calls.h"

static const struct mr_seccomp_policy level3 = { .level = 3 };
static const struct mr_seccomp_policy level4 = { .level = 4 };
static const struct mr_seccomp_policy level5 = { .level = 5 };

/* What a confined child leaves for the test to look at. */
struct report {
	int load_result;
	int listener;
	int errnums[N_BAD_CALLS];
	struct mr_error err;
};

static struct report *new_report(void)
{
	struct report *report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(report, MAP_FAILED);
	return report;
}

/* A listener above ours: the next one to be asked for is EBUSY. */
static void occupy_listener(void)
{
	struct sock_filter allow = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
	struct sock_fprog prog = { .len = 1, .filter = &allow };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog) <
	    0)
		_exit(91);
}

struct confined {
	const struct mr_seccomp_policy *policy;
	bool occupied;
	int (*body)(struct report *report);
	int ready_fd; /* a byte goes out once the filter is there, one comes back to go on */
};

static _Noreturn void run_confined(const struct confined *c, struct report *report)
{
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		_exit(90);
	if (c->occupied)
		occupy_listener();
	report->listener = -2;
	report->load_result =
		mr_seccomp_load(mr_seccomp_program(c->policy), &report->listener, &report->err);
	if (write(c->ready_fd, "", 1) != 1 || read(c->ready_fd, &byte, 1) != 1)
		_exit(92);
	_exit(report->load_result < 0 ? 93 : c->body(report));
}

/* Answer one notification; returns the rule it fell under. */
static const struct mr_seccomp_rule *answer(const struct mr_seccomp_policy *policy, int listener)
{
	struct seccomp_notif notif = { .id = 0 };
	struct seccomp_notif_resp resp = { .id = 0 };
	const struct mr_seccomp_rule *rule;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &notif) < 0)
		return NULL;
	rule = mr_seccomp_rule_for(policy, &notif.data);
	resp.id = notif.id;
	if (rule->verdict == MR_SECCOMP_DENY)
		resp.error = -rule->errnum;
	else
		resp.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0 ? NULL : rule;
}

#define VERDICTS (MR_SECCOMP_SOCKET + 1)

/* Until the child ends; counts answers by verdict. */
static void serve(const struct mr_seccomp_policy *policy, int listener, int pidfd,
		  unsigned int counts[VERDICTS])
{
	struct pollfd fds[2] = { { .fd = pidfd, .events = POLLIN },
				 { .fd = listener, .events = POLLIN } };

	for (;;) {
		const struct mr_seccomp_rule *rule;

		assert_true(poll(fds, 2, 60000) > 0);
		if (fds[1].revents & POLLIN) {
			rule = answer(policy, listener);
			if (rule)
				counts[rule->verdict]++;
			continue;
		}
		if (fds[0].revents)
			return;
		if (fds[1].revents)
			fds[1].fd = -1;
	}
}

/* Run a confined body to its end and return its exit status. */
static int confine(struct confined c, struct report *report, unsigned int counts[VERDICTS])
{
	mr_auto_close int ready = -1, pidfd = -1, listener = -1;
	int ends[2], status;
	char byte;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	ready = ends[0];
	c.ready_fd = ends[1];
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		run_confined(&c, report);
	close(ends[1]);
	pidfd = mr_pidfd_open(pid, 0);
	assert_true(pidfd >= 0);
	assert_int_equal(read(ready, &byte, 1), 1);
	if (report->listener >= 0) {
		listener = (int)syscall(SYS_pidfd_getfd, pidfd, report->listener, 0);
		assert_true(listener >= 0);
	}
	assert_int_equal(write(ready, "", 1), 1);
	if (listener >= 0)
		serve(c.policy, listener, pidfd, counts);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int make_bad_calls(struct report *report)
{
	for (size_t i = 0; i < N_BAD_CALLS; i++)
		report->errnums[i] = try_bad_call(&bad_calls[i]);
	return 0;
}

static void assert_bad_calls_denied(const struct report *report)
{
	for (size_t i = 0; i < N_BAD_CALLS; i++) {
		if (report->errnums[i] != bad_calls[i].expected)
			fail_msg("%s: %s, expected %s", bad_calls[i].name,
				 strerror(report->errnums[i]), strerror(bad_calls[i].expected));
	}
}

/* Else the next two tests would show nothing. */
static void without_a_filter_the_bad_calls_fail_otherwise(void **state)
{
	struct report *report = new_report();
	unsigned int same = 0;
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0) {
		print_message("needs root\n");
		skip();
	}
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(make_bad_calls(report));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	for (size_t i = 0; i < N_BAD_CALLS; i++)
		same += report->errnums[i] == bad_calls[i].expected;
	/* this kernel may lack some by itself: x32, AF_ALG, SCTP, kexec and the like */
	assert_in_range(same, 0, N_BAD_CALLS / 4);
	munmap(report, sizeof(*report));
}

static void bad_calls_are_denied_without_a_listener(void **state)
{
	struct report *report = new_report();
	unsigned int counts[VERDICTS] = { 0 };

	(void)state;
	assert_int_equal(confine((struct confined){ .policy = &level3,
						    .occupied = true,
						    .body = make_bad_calls },
				 report, counts),
			 0);
	assert_int_equal(report->load_result, 1);
	assert_int_equal(report->listener, -1);
	assert_bad_calls_denied(report);
	munmap(report, sizeof(*report));
}

static void bad_calls_are_denied_by_a_listener(void **state)
{
	struct report *report = new_report();
	unsigned int counts[VERDICTS] = { 0 }, expected = 0;

	(void)state;
	for (size_t i = 0; i < N_BAD_CALLS; i++)
		expected += bad_calls[i].expected != ENOSYS;
	assert_int_equal(confine((struct confined){ .policy = &level3, .body = make_bad_calls },
				 report, counts),
			 0);
	assert_int_equal(report->load_result, 0);
	assert_bad_calls_denied(report);
	/* x32 always notifies, i386 where the kernel has it */
	assert_in_range(counts[MR_SECCOMP_DENY], expected + 1, expected + 2);
	assert_int_equal(counts[MR_SECCOMP_NET], 0);
	munmap(report, sizeof(*report));
}

static int use_sockets(struct report *report)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)report;
	if (fd < 0)
		return 1;
	if (bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0)
		return 2;
	if (syscall(SYS_sendto, fd, "", 0, 0, NULL, 0) >= 0 || errno != EDESTADDRREQ)
		return 3;
	return close(fd) == 0 && getppid() > 0 ? 0 : 4;
}

static void network_calls_reach_the_supervisor(void **state)
{
	struct mr_seccomp_policy allowed = { .level = 3, .net = MR_SECCOMP_NET_ALLOW };
	struct report *report = new_report();
	unsigned int counts[VERDICTS] = { 0 };

	(void)state;
	assert_int_equal(confine((struct confined){ .policy = &level3, .body = use_sockets },
				 report, counts),
			 0);
	assert_int_equal(counts[MR_SECCOMP_NET], 1);
	assert_int_equal(counts[MR_SECCOMP_SOCKET], 1);
	memset(counts, 0, sizeof(counts));
	assert_int_equal(confine((struct confined){ .policy = &allowed, .body = use_sockets },
				 report, counts),
			 0);
	assert_int_equal(counts[MR_SECCOMP_NET], 0);
	assert_int_equal(counts[MR_SECCOMP_SOCKET], 0);
	/* alone the record is lost, the network namespace stays the wall */
	assert_int_equal(confine((struct confined){ .policy = &level3,
						    .occupied = true,
						    .body = use_sockets },
				 report, counts),
			 0);
	munmap(report, sizeof(*report));
}

static int exec_and_map(struct report *report)
{
	char *const argv[] = { (char *)(uintptr_t) "none", NULL };
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)report;
	if (page == MAP_FAILED)
		return 1;
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0 || errno != EPERM)
		return 2;
	if (mmap(NULL, 4096, PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
		    MAP_FAILED ||
	    errno != EPERM)
		return 3;
	if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
		return 4;
	if (execv("/nonexistent", argv) == 0 || errno != ENOENT)
		return 5;
	return setuid(getuid()) == 0 || errno != EPERM ? 6 : 0;
}

static void level_4_and_5_watch_exec_and_opens(void **state)
{
	struct report *report = new_report();
	unsigned int counts[VERDICTS] = { 0 };

	(void)state;
	assert_int_equal(confine((struct confined){ .policy = &level4, .body = exec_and_map },
				 report, counts),
			 0);
	assert_int_equal(counts[MR_SECCOMP_DENY], 3);
	assert_int_equal(counts[MR_SECCOMP_EXEC], 1);
	assert_int_equal(counts[MR_SECCOMP_OPEN], 0);
	memset(counts, 0, sizeof(counts));
	assert_int_equal(confine((struct confined){ .policy = &level5, .body = exec_and_map },
				 report, counts),
			 0);
	assert_int_equal(counts[MR_SECCOMP_OPEN], 1);
	munmap(report, sizeof(*report));
}

static void level_4_is_refused_without_a_listener(void **state)
{
	struct report *report = new_report();
	unsigned int counts[VERDICTS] = { 0 };

	(void)state;
	assert_int_equal(confine((struct confined){ .policy = &level4,
						    .occupied = true,
						    .body = exec_and_map },
				 report, counts),
			 93);
	assert_int_equal(report->load_result, -EBUSY);
	assert_int_equal(report->listener, -2);
	assert_int_equal(report->err.code, MR_E_KERNEL);
	assert_string_equal(report->err.msg, "seccomp: this level or policy needs a listener: "
					     "Device or resource busy");
	munmap(report, sizeof(*report));
}

/* An unprivileged process without no_new_privs may not load a filter. */
static void loading_needs_no_new_privs(void **state)
{
	struct report *report = new_report();
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0)
			_exit(90);
		report->listener = -2;
		report->load_result = mr_seccomp_load(mr_seccomp_program(&level3),
						      &report->listener, &report->err);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(report->load_result, -EACCES);
	assert_int_equal(report->listener, -2);
	assert_string_equal(report->err.msg, "install seccomp filter: Permission denied");
	munmap(report, sizeof(*report));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_filter_the_bad_calls_fail_otherwise),
		cmocka_unit_test(bad_calls_are_denied_without_a_listener),
		cmocka_unit_test(bad_calls_are_denied_by_a_listener),
		cmocka_unit_test(network_calls_reach_the_supervisor),
		cmocka_unit_test(level_4_and_5_watch_exec_and_opens),
		cmocka_unit_test(level_4_is_refused_without_a_listener),
		cmocka_unit_test(loading_needs_no_new_privs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace-netd's last words, of a child that plays it
 *
 * The supervisor's clock is a virtual one: its waits take no time, and the child has LOOK_MS in each.
 */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/clock_virtual.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/loop.h"
#include "runtime/base/patience.h"
#include "runtime/supervise/netd.h"

#define WORDS 100 /* more than are heard in one turn of a loop */
#define SPIN_NS 200000000ULL
#define LOOK_MS 10 /* really, whatever the virtual clock shows then */
#define LOOK_NS 1000000ULL /* that it shows more after each look */

static struct mr_loop *loop;
static unsigned int n_heard;
static pid_t kept_until; /* > 0: who waits is kept from the processor until this one has ended */
static bool is_first; /* of all calls: waits for as long as it takes */

static int wait_for(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	return (int)syscall(SYS_ppoll, fds, n, ms < 0 ? NULL : &t, NULL, 0);
}

int poll(struct pollfd *fds, nfds_t n, int ms)
{
	siginfo_t info;

	if (kept_until > 0) {
		waitid(P_PID, (id_t)kept_until, &info, WEXITED | WNOWAIT);
		kept_until = 0;
		mr_clock_advance(MR_PATIENCE_NS(NETD_STOP) + 1);
	}
	if (is_first)
		ms = -1;
	else if (ms == 0)
		ms = LOOK_MS;
	is_first = false;
	mr_clock_advance(LOOK_NS);
	return wait_for(fds, n, ms);
}

static void on_message(void *owner, const struct mr_netd_head *head)
{
	(void)owner;
	n_heard += head->type == MR_NETD_MODE_FIRST;
}

static void on_event(struct mr_source *source, uint32_t events)
{
	(void)source;
	(void)events;
}

enum way { AT_ONCE, ENDLESS, BUSY, STOPPED, DEAF };

static void spin(void)
{
	const uint64_t end = mr_now_ns() + SPIN_NS;

	while (mr_now_ns() < end)
		;
}

/* Its last words when it is to end, or words without an end; at once, or when it comes to it. */
static _Noreturn void play(int fd, enum way way)
{
	const struct mr_netd_head head = { .type = MR_NETD_MODE_FIRST, .size = sizeof(head) };
	char byte;

	mr_clock_set_real();
	if (way == DEAF ? recv(fd, &byte, 1, MSG_PEEK) != 1 : recv(fd, &byte, 1, 0) != 0)
		_exit(1);
	if (way == BUSY)
		spin();
	if (way == STOPPED)
		raise(SIGSTOP);
	for (int i = 0; way == ENDLESS || i < WORDS; i++)
		if (mr_send_msg(fd, &head, sizeof(head), NULL, 0) < 0)
			_exit(1);
	_exit(0);
}

static void start(struct mr_netd_run *netd, enum way way)
{
	struct mr_error err = MR_ERROR_INIT;
	int pair[2], pidfd;

	*netd = (struct mr_netd_run)MR_NETD_RUN_INIT;
	netd->loop = loop;
	netd->opts.on_message = on_message;
	n_heard = 0;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	netd->pid = fork();
	if (netd->pid == 0) {
		close(pair[0]);
		play(pair[1], way);
	}
	assert_true(netd->pid > 0);
	close(pair[1]);
	assert_int_equal(mr_loop_add(loop, &netd->channel, pair[0], EPOLLIN, on_event, netd, &err),
			 0);
	pidfd = mr_pidfd_open(netd->pid, 0);
	assert_true(pidfd >= 0);
	assert_int_equal(mr_loop_add(loop, &netd->process, pidfd, EPOLLIN, on_event, netd, &err),
			 0);
}

static void last_words_are_heard_by_one_who_is_late_himself(void **state)
{
	struct mr_netd_run netd;

	(void)state;
	start(&netd, AT_ONCE);
	kept_until = netd.pid;
	mr_netd_stop(&netd);
	assert_int_equal(n_heard, WORDS);
	assert_null(mr_netd_end(&netd));
}

/* Its end with a word of ours unread is an error of the socket, in front of what it said. */
static void last_words_of_one_that_did_not_listen_are_heard(void **state)
{
	const struct mr_netd_head head = { .type = MR_NETD_BEGIN, .size = sizeof(head) };
	struct mr_netd_run netd;
	siginfo_t info;

	(void)state;
	start(&netd, DEAF);
	assert_true(mr_netd_send(&netd, &head));
	assert_int_equal(waitid(P_PID, (id_t)netd.pid, &info, WEXITED | WNOWAIT), 0);
	mr_netd_stop(&netd);
	assert_int_equal(n_heard, WORDS);
	assert_null(mr_netd_end(&netd));
}

static void endless_words_have_their_time(void **state)
{
	struct mr_netd_run netd;

	(void)state;
	start(&netd, ENDLESS);
	is_first = true;
	mr_netd_stop(&netd);
	assert_true(n_heard > 0);
	assert_non_null(mr_netd_end(&netd));
	assert_string_equal(mr_netd_end(&netd)->msg, "menace-netd did not come to its end");
	assert_int_equal(netd.pid, 0);
}

static void one_that_others_keep_from_the_processor_has_more_time(void **state)
{
	struct mr_netd_run netd;

	(void)state;
	start(&netd, BUSY);
	mr_netd_stop(&netd);
	assert_int_equal(n_heard, WORDS);
	assert_null(mr_netd_end(&netd));
}

static void one_that_is_stopped_has_its_time(void **state)
{
	const uint64_t begin = mr_now_ns();
	struct mr_netd_run netd;

	(void)state;
	start(&netd, STOPPED);
	mr_netd_stop(&netd);
	assert_true(mr_now_ns() - begin < 5 * MR_PATIENCE_NS(NETD_STOP));
	assert_int_equal(n_heard, 0);
	assert_non_null(mr_netd_end(&netd));
}

static int set_up(void **state)
{
	struct mr_error err;

	(void)state;
	mr_clock_set_virtual(1000000000);
	return mr_loop_new(&loop, &err);
}

static int tear_down(void **state)
{
	(void)state;
	loop = mr_loop_free(loop);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(last_words_are_heard_by_one_who_is_late_himself),
		cmocka_unit_test(last_words_of_one_that_did_not_listen_are_heard),
		cmocka_unit_test(endless_words_have_their_time),
		cmocka_unit_test(one_that_others_keep_from_the_processor_has_more_time),
		cmocka_unit_test(one_that_is_stopped_has_its_time),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}

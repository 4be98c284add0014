/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose a socket is: a look has so much of the processor's time, and what others take of it is
 * not the payload's doing
 *
 * opendir() of this program is where a look is held up, and its clocks stand still but for that:
 * what a busy machine takes of the time is not looked at.
 */
#include "tests/priv/test-cgroup.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "runtime/base/clock.h"
#include "runtime/base/clock_virtual.h"
#include "runtime/base/patience.h"
#include "runtime/supervise/whose.h"

/* Well under what all looks of a second may take. */
#define HELD_UP_NS (5 * MR_PATIENCE_NS(OWNER_LOOK) / 2)
#define FILES 100 /* enough of them that the clock is looked at */

static void (*hold_up)(void); /* once, as soon as the descriptors of a process are listed */

DIR *opendir(const char *path)
{
	const size_t len = strlen(path);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (hold_up && len > 3 && strcmp(path + len - 3, "/fd") == 0) {
		hold_up();
		hold_up = NULL;
	}
	return fd < 0 ? NULL : fdopendir(fd);
}

static void wait_for_others(void)
{
	mr_clock_advance(HELD_UP_NS);
}

static void wait_for_others_too_long(void)
{
	mr_clock_advance(MR_PATIENCE_NS(OWNER_LOOKS));
}

static void look_through_much(void)
{
	mr_clock_advance_cpu(HELD_UP_NS);
	mr_clock_advance(HELD_UP_NS);
}

/* A datagram socket behind many other descriptors; its port goes to the pipe. */
static int hold_socket(void *arg)
{
	const struct sockaddr_in any = { .sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in bound;
	socklen_t size = sizeof(bound);
	int fd;

	for (int i = 0; i < FILES; i++)
		if (open("/dev/null", O_RDONLY) < 0)
			return 1;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&bound, &size) < 0 ||
	    write(*(int *)arg, &bound.sin_port, sizeof(bound.sin_port)) < 0)
		return 1;
	return pause_forever(NULL);
}

/* Who has that socket, to whom is held up. */
static void look(void (*how)(void), pid_t *ret_pid, struct mr_who *ret)
{
	const struct mr_limits limits = NO_LIMITS;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_whose whose = { .protocol = IPPROTO_UDP };
	struct mr_looks looks = { 0 };
	struct mr_cgroup *cg = NULL;
	in_port_t port = 0;
	int fds[2];

	assert_ok(mr_cgroup_new(host, own_name("whose"), &limits, 0, &cg, &err));
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	*ret_pid = spawn(cg, hold_socket, &fds[1]);
	close(fds[1]);
	assert_int_equal(read(fds[0], &port, sizeof(port)), sizeof(port));
	close(fds[0]);
	whose.local_port = ntohs(port);
	assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.1", &whose.local), 1);
	hold_up = how;
	mr_clock_set_virtual(1000000000);
	mr_whose_socket(&looks, getpid(), cg, &whose, ret);
	mr_clock_set_real();
	assert_null(hold_up);
	assert_ok(mr_cgroup_kill(cg, &err));
	wait_status(*ret_pid);
	assert_ok(mr_cgroup_destroy(cg, &err));
	mr_cgroup_free(cg);
}

static void who_is_kept_waiting_goes_on(void **state)
{
	struct mr_who who;
	pid_t pid;

	(void)state;
	look(wait_for_others, &pid, &who);
	assert_int_equal(who.pid, pid);
	assert_false(who.left_out);
	assert_null(who.why);
}

static void assert_left_out(void (*how)(void))
{
	struct mr_who who;
	pid_t pid;

	look(how, &pid, &who);
	assert_int_equal(who.pid, 0);
	assert_true(who.left_out);
	assert_string_equal(who.why, "there was too much to look through");
}

static void what_takes_too_long_is_left_out(void **state)
{
	(void)state;
	assert_left_out(look_through_much);
}

static void who_is_kept_waiting_for_all_looks_of_a_second_is_left_out(void **state)
{
	(void)state;
	assert_left_out(wait_for_others_too_long);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_kept_waiting_goes_on),
		cmocka_unit_test(what_takes_too_long_is_left_out),
		cmocka_unit_test(who_is_kept_waiting_for_all_looks_of_a_second_is_left_out),
	};

	need_cgroups();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dumps that change while they are read
 *
 * The kernel cannot be made to say so at a given time.  So a second socket says it in its place: what it
 * sends to the first is there before the kernel's own answer, which is to what there is nothing of, and so
 * over at once.
 * kernel
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "netns/rtnl.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#define TRIES 8 /* of mr_rtnl_dump() */

static struct mr_rtnl *rtnl;
static struct nl_msg *request;
static int liar = -1; /* speaks in the kernel's place */

/* What was handed out: how many, and the index of the last. */
struct seen {
	unsigned int n, index;
};

static int count(const struct nlmsghdr *message, void *owner, struct mr_error *err)
{
	struct seen *seen = owner;
	struct ifaddrmsg address;

	(void)err;
	memcpy(&address, (const char *)message + NLMSG_HDRLEN, sizeof(address));
	seen->index = address.ifa_index;
	seen->n++;
	return 0;
}

static int dump(struct seen *seen, struct mr_error *err)
{
	*seen = (struct seen){ 0 };
	*err = (struct mr_error)MR_ERROR_INIT;
	return mr_rtnl_dump(rtnl, request, "show the addresses", count, seen, err);
}

static int set_up(void **state)
{
	const struct ifaddrmsg info = { .ifa_family = AF_INET };
	const int room = 8 << 20;
	struct mr_error err;
	struct seen seen;

	(void)state;
	request = nlmsg_alloc_simple(RTM_GETADDR, 0);
	liar = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (!request || liar < 0 ||
	    nlmsg_append(request, (void *)(uintptr_t)&info, sizeof(info), NLMSG_ALIGNTO) != 0 ||
	    mr_rtnl_open(&rtnl, &err) < 0)
		return -1;
	/* What the kernel has to say waits there as well, in large buffers. */
	if (setsockopt(mr_rtnl_fd(rtnl), SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) < 0)
		return -1;
	/* From here on the number of the next request is known. */
	return dump(&seen, &err) < 0 || seen.n != 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	rtnl = mr_rtnl_free(rtnl);
	nlmsg_free(request);
	liar = mr_close(liar);
	return 0;
}

static void say(const void *data, size_t size)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	socklen_t length = sizeof(to);

	assert_int_equal(getsockname(mr_rtnl_fd(rtnl), (struct sockaddr *)&to, &length), 0);
	assert_int_equal(sendto(liar, data, size, 0, (const struct sockaddr *)&to, sizeof(to)),
			 size);
}

/* Part of an answer to the request that is `ahead` of the last one. */
static void say_address(uint32_t ahead, uint16_t flags, unsigned int index)
{
	struct {
		struct nlmsghdr head;
		struct ifaddrmsg address;
	} part = { .head = { .nlmsg_len = sizeof(part),
			     .nlmsg_type = RTM_NEWADDR,
			     .nlmsg_flags = (uint16_t)(NLM_F_MULTI | flags),
			     .nlmsg_seq = nlmsg_hdr(request)->nlmsg_seq + ahead },
		   .address = { .ifa_index = index } };

	say(&part, sizeof(part));
}

static void say_done(uint32_t ahead, uint16_t flags)
{
	struct {
		struct nlmsghdr head;
		int status;
	} done = { .head = { .nlmsg_len = sizeof(done),
			     .nlmsg_type = NLMSG_DONE,
			     .nlmsg_flags = (uint16_t)(NLM_F_MULTI | flags),
			     .nlmsg_seq = nlmsg_hdr(request)->nlmsg_seq + ahead } };

	say(&done, sizeof(done));
}

static void test_what_is_said_in_its_place_is_heard(void **state)
{
	struct mr_error err;
	struct seen seen;

	(void)state;
	say_address(1, 0, 11);
	say_address(1, 0, 12);
	say_done(1, 0);
	assert_int_equal(dump(&seen, &err), 0);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.index, 12);
}

static void test_an_interrupted_dump_is_asked_for_again(void **state)
{
	struct mr_error err;
	struct seen seen;

	(void)state;
	/* In its midst, with more to come. */
	say_address(1, 0, 11);
	say_address(1, NLM_F_DUMP_INTR, 12);
	say_address(1, 0, 13);
	say_done(1, 0);
	/* At its very end. */
	say_address(2, 0, 21);
	say_done(2, NLM_F_DUMP_INTR);
	/* Not at all. */
	say_address(3, 0, 31);
	say_done(3, 0);
	assert_int_equal(dump(&seen, &err), 0);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.index, 31);
	/* Nothing is left of it. */
	assert_int_equal(dump(&seen, &err), 0);
	assert_int_equal(seen.n, 0);
}

static void test_one_that_never_holds_still_is_told(void **state)
{
	struct mr_error err;
	struct seen seen;

	(void)state;
	for (uint32_t i = 1; i <= TRIES; i++) {
		say_address(i, NLM_F_DUMP_INTR, i);
		say_done(i, 0);
	}
	assert_int_equal(dump(&seen, &err), -EAGAIN);
	assert_int_equal(err.code, MR_E_BUSY);
	assert_string_equal(err.msg, "show the addresses: it changed while it was read");
	assert_int_equal(seen.n, 0);
	assert_int_equal(dump(&seen, &err), 0);
	assert_int_equal(seen.n, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_is_said_in_its_place_is_heard),
		TEST(test_an_interrupted_dump_is_asked_for_again),
		TEST(test_one_that_never_holds_still_is_told),
	};

	if (geteuid() != 0) {
		printf("SKIP: not root\n");
		return 77;
	}
	if (unshare(CLONE_NEWNET) < 0) {
		perror("unshare");
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}

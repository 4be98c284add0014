/* SPDX-License-Identifier: Apache-2.0 */
/*
 * echo
 *
 * Both ends are here: one task plays the sender and the one who sends back, so that
 * nothing is started.  Datagrams carry their number; the times stay with us.
 */
#include "netns/echo.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"

#define GAP_NS 1000000ULL

struct echo {
	int near, far;
	uint32_t count;
	uint64_t caught_up_ns; /* when something was there after the end of patience; 0: never */
	uint64_t sent_ns[MR_ECHO_MAX];
	uint64_t rtt_ns[MR_ECHO_MAX]; /* 0: no answer yet */
	struct mr_echo result;
};

static int open_socket(struct sockaddr_in *ret_addr, struct mr_error *err)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(addr);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    getsockname(fd, (struct sockaddr *)&addr, &size) < 0) {
		int r = mr_err(err, MR_E_SYS, errno, "measure the loopback: socket: %m");

		mr_close(fd);
		return r;
	}
	*ret_addr = addr;
	return fd;
}

static int join(int fd, const struct sockaddr_in *peer, struct mr_error *err)
{
	if (connect(fd, (const struct sockaddr *)peer, sizeof(*peer)) < 0)
		return mr_err(err, MR_E_SYS, errno, "measure the loopback: connect: %m");
	return 0;
}

static int open_both(struct echo *e, struct mr_error *err)
{
	struct sockaddr_in near, far;
	int r;

	e->near = open_socket(&near, err);
	if (e->near < 0)
		return e->near;
	e->far = open_socket(&far, err);
	if (e->far < 0)
		return e->far;
	r = join(e->near, &far, err);
	return r < 0 ? r : join(e->far, &near, err);
}

/* A refused one is a lost one: the number tells. */
static void send_next(struct echo *e)
{
	const uint32_t number = e->result.sent;

	e->sent_ns[number] = mr_now_ns();
	e->result.sent++;
	(void)!send(e->near, &number, sizeof(number), MSG_NOSIGNAL);
}

/* Whether there were any. */
static bool send_back(struct echo *e)
{
	uint32_t number;
	bool any = false;

	while (recv(e->far, &number, sizeof(number), 0) == sizeof(number)) {
		any = true;
		e->result.arrived++;
		(void)!send(e->far, &number, sizeof(number), MSG_NOSIGNAL);
	}
	return any;
}

/* Likewise. */
static bool take_answers(struct echo *e)
{
	uint32_t number;
	bool any = false;

	while (recv(e->near, &number, sizeof(number), 0) == sizeof(number)) {
		any = true;
		if (number >= e->result.sent)
			continue;
		if (e->rtt_ns[number]) {
			e->result.repeated++;
			continue;
		}
		e->rtt_ns[number] = mr_now_ns() - e->sent_ns[number];
		e->result.answered++;
	}
	return any;
}

/* Who was kept from the processor until his patience was over has not looked: what came meanwhile
 * is no loss, and what is sent back only now has its time, too. */
static bool catch_up(struct echo *e)
{
	const bool asked = send_back(e), answered = take_answers(e);

	if (!asked && !answered)
		return false;
	e->caught_up_ns = mr_now_ns();
	return true;
}

static void summarize(struct echo *e)
{
	struct mr_echo *r = &e->result;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->sent; i++) {
		const uint64_t rtt = e->rtt_ns[i];

		if (!rtt)
			continue;
		sum += rtt;
		if (!r->rtt_min_ns || rtt < r->rtt_min_ns)
			r->rtt_min_ns = rtt;
		if (rtt > r->rtt_max_ns)
			r->rtt_max_ns = rtt;
	}
	r->rtt_mean_ns = r->answered ? sum / r->answered : 0;
}

/* When to look again: the next to be sent, or the end of patience. */
static uint64_t due(const struct echo *e, uint64_t begin, uint64_t patience_ns)
{
	if (e->result.sent < e->count)
		return begin + e->result.sent * GAP_NS;
	return (e->caught_up_ns ? e->caught_up_ns : e->sent_ns[e->count - 1]) + patience_ns;
}

static int exchange(struct echo *e, uint64_t patience_ns, struct mr_error *err)
{
	const uint64_t begin = mr_now_ns();
	struct pollfd fds[] = { { .fd = e->near, .events = POLLIN },
				{ .fd = e->far, .events = POLLIN } };

	while (e->result.answered < e->count) {
		const uint64_t now = mr_now_ns(), until = due(e, begin, patience_ns);
		struct timespec wait = { 0 };

		if (now >= until && e->result.sent == e->count) {
			if (!catch_up(e))
				break;
			continue;
		}
		if (now >= until) {
			send_next(e);
			continue;
		}
		wait.tv_sec = (time_t)((until - now) / 1000000000);
		wait.tv_nsec = (long)((until - now) % 1000000000);
		if (ppoll(fds, N_ELEMENTS(fds), &wait, NULL) < 0 && errno != EINTR)
			return mr_err(err, MR_E_SYS, errno, "measure the loopback: poll: %m");
		send_back(e);
		take_answers(e);
	}
	e->result.took_ns = mr_now_ns() - begin;
	return 0;
}

int mr_echo_measure(uint32_t count, uint64_t patience_ns, struct mr_echo *ret, struct mr_error *err)
{
	struct echo e = { .near = -1, .far = -1, .count = count };
	int r;

	mr_assert(count > 0 && count <= MR_ECHO_MAX);
	r = open_both(&e, err);
	if (r == 0)
		r = exchange(&e, patience_ns, err);
	mr_close(e.near);
	mr_close(e.far);
	if (r < 0)
		return r;
	summarize(&e);
	*ret = e.result;
	return 0;
}

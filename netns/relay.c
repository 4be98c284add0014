/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relay
 *
 * One task, two descriptors, one time to wait for.  Frames are read in batches, and after each the
 * ones that are due are written: neither a flood nor a long queue keeps the other waiting,
 * nor the channel, which is looked at in every turn.  A frame's time begins when it is
 * read: how late that may be is for the processor's time that we are given.
 */
#include "netns/relay.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "netns/conditions.h"
#include "netns/netem.h"
#include "netns/relay_queue.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/rand.h"

#define BATCH 64

struct relay {
	struct mr_relay_config config;
	int channel, device;
	struct mr_relay_queue *queue;
	struct mr_rand rand;
	uint64_t last_due_ns; /* of those that keep their order */
	struct mr_relay_counts counts;
};

static void begin(struct relay *r)
{
	mr_rand_init(&r->rand, r->config.seed);
	r->counts = (struct mr_relay_counts){
		.head = { .type = MR_RELAY_COUNTS, .size = sizeof(r->counts) },
		.seed = r->config.seed,
	};
}

static uint64_t draw_delay_ns(struct relay *r)
{
	const uint64_t latency = r->config.latency_us * 1000, jitter = r->config.jitter_us * 1000;
	const uint64_t most = latency + jitter;
	uint64_t off;

	if (!jitter)
		return latency;
	off = mr_rand_below(&r->rand, 2 * jitter + 1);
	return off < most ? most - off : 0;
}

static uint64_t draw_due_ns(struct relay *r, uint64_t now)
{
	uint64_t due;

	if (r->config.reorder_ppm && mr_rand_below(&r->rand, 1000000) < r->config.reorder_ppm)
		return now;
	due = now + draw_delay_ns(r);
	if (r->config.in_order && due < r->last_due_ns)
		due = r->last_due_ns;
	r->last_due_ns = due;
	return due;
}

static int read_failed(struct mr_error *err)
{
	return mr_err(err, MR_E_SYS, errno, "relay: read packets of the link: %m");
}

/* One frame; 1: there was none. */
static int take_frame(struct relay *r, struct mr_error *err)
{
	struct mr_relay_frame *frame = mr_relay_queue_room(r->queue);
	uint8_t lost[MR_TUN_FRAME_MAX];
	ssize_t n = read(r->device, frame ? frame->bytes : lost, MR_TUN_FRAME_MAX);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : read_failed(err);
	if (!frame) {
		r->counts.dropped++;
		return 0;
	}
	frame->came_ns = mr_now_ns();
	frame->due_ns = draw_due_ns(r, frame->came_ns);
	frame->size = (uint32_t)n;
	mr_relay_queue_push(r->queue);
	return 0;
}

static void count(struct relay *r, const struct mr_relay_frame *frame, uint64_t now)
{
	struct mr_relay_counts *c = &r->counts;
	const uint64_t took = now - frame->came_ns, late = now - frame->due_ns;

	c->packets++;
	c->bytes += frame->size;
	c->delay_sum_ns += took;
	if (c->packets == 1 || took < c->delay_min_ns)
		c->delay_min_ns = took;
	if (took > c->delay_max_ns)
		c->delay_max_ns = took;
	if (late > c->late_max_ns)
		c->late_max_ns = late;
}

/* Write those that are due, at most a batch of them. */
static int pass_on(struct relay *r, struct mr_error *err)
{
	for (int i = 0; i < BATCH; i++) {
		const struct mr_relay_frame *frame = mr_relay_queue_first(r->queue);
		const uint64_t now = mr_now_ns();

		if (!frame || frame->due_ns > now)
			return 0;
		if (write(r->device, frame->bytes, frame->size) >= 0)
			count(r, frame, now);
		else if (errno == EBADFD || errno == EIO)
			return mr_err(err, MR_E_SYS, errno, "relay: the link is gone: %m");
		else
			r->counts.refused++;
		mr_relay_queue_pop(r->queue);
	}
	return 0;
}

/* What came before was no payload's: sent to measure the link, it is neither counted nor passed on. */
static void begin_anew(struct relay *r, const void *message, size_t size)
{
	struct mr_netd_begin word = { .begin_ns = 0 };

	if (size == sizeof(word))
		memcpy(&word, message, sizeof(word));
	mr_relay_queue_drop(r->queue, word.begin_ns);
	if (!mr_relay_queue_first(r->queue))
		r->last_due_ns = 0;
	begin(r);
}

/* 0: the run is over. */
static int hear(struct relay *r, struct mr_error *err)
{
	char message[MR_NETD_MESSAGE_MAX];
	int fds[MR_MSG_MAX_FDS];
	struct mr_netd_head head;
	size_t n_fds = 0;
	const ssize_t n =
		mr_recv_msg(r->channel, message, sizeof(message), MSG_DONTWAIT, fds, &n_fds, NULL);

	while (n_fds > 0)
		mr_close(fds[--n_fds]);
	if (n == -EAGAIN)
		return 1;
	if (n == 0 || n == -ECONNRESET)
		return 0;
	if (n < 0)
		return mr_err(err, MR_E_SYS, (int)-n, "relay: receive: %m");
	if ((size_t)n < sizeof(head))
		return 1;
	memcpy(&head, message, sizeof(head));
	if (head.type == MR_NETD_BEGIN)
		begin_anew(r, message, (size_t)n);
	return 1;
}

static struct timespec until_due(const struct relay *r)
{
	const struct mr_relay_frame *first = mr_relay_queue_first(r->queue);
	const uint64_t now = mr_now_ns();
	const uint64_t left = first && first->due_ns > now ? first->due_ns - now : 0;

	return (struct timespec){ .tv_sec = (time_t)(left / 1000000000),
				  .tv_nsec = (long)(left % 1000000000) };
}

static int wait_for_something(const struct relay *r, short ret_events[2], struct mr_error *err)
{
	struct pollfd fds[] = { { .fd = r->channel, .events = POLLIN },
				{ .fd = r->device, .events = POLLIN } };
	const struct timespec wait = until_due(r);

	if (ppoll(fds, N_ELEMENTS(fds), mr_relay_queue_first(r->queue) ? &wait : NULL, NULL) < 0 &&
	    errno != EINTR)
		return mr_err(err, MR_E_SYS, errno, "relay: poll: %m");
	ret_events[0] = fds[0].revents;
	ret_events[1] = fds[1].revents;
	return 0;
}

/* What was said before a packet was sent is heard before the packet is read.  0: the run is over. */
static int turn(struct relay *r, struct mr_error *err)
{
	short events[2] = { 0 };
	int n = wait_for_something(r, events, err);

	if (n == 0)
		n = events[0] ? hear(r, err) : 1;
	if (n <= 0)
		return n;
	if (events[1] & (POLLERR | POLLHUP))
		return mr_err(err, MR_E_SYS, ENODEV, "relay: the link is gone: %m");
	n = events[1] ? 0 : 1;
	for (int i = 0; n == 0 && i < BATCH; i++)
		n = take_frame(r, err);
	if (n >= 0)
		n = pass_on(r, err);
	return n < 0 ? n : 1;
}

static int check(const struct mr_relay_config *c, struct mr_error *err)
{
	if (c->latency_us > MR_NETEM_DELAY_MAX_US || c->jitter_us > MR_NETEM_JITTER_MAX_US ||
	    c->reorder_ppm > 1000000 || c->limit < 1 || c->limit > MR_NETEM_LIMIT_MAX ||
	    c->in_order > 1)
		return mr_err(err, MR_E_PROTO, ERANGE, "relay: configuration out of range");
	return 0;
}

static int serve(struct relay *r, struct mr_netd *netd, mr_netd_confine_fn *confine,
		 struct mr_error *err)
{
	int n = check(&r->config, err);

	if (n < 0)
		return n;
	r->queue = mr_relay_queue_new(r->config.limit);
	begin(r);
	/* Timers of a common task may be 50 us late, which is half of the shortest delay. */
	if (prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0) < 0)
		return mr_err(err, MR_E_SYS, errno, "relay: exact timers: %m");
	n = mr_netd_forbid_sockets(err);
	if (n == 0)
		n = confine(netd, err);
	if (n < 0)
		return n;
	do
		n = turn(r, err);
	while (n > 0);
	if (n < 0)
		return n;
	r->counts.waiting = mr_relay_queue_waiting(r->queue);
	n = mr_send_msg(r->channel, &r->counts, sizeof(r->counts), NULL, 0);
	return n < 0 ? mr_err(err, MR_E_SYS, -n, "relay: tell its counts: %m") : 0;
}

int mr_relay_main(struct mr_netd *netd, mr_netd_confine_fn *confine, struct mr_error *err)
{
	struct relay r = { .channel = netd->channel, .device = netd->doors[0] };
	int n;

	if (netd->config_size != sizeof(r.config))
		return mr_err(err, MR_E_PROTO, EINVAL, "relay: configuration of %zu bytes",
			      netd->config_size);
	memcpy(&r.config, netd->config, sizeof(r.config));
	n = serve(&r, netd, confine, err);
	mr_relay_queue_free(r.queue);
	return n;
}

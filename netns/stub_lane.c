/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane: the way of a request to the supervisor, and of what a command said back
 *
 *   IDLE -> SENDING -> RECEIVING -> IDLE
 *
 * A lane whose other end is gone is never used again.
 */
#include "netns/stub_lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "netns/stub.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/loop.h"
#include "runtime/base/str.h"

#define CHUNK 65536

enum lane_state { IDLE, SENDING, RECEIVING, GONE };

struct lane {
	struct mr_stub_lanes *lanes;
	struct mr_source source;
	enum lane_state state;
	uint32_t id; /* of who asked */
	struct mr_buf buf; /* on its way out, or what came in so far */
	size_t at;
};

struct mr_stub_lanes {
	struct mr_loop *loop;
	void (*on_output)(void *owner, uint32_t id, const char *output, size_t size);
	void *owner;
	struct lane v[MR_STUB_LANES];
	size_t n;
};

static void drop(struct lane *lane)
{
	int fd = lane->source.fd;

	mr_loop_remove(lane->lanes->loop, &lane->source);
	mr_close(fd);
	mr_buf_deinit(&lane->buf);
	lane->state = GONE;
}

static void enter(struct lane *lane, enum lane_state state, uint32_t events)
{
	struct mr_error err;

	lane->state = state;
	if (mr_loop_modify(lane->lanes->loop, &lane->source, events, &err) < 0)
		drop(lane);
}

/* The lane is free again before its answer is told, which may have it asked again. */
static void tell(struct lane *lane, bool answered, size_t skip)
{
	mr_auto_buf struct mr_buf buf = lane->buf;
	const uint32_t id = lane->id;

	lane->buf = (struct mr_buf){ 0 };
	lane->id = 0;
	if (id)
		lane->lanes->on_output(lane->lanes->owner, id, answered ? buf.text + skip : NULL,
				       answered ? buf.len - skip : 0);
}

static void give_up(struct lane *lane)
{
	drop(lane);
	tell(lane, false, 0);
}

static void send_more(struct lane *lane)
{
	while (lane->at < lane->buf.len) {
		ssize_t n = send(lane->source.fd, lane->buf.text + lane->at,
				 lane->buf.len - lane->at, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			give_up(lane);
			return;
		}
		lane->at += (size_t)n;
	}
	mr_buf_deinit(&lane->buf);
	enter(lane, RECEIVING, EPOLLIN);
}

/* One piece a turn; others come between. */
static void receive_more(struct lane *lane)
{
	struct mr_stub_output_head head;
	char chunk[CHUNK];
	ssize_t n = recv(lane->source.fd, chunk, sizeof(chunk), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		give_up(lane);
		return;
	}
	mr_buf_addn(&lane->buf, chunk, (size_t)n);
	if (lane->buf.len < sizeof(head))
		return;
	memcpy(&head, lane->buf.text, sizeof(head));
	if (head.size > MR_STUB_OUTPUT_MAX || lane->buf.len > sizeof(head) + head.size) {
		give_up(lane);
		return;
	}
	if (lane->buf.len < sizeof(head) + head.size)
		return;
	enter(lane, IDLE, 0);
	tell(lane, head.answered != 0, sizeof(head));
}

static void on_event(struct mr_source *source, uint32_t events)
{
	struct lane *lane = source->owner;

	(void)events;
	switch (lane->state) {
	case SENDING:
		send_more(lane);
		break;
	case RECEIVING:
		receive_more(lane);
		break;
	case IDLE: /* the other end is gone */
		drop(lane);
		break;
	case GONE:
		break;
	}
}

int mr_stub_lanes_new(struct mr_loop *loop, const int *fds, size_t n,
		      void (*on_output)(void *owner, uint32_t id, const char *output, size_t size),
		      void *owner, struct mr_stub_lanes **ret, struct mr_error *err)
{
	struct mr_stub_lanes *lanes = mr_str_alloc(sizeof(*lanes));
	int r = 0;

	mr_assert(n <= MR_STUB_LANES);
	lanes->loop = loop;
	lanes->on_output = on_output;
	lanes->owner = owner;
	for (; r == 0 && lanes->n < n; lanes->n++) {
		struct lane *lane = &lanes->v[lanes->n];

		lane->lanes = lanes;
		lane->source.fd = -1;
		r = mr_loop_add(loop, &lane->source, fds[lanes->n], 0, on_event, lane, err);
	}
	if (r < 0) {
		mr_stub_lanes_free(lanes);
		return r;
	}
	*ret = lanes;
	return 0;
}

bool mr_stub_lanes_ask(struct mr_stub_lanes *lanes, const struct mr_stub_ask *ask)
{
	const struct mr_stub_ask_head head = {
		.mock = ask->mock,
		.https = ask->https,
		.port = ask->port,
		.method_size = (uint32_t)strlen(ask->method),
		.target_size = (uint32_t)strlen(ask->target),
		.head_size = (uint32_t)ask->head_size,
		.body_size = (uint32_t)ask->body_size,
	};
	struct lane *lane = NULL;

	for (size_t i = 0; i < lanes->n && !lane; i++)
		if (lanes->v[i].state == IDLE)
			lane = &lanes->v[i];
	if (!lane)
		return false;
	lane->id = ask->id;
	lane->at = 0;
	mr_buf_clear(&lane->buf);
	mr_buf_addn(&lane->buf, (const char *)&head, sizeof(head));
	mr_buf_addn(&lane->buf, ask->method, head.method_size);
	mr_buf_addn(&lane->buf, ask->target, head.target_size);
	mr_buf_addn(&lane->buf, ask->request, ask->head_size + ask->body_size);
	/* From the loop, for who asks here is not to be answered before he has returned. */
	enter(lane, SENDING, EPOLLOUT);
	return lane->state == SENDING;
}

struct mr_stub_lanes *mr_stub_lanes_free(struct mr_stub_lanes *lanes)
{
	if (!lanes)
		return NULL;
	for (size_t i = 0; i < lanes->n; i++)
		if (lanes->v[i].state != GONE)
			drop(&lanes->v[i]);
	free(lanes);
	return NULL;
}

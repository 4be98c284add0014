/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: one connection
 *
 *   SNIFF -> HANDSHAKE -> READ -> DELAY -> WRITE -> READ ... -> LINGER -> OVER
 *     \___________________^     ^   \-> NEVER
 *                          COMMAND
 *
 * One step of the phase is done at a time, until it would have to wait or the turn is used
 * up; then others come first.  What a phase waits for is a descriptor's readiness or a time,
 * and every phase but NEVER and DELAY ends by itself when the client does nothing.
 */
#include "netns/stub_conn.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns/stub_tls.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/patience.h"

#define STEPS_PER_TURN 32
#define WRITE_MAX 16384
#define TLS_HANDSHAKE 0x16 /* the first byte of a TLS connection */

/* Of a step. */
enum step { GO_ON, WAIT_READ, WAIT_WRITE, WAIT_TIME };

static void close_conn(struct mr_stub_conn *conn)
{
	mr_loop_remove(conn->stub->opts.loop, &conn->source);
	conn->tls = mr_tls_session_free(conn->tls);
	conn->fd = mr_close(conn->fd);
	mr_buf_deinit(&conn->answer.head);
	mr_buf_deinit(&conn->request);
	mr_buf_deinit(&conn->output);
	conn->phase = MR_STUB_OVER;
	conn->due_ns = 0;
}

void mr_stub_conn_reset(struct mr_stub_conn *conn)
{
	const struct linger now = { .l_onoff = 1 };

	/* What fails here is closed in the ordinary way. */
	if (conn->fd >= 0)
		setsockopt(conn->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close_conn(conn);
}

static enum step enter(struct mr_stub_conn *conn, enum mr_stub_phase phase, uint64_t due_ns)
{
	conn->phase = phase;
	conn->due_ns = due_ns;
	return GO_ON;
}

static enum step enter_linger(struct mr_stub_conn *conn, uint64_t now_ns)
{
	if (conn->tls)
		mr_tls_bye(conn->tls);
	if (shutdown(conn->fd, SHUT_WR) < 0) {
		close_conn(conn);
		return GO_ON;
	}
	return enter(conn, MR_STUB_LINGER, now_ns + MR_PATIENCE_NS(STUB_LINGER));
}

/* --- reading and writing ------------------------------------------------------------ */

/* 0: the end; -EAGAIN: later; other negative: failed. */
static ssize_t read_some(struct mr_stub_conn *conn, char *buf, size_t size)
{
	ssize_t n;

	if (conn->tls)
		return mr_tls_read(conn->tls, buf, size);
	n = recv(conn->fd, buf, size, MSG_DONTWAIT);
	return n < 0 ? -errno : n;
}

static ssize_t write_some(struct mr_stub_conn *conn, const char *buf, size_t size)
{
	ssize_t n;

	if (conn->tls)
		return mr_tls_write(conn->tls, buf, size);
	n = send(conn->fd, buf, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n < 0 ? -errno : n;
}

static enum step wait_for(const struct mr_stub_conn *conn, enum step what)
{
	if (!conn->tls)
		return what;
	return mr_tls_wants_write(conn->tls) ? WAIT_WRITE : WAIT_READ;
}

/* --- phases --------------------------------------------------------------------------- */

static enum step begin_tls(struct mr_stub_conn *conn, uint64_t now_ns)
{
	struct mr_error err = MR_ERROR_INIT;

	if (mr_tls_session_new(conn->stub->opts.tls, conn->fd, conn->host, &conn->tls, &err) < 0) {
		mr_stub_deny(conn, "tls", conn->host, "no certificate", err.msg);
		mr_stub_conn_reset(conn);
		return GO_ON;
	}
	return enter(conn, MR_STUB_HANDSHAKE, now_ns + MR_PATIENCE_NS(STUB_HEAD));
}

static enum step step_sniff(struct mr_stub_conn *conn, uint64_t now_ns)
{
	unsigned char first;
	ssize_t n = recv(conn->fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return WAIT_READ;
	if (n <= 0) {
		close_conn(conn);
		return GO_ON;
	}
	if (first == TLS_HANDSHAKE && conn->stub->opts.tls)
		return begin_tls(conn, now_ns);
	return enter(conn, MR_STUB_READ, now_ns + MR_PATIENCE_NS(STUB_IDLE));
}

static enum step step_handshake(struct mr_stub_conn *conn, uint64_t now_ns)
{
	int r = mr_tls_handshake(conn->tls);

	if (r == 1)
		return enter(conn, MR_STUB_READ, now_ns + MR_PATIENCE_NS(STUB_IDLE));
	if (r == 0)
		return wait_for(conn, WAIT_READ);
	mr_stub_deny(conn, "tls", conn->host, "TLS handshake failed", mr_tls_why(conn->tls));
	return enter_linger(conn, now_ns); /* the alert that says why must not be lost */
}

static enum step enter_write(struct mr_stub_conn *conn, uint64_t now_ns)
{
	if (conn->answer.reset) {
		mr_stub_conn_reset(conn);
		return GO_ON;
	}
	return enter(conn, MR_STUB_WRITE, now_ns + MR_PATIENCE_NS(STUB_IDLE));
}

static enum step end_request(struct mr_stub_conn *conn, uint64_t now_ns)
{
	uint64_t delay_ns = 0;
	const enum mr_stub_next next = mr_stub_answer_request(conn, &delay_ns);

	conn->head_timed = false;
	/* Nobody reads it: left there it would stand in front of the next one. */
	if (next != MR_STUB_BY_COMMAND)
		mr_buf_deinit(&conn->request);
	switch (next) {
	case MR_STUB_UNANSWERED:
		return enter(conn, MR_STUB_NEVER, 0);
	case MR_STUB_BY_COMMAND:
		conn->first_byte_ns = now_ns + delay_ns;
		enter(conn, MR_STUB_COMMAND, 0);
		mr_stub_command_queue(conn);
		return GO_ON;
	case MR_STUB_ANSWERED:
		break;
	}
	if (delay_ns)
		return enter(conn, MR_STUB_DELAY, now_ns + delay_ns);
	return enter_write(conn, now_ns);
}

static enum step feed(struct mr_stub_conn *conn, uint64_t now_ns)
{
	struct mr_http *http = &conn->http;
	unsigned int status = 0;
	const char *refused;
	size_t used;
	const enum mr_http_event event =
		mr_http_feed(http, conn->in + conn->in_at, conn->in_len - conn->in_at, &used);

	conn->in_at += used;
	switch (event) {
	case MR_HTTP_BAD:
		mr_stub_answer_bad(conn, http->status, http->why);
		return enter_write(conn, now_ns);
	case MR_HTTP_DONE:
		return end_request(conn, now_ns);
	case MR_HTTP_HEAD:
		conn->due_ns = now_ns + MR_PATIENCE_NS(STUB_IDLE);
		refused = mr_stub_command_head(conn, &status);
		if (refused) {
			mr_stub_answer_bad(conn, status, refused);
			return enter_write(conn, now_ns);
		}
		if (!http->expects_continue || !http->has_body)
			return GO_ON;
		http->expects_continue = false;
		mr_stub_answer_continue(conn);
		return enter_write(conn, now_ns);
	case MR_HTTP_MORE:
		break;
	}
	return GO_ON;
}

/* A head has its time from its first byte, or one byte a minute would do. */
static void set_read_due(struct mr_stub_conn *conn, uint64_t now_ns)
{
	if (conn->http.state != MR_HTTP_IN_HEAD)
		conn->due_ns = now_ns + MR_PATIENCE_NS(STUB_IDLE);
	else if (!conn->head_timed)
		conn->due_ns = now_ns + MR_PATIENCE_NS(STUB_HEAD);
	conn->head_timed = true;
}

static enum step step_read(struct mr_stub_conn *conn, uint64_t now_ns)
{
	ssize_t n;

	/* Whole already: nothing more need come before it is answered. */
	if (conn->in_at < conn->in_len ||
	    (conn->http.state == MR_HTTP_IN_BODY && conn->http.left == 0))
		return feed(conn, now_ns);
	n = read_some(conn, conn->in, sizeof(conn->in));
	if (n == -EAGAIN || n == -EINTR)
		return wait_for(conn, WAIT_READ);
	if (n <= 0) {
		close_conn(conn);
		return GO_ON;
	}
	conn->in_at = 0;
	conn->in_len = (size_t)n;
	set_read_due(conn, now_ns);
	return GO_ON;
}

static enum step end_answer(struct mr_stub_conn *conn, uint64_t now_ns)
{
	if (conn->answer.interim)
		return enter(conn, MR_STUB_READ, now_ns + MR_PATIENCE_NS(STUB_IDLE));
	if (!conn->http.keep_alive)
		return enter_linger(conn, now_ns);
	mr_http_reset(&conn->http);
	mr_buf_deinit(&conn->output);
	conn->head_timed = conn->in_at < conn->in_len;
	return enter(conn, MR_STUB_READ,
		     now_ns + (conn->head_timed ? MR_PATIENCE_NS(STUB_HEAD)
						: MR_PATIENCE_NS(STUB_IDLE)));
}

/* The next piece of the body; the bit to be flipped is flipped in a copy. */
static const char *next_piece(struct mr_stub_answer *answer, char copy[WRITE_MAX], size_t *ret_n)
{
	const size_t left = answer->body_size - answer->body_at, byte = answer->flip / 8;
	const size_t n = left < WRITE_MAX ? left : WRITE_MAX;

	*ret_n = n;
	if (answer->flip == MR_STUB_FLIP_NONE || byte < answer->body_at ||
	    byte >= answer->body_at + n)
		return answer->body + answer->body_at;
	memcpy(copy, answer->body + answer->body_at, n);
	copy[byte - answer->body_at] ^= (char)(1 << answer->flip % 8);
	return copy;
}

static enum step step_write(struct mr_stub_conn *conn, uint64_t now_ns)
{
	struct mr_stub_answer *answer = &conn->answer;
	const size_t head_left = answer->head.len - answer->head_at;
	char copy[WRITE_MAX];
	size_t size = head_left;
	const char *piece = answer->head.text + answer->head_at;
	ssize_t n;

	if (!head_left && answer->body_at == answer->body_size)
		return end_answer(conn, now_ns);
	if (!head_left)
		piece = next_piece(answer, copy, &size);
	n = write_some(conn, piece, size);
	if (n == -EAGAIN || n == -EINTR)
		return wait_for(conn, WAIT_WRITE);
	if (n < 0) {
		close_conn(conn);
		return GO_ON;
	}
	conn->due_ns = now_ns + MR_PATIENCE_NS(STUB_IDLE);
	if (head_left) {
		answer->head_at += (size_t)n;
		return GO_ON;
	}
	answer->body_at += (size_t)n;
	if (answer->count)
		__atomic_fetch_add(&answer->count->bytes, (uint64_t)n, __ATOMIC_RELAXED);
	return GO_ON;
}

/* Closing with something unread would reset the connection and take the answer with it. */
static enum step step_linger(struct mr_stub_conn *conn, uint64_t now_ns)
{
	ssize_t n = recv(conn->fd, conn->in, sizeof(conn->in), MSG_DONTWAIT);

	(void)now_ns;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return WAIT_READ;
	if (n <= 0)
		close_conn(conn);
	return GO_ON;
}

static enum step step_reset(struct mr_stub_conn *conn, uint64_t now_ns)
{
	(void)now_ns;
	mr_stub_conn_reset(conn);
	return GO_ON;
}

static enum step step_none(struct mr_stub_conn *conn, uint64_t now_ns)
{
	(void)conn;
	(void)now_ns;
	return WAIT_TIME;
}

static enum step (*const steps[MR_STUB_OVER])(struct mr_stub_conn *conn, uint64_t now_ns) = {
	[MR_STUB_SNIFF] = step_sniff, [MR_STUB_HANDSHAKE] = step_handshake,
	[MR_STUB_READ] = step_read,   [MR_STUB_COMMAND] = step_none,
	[MR_STUB_DELAY] = step_none,  [MR_STUB_WRITE] = step_write,
	[MR_STUB_NEVER] = step_none,  [MR_STUB_LINGER] = step_linger,
	[MR_STUB_RESET] = step_reset,
};

static void watch(struct mr_stub_conn *conn, enum step what)
{
	static const uint32_t events[] = {
		[GO_ON] = 0,
		[WAIT_READ] = EPOLLIN,
		[WAIT_WRITE] = EPOLLOUT,
		[WAIT_TIME] = 0,
	};
	struct mr_error err;
	/* Who waits for nothing is gone when the client is. */
	const uint32_t wanted = conn->phase == MR_STUB_NEVER ? EPOLLRDHUP : events[what];

	if (mr_loop_modify(conn->stub->opts.loop, &conn->source, wanted, &err) < 0)
		mr_stub_conn_reset(conn);
}

void mr_stub_drive(struct mr_stub_conn *conn, uint64_t now_ns)
{
	enum step what = GO_ON;

	conn->again = false;
	for (int i = 0; what == GO_ON && i < STEPS_PER_TURN && conn->phase != MR_STUB_OVER; i++)
		what = conn->told ? WAIT_TIME : steps[conn->phase](conn, now_ns);
	if (conn->phase == MR_STUB_OVER)
		return;
	conn->again = what == GO_ON;
	watch(conn, what);
}

void mr_stub_conn_event(struct mr_source *source, uint32_t events)
{
	struct mr_stub_conn *conn = source->owner;

	if (conn->told || conn->phase == MR_STUB_NEVER || conn->phase == MR_STUB_DELAY ||
	    conn->phase == MR_STUB_COMMAND) {
		if (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))
			close_conn(conn);
		return;
	}
	mr_stub_drive(conn, mr_now_ns());
}

uint64_t mr_stub_conn_next(const struct mr_stub_conn *conn, uint64_t now_ns)
{
	if (conn->told)
		return conn->told_due_ns;
	return conn->again ? now_ns : conn->due_ns;
}

void mr_stub_conn_due(struct mr_stub_conn *conn, uint64_t now_ns)
{
	if (conn->told && conn->told_due_ns > now_ns)
		return;
	if (conn->told) {
		conn->told = 0;
		conn->again = true;
	}
	if (conn->again) {
		mr_stub_drive(conn, now_ns);
		return;
	}
	if (!conn->due_ns || conn->due_ns > now_ns)
		return;
	if (conn->phase == MR_STUB_DELAY) {
		enter_write(conn, now_ns);
	} else if (conn->phase == MR_STUB_READ && mr_http_has_begun(&conn->http)) {
		mr_stub_answer_bad(conn, 408, "the request came too slowly");
		enter_write(conn, now_ns);
	} else {
		close_conn(conn);
	}
	mr_stub_drive(conn, now_ns);
}

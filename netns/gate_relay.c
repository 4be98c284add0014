/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gate: connections
 *
 *   accepted --refused----------------------------> REFUSED --told--> reset
 *      |  \--to a rule's address----> CONNECTING ----------------\
 *      |                                                          > OPEN --> closed
 *      \-----to a name's address----> CHECKING (and connecting) -/
 *
 * CHECKING: the first bytes must show the name (sniff.h); they are only looked at, and go the way
 * of all others afterwards.  A server that speaks before its client is neither of TLS nor of HTTP,
 * and its connection is opened unchecked, and so is one whose client begins in another protocol;
 * either is told.  The way to the server is a bare handshake until then.
 *
 * OPEN: each direction is a pipe with splice(2) at both ends, so that no byte is copied to us.  Of
 * HTTP each request is looked at before it goes on (gate_http.h).  Urgent data, which a look and a
 * splice do not see alike, ends a connection.  A side that is gone (reset, or shut both ways)
 * reports that for ever: it is watched for changes alone, and what it has left goes on when the
 * other side has room.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns/gate_http.h"
#include "netns/gate_internal.h"
#include "netns/sniff.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/patience.h"

#define CONNECTIONS_MAX 256
#define PIPE_BYTES (256 << 10)
#define ROUNDS_MAX 8 /* pipes full in one turn: others wait, too */
#define BATCH_MAX 16

enum state { FREE, REFUSED, CHECKING, CONNECTING, OPEN };

/* Bytes on their way from one socket to the other. */
struct flow {
	int pipe[2];
	size_t held; /* in the pipe */
	uint64_t bytes; /* that arrived */
	bool ended, shut; /* its source has no more; its target was told */
	bool gone; /* its source is: nothing comes to it any more */
	struct mr_gate_http *http; /* NULL: all of it may go on */
	size_t vetted; /* bytes in the socket that may */
};

enum { OUT, IN, FLOWS };

struct connection {
	struct mr_source inner, outer;
	struct mr_gate *gate;
	enum state state;
	struct sockaddr_in6 from, to; /* as the payload sees it */
	char name[MR_RULE_NAME_MAX + 1]; /* shown, or "" */
	struct flow flows[FLOWS];
	bool connected, checked;
	enum mr_gate_checked checked_by;
	uint32_t ack; /* REFUSED: the message that is waited for */
	uint64_t begin_ns, deadline_ns;
};

struct mr_gate_relay {
	struct mr_source tcp, udp;
	struct connection connections[CONNECTIONS_MAX];
	size_t n_open;
};

/* --- the end ---------------------------------------------------------------------------- */

static void drop_socket(struct mr_source *source, struct mr_gate *gate)
{
	int fd = source->fd;

	mr_loop_remove(gate->loop, source);
	mr_close(fd);
	source->fd = -1;
}

/* Whoever wrote has decided about the size of the pieces already. */
static void send_at_once(int fd)
{
	const int on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) < 0)
		errno = 0; /* a matter of speed alone */
}

/* Close with a reset: the peer sees that this was no end of file. */
static void set_reset(int fd)
{
	const struct linger reset = { .l_onoff = 1 };

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) < 0)
		errno = 0; /* closed in the ordinary way then */
}

/* A byte is at its place in what is looked at and in what goes on, urgent or not. */
static int set_inline(int fd)
{
	const int on = 1;

	return setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)) < 0 ? -errno : 0;
}

static void tell_end(struct connection *c, int error)
{
	struct mr_gate_connection told = {
		.port = ntohs(c->to.sin6_port),
		.error = (uint16_t)error,
		.checked = c->checked_by,
		.address = c->to.sin6_addr,
		.out_bytes = c->flows[OUT].bytes,
		.in_bytes = c->flows[IN].bytes,
		.took_ns = mr_now_ns() - c->begin_ns,
	};

	memcpy(told.name, c->name, strlen(c->name) + 1);
	c->gate->totals.out_bytes += told.out_bytes;
	c->gate->totals.in_bytes += told.in_bytes;
	mr_gate_tell(c->gate, &told.head, MR_GATE_CONNECTION, sizeof(told));
}

static void release(struct connection *c)
{
	drop_socket(&c->inner, c->gate);
	drop_socket(&c->outer, c->gate);
	for (int i = 0; i < FLOWS; i++) {
		mr_close(c->flows[i].pipe[0]);
		mr_close(c->flows[i].pipe[1]);
		free(c->flows[i].http);
	}
	c->gate->relay->n_open--;
	c->state = FREE;
}

/* error: why the server was not reached, or what broke; 0: an ordinary end. */
static void end(struct connection *c, int error)
{
	if (c->state != REFUSED)
		tell_end(c, error);
	if (error || c->state == REFUSED) {
		set_reset(c->inner.fd);
		set_reset(c->outer.fd);
	}
	release(c);
}

static void refuse(struct connection *c, enum mr_gate_reason reason, const char *name)
{
	struct mr_gate_denied d = {
		.protocol = IPPROTO_TCP,
		.port = ntohs(c->to.sin6_port),
		.source_port = ntohs(c->from.sin6_port),
		.address = c->to.sin6_addr,
		.source = c->from.sin6_addr,
	};
	struct mr_error err;

	memcpy(d.name, name, strlen(name) + 1);
	set_reset(c->outer.fd);
	drop_socket(&c->outer, c->gate);
	c->ack = mr_gate_deny(c->gate, &d, reason);
	c->state = REFUSED;
	c->deadline_ns = mr_now_ns() + MR_PATIENCE_NS(GATE_ACK);
	if (mr_loop_modify(c->gate->loop, &c->inner, 0, &err) < 0)
		end(c, 0);
}

/* --- bytes ------------------------------------------------------------------------------ */

/* The address was given for the name, if need be when the connection began. */
static bool may_show(const struct connection *c, const char *name)
{
	return (c->name[0] && strcmp(name, c->name) == 0) ||
	       mr_gate_policy_shows(&c->gate->policy, &c->to.sin6_addr, ntohs(c->to.sin6_port),
				    name, mr_now_ns());
}

/* Wake up again only when there is more than this. */
static int wait_for_more(struct connection *c, size_t seen)
{
	const int least = (int)seen + 1;

	return setsockopt(c->inner.fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof(least)) < 0 ? -errno
											   : 0;
}

/* The client has said its last: what is not whole will never be. */
static bool has_ended(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0)
		return true;
	return info.tcpi_state == TCP_CLOSE_WAIT || info.tcpi_state == TCP_LAST_ACK ||
	       info.tcpi_state == TCP_CLOSING || info.tcpi_state == TCP_TIME_WAIT ||
	       info.tcpi_state == TCP_CLOSE;
}

/* The next request is for a host that this address is not for, or is none. */
static int refuse_next(struct connection *c, enum mr_gate_frame frame, enum mr_sniff kind,
		       const char *name)
{
	tell_end(c, EACCES);
	refuse(c,
	       frame == MR_GATE_FRAME_HEAD     ? MR_GATE_HTTP_HOST
	       : kind == MR_SNIFF_HTTP_CONNECT ? MR_GATE_HTTP_CONNECT
	       : c->flows[OUT].http->later     ? MR_GATE_HTTP_NEXT
					       : MR_GATE_HTTP_MALFORMED,
	       name);
	return -EACCES;
}

/* Look at what the client sends before it goes on.  Negative errno when the connection broke or is
 * refused. */
static int vet(struct connection *c, struct flow *f)
{
	const bool ended = has_ended(c->inner.fd);
	uint8_t buf[MR_SNIFF_MAX];
	ssize_t n = recv(c->inner.fd, buf, sizeof(buf), MSG_PEEK | MSG_DONTWAIT);
	char name[MR_RULE_NAME_MAX + 1];

	f->ended = n == 0;
	if (n <= 0)
		return n == 0 || errno == EAGAIN || errno == EINTR ? 0 : -errno;
	while (f->vetted < (size_t)n) {
		enum mr_sniff kind = MR_SNIFF_MORE;
		size_t used;
		enum mr_gate_frame frame =
			mr_gate_http_feed(f->http, buf + f->vetted, (size_t)n - f->vetted, &used,
					  &kind, name);

		if (frame == MR_GATE_FRAME_MORE && !ended)
			break;
		if (frame == MR_GATE_FRAME_MORE || frame == MR_GATE_FRAME_BAD ||
		    (frame == MR_GATE_FRAME_HEAD && !may_show(c, name)))
			return refuse_next(c, frame, kind, name);
		f->vetted += used;
	}
	return wait_for_more(c, f->vetted ? 0 : (size_t)n);
}

/* Of a source that is gone, and has nothing at present, there is nothing to wait for. */
static bool has_nothing_left(const struct flow *f)
{
	return f->gone && f->held == 0;
}

/* Bytes of the source into the pipe.  0: none now; negative errno when the connection broke. */
static ssize_t fill(struct connection *c, struct flow *f, int source)
{
	size_t most = PIPE_BYTES;
	ssize_t got;
	int r;

	if (f->http) {
		r = f->vetted ? 0 : vet(c, f);
		if (r == 0 && f->vetted == 0)
			f->ended |= has_nothing_left(f);
		if (r < 0 || f->vetted == 0)
			return r;
		most = f->vetted < most ? f->vetted : most;
	}
	got = splice(source, NULL, f->pipe[1], NULL, most, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (got < 0 && errno != EAGAIN && errno != EINTR)
		return -errno;
	f->ended = got == 0 || (got < 0 && has_nothing_left(f));
	if (got < 0)
		return 0;
	f->held += (size_t)got;
	f->vetted -= f->http ? (size_t)got : 0;
	return got;
}

/* Move what can be moved of one direction.  Negative errno when the connection broke. */
static int move_flow(struct connection *c, struct flow *f, int source, int target)
{
	for (int i = 0; i < ROUNDS_MAX; i++) {
		ssize_t got = 0, put = 0;

		if (!f->ended && f->held < PIPE_BYTES / 2)
			got = fill(c, f, source);
		if (got < 0)
			return (int)got;
		if (f->held > 0) {
			put = splice(f->pipe[0], NULL, target, NULL, f->held,
				     SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
			if (put < 0 && errno != EAGAIN && errno != EINTR)
				return -errno;
			f->held -= put > 0 ? (size_t)put : 0;
			f->bytes += put > 0 ? (uint64_t)put : 0;
		}
		if (got <= 0 && put <= 0)
			break;
	}
	if (f->ended && f->held == 0 && !f->shut) {
		f->shut = true;
		if (shutdown(target, SHUT_WR) < 0 && errno != ENOTCONN) /* it left first */
			return -errno;
	}
	return 0;
}

/* What a socket is watched for.  A pipe may be full of small pieces long before its bytes say so: while
 * it holds any, what matters is the target. */
static uint32_t wanted(const struct flow *from_it, const struct flow *to_it)
{
	if (from_it->gone)
		return EPOLLET;
	return (uint32_t)EPOLLPRI | (from_it->ended || from_it->held > 0 ? 0 : (uint32_t)EPOLLIN) |
	       (to_it->held > 0 || (to_it->gone && !to_it->ended) ? (uint32_t)EPOLLOUT : 0);
}

static void move(struct connection *c)
{
	struct flow *out = &c->flows[OUT], *in = &c->flows[IN];
	const uint64_t before = out->bytes + in->bytes;
	struct mr_error err;
	int r = move_flow(c, out, c->inner.fd, c->outer.fd);

	if (c->state == REFUSED || c->state == FREE)
		return;
	if (r == 0)
		r = move_flow(c, in, c->outer.fd, c->inner.fd);
	if (r < 0 || (out->shut && in->shut)) {
		end(c, -r);
		return;
	}
	if (out->bytes + in->bytes != before)
		c->deadline_ns = mr_now_ns() + MR_PATIENCE_NS(GATE_IDLE);
	if (mr_loop_modify(c->gate->loop, &c->inner, wanted(out, in), &err) < 0 ||
	    mr_loop_modify(c->gate->loop, &c->outer, wanted(in, out), &err) < 0)
		end(c, EIO);
}

static int open_pipes(struct connection *c)
{
	for (int i = 0; i < FLOWS; i++) {
		if (pipe2(c->flows[i].pipe, O_NONBLOCK | O_CLOEXEC) < 0)
			return -errno;
		/* What a pipe may hold is a matter of speed alone. */
		if (fcntl(c->flows[i].pipe[0], F_SETPIPE_SZ, PIPE_BYTES) < 0)
			errno = 0;
	}
	return 0;
}

/* Both sides are there and nothing is left to check. */
static void open_up(struct connection *c)
{
	int r = open_pipes(c);

	if (r == 0)
		r = wait_for_more(c, 0);
	if (r < 0) {
		end(c, -r);
		return;
	}
	c->gate->totals.connections++;
	c->state = OPEN;
	c->deadline_ns = mr_now_ns() + MR_PATIENCE_NS(GATE_IDLE);
	move(c);
}

static void advance(struct connection *c)
{
	struct mr_error err;

	if (c->connected && c->checked)
		open_up(c);
	/* Until then only what comes first from the server counts; its end comes by itself. */
	else if (c->connected && mr_loop_modify(c->gate->loop, &c->outer, EPOLLIN, &err) < 0)
		end(c, EIO);
	else if (c->checked && mr_loop_modify(c->gate->loop, &c->inner, 0, &err) < 0)
		end(c, EIO);
	else if (c->checked) {
		c->state = CONNECTING;
		c->deadline_ns = mr_now_ns() + MR_PATIENCE_NS(GATE_CONNECT);
	}
}

/* --- the name --------------------------------------------------------------------------- */

static enum mr_gate_reason reason_of(enum mr_sniff kind)
{
	switch (kind) {
	case MR_SNIFF_TLS:
		return MR_GATE_TLS_NAME;
	case MR_SNIFF_TLS_NO_NAME:
		return MR_GATE_TLS_NO_NAME;
	case MR_SNIFF_TLS_ECH:
		return MR_GATE_TLS_ECH;
	case MR_SNIFF_TLS_MALFORMED:
		return MR_GATE_TLS_MALFORMED;
	case MR_SNIFF_HTTP:
		return MR_GATE_HTTP_HOST;
	case MR_SNIFF_HTTP_CONNECT:
		return MR_GATE_HTTP_CONNECT;
	case MR_SNIFF_HTTP_MALFORMED:
		return MR_GATE_HTTP_MALFORMED;
	case MR_SNIFF_MORE:
	case MR_SNIFF_OTHER:
		break;
	}
	return MR_GATE_SILENT;
}

/* The name is right, or there is none to check. */
static void take_kind(struct connection *c, enum mr_sniff kind, const char *name)
{
	if (kind == MR_SNIFF_HTTP) {
		c->flows[OUT].http = calloc(1, sizeof(*c->flows[OUT].http));
		mr_assert(c->flows[OUT].http);
	}
	c->checked_by = kind == MR_SNIFF_TLS	? MR_GATE_CHECKED_TLS
			: kind == MR_SNIFF_HTTP ? MR_GATE_CHECKED_HTTP
						: MR_GATE_CHECKED_NOTHING;
	memcpy(c->name, name, strlen(name) + 1);
	c->checked = true;
	advance(c);
}

static void check(struct connection *c)
{
	const bool ended = has_ended(c->inner.fd);
	uint8_t buf[MR_SNIFF_MAX];
	ssize_t n = recv(c->inner.fd, buf, sizeof(buf), MSG_PEEK | MSG_DONTWAIT);
	char name[MR_RULE_NAME_MAX + 1];
	enum mr_sniff kind;
	int r;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end(c, n < 0 ? errno : 0);
		return;
	}
	kind = mr_sniff(buf, (size_t)n, name);
	if (kind == MR_SNIFF_MORE && !ended) {
		r = wait_for_more(c, (size_t)n);
		if (r < 0)
			end(c, -r);
	} else if (kind == MR_SNIFF_OTHER ||
		   ((kind == MR_SNIFF_TLS || kind == MR_SNIFF_HTTP) && may_show(c, name))) {
		take_kind(c, kind, name);
	} else {
		refuse(c, reason_of(kind), name);
	}
}

/* The server speaks first, and the client has said nothing. */
static void hear_server(struct connection *c)
{
	uint8_t byte;
	ssize_t n = recv(c->inner.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN) {
		c->checked = true;
		advance(c);
	} else if (recv(c->outer.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
		end(c, ECONNRESET);
	} else {
		struct mr_error err;

		/* What the client has said decides: until then the server is not listened to. */
		if (mr_loop_modify(c->gate->loop, &c->outer, 0, &err) < 0)
			end(c, EIO);
	}
}

/* --- events ----------------------------------------------------------------------------- */

static void move_from(struct connection *c, struct flow *from_it, uint32_t events)
{
	if (events & (EPOLLERR | EPOLLHUP))
		from_it->gone = true;
	move(c);
}

static void on_inner(struct mr_source *source, uint32_t events)
{
	struct connection *c = source->owner;

	if (events & EPOLLPRI && c->state != REFUSED)
		end(c, EPROTO);
	else if (c->state == OPEN)
		move_from(c, &c->flows[OUT], events);
	else if (c->state == CHECKING && !(events & EPOLLERR))
		check(c);
	else if (events & (EPOLLERR | EPOLLHUP))
		end(c, c->state == REFUSED ? 0 : ECONNRESET);
}

static void finish_connect(struct connection *c)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (getsockopt(c->outer.fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error) {
		end(c, error);
		return;
	}
	c->connected = true;
	advance(c);
}

static void on_outer(struct mr_source *source, uint32_t events)
{
	struct connection *c = source->owner;

	if (events & EPOLLPRI)
		end(c, EPROTO);
	else if (c->state == OPEN)
		move_from(c, &c->flows[IN], events);
	else if (!c->connected)
		finish_connect(c);
	else if (events & (EPOLLERR | EPOLLHUP))
		end(c, ECONNRESET);
	else
		hear_server(c);
}

/* --- the beginning ---------------------------------------------------------------------- */

static int connect_outside(struct connection *c, struct mr_error *err)
{
	mr_auto_close int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&c->to, sizeof(c->to)) < 0 && errno != EINPROGRESS)
		return -errno;
	send_at_once(fd);
	r = mr_loop_add(c->gate->loop, &c->outer, fd, EPOLLOUT, on_outer, c, err);
	if (r == 0)
		mr_take_fd(fd);
	return r;
}

static void begin(struct connection *c)
{
	const uint16_t port = ntohs(c->to.sin6_port);
	enum mr_gate_reason reason = MR_GATE_ADDRESS;
	enum mr_gate_verdict verdict = mr_gate_policy_judge(&c->gate->policy, &c->to.sin6_addr,
							    port, c->begin_ns, &reason);
	struct mr_error err;
	int r;

	if (verdict != MR_GATE_REFUSED && mr_gate_is_own(&c->to.sin6_addr) &&
	    !mr_gate_policy_names_host(&c->gate->policy, &c->to.sin6_addr, port)) {
		verdict = MR_GATE_REFUSED;
		reason = MR_GATE_OWN_HOST;
	}
	if (verdict == MR_GATE_REFUSED) {
		refuse(c, reason, "");
		return;
	}
	c->checked = verdict == MR_GATE_DIRECT;
	c->checked_by = c->checked ? MR_GATE_CHECKED_ADDRESS : MR_GATE_CHECKED_NOTHING;
	c->state = c->checked ? CONNECTING : CHECKING;
	c->deadline_ns = c->begin_ns +
			 (c->checked ? MR_PATIENCE_NS(GATE_CONNECT) : MR_PATIENCE_NS(GATE_CHECK));
	r = connect_outside(c, &err);
	if (r == 0 && c->checked)
		r = mr_loop_modify(c->gate->loop, &c->inner, 0, &err);
	if (r < 0)
		end(c, -r);
}

static struct connection *find_free(struct mr_gate_relay *relay)
{
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (relay->connections[i].state == FREE)
			return &relay->connections[i];
	}
	return NULL;
}

static void refuse_full(struct mr_gate *gate, int fd, const struct sockaddr_in6 *from,
			const struct sockaddr_in6 *to)
{
	struct mr_gate_denied d = { .protocol = IPPROTO_TCP,
				    .port = ntohs(to->sin6_port),
				    .source_port = ntohs(from->sin6_port),
				    .address = to->sin6_addr,
				    .source = from->sin6_addr };

	mr_gate_deny(gate, &d, MR_GATE_FULL);
	set_reset(fd);
}

void mr_gate_relay_take(struct mr_gate *gate, int accepted)
{
	struct mr_gate_relay *relay = gate->relay;
	struct connection *c = find_free(relay);
	mr_auto_close int fd = accepted;
	struct sockaddr_in6 from = { 0 }, to = { 0 };
	socklen_t from_len = sizeof(from), to_len = sizeof(to);
	struct mr_error err;

	if (getsockname(fd, (struct sockaddr *)&to, &to_len) < 0 ||
	    getpeername(fd, (struct sockaddr *)&from, &from_len) < 0)
		return; /* reset meanwhile */
	if (!c) {
		refuse_full(gate, fd, &from, &to);
		return;
	}
	*c = (struct connection){ .outer.fd = -1,
				  .gate = gate,
				  .from = from,
				  .to = to,
				  .flows = { { .pipe = { -1, -1 } }, { .pipe = { -1, -1 } } },
				  .begin_ns = mr_now_ns() };
	if (set_inline(fd) < 0 ||
	    mr_loop_add(gate->loop, &c->inner, fd, EPOLLIN | EPOLLRDHUP | EPOLLPRI, on_inner, c,
			&err) < 0)
		return;
	mr_take_fd(fd);
	send_at_once(c->inner.fd);
	c->state = CHECKING;
	relay->n_open++;
	if (relay->n_open > gate->totals.open_max)
		gate->totals.open_max = relay->n_open;
	begin(c);
}

void mr_gate_relay_refuse(struct mr_gate *gate, int fd)
{
	struct sockaddr_in6 from = { 0 }, to = { 0 };
	socklen_t from_len = sizeof(from), to_len = sizeof(to);

	if (getsockname(fd, (struct sockaddr *)&to, &to_len) == 0 &&
	    getpeername(fd, (struct sockaddr *)&from, &from_len) == 0)
		refuse_full(gate, fd, &from, &to);
	mr_close(fd);
}

static void on_tcp(struct mr_source *source, uint32_t events)
{
	struct mr_gate *gate = source->owner;

	(void)events;
	for (int i = 0; i < BATCH_MAX; i++) {
		int fd = mr_gate_accept(gate, source);

		if (fd < 0)
			return;
		mr_gate_relay_take(gate, fd);
	}
}

/* Nothing but DNS is answered that is no connection. */
static void on_udp(struct mr_source *source, uint32_t events)
{
	struct mr_gate *gate = source->owner;

	(void)events;
	for (int i = 0; i < BATCH_MAX; i++) {
		struct sockaddr_in6 from = { 0 }, to = { 0 };
		uint8_t buf[16];
		ssize_t n = mr_doors_receive(source->fd, buf, sizeof(buf), &from, &to);
		struct mr_gate_denied d = { .protocol = IPPROTO_UDP };

		if (n < 0 && n != -EPROTO)
			return;
		if (n >= 0) {
			d.port = ntohs(to.sin6_port);
			d.source_port = ntohs(from.sin6_port);
			d.address = to.sin6_addr;
			d.source = from.sin6_addr;
		}
		mr_gate_deny(gate, &d, MR_GATE_DATAGRAM);
	}
}

/* --- life ------------------------------------------------------------------------------- */

void mr_gate_relay_ack(struct mr_gate *gate, uint32_t id)
{
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &gate->relay->connections[i];

		if (c->state == REFUSED && c->ack == id) {
			end(c, 0);
			return;
		}
	}
}

void mr_gate_relay_tick(struct mr_gate *gate, uint64_t now_ns)
{
	struct mr_error err;

	/* It may have rested. */
	if (mr_loop_modify(gate->loop, &gate->relay->tcp, EPOLLIN, &err) < 0)
		gate->over = true;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &gate->relay->connections[i];

		if (c->state == FREE || c->deadline_ns > now_ns)
			continue;
		if (c->state == CHECKING)
			refuse(c, MR_GATE_SILENT, "");
		else
			end(c, c->state == REFUSED ? 0 : ETIMEDOUT);
	}
}

int mr_gate_relay_new(struct mr_gate *gate, struct mr_error *err)
{
	int r;

	gate->relay = calloc(1, sizeof(*gate->relay));
	mr_assert(gate->relay);
	r = mr_loop_add(gate->loop, &gate->relay->tcp, gate->netd->doors[MR_DOOR_TCP], EPOLLIN,
			on_tcp, gate, err);
	return r < 0 ? r
		     : mr_loop_add(gate->loop, &gate->relay->udp, gate->netd->doors[MR_DOOR_UDP],
				   EPOLLIN, on_udp, gate, err);
}

void mr_gate_relay_free(struct mr_gate *gate)
{
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (gate->relay->connections[i].state != FREE)
			end(&gate->relay->connections[i], 0);
	}
	free(gate->relay);
	gate->relay = NULL;
}

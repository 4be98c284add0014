/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gate: names
 *
 * A query is in one of these states:
 *
 *   ASKING   outside, at one server after the other
 *   TOLD     refused, and the supervisor looks who asked; or known, and it opens the way to the
 *            addresses
 *
 * and then answered and forgotten.  Each asks from a socket of its own with an id of its own, so
 * that no stranger can answer.  What is answered is written anew from the addresses.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns/dnswire.h"
#include "netns/gate_internal.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/patience.h"

#define QUERIES_MAX 64
#define STREAMS_MAX 16
#define TRIES_MAX 3 /* of each server */
#define BATCH_MAX 16
#define MESSAGE_MAX 1024 /* of a query: a name and EDNS are far less */

enum state { FREE, ASKING, TOLD };

/* A connection to the resolver inside. */
struct stream {
	struct mr_source source;
	struct mr_gate *gate;
	uint64_t deadline_ns;
	struct sockaddr_in6 from, to;
	uint8_t buf[2 + MESSAGE_MAX];
	size_t n;
	bool used, busy; /* a query of it is being answered */
};

struct query {
	struct mr_source source; /* the socket it is asked outside with */
	struct mr_gate *gate;
	enum state state;
	struct sockaddr_in6 from, to;
	struct stream *stream; /* NULL: it came as a datagram */
	struct mr_dnswire_query asked;
	struct mr_dnswire_answer answer;
	uint16_t id; /* outside */
	unsigned int tries;
	uint64_t deadline_ns;
	uint32_t ack; /* TOLD: the message that is waited for */
};

struct mr_gate_resolver {
	struct mr_source udp, tcp;
	struct query queries[QUERIES_MAX];
	struct stream streams[STREAMS_MAX];
};

/* --- answering -------------------------------------------------------------------------- */

static void drop_socket(struct mr_source *source, struct mr_gate *gate)
{
	int fd = source->fd;

	mr_loop_remove(gate->loop, source);
	mr_close(fd);
	source->fd = -1;
}

/* What it asked is nobody's any more. */
static void close_stream(struct stream *s)
{
	struct query *queries = s->gate->resolver->queries;

	for (size_t i = 0; i < QUERIES_MAX; i++) {
		if (queries[i].state == FREE || queries[i].stream != s)
			continue;
		drop_socket(&queries[i].source, s->gate);
		queries[i].state = FREE;
	}
	drop_socket(&s->source, s->gate);
	s->used = s->busy = false;
}

/* While a query of it is answered the next one waits in the socket. */
static void set_busy(struct stream *s, bool busy)
{
	struct mr_error err;

	s->busy = busy;
	s->deadline_ns = mr_now_ns() + MR_PATIENCE_NS(GATE_DNS_STREAM);
	if (mr_loop_modify(s->gate->loop, &s->source, busy ? 0 : EPOLLIN, &err) < 0)
		close_stream(s);
}

static void reply(struct query *q)
{
	uint8_t buf[2 + MR_DNSWIRE_UDP_MAX];
	size_t n = mr_dnswire_write_answer(&q->asked, &q->answer, buf + 2,
					   q->stream ? MR_DNSWIRE_UDP_MAX : q->asked.size_max);

	if (!q->stream) {
		mr_doors_reply(q->gate->resolver->udp.fd, buf + 2, n, &q->from, &q->to);
		return;
	}
	buf[0] = (uint8_t)(n >> 8);
	buf[1] = (uint8_t)n;
	/* It fits into what a connection buffers, or the peer has stopped reading. */
	if (send(q->stream->source.fd, buf, n + 2, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)(n + 2))
		close_stream(q->stream);
	else
		set_busy(q->stream, false);
}

static void finish(struct query *q)
{
	drop_socket(&q->source, q->gate);
	reply(q);
	q->state = FREE;
}

static void answer_with(struct query *q, enum mr_dns_rcode rcode)
{
	q->answer = (struct mr_dnswire_answer){ .rcode = rcode };
	finish(q);
}

static void fill_denied(const struct query *q, struct mr_gate_denied *d)
{
	*d = (struct mr_gate_denied){
		.protocol = q->stream ? IPPROTO_TCP : IPPROTO_UDP,
		.port = ntohs(q->to.sin6_port),
		.source_port = ntohs(q->from.sin6_port),
		.address = q->to.sin6_addr,
		.source = q->from.sin6_addr,
	};
	memcpy(d->name, q->asked.name, strlen(q->asked.name) + 1);
}

static void refuse(struct query *q, enum mr_gate_reason reason, enum mr_dns_rcode rcode,
		   const char *detail)
{
	struct mr_gate_denied d;

	fill_denied(q, &d);
	snprintf(d.detail, sizeof(d.detail), "%s", detail);
	q->ack = mr_gate_deny(q->gate, &d, reason);
	q->answer = (struct mr_dnswire_answer){ .rcode = rcode };
	q->state = TOLD;
	q->deadline_ns = mr_now_ns() + MR_PATIENCE_NS(GATE_ACK);
}

/* --- outside ---------------------------------------------------------------------------- */

/* An address that the name may not lead to: told, and left out. */
static uint32_t refuse_address(struct query *q, const struct in6_addr *address,
			       enum mr_gate_reason reason)
{
	char text[INET6_ADDRSTRLEN];
	struct mr_gate_denied d;

	fill_denied(q, &d);
	snprintf(d.detail, sizeof(d.detail), "%s", mr_rule_print_address(address, text));
	return mr_gate_deny(q->gate, &d, reason);
}

/* The name leads there from now on, and the supervisor opens the way. */
static uint32_t pin(struct query *q, const struct in6_addr *address, uint64_t now)
{
	struct mr_gate_policy *policy = &q->gate->policy;
	const uint32_t ttl = q->answer.ttl_s < MR_PATIENCE_S(GATE_PIN_LEAST)
				     ? MR_PATIENCE_S(GATE_PIN_LEAST)
				     : q->answer.ttl_s;
	struct mr_gate_pin told = { .ttl_s = ttl, .address = *address };

	if (!mr_gate_policy_pin(policy, q->asked.name, address, now,
				now + (uint64_t)ttl * 1000000000))
		return refuse_address(q, address, MR_GATE_QUERIES_FULL);
	told.id = ++q->gate->last_id;
	told.n_ports = mr_gate_policy_ports(policy, address, now, told.ports);
	memcpy(told.name, q->asked.name, strlen(q->asked.name) + 1);
	mr_gate_tell(q->gate, &told.head, MR_GATE_PIN, sizeof(told));
	q->answer.addresses[q->answer.n++] = *address;
	return told.id;
}

static uint32_t take_address(struct query *q, const struct in6_addr *address, uint64_t now)
{
	if (!mr_gate_policy_target(&q->gate->policy, address))
		return refuse_address(q, address, MR_GATE_ANSWER_SPECIAL);
	if (mr_gate_is_own(address) && !mr_gate_policy_names_host(&q->gate->policy, address, 0))
		return refuse_address(q, address, MR_GATE_ANSWER_OWN_HOST);
	return pin(q, address, now);
}

/* Keep the addresses that may be given out.  The last word of the supervisor is waited for: it says
 * them in order. */
static void take_answer(struct query *q, const struct mr_dnswire_answer *got)
{
	const uint64_t now = mr_now_ns();

	drop_socket(&q->source, q->gate);
	q->answer = (struct mr_dnswire_answer){
		.rcode = got->rcode,
		.ttl_s = got->ttl_s > MR_PATIENCE_S(GATE_PIN_MOST) ? MR_PATIENCE_S(GATE_PIN_MOST)
								   : got->ttl_s,
	};
	for (size_t i = 0; i < got->n; i++)
		q->ack = take_address(q, &got->addresses[i], now);
	if (got->n == 0) {
		finish(q);
		return;
	}
	if (q->answer.n == 0)
		q->answer.rcode = MR_DNS_NXDOMAIN;
	q->gate->totals.resolved += q->answer.n > 0;
	q->state = TOLD;
	q->deadline_ns = now + MR_PATIENCE_NS(GATE_ACK);
}

static void ask_next(struct query *q);

static void on_answer(struct mr_source *source, uint32_t events)
{
	struct query *q = source->owner;
	uint8_t buf[4096];
	struct mr_dnswire_answer got;
	ssize_t n = recv(source->fd, buf, sizeof(buf), MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) { /* nobody is there */
		ask_next(q);
		return;
	}
	if (mr_dnswire_read_answer(buf, (size_t)n, q->id, q->asked.name, q->asked.type, &got) < 0)
		return; /* somebody else's, or nonsense: the time goes on */
	if (got.rcode != MR_DNS_NOERROR && got.rcode != MR_DNS_NXDOMAIN)
		ask_next(q);
	else if (got.truncated && got.n == 0)
		answer_with(q, MR_DNS_SERVFAIL);
	else
		take_answer(q, &got);
}

static int open_socket(struct query *q, const struct mr_gate_server *server)
{
	mr_auto_close int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 to = { .sin6_family = AF_INET6,
				   .sin6_port = htons(server->port),
				   .sin6_addr = server->address };
	struct mr_error err;
	int r;

	if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
		return -errno;
	r = mr_loop_add(q->gate->loop, &q->source, fd, EPOLLIN, on_answer, q, &err);
	if (r == 0)
		mr_take_fd(fd);
	return r;
}

/* Ask the next server; when all were asked often enough there is no answer. */
static void ask_next(struct query *q)
{
	const struct mr_gate_policy *policy = &q->gate->policy;
	uint8_t buf[MR_DNSWIRE_QUESTION_MAX + 12];

	while (q->tries < TRIES_MAX * policy->n_servers) {
		const struct mr_gate_server *server =
			&policy->servers[q->tries++ % policy->n_servers];
		size_t n;

		drop_socket(&q->source, q->gate);
		if (getrandom(&q->id, sizeof(q->id), 0) != sizeof(q->id) ||
		    open_socket(q, server) < 0)
			continue;
		n = mr_dnswire_write_query(q->id, q->asked.name, q->asked.type, buf);
		if (send(q->source.fd, buf, n, MSG_NOSIGNAL) != (ssize_t)n)
			continue;
		q->state = ASKING;
		q->deadline_ns = mr_now_ns() + MR_PATIENCE_NS(GATE_DNS_TRY);
		return;
	}
	answer_with(q, MR_DNS_SERVFAIL);
}

/* --- inside ------------------------------------------------------------------------------ */

static struct query *find_free(struct mr_gate_resolver *r)
{
	for (size_t i = 0; i < QUERIES_MAX; i++) {
		if (r->queries[i].state == FREE)
			return &r->queries[i];
	}
	return NULL;
}

static void judge(struct query *q, int parsed)
{
	enum mr_gate_reason reason;
	bool fails;
	char type[16];

	if (parsed < 0) {
		refuse(q, MR_GATE_QUERY_MALFORMED, MR_DNS_FORMERR, "");
		return;
	}
	fails = mr_netd_faults_take(&q->gate->faults, q->asked.name);
	if (!q->asked.name[0] || !mr_gate_policy_name(&q->gate->policy, q->asked.name, &reason)) {
		refuse(q, q->asked.name[0] ? reason : MR_GATE_NAME,
		       fails ? MR_DNS_SERVFAIL : MR_DNS_NXDOMAIN, "");
		return;
	}
	if (fails) {
		answer_with(q, MR_DNS_SERVFAIL);
		return;
	}
	/* What browsers ask beside: there is none, which is no denial. */
	if (q->asked.type == MR_DNS_TYPE_HTTPS || q->asked.type == MR_DNS_TYPE_SVCB) {
		answer_with(q, MR_DNS_NOERROR);
		return;
	}
	if (q->asked.type != MR_DNS_TYPE_A && q->asked.type != MR_DNS_TYPE_AAAA) {
		snprintf(type, sizeof(type), "type %u", q->asked.type);
		refuse(q, MR_GATE_QUERY_TYPE, MR_DNS_REFUSED, type);
		return;
	}
	ask_next(q);
}

static void take_query(struct mr_gate *gate, const uint8_t *bytes, size_t size,
		       const struct sockaddr_in6 *from, const struct sockaddr_in6 *to,
		       struct stream *stream)
{
	struct query *q = find_free(gate->resolver), full = { .source.fd = -1 };
	const bool has_room = q != NULL;
	struct mr_gate_denied d;
	int r;

	gate->totals.queries++;
	q = has_room ? q : &full;
	*q = (struct query){
		.source.fd = -1, .gate = gate, .from = *from, .to = *to, .stream = stream
	};
	r = mr_dnswire_read_query(bytes, size, &q->asked);
	if (!has_room || r == -EBADMSG) { /* without room or without a head nothing waits */
		fill_denied(q, &d);
		mr_gate_deny(gate, &d, has_room ? MR_GATE_QUERY_MALFORMED : MR_GATE_QUERIES_FULL);
		if (r == -EBADMSG && stream)
			close_stream(stream);
		else if (r != -EBADMSG)
			answer_with(q, MR_DNS_SERVFAIL);
		return;
	}
	judge(q, r);
}

static bool is_loopback(const struct in6_addr *address)
{
	return IN6_IS_ADDR_LOOPBACK(address) ||
	       (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == IN_LOOPBACKNET);
}

static void on_udp(struct mr_source *source, uint32_t events)
{
	struct mr_gate *gate = source->owner;

	(void)events;
	for (int i = 0; i < BATCH_MAX; i++) {
		struct sockaddr_in6 from = { 0 }, to = { 0 };
		uint8_t buf[MESSAGE_MAX];
		ssize_t n = mr_doors_receive(source->fd, buf, sizeof(buf), &from, &to);
		struct mr_gate_denied d;

		if (n == -EPROTO)
			continue;
		if (n < 0)
			return;
		if (is_loopback(&to.sin6_addr)) {
			take_query(gate, buf, (size_t)n, &from, &to, NULL);
			continue;
		}
		d = (struct mr_gate_denied){ .protocol = IPPROTO_UDP,
					     .port = ntohs(to.sin6_port),
					     .source_port = ntohs(from.sin6_port),
					     .address = to.sin6_addr,
					     .source = from.sin6_addr };
		mr_gate_deny(gate, &d, MR_GATE_OTHER_RESOLVER);
	}
}

/* Whole messages of a stream, one at a time: the next when that is answered. */
static void on_stream(struct mr_source *source, uint32_t events)
{
	struct stream *s = source->owner;
	size_t want = s->n < 2 ? 2 : 2 + ((size_t)s->buf[0] << 8 | s->buf[1]);
	ssize_t n;

	(void)events;
	if (want > sizeof(s->buf) || s->busy) { /* no query, or it left before the answer */
		close_stream(s);
		return;
	}
	n = recv(source->fd, s->buf + s->n, want - s->n, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_stream(s);
		return;
	}
	s->n += (size_t)n;
	if (s->n < 2 || s->n < 2 + ((size_t)s->buf[0] << 8 | s->buf[1]))
		return;
	n = (ssize_t)s->n - 2;
	s->n = 0;
	set_busy(s, true);
	if (s->used)
		take_query(s->gate, s->buf + 2, (size_t)n, &s->from, &s->to, s);
}

static struct stream *free_stream(struct mr_gate_resolver *r)
{
	for (size_t i = 0; i < STREAMS_MAX; i++) {
		if (!r->streams[i].used)
			return &r->streams[i];
	}
	return NULL;
}

static void on_tcp(struct mr_source *source, uint32_t events)
{
	struct mr_gate *gate = source->owner;
	struct stream *s = free_stream(gate->resolver);
	struct sockaddr_in6 from = { 0 }, to = { 0 };
	socklen_t from_len = sizeof(from), to_len = sizeof(to);
	mr_auto_close int fd = mr_gate_accept(gate, source);
	struct mr_error err;

	(void)events;
	if (fd < 0 || getsockname(fd, (struct sockaddr *)&to, &to_len) < 0 ||
	    getpeername(fd, (struct sockaddr *)&from, &from_len) < 0)
		return;
	if (!is_loopback(&to.sin6_addr)) {
		mr_gate_relay_take(gate, mr_take_fd(fd));
		return;
	}
	if (!s)
		return; /* too many: closed */
	*s = (struct stream){ .gate = gate,
			      .from = from,
			      .to = to,
			      .deadline_ns = mr_now_ns() + MR_PATIENCE_NS(GATE_DNS_STREAM),
			      .used = true };
	if (mr_loop_add(gate->loop, &s->source, fd, EPOLLIN, on_stream, s, &err) < 0)
		s->used = false;
	else
		mr_take_fd(fd);
}

/* --- life -------------------------------------------------------------------------------- */

void mr_gate_resolver_ack(struct mr_gate *gate, uint32_t id)
{
	for (size_t i = 0; i < QUERIES_MAX; i++) {
		struct query *q = &gate->resolver->queries[i];

		if (q->state == TOLD && q->ack == id)
			finish(q);
	}
}

void mr_gate_resolver_tick(struct mr_gate *gate, uint64_t now_ns)
{
	struct mr_gate_resolver *r = gate->resolver;
	struct mr_error err;

	/* It may have rested. */
	if (mr_loop_modify(gate->loop, &r->tcp, EPOLLIN, &err) < 0)
		gate->over = true;
	for (size_t i = 0; i < QUERIES_MAX; i++) {
		struct query *q = &r->queries[i];

		if (q->state == FREE || q->deadline_ns > now_ns)
			continue;
		if (q->state == ASKING)
			ask_next(q);
		else if (q->answer.n > 0 && gate->faults.by_name)
			answer_with(q, MR_DNS_SERVFAIL); /* perhaps it is to be cut off */
		else
			finish(q);
	}
	for (size_t i = 0; i < STREAMS_MAX; i++) {
		struct stream *s = &r->streams[i];

		if (s->used && !s->busy && s->deadline_ns <= now_ns)
			close_stream(s);
	}
}

int mr_gate_resolver_new(struct mr_gate *gate, struct mr_error *err)
{
	struct mr_gate_resolver *r = calloc(1, sizeof(*r));
	int e;

	mr_assert(r);
	gate->resolver = r;
	for (size_t i = 0; i < QUERIES_MAX; i++)
		r->queries[i].source.fd = -1;
	for (size_t i = 0; i < STREAMS_MAX; i++)
		r->streams[i].source.fd = -1;
	e = mr_loop_add(gate->loop, &r->udp, gate->netd->doors[MR_DOOR_DNS_UDP], EPOLLIN, on_udp,
			gate, err);
	return e < 0 ? e
		     : mr_loop_add(gate->loop, &r->tcp, gate->netd->doors[MR_DOOR_DNS_TCP], EPOLLIN,
				   on_tcp, gate, err);
}

void mr_gate_resolver_free(struct mr_gate *gate)
{
	struct mr_gate_resolver *r = gate->resolver;

	for (size_t i = 0; i < QUERIES_MAX; i++)
		drop_socket(&r->queries[i].source, gate);
	for (size_t i = 0; i < STREAMS_MAX; i++)
		drop_socket(&r->streams[i].source, gate);
	free(r);
	gate->resolver = NULL;
}

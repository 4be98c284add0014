/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: the responder that plays canned answers
 *
 * Owns the connections and one timer for all of them.  A connection that is over is freed
 * here, after its callback, never within it.
 */
#include "netns/stub.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "netns/stub_conn.h"
#include "netns/stub_dns.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"

void mr_stub_deny(struct mr_stub_conn *conn, const char *op, const char *object, const char *rule,
		  const char *reason)
{
	struct mr_stub *stub = conn->stub;
	const struct mr_stub_denial denial = {
		.id = ++stub->last_id,
		.op = op,
		.address = conn->address,
		.port = conn->port,
		.source_port = conn->source_port,
		.name = conn->host,
		.object = object,
		.rule = rule,
		.reason = reason,
	};

	if (!stub->opts.on_denial(stub->opts.owner, &denial))
		return;
	conn->told = denial.id;
	conn->told_due_ns = mr_now_ns() + MR_PATIENCE_NS(STUB_TOLD);
}

static void free_over(struct mr_stub *stub)
{
	for (size_t i = 0; i < stub->n;) {
		if (stub->conns[i]->phase != MR_STUB_OVER) {
			i++;
			continue;
		}
		free(stub->conns[i]);
		stub->conns[i] = stub->conns[--stub->n];
	}
}

static uint64_t next_due(const struct mr_stub *stub, uint64_t now_ns)
{
	uint64_t next = 0;

	for (size_t i = 0; i < stub->n; i++) {
		const uint64_t due = mr_stub_conn_next(stub->conns[i], now_ns);

		if (due && (!next || due < next))
			next = due;
	}
	return next;
}

void mr_stub_settle(struct mr_stub *stub)
{
	struct mr_error err;

	free_over(stub);
	mr_stub_command_next(stub);
	/* Without its timer it would wait for ever for what never comes. */
	mr_assert(mr_timer_arm(stub->timer.fd, next_due(stub, mr_now_ns()), &err) == 0);
}

static void on_timer(struct mr_source *source, uint32_t events)
{
	struct mr_stub *stub = source->owner;
	const uint64_t now_ns = mr_now_ns();

	(void)events;
	mr_timer_ack(source->fd);
	for (size_t i = 0; i < stub->n; i++)
		if (stub->conns[i]->phase != MR_STUB_OVER)
			mr_stub_conn_due(stub->conns[i], now_ns);
	mr_stub_settle(stub);
}

static void on_conn(struct mr_source *source, uint32_t events)
{
	struct mr_stub *stub = ((struct mr_stub_conn *)source->owner)->stub;

	mr_stub_conn_event(source, events);
	mr_stub_settle(stub);
}

int mr_stub_new(const struct mr_stub_opts *opts, struct mr_stub **ret, struct mr_error *err)
{
	struct mr_stub *stub = mr_str_alloc(sizeof(*stub));
	int timer, r;

	stub->opts = *opts;
	stub->rounds = mr_str_alloc((opts->mocks->n + 1) * sizeof(*stub->rounds));
	for (size_t i = 0; i < opts->mocks->n; i++)
		stub->has_commands |= opts->mocks->v[i].by_command;
	for (size_t i = 0; i < opts->mocks->n; i++)
		stub->rounds[i] = mr_stub_round_begin(&opts->mocks->v[i], opts->seed);
	stub->timer.fd = -1;
	timer = mr_timer_open(err);
	r = timer < 0 ? timer
		      : mr_loop_add(opts->loop, &stub->timer, timer, EPOLLIN, on_timer, stub, err);
	if (r < 0) {
		mr_close(timer);
		mr_stub_free(stub);
		return r;
	}
	*ret = stub;
	return 0;
}

struct mr_stub *mr_stub_free(struct mr_stub *stub)
{
	int timer;

	if (!stub)
		return NULL;
	for (size_t i = 0; i < stub->n; i++)
		mr_stub_conn_reset(stub->conns[i]);
	free_over(stub);
	timer = stub->timer.fd;
	mr_loop_remove(stub->opts.loop, &stub->timer);
	mr_close(timer);
	free(stub->rounds);
	free(stub);
	return NULL;
}

static bool admits(struct mr_stub_conn *conn)
{
	char object[MR_MOCK_HOST_MAX + 8];

	snprintf(object, sizeof(object), "%s:%u", conn->host ? conn->host : "?", conn->port);
	if (!conn->host || !mr_mocks_has_host(conn->stub->opts.mocks, conn->host, conn->port))
		mr_stub_deny(conn, "connect", object, "no mock", "no mock answers at this port");
	else if (conn->stub->n == MR_STUB_CONNECTIONS_MAX)
		mr_stub_deny(conn, "connect", object, "connections",
			     "256 connections are open already");
	else
		return true;
	return false;
}

void mr_stub_connect(struct mr_stub *stub, int fd, const struct in6_addr *address, uint16_t port,
		     uint16_t source_port)
{
	struct mr_stub_conn *conn = mr_str_alloc(sizeof(*conn));
	struct mr_error err;

	conn->stub = stub;
	conn->fd = fd;
	conn->source.fd = -1;
	conn->address = *address;
	conn->port = port;
	conn->source_port = source_port;
	conn->host = mr_mocks_name(stub->opts.mocks, address);
	conn->due_ns = mr_now_ns() + MR_PATIENCE_NS(STUB_IDLE);
	conn->http.raw = stub->has_commands ? &conn->request : NULL;
	mr_http_reset(&conn->http);
	if (!admits(conn))
		conn->phase = MR_STUB_RESET;
	/* Beyond the limit nobody waits for anything. */
	if (stub->n == MR_STUB_CONNECTIONS_MAX ||
	    mr_loop_add(stub->opts.loop, &conn->source, fd, EPOLLIN, on_conn, conn, &err) < 0) {
		mr_stub_conn_reset(conn);
		free(conn);
		return;
	}
	stub->conns[stub->n++] = conn;
	mr_stub_drive(conn, mr_now_ns());
	mr_stub_settle(stub);
}

size_t mr_stub_query(struct mr_stub *stub, const void *query, size_t size, uint16_t source_port,
		     uint8_t reply[MR_DNS_REPLY_MAX], uint32_t *ret_wait)
{
	char name[MR_DNS_NAME_SIZE];
	struct mr_stub_denial denial = {
		.op = "dns",
		.port = 53,
		.source_port = source_port,
		.name = name,
		.object = name,
	};
	enum mr_dns_outcome outcome;
	bool waits = false;
	size_t n;

	denial.id = stub->last_id + 1;
	outcome = mr_stub_dns_answer(stub->opts.mocks, stub->opts.without_ipv6, query, size, reply,
				     &n, name);
	if ((outcome == MR_DNS_FOUND || outcome == MR_DNS_UNKNOWN) && stub->opts.fails &&
	    stub->opts.fails(stub->opts.owner, name))
		n = mr_stub_dns_fail(reply, n);
	switch (outcome) {
	case MR_DNS_UNKNOWN:
		denial.rule = "no mock";
		denial.reason = "no mock has this name";
		waits = stub->opts.on_denial(stub->opts.owner, &denial);
		break;
	case MR_DNS_MALFORMED:
		denial.rule = "no query";
		denial.reason = "not one question";
		waits = stub->opts.on_denial(stub->opts.owner, &denial);
		break;
	case MR_DNS_FOUND:
	case MR_DNS_IGNORED:
		break;
	}
	stub->last_id += denial.rule != NULL;
	*ret_wait = waits ? denial.id : 0;
	return n;
}

void mr_stub_acknowledge(struct mr_stub *stub, uint32_t id)
{
	for (size_t i = 0; id && i < stub->n; i++) {
		struct mr_stub_conn *conn = stub->conns[i];

		if (conn->told != id || conn->phase == MR_STUB_OVER)
			continue;
		conn->told = 0;
		mr_stub_drive(conn, mr_now_ns());
		mr_stub_settle(stub);
		return;
	}
}

size_t mr_stub_connections(const struct mr_stub *stub)
{
	return stub->n;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: requests that a command answers
 *
 * Nothing is run here: who owns the stub is asked, one request after the other in the order in which
 * they became whole, and takes no more than he can do at a time.  The others wait, and only what has
 * reached its connection's share of memory waits: its request is the client's, bounded, and its
 * answer is bounded too.  A client that leaves meanwhile takes its place in the queue with it; what
 * was asked for it is answered to nobody.
 */
#include <string.h>

#include "netns/stub_cgi.h"
#include "netns/stub_conn.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

/* Connections whose request has a body that waits to be asked with, this one among them. */
static size_t count_bodies(const struct mr_stub *stub)
{
	size_t n = 0;

	for (size_t i = 0; i < stub->n; i++)
		n += stub->conns[i]->request.len > 0 && stub->conns[i]->http.has_body;
	return n;
}

const char *mr_stub_command_head(struct mr_stub_conn *conn, unsigned int *ret_status)
{
	const struct mr_mock *mock = conn->stub->has_commands ? mr_stub_answer_mock(conn) : NULL;

	conn->request_head = conn->request.len;
	if (!mock || !mock->by_command) {
		mr_buf_deinit(&conn->request);
		return NULL;
	}
	if (conn->http.has_body && count_bodies(conn->stub) > MR_STUB_ASK_BODIES_MAX) {
		*ret_status = 503;
		return "64 requests with a body wait for a command already";
	}
	if (mr_http_keep_body(&conn->http, MR_STUB_ASK_BODY_MAX))
		return NULL;
	*ret_status = conn->http.status;
	return conn->http.why;
}

static bool ask(struct mr_stub_conn *conn)
{
	struct mr_stub *stub = conn->stub;
	const struct mr_stub_ask what = {
		.id = stub->last_ask + 1 ? stub->last_ask + 1 : 1, /* 0 is none */
		.mock = conn->mock,
		.https = conn->tls != NULL,
		.port = conn->port,
		.method = conn->http.method,
		.target = conn->http.target,
		.request = conn->request.text,
		.head_size = conn->request_head,
		.body_size = conn->request.len - conn->request_head,
	};

	if (!stub->opts.ask || !stub->opts.ask(stub->opts.owner, &what))
		return false;
	conn->asked = stub->last_ask = what.id;
	mr_buf_deinit(&conn->request);
	return true;
}

/* Who has waited longest. */
static struct mr_stub_conn *find_next(const struct mr_stub *stub)
{
	struct mr_stub_conn *next = NULL;

	for (size_t i = 0; i < stub->n; i++) {
		struct mr_stub_conn *conn = stub->conns[i];

		if (conn->phase == MR_STUB_COMMAND && !conn->asked &&
		    (!next || conn->queued < next->queued))
			next = conn;
	}
	return next;
}

static size_t sum_outputs(const struct mr_stub *stub)
{
	size_t sum = 0;

	for (size_t i = 0; i < stub->n; i++)
		sum += stub->conns[i]->output.size;
	return sum;
}

void mr_stub_command_next(struct mr_stub *stub)
{
	struct mr_stub_conn *next = stub->has_commands ? find_next(stub) : NULL;

	/* Whoever does not read what he asked for keeps the next from being made, not more. */
	while (next && sum_outputs(stub) < MR_STUB_OUTPUTS_MAX && ask(next))
		next = find_next(stub);
}

void mr_stub_command_queue(struct mr_stub_conn *conn)
{
	struct mr_stub *stub = conn->stub;

	conn->mock = (uint32_t)(mr_stub_answer_mock(conn) - stub->opts.mocks->v);
	conn->queued = ++stub->last_queued;
	conn->asked = 0;
	mr_stub_command_next(stub);
}

/* Puts the answer; the output becomes the connection's. */
static void take_output(struct mr_stub_conn *conn, const char *output, size_t size)
{
	const struct mr_stub_opts *opts = &conn->stub->opts;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_mock answer = { 0 };
	size_t body = 0;
	int r;

	mr_buf_clear(&conn->output);
	mr_buf_add(&conn->output, ""); /* there is a text, even if it is empty */
	mr_buf_addn(&conn->output, output, size);
	r = mr_cgi_parse(conn->output.text, size, &opts->mocks->v[conn->mock], &answer, &body,
			 &err);
	if (r == 0) {
		mr_stub_answer_body(conn, &answer, conn->output.text + body, size - body);
	} else {
		__atomic_fetch_add(&opts->counts[conn->mock].unusable, 1, __ATOMIC_RELAXED);
		opts->on_unusable(opts->owner, conn->mock, err.msg);
		mr_stub_answer_without(conn);
	}
	mr_mock_deinit(&answer);
}

static struct mr_stub_conn *find_asked(const struct mr_stub *stub, uint32_t id)
{
	for (size_t i = 0; i < stub->n; i++)
		if (stub->conns[i]->phase == MR_STUB_COMMAND && stub->conns[i]->asked == id)
			return stub->conns[i];
	return NULL;
}

void mr_stub_output(struct mr_stub *stub, uint32_t id, const char *output, size_t size)
{
	struct mr_stub_conn *conn = id ? find_asked(stub, id) : NULL;

	if (conn) {
		if (output)
			take_output(conn, output, size);
		else
			mr_stub_answer_without(conn);
		conn->phase = MR_STUB_DELAY;
		conn->due_ns = conn->first_byte_ns;
		mr_stub_conn_due(conn, mr_now_ns());
	}
	mr_stub_settle(stub);
}

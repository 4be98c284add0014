/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: what is answered
 *
 * A request is answered by the mock of its URL; the host is the one whose address was
 * connected to, and a Host header that names another is refused: a mock of one name is no
 * way to the answers of the next.
 *
 * Failures: of every R requests of a mock exactly F fail.  Which ones is drawn without
 * replacement from a generator that is seeded by the run's seed and the target, so the same
 * requests in the same order meet the same failures, whatever other mocks are asked.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "netns/stub_conn.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"

/* So that what is drawn for one thing tells nothing of another. */
#define LATE 0x6c617465ULL
#define DRIFT 0x6472696674ULL

/* splitmix64 */
static uint64_t draw(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

struct mr_stub_round mr_stub_round_begin(const struct mr_mock *mock, uint64_t seed)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (const char *p = mock->target; *p; p++)
		hash = (hash ^ (unsigned char)*p) * 0x100000001b3ULL;
	hash ^= draw(&seed);
	return (struct mr_stub_round){ .random = hash,
				       .late_random = hash ^ LATE,
				       .drift_random = hash ^ DRIFT };
}

/* F of the R that this round had at its begin: both are what is left of them. */
static bool draw_of(uint64_t *random, uint32_t *r, uint32_t *f)
{
	const bool hit = draw(random) % *r < *f;

	(*r)--;
	*f -= hit;
	return hit;
}

bool mr_stub_round_next(struct mr_stub_round *round, const struct mr_mock *mock)
{
	if (!mock->fail_round)
		return false;
	if (round->requests == 0) {
		round->requests = mock->fail_round;
		round->failures = mock->fail_of;
	}
	return draw_of(&round->random, &round->requests, &round->failures);
}

/* The body of the next answer that does not fail. */
static const char *choose_body(struct mr_stub_round *round, const struct mr_mock *mock,
			       struct mr_stub_count *count, size_t *ret_size)
{
	size_t n = 0;

	*ret_size = mock->body_size;
	while (n < MR_MOCK_DRIFTS && mock->drifts[n])
		n++;
	if (n == 0 || !mock->drift_round)
		return mock->body;
	if (round->checks == 0) {
		round->checks = mock->drift_round;
		round->drifts = mock->drift_of;
	}
	__atomic_fetch_add(&count->checks, 1, __ATOMIC_RELAXED);
	if (!draw_of(&round->drift_random, &round->checks, &round->drifts))
		return mock->body;
	__atomic_fetch_add(&count->drifts, 1, __ATOMIC_RELAXED);
	n = draw(&round->drift_random) % n;
	*ret_size = mock->drift_sizes[n];
	return mock->drifts[n];
}

/* --- the text -------------------------------------------------------------------- */

static bool has_body(unsigned int status)
{
	return status != 204 && status != 304;
}

static void begin(struct mr_stub_conn *conn)
{
	struct mr_stub_answer *answer = &conn->answer;

	mr_buf_clear(&answer->head);
	answer->head_at = answer->body_size = answer->body_at = 0;
	answer->body = NULL;
	answer->count = NULL;
	answer->flip = MR_STUB_FLIP_NONE;
	answer->interim = answer->reset = false;
}

static void put_status(struct mr_stub_conn *conn, unsigned int status, size_t size)
{
	struct mr_buf *head = &conn->answer.head;

	mr_buf_printf(head, "HTTP/1.1 %u %s\r\n", status, mr_http_reason(status));
	if (has_body(status))
		mr_buf_printf(head, "Content-Length: %zu\r\n", size);
	if (!conn->http.keep_alive)
		mr_buf_add(head, "Connection: close\r\n");
}

/* An answer of our own. */
static void put_refusal(struct mr_stub_conn *conn, unsigned int status, const char *why)
{
	struct mr_buf *head = &conn->answer.head;

	put_status(conn, status, strlen(why) + 1);
	mr_buf_add(head, "Content-Type: text/plain\r\nServer: menace-run\r\n\r\n");
	if (!conn->http.is_head)
		mr_buf_printf(head, "%s\n", why);
}

void mr_stub_answer_continue(struct mr_stub_conn *conn)
{
	begin(conn);
	conn->answer.interim = true;
	mr_buf_add(&conn->answer.head, "HTTP/1.1 100 Continue\r\n\r\n");
}

static char *url_of(const struct mr_stub_conn *conn, const char *host)
{
	const bool https = conn->tls != NULL;
	char port[8] = "";

	if (conn->port != (https ? 443 : 80))
		snprintf(port, sizeof(port), ":%u", conn->port);
	return mr_str_format("%s http%s://%s%s%s", conn->http.method, https ? "s" : "", host, port,
			     conn->http.target);
}

void mr_stub_answer_bad(struct mr_stub_conn *conn, unsigned int status, const char *why)
{
	mr_auto_free char *url = url_of(conn, conn->host);

	mr_stub_deny(conn, "http", url, "no request", why);
	mr_buf_deinit(&conn->request);
	conn->http.keep_alive = false;
	begin(conn);
	put_refusal(conn, status, why);
}

/* --- mocks ------------------------------------------------------------------------ */

static void put_body(struct mr_stub_conn *conn, const struct mr_mock *mock, const char *body,
		     size_t size)
{
	struct mr_stub_answer *answer = &conn->answer;

	put_status(conn, mock->status ? mock->status : 200, size);
	for (size_t i = 0; i < mock->n_headers; i++)
		mr_buf_printf(&answer->head, "%s\r\n", mock->headers[i]);
	if (size && !mr_mock_has_header(mock, "Content-Type"))
		mr_buf_add(&answer->head, "Content-Type: application/octet-stream\r\n");
	mr_buf_add(&answer->head, "\r\n");
	if (conn->http.is_head)
		return;
	answer->body = body;
	answer->body_size = size;
}

static void put_answer(struct mr_stub_conn *conn, const struct mr_mock *mock)
{
	put_body(conn, mock, mock->body, mock->body_size);
}

static void put_failure(struct mr_stub_conn *conn, const struct mr_mock *mock, uint64_t *random)
{
	struct mr_stub_answer *answer = &conn->answer;

	switch (mock->fault) {
	case MR_FAULT_STATUS:
		put_refusal(conn, mock->fault_status, "an injected failure");
		break;
	case MR_FAULT_AUTH:
		put_status(conn, 401, 0);
		mr_buf_add(&answer->head, "WWW-Authenticate: Basic realm=\"mock\"\r\n\r\n");
		break;
	case MR_FAULT_RESET:
		answer->reset = true;
		break;
	case MR_FAULT_TRUNCATE:
		conn->http.keep_alive = false; /* the end is the failure */
		put_answer(conn, mock);
		answer->body_size /= 2;
		break;
	case MR_FAULT_FLIP:
		put_answer(conn, mock);
		answer->flip = draw(random) % (answer->body_size * 8);
		break;
	case MR_FAULT_TIMEOUT:
	case MR_FAULT_NONE:
		break;
	}
}

/* An answer without a body cannot lose some of it. */
static bool can_fail(const struct mr_stub_conn *conn, const struct mr_mock *mock)
{
	return mock->fault != MR_FAULT_NONE &&
	       !(conn->http.is_head &&
		 (mock->fault == MR_FAULT_TRUNCATE || mock->fault == MR_FAULT_FLIP));
}

void mr_stub_answer_body(struct mr_stub_conn *conn, const struct mr_mock *mock, const char *body,
			 size_t size)
{
	put_body(conn, mock, body, size);
}

void mr_stub_answer_without(struct mr_stub_conn *conn)
{
	put_refusal(conn, 502, "menace-run: the command of this mock gave no answer");
}

static enum mr_stub_next play(struct mr_stub_conn *conn, const struct mr_mock *mock)
{
	struct mr_stub *stub = conn->stub;
	const size_t i = (size_t)(mock - stub->opts.mocks->v);
	struct mr_stub_count *count = &stub->opts.counts[i];
	struct mr_stub_round *round = &stub->rounds[i];
	const bool fails = can_fail(conn, mock) && mr_stub_round_next(round, mock);

	conn->answer.count = count;
	__atomic_fetch_add(&count->hits, 1, __ATOMIC_RELAXED);
	if (!fails && mock->by_command)
		return MR_STUB_BY_COMMAND;
	if (!fails) {
		size_t size;
		const char *body = choose_body(round, mock, count, &size);

		put_body(conn, mock, body, size);
		return MR_STUB_ANSWERED;
	}
	__atomic_fetch_add(&count->failures, 1, __ATOMIC_RELAXED);
	put_failure(conn, mock, &round->random);
	return mock->fault == MR_FAULT_TIMEOUT ? MR_STUB_UNANSWERED : MR_STUB_ANSWERED;
}

/* Only mocks that say nothing of a delay have that of all. */
static uint64_t choose_delay(struct mr_stub *stub, const struct mr_mock *mock)
{
	const struct mr_stub_opts *opts = &stub->opts;
	const size_t i = (size_t)(mock - opts->mocks->v);
	struct mr_stub_count *count = &opts->counts[i];

	if (mock->delay_ms != MR_MOCK_NO_DELAY)
		return mock->delay_ms * 1000000;
	if (!opts->delay_ns)
		return 0;
	if (draw(&stub->rounds[i].late_random) % 100 < opts->punctual_percent) {
		__atomic_fetch_add(&count->punctual, 1, __ATOMIC_RELAXED);
		return 0;
	}
	__atomic_fetch_add(&count->late, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&count->late_ns, opts->delay_ns, __ATOMIC_RELAXED);
	return opts->delay_ns;
}

/* Whom the request is for. */
static const char *host_of(const struct mr_stub_conn *conn)
{
	return conn->http.host[0] ? conn->http.host : conn->host;
}

const struct mr_mock *mr_stub_answer_mock(const struct mr_stub_conn *conn)
{
	const char *host = host_of(conn);

	if (strcmp(host, conn->host) != 0)
		return NULL;
	return mr_mocks_match(conn->stub->opts.mocks, conn->tls != NULL, host, conn->port,
			      conn->http.target);
}

enum mr_stub_next mr_stub_answer_request(struct mr_stub_conn *conn, uint64_t *ret_delay_ns)
{
	const char *host = host_of(conn);
	mr_auto_free char *url = url_of(conn, host);
	const struct mr_mock *mock = mr_stub_answer_mock(conn);

	begin(conn);
	*ret_delay_ns = 0;
	if (strcmp(host, conn->host) != 0) {
		mr_stub_deny(conn, "http", url, "another host's address",
			     "Host names another host than the one connected to");
		conn->http.keep_alive = false;
		put_refusal(conn, 421, "menace-run: this is another host");
		return MR_STUB_ANSWERED;
	}
	if (!mock) {
		mr_stub_deny(conn, "http", url, "no mock", "no mock answers this URL");
		put_refusal(conn, 502, "menace-run: no mock answers this URL");
		return MR_STUB_ANSWERED;
	}
	*ret_delay_ns = choose_delay(conn->stub, mock);
	return play(conn, mock);
}

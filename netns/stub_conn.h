/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: what its connections (stub_conn.c), its answers (stub_answer.c) and their owner
 * (stub.c) share
 */
#pragma once

#include <stdbool.h>

#include "netns/mock.h"
#include "netns/stub.h"
#include "netns/stub_http.h"
#include "runtime/base/buf.h"
#include "runtime/base/loop.h"

struct mr_tls_session;

enum mr_stub_phase {
	MR_STUB_SNIFF, /* TLS or not? */
	MR_STUB_HANDSHAKE,
	MR_STUB_READ,
	MR_STUB_COMMAND, /* a command is to answer */
	MR_STUB_DELAY, /* the first byte of the answer is due later */
	MR_STUB_WRITE,
	MR_STUB_NEVER, /* an answer that never comes */
	MR_STUB_LINGER, /* answered; what still comes is dropped */
	MR_STUB_RESET, /* is about to be reset */
	MR_STUB_OVER,
};

#define MR_STUB_IN_MAX 8192
#define MR_STUB_FLIP_NONE SIZE_MAX

/* An answer on its way. */
struct mr_stub_answer {
	struct mr_buf head;
	size_t head_at;
	const char *body; /* of a mock or of the connection's output: borrowed */
	size_t body_size, body_at;
	size_t flip; /* bit of the body that is flipped, or MR_STUB_FLIP_NONE */
	struct mr_stub_count *count; /* of the mock, or NULL */
	bool interim; /* 100 Continue: the request goes on after it */
	bool reset; /* instead of an answer */
};

struct mr_stub_conn {
	struct mr_stub *stub;
	struct mr_source source;
	int fd;
	struct in6_addr address;
	uint16_t port, source_port;
	const char *host; /* whose address it is */
	enum mr_stub_phase phase;
	uint64_t
		due_ns; /* when the phase is over, or the connection is to be driven on; 0: never */
	uint32_t told; /* denial that must be acknowledged before anything more; 0: none */
	uint64_t told_due_ns; /* when that is given up */
	bool again; /* due_ns means: there is more to do at once */
	bool head_timed; /* a request's head has begun */
	struct mr_tls_session *tls;
	struct mr_http http;
	char in[MR_STUB_IN_MAX];
	size_t in_len, in_at;
	struct mr_stub_answer answer;
	/* Of a request that a command answers. */
	struct mr_buf request;
	size_t request_head; /* bytes of its head */
	uint32_t mock; /* its place */
	uint64_t queued; /* its turn */
	uint32_t asked; /* id; 0: it waits for its turn */
	uint64_t first_byte_ns; /* not before */
	struct mr_buf output; /* of the command */
};

/* Where the failures of one mock fall. */
struct mr_stub_round {
	uint64_t random;
	uint32_t requests, failures; /* left in this round */
	uint64_t late_random; /* of their own: which answers are late */
	uint64_t drift_random; /* ... and which are others */
	uint32_t checks, drifts; /* left in this round */
};

struct mr_stub {
	struct mr_stub_opts opts;
	struct mr_source timer;
	struct mr_stub_round *rounds;
	uint32_t last_id; /* of a denial */
	bool has_commands; /* some mock is one by a command */
	uint64_t last_queued;
	uint32_t last_ask;
	struct mr_stub_conn *conns[MR_STUB_CONNECTIONS_MAX];
	size_t n;
};

/* stub.c.  After anything that may have moved a connection. */
void mr_stub_settle(struct mr_stub *stub);
void mr_stub_deny(struct mr_stub_conn *conn, const char *op, const char *object, const char *rule,
		  const char *reason);

/* stub_conn.c.  Go on as far as it gets; the phase may be OVER then. */
void mr_stub_drive(struct mr_stub_conn *conn, uint64_t now_ns);
void mr_stub_conn_event(struct mr_source *source, uint32_t events);
void mr_stub_conn_due(struct mr_stub_conn *conn, uint64_t now_ns);
/* When it wants to be driven on; 0: not by time. */
uint64_t mr_stub_conn_next(const struct mr_stub_conn *conn, uint64_t now_ns);
/* Reset it. */
void mr_stub_conn_reset(struct mr_stub_conn *conn);

/* stub_answer.c.  The request is whole: prepare the answer; *ret_delay_ns is its first byte's. */
enum mr_stub_next { MR_STUB_ANSWERED, MR_STUB_UNANSWERED, MR_STUB_BY_COMMAND };
enum mr_stub_next mr_stub_answer_request(struct mr_stub_conn *conn, uint64_t *ret_delay_ns);
/* The request is none, or came too slowly. */
void mr_stub_answer_bad(struct mr_stub_conn *conn, unsigned int status, const char *why);
void mr_stub_answer_continue(struct mr_stub_conn *conn);
/* Of a command: this body, which stays the caller's, with the status and the headers of the mock;
 * or that there is none. */
void mr_stub_answer_body(struct mr_stub_conn *conn, const struct mr_mock *mock, const char *body,
			 size_t size);
void mr_stub_answer_without(struct mr_stub_conn *conn);
/* The mock that answers a request whose head is whole; NULL: none. */
const struct mr_mock *mr_stub_answer_mock(const struct mr_stub_conn *conn);
/* stub_answer.c: the first of each mock. */
struct mr_stub_round mr_stub_round_begin(const struct mr_mock *mock, uint64_t seed);
/* stub_command.c.  The head is whole: a command needs the body.  Else why it is not to come, and the
 * status to say so. */
const char *mr_stub_command_head(struct mr_stub_conn *conn, unsigned int *ret_status);
/* The request is whole, and its phase MR_STUB_COMMAND: ask when it is its turn. */
void mr_stub_command_queue(struct mr_stub_conn *conn);
/* Something may be free again: ask for whose turn it is. */
void mr_stub_command_next(struct mr_stub *stub);

/* Does the next request fail? */
bool mr_stub_round_next(struct mr_stub_round *round, const struct mr_mock *mock);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: conversations with the responder over socket pairs
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <signal.h>
#include <fcntl.h>
#include <errno.h>
#include <cmocka.h>

#include "netns/mock.h"
#include "netns/stub.h"
#include "netns/stub_tls.h"
#include "netns/stub_wire.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock_virtual.h"
#include "runtime/base/error.h"
#include "runtime/base/loop.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"

#define A 0xc6120001u /* the first name */

static struct mr_loop *loop;
static struct mr_mocks mocks;
static struct mr_stub *stub;
static struct mr_tls *tls;
static struct mr_stub_count counts[MR_MOCKS_MAX];
static struct mr_buf denials;
static struct mr_buf got;

static bool wants_ack;
static uint32_t last_id;

static bool on_denial(void *owner, const struct mr_stub_denial *d)
{
	(void)owner;
	mr_buf_printf(&denials, "%s %s (%s)\n", d->op, d->object, d->rule);
	last_id = d->id;
	return wants_ack;
}

/* Of commands: how many more may be asked for, and what was. */
static unsigned int ask_room;
static uint32_t last_ask;
static struct mr_buf asked;

static bool on_ask(void *owner, const struct mr_stub_ask *ask)
{
	(void)owner;
	if (ask_room == 0)
		return false;
	ask_room--;
	last_ask = ask->id;
	mr_buf_printf(&asked, "%u %s %s %u %zu %.*s\n", ask->mock, ask->method, ask->target,
		      ask->port, ask->body_size, (int)ask->body_size,
		      ask->request + ask->head_size);
	assert_int_equal(strncmp(ask->request, ask->method, strlen(ask->method)), 0);
	/* One head, which is the whole of it. */
	assert_ptr_equal(memmem(ask->request, ask->head_size, "\r\n\r\n", 4),
			 ask->request + ask->head_size - 4);
	return true;
}

static void on_unusable(void *owner, uint32_t mock, const char *why)
{
	(void)owner;
	mr_buf_printf(&asked, "%u: %s\n", mock, why);
}

/* Mocks up to the NULL. */
static void start(uint64_t delay_ms, uint64_t seed, const char *first, ...)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_stub_opts opts = { .mocks = &mocks,
				     .delay_ns = delay_ms * 1000000,
				     .seed = seed,
				     .counts = counts,
				     .ask = on_ask,
				     .on_unusable = on_unusable,
				     .on_denial = on_denial };
	va_list ap;

	va_start(ap, first);
	for (const char *text = first; text; text = va_arg(ap, const char *)) {
		struct mr_mock mock;

		if (mr_mock_parse(text, &mock, &err) < 0 || mr_mocks_add(&mocks, &mock, &err) < 0)
			fail_msg("%s", err.msg);
	}
	va_end(ap);
	memset(counts, 0, sizeof(counts));
	assert_int_equal(mr_loop_new(&loop, &err), 0);
	assert_int_equal(mr_tls_new(&tls, &err), 0);
	opts.loop = loop;
	opts.tls = tls;
	assert_int_equal(mr_stub_new(&opts, &stub, &err), 0);
}

static int stop(void **state)
{
	(void)state;
	stub = mr_stub_free(stub);
	tls = mr_tls_free(tls);
	loop = mr_loop_free(loop);
	mr_mocks_deinit(&mocks);
	mr_buf_deinit(&denials);
	mr_buf_deinit(&asked);
	mr_buf_deinit(&got);
	return 0;
}

static int connect_to(uint32_t address, uint16_t port)
{
	struct in6_addr mapped = { .s6_addr = { [10] = 0xff, [11] = 0xff } };
	const uint32_t low = htonl(address);
	int pair[2];

	memcpy(&mapped.s6_addr[12], &low, sizeof(low));
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
			 0);
	mr_stub_connect(stub, pair[1], &mapped, port, 1);
	return pair[0];
}

static void put(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Let it work until nothing moves for `ms`. */
static void turn(int ms)
{
	struct mr_error err;

	while (mr_loop_run_once(loop, ms, &err) > 0)
		;
}

/* What has come, after quiet_ms without more; true at its end. */
static bool take(int fd, int quiet_ms)
{
	char buf[65536];
	ssize_t n;

	mr_buf_clear(&got);
	mr_buf_add(&got, "");
	do {
		turn(quiet_ms);
		n = recv(fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n > 0)
			mr_buf_addn(&got, buf, (size_t)n);
	} while (n > 0);
	return n == 0 || errno == ECONNRESET;
}

static void answers(const char *request, const char *wanted)
{
	int fd = connect_to(A, 80);

	put(fd, request);
	take(fd, 20);
	assert_string_equal(got.text, wanted);
	close(fd);
	turn(20);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"

static void canned_answers_are_given(void **state)
{
	(void)state;
	start(0, 1, "http://a/x=type:text/plain,header:X-Y: z,body:hello", "http://a/s=status:204",
	      "http://a/e=status:404,body:", NULL);
	answers(GET("/x"), "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n"
			   "X-Y: z\r\n\r\nhello");
	answers("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n"
		"X-Y: z\r\n\r\n");
	answers(GET("/s"), "HTTP/1.1 204 No Content\r\n\r\n");
	answers(GET("/e"), "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
	answers("GET /e HTTP/1.0\r\n\r\n",
		"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
	assert_int_equal(counts[0].hits, 2);
	assert_int_equal(counts[0].bytes, 5);
	assert_int_equal(counts[1].hits, 1);
	assert_int_equal(counts[2].hits, 2);
	assert_int_equal(denials.len, 0);
	assert_int_equal(mr_stub_connections(stub), 0);
}

static void requests_may_come_one_behind_the_other(void **state)
{
	int fd;

	(void)state;
	start(0, 1, "http://a/1=body:one", "http://a/2=body:two", NULL);
	fd = connect_to(A, 80);
	put(fd, "POST /1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		"3\r\nGET\r\n0\r\n\r\n" GET("/2") "GET /1 HTTP/1.1\r\nHost: a\r\n"
						  "Connection: close\r\n\r\n" GET("/2"));
	assert_true(take(fd, 20));
	assert_non_null(strstr(got.text, "\r\n\r\noneHTTP/1.1 200 OK\r\n"));
	assert_non_null(strstr(got.text, "\r\n\r\ntwoHTTP/1.1 200 OK\r\n"));
	assert_true(mr_str_ends_with(got.text, "\r\n\r\none"));
	assert_int_equal(counts[0].hits, 2);
	assert_int_equal(counts[1].hits, 1);
	close(fd);
}

static void a_body_is_asked_for(void **state)
{
	int fd;

	(void)state;
	start(0, 1, "http://a/1=status:201", NULL);
	fd = connect_to(A, 80);
	put(fd, "PUT /1 HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
	take(fd, 20);
	assert_string_equal(got.text, "HTTP/1.1 100 Continue\r\n\r\n");
	put(fd, "abc");
	take(fd, 20);
	assert_string_equal(got.text, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n");
	close(fd);
}

static void what_no_mock_answers_is_refused_and_told(void **state)
{
	uint8_t reply[MR_DNS_REPLY_MAX];
	uint32_t wait;
	int fd;

	(void)state;
	start(0, 1, "http://a/x=body:hello", "b=body:other", NULL);
	answers(GET("/y?z"), "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 37\r\n"
			     "Content-Type: text/plain\r\nServer: menace-run\r\n\r\n"
			     "menace-run: no mock answers this URL\n");
	answers("GET / HTTP/1.1\r\nHost: b\r\n\r\n",
		"HTTP/1.1 421 Misdirected Request\r\nContent-Length: 33\r\n"
		"Connection: close\r\nContent-Type: text/plain\r\nServer: menace-run\r\n\r\n"
		"menace-run: this is another host\n");
	fd = connect_to(A, 22);
	assert_true(take(fd, 20));
	close(fd);
	fd = connect_to(A + 7, 80);
	assert_true(take(fd, 20));
	close(fd);
	assert_int_equal(mr_stub_query(stub, "\1\2\1\0\0\1\0\0\0\0\0\0\1c\0\0\1\0\1", 19, 1, reply,
				       &wait),
			 19);
	assert_int_equal(wait, 0);
	assert_string_equal(denials.text, "http GET http://a/y?z (no mock)\n"
					  "http GET http://b/ (another host's address)\n"
					  "connect a:22 (no mock)\nconnect ?:80 (no mock)\n"
					  "dns c (no mock)\n");
}

static void bad_requests_are_answered_and_the_connection_ends(void **state)
{
	int fd;

	(void)state;
	start(0, 1, "http://a/x=body:hello", NULL);
	fd = connect_to(A, 80);
	put(fd, "POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: "
		"chunked\r\n\r\n0\r\n\r\n" GET("/x"));
	assert_true(take(fd, 20));
	assert_true(mr_str_starts_with(got.text, "HTTP/1.1 400 Bad Request\r\n"));
	assert_true(mr_str_ends_with(got.text, "both Content-Length and Transfer-Encoding\n"));
	assert_string_equal(denials.text, "http POST http://a/x (no request)\n");
	assert_int_equal(counts[0].hits, 0);
	close(fd);
}

static unsigned int status_of(const char *request)
{
	int fd = connect_to(A, 80);
	unsigned int status = 0;
	char digits[4], after;

	put(fd, request);
	take(fd, 10);
	/* Three digits and a space, or it is no status: 0. */
	if (sscanf(got.text, "HTTP/1.1 %3[0-9]%c", digits, &after) == 2 && after == ' ' &&
	    strlen(digits) == 3)
		for (int i = 0; i < 3; i++)
			status = status * 10 + (unsigned int)(digits[i] - '0');
	close(fd);
	turn(10);
	return status;
}

/* 40 requests: '1' is a failure. */
static void pattern(uint64_t seed, const char *mock, char ret[41])
{
	start(0, seed, mock, NULL);
	for (int i = 0; i < 40; i++)
		ret[i] = status_of(GET("/x")) == 503 ? '1' : '0';
	ret[40] = '\0';
}

static void failures_fall_where_the_seed_says(void **state)
{
	char first[41], again[41], other[41];

	(void)state;
	pattern(1, "http://a/x=fail:503:3/10,body:ok", first);
	assert_int_equal(counts[0].failures, 12);
	for (int round = 0; round < 4; round++) {
		int n = 0;

		for (int i = 0; i < 10; i++)
			n += first[round * 10 + i] == '1';
		assert_int_equal(n, 3);
	}
	assert_memory_not_equal(first, first + 10, 10);
	stop(NULL);
	pattern(1, "http://a/x=fail:503:3/10,body:ok", again);
	assert_string_equal(first, again);
	stop(NULL);
	pattern(2, "http://a/x=fail:503:3/10,body:ok", other);
	assert_string_not_equal(first, other);
}

/* Bits in which got ends otherwise than body. */
static int differing_bits(const char *body)
{
	const size_t n = strlen(body);
	int bits = 0;

	assert_true(got.len > n);
	for (size_t i = 0; i < n; i++)
		bits += __builtin_popcount((unsigned char)(body[i] ^ got.text[got.len - n + i]));
	return bits;
}

static void each_failure_is_what_it_says(void **state)
{
	int fd;

	(void)state;
	start(0, 1, "http://a/auth=auth", "http://a/cut=truncate,body:0123456789",
	      "http://a/flip=flip,body:0123456789", "http://a/never=timeout",
	      "http://a/reset=reset", NULL);
	answers(GET("/auth"), "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n"
			      "WWW-Authenticate: Basic realm=\"mock\"\r\n\r\n");
	fd = connect_to(A, 80);
	put(fd, GET("/cut"));
	assert_true(take(fd, 20));
	assert_non_null(strstr(got.text, "Content-Length: 10\r\n"));
	assert_true(mr_str_ends_with(got.text, "\r\n\r\n01234"));
	close(fd);
	fd = connect_to(A, 80);
	put(fd, GET("/flip"));
	assert_false(take(fd, 20));
	assert_int_equal(differing_bits("0123456789"), 1);
	close(fd);
	fd = connect_to(A, 80);
	put(fd, GET("/never"));
	assert_false(take(fd, 100));
	assert_int_equal(got.len, 0);
	assert_int_equal(mr_stub_connections(stub), 1);
	close(fd);
	turn(20);
	assert_int_equal(mr_stub_connections(stub), 0);
	fd = connect_to(A, 80);
	put(fd, GET("/reset"));
	assert_true(take(fd, 20));
	assert_int_equal(got.len, 0);
	close(fd);
	for (int i = 0; i < 5; i++)
		assert_int_equal(counts[i].failures, 1);
}

static uint64_t first_byte_ms(const char *request)
{
	struct mr_error err;
	const uint64_t then = mr_now_ns();
	int fd = connect_to(A, 80);
	char c;

	put(fd, request);
	while (recv(fd, &c, 1, MSG_DONTWAIT) < 0)
		assert_true(mr_loop_run_once(loop, 5000, &err) >= 0);
	close(fd);
	turn(5);
	return (mr_now_ns() - then) / 1000000;
}

static void the_first_byte_comes_late(void **state)
{
	uint64_t ms, fast_ms;
	int tries = 0;

	(void)state;
	start(1000, 1, "http://a/x=body:x", "http://a/fast=delay:0,body:x", NULL);
	ms = first_byte_ms(GET("/x"));
	assert_true(ms >= 1000 && ms < 20000);
	do
		fast_ms = first_byte_ms(GET("/fast"));
	while (fast_ms >= 1000 && ++tries < 10); /* others may keep us from the processor */
	assert_true(fast_ms < 1000);
}

/* What a command printed reaches who asked, and nobody else. */
static void commands_answer_in_turn(void **state)
{
	uint32_t first, second;
	int fds[3];

	(void)state;
	start(0, 1, "http://a/x=body:x", "http://a/c*=exec:x", NULL);
	ask_room = 1;
	for (int i = 0; i < 3; i++)
		fds[i] = connect_to(A, 80);
	put(fds[0], "\r\nPOST /c0?q HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
	turn(20);
	first = last_ask;
	put(fds[1], "PUT /c1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
		    "2\r\nde\r\n1\r\nf\r\n0\r\n\r\n");
	put(fds[2], GET("/x"));
	assert_false(take(fds[2], 20)); /* canned answers do not wait for it */
	assert_non_null(strstr(got.text, "\r\n\r\nx"));
	assert_string_equal(asked.text, "1 POST /c0?q 80 3 abc\n");
	ask_room = 1;
	mr_stub_output(stub, first, "Status: 404\n\nno", 15);
	assert_false(take(fds[0], 20));
	assert_string_equal(got.text,
			    "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nContent-Type: "
			    "application/octet-stream\r\n\r\nno");
	assert_string_equal(asked.text, "1 POST /c0?q 80 3 abc\n1 PUT /c1 80 3 def\n");
	second = last_ask;
	assert_int_not_equal(first, second);
	mr_stub_output(stub, first, "of another", 10); /* its request was answered */
	assert_false(take(fds[1], 20));
	assert_int_equal(got.len, 0);
	mr_stub_output(stub, second, NULL, 0);
	assert_false(take(fds[1], 20));
	assert_non_null(strstr(got.text, "502 Bad Gateway"));
	/* The connection goes on; what is no answer is counted. */
	ask_room = 1;
	mr_buf_clear(&asked);
	put(fds[1], GET("/c2"));
	turn(20);
	mr_stub_output(stub, last_ask, "Status: 1\n\n", 11);
	assert_false(take(fds[1], 20));
	assert_non_null(strstr(got.text, "502 Bad Gateway"));
	assert_string_equal(asked.text,
			    "1 GET /c2 80 0 \n1: \"1\": not a status; accepted: 200 to 599\n");
	assert_int_equal(counts[1].unusable, 1);
	assert_int_equal(counts[1].hits, 3);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	turn(20);
	assert_int_equal(mr_stub_connections(stub), 0);
}

/* A request that fails instead is answered and gone. */
static void a_command_is_given_one_request(void **state)
{
	char body[] = "body0";
	unsigned int n = 0;
	int fd;

	(void)state;
	start(0, 1, "http://a/c*=fail:503:1/2,exec:x", NULL);
	fd = connect_to(A, 80);
	for (int i = 0; i < 4; i++) {
		mr_auto_free char *post =
			mr_str_format("POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n%s",
				      body);
		mr_auto_free char *wanted = mr_str_format("0 POST /c 80 5 %s\n", body);

		ask_room = 1;
		mr_buf_clear(&asked);
		put(fd, post);
		turn(20);
		if (asked.len > 0) {
			assert_string_equal(asked.text, wanted);
			mr_stub_output(stub, last_ask, "Status: 201\n\n", 13);
			n++;
		}
		assert_false(take(fd, 20));
		assert_non_null(strstr(got.text, asked.len > 0 ? " 201 Created\r\n"
							       : " 503 Service Unavailable\r\n"));
		body[4]++;
	}
	assert_int_equal(n, 2);
	assert_int_equal(counts[0].failures, 2);
	close(fd);
}

/* Those that fail by no answer do not wait for a command. */
static void what_is_never_answered_is_no_body_that_waits(void **state)
{
	int fds[MR_STUB_ASK_BODIES_MAX + 1];

	(void)state;
	start(0, 1, "http://a/c*=exec:x", "http://a/d*=fail:timeout,exec:x", NULL);
	for (size_t i = 0; i < MR_STUB_ASK_BODIES_MAX; i++) {
		fds[i] = connect_to(A, 80);
		put(fds[i], "POST /d HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
	}
	turn(20);
	assert_int_equal(counts[1].failures, MR_STUB_ASK_BODIES_MAX);
	ask_room = 1;
	fds[MR_STUB_ASK_BODIES_MAX] = connect_to(A, 80);
	put(fds[MR_STUB_ASK_BODIES_MAX],
	    "POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\ny");
	turn(20);
	assert_non_null(asked.text);
	assert_string_equal(asked.text, "0 POST /c 80 1 y\n");
	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		close(fds[i]);
}

static void who_leaves_gets_no_answer_of_a_command(void **state)
{
	const struct linger now = { .l_onoff = 1 };
	mr_auto_free char *large = mr_str_alloc(MR_STUB_ASK_BODY_MAX + 2);
	int fd;

	(void)state;
	start(0, 1, "http://a/c*=exec:x", NULL);
	ask_room = 1;
	fd = connect_to(A, 80);
	put(fd, GET("/c"));
	turn(20);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	close(fd);
	turn(20);
	assert_int_equal(mr_stub_connections(stub), 0);
	mr_stub_output(stub, last_ask, "late", 4);
	mr_stub_output(stub, 0, "nobody's", 8);
	/* A larger body than a command may have ends the request, once that is known. */
	fd = connect_to(A, 80);
	put(fd, "POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 262145\r\n\r\n");
	assert_true(take(fd, 1200));
	assert_non_null(strstr(got.text, "413 Content Too Large"));
	close(fd);
	fd = connect_to(A, 80);
	put(fd, "POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n40000\r\n");
	memset(large, 'x', MR_STUB_ASK_BODY_MAX);
	for (size_t at = 0; at < MR_STUB_ASK_BODY_MAX;) {
		ssize_t n = send(fd, large + at, MR_STUB_ASK_BODY_MAX - at, MSG_NOSIGNAL);

		at += n > 0 ? (size_t)n : 0;
		turn(5);
	}
	put(fd, "\r\n1\r\n");
	assert_true(take(fd, 1200));
	assert_non_null(strstr(got.text, "413 Content Too Large"));
	close(fd);
	turn(20);
}

/* Clients that do not read keep what was said for them, which must not be everything there is. */
static void what_nobody_reads_is_bounded(void **state)
{
	mr_auto_free char *output = mr_str_alloc(MR_STUB_OUTPUT_MAX);
	int fds[100];
	uint32_t n = 0;

	(void)state;
	start(0, 1, "http://a/c=exec:x", NULL);
	memset(output, 'x', MR_STUB_OUTPUT_MAX);
	ask_room = 1;
	for (size_t i = 0; i < N_ELEMENTS(fds); i++) {
		fds[i] = connect_to(A, 80);
		put(fds[i], GET("/c"));
	}
	turn(50);
	while (ask_room == 0 && n < N_ELEMENTS(fds)) {
		n++;
		ask_room = 1;
		mr_stub_output(stub, last_ask, output, MR_STUB_OUTPUT_MAX);
	}
	assert_true(n >= 10 && n <= MR_STUB_OUTPUTS_MAX / MR_STUB_OUTPUT_MAX + 1);
	assert_int_equal(ask_room, 1);
	/* One that reads, or goes, makes room. */
	close(fds[0]);
	turn(50);
	assert_int_equal(ask_room, 0);
	for (size_t i = 1; i < N_ELEMENTS(fds); i++)
		close(fds[i]);
	turn(50);
}

/* Bodies are kept for so many. */
static void bodies_that_wait_are_bounded(void **state)
{
	int fds[MR_STUB_ASK_BODIES_MAX + 1];

	(void)state;
	start(0, 1, "http://a/c=exec:x", NULL);
	ask_room = 0;
	for (size_t i = 0; i < N_ELEMENTS(fds); i++) {
		fds[i] = connect_to(A, 80);
		put(fds[i], "POST /c HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
		turn(1);
	}
	assert_true(take(fds[MR_STUB_ASK_BODIES_MAX], 1200));
	assert_non_null(strstr(got.text, "503 Service Unavailable"));
	assert_false(take(fds[0], 20));
	assert_int_equal(got.len, 0);
	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		close(fds[i]);
	turn(20);
}

/* One sends a byte at a time, one never reads, and others are answered meanwhile. */
static void the_slow_hold_nobody_up(void **state)
{
	mr_auto_free char *large = mr_str_alloc((1u << 20) + 32);
	static const char head[] = "http://a/large=body:";
	const char *request = GET("/large");
	int slow, deaf;

	(void)state;
	memset(large, 'x', 1u << 20);
	for (size_t i = 0; head[i]; i++)
		large[i] = head[i];
	start(0, 1, large, "http://a/x=body:x", NULL);
	slow = connect_to(A, 80);
	deaf = connect_to(A, 80);
	for (int i = 0; i < 50; i++)
		put(deaf, request);
	for (size_t i = 0; i < strlen(request) - 1; i++) {
		assert_int_equal(send(slow, request + i, 1, MSG_NOSIGNAL), 1);
		assert_int_equal(status_of(GET("/x")), 200);
	}
	assert_int_equal(mr_stub_connections(stub), 2);
	assert_true(counts[0].hits < 3); /* what nobody reads is not even begun */
	close(slow);
	close(deaf);
}

static void connections_are_bounded(void **state)
{
	int fds[MR_STUB_CONNECTIONS_MAX], one_more;

	(void)state;
	start(0, 1, "a=body:x", NULL);
	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		fds[i] = connect_to(A, 80);
	assert_int_equal(mr_stub_connections(stub), MR_STUB_CONNECTIONS_MAX);
	one_more = connect_to(A, 80);
	assert_true(take(one_more, 10));
	close(one_more);
	assert_string_equal(denials.text, "connect a:80 (connections)\n");
	close(fds[0]);
	turn(10);
	fds[0] = connect_to(A, 80);
	put(fds[0], GET("/"));
	take(fds[0], 20);
	assert_true(mr_str_ends_with(got.text, "\r\n\r\nx"));
	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		close(fds[i]);
}

/* Two that are refused, and wait. */
static void refuse_two(int *ret_asks, int *ret_connects)
{
	*ret_asks = connect_to(A, 80);
	put(*ret_asks, GET("/y") GET("/x"));
	assert_false(take(*ret_asks, 50));
	assert_int_equal(got.len, 0);
	*ret_connects = connect_to(A, 22);
	assert_false(take(*ret_connects, 50));
}

static void who_is_refused_waits_until_that_is_told(void **state)
{
	uint8_t reply[MR_DNS_REPLY_MAX];
	uint32_t wait = 0;
	uint64_t then;
	int fd, other;

	(void)state;
	start(0, 1, "http://a/x=body:x", NULL);
	wants_ack = true;
	refuse_two(&fd, &other);
	mr_stub_acknowledge(stub, last_id + 7); /* nobody's */
	mr_stub_acknowledge(stub, last_id - 1);
	assert_false(take(fd, 20));
	assert_true(mr_str_starts_with(got.text, "HTTP/1.1 502 "));
	assert_true(mr_str_ends_with(got.text, "\r\n\r\nx"));
	then = mr_now_ns();
	assert_true(take(other, 1500)); /* by itself, after a while */
	assert_true(mr_now_ns() - then < 2 * MR_PATIENCE_NS(STUB_TOLD) + 1500000000);
	assert_int_equal(mr_stub_query(stub, "\1\2\1\0\0\1\0\0\0\0\0\0\1c\0\0\1\0\1", 19, 1, reply,
				       &wait),
			 19);
	assert_int_equal(wait, last_id);
	wants_ack = false;
	close(fd);
	close(other);
}

static void no_handshake_no_answer(void **state)
{
	int fd;

	(void)state;
	start(0, 1, "a=body:x", NULL);
	assert_true(mr_str_starts_with(mr_tls_ca_pem(tls), "-----BEGIN CERTIFICATE-----\n"));
	fd = connect_to(A, 443);
	put(fd, "\x16\x03\x01 GET / HTTP/1.1\r\nHost: a\r\n\r\n");
	shutdown(fd, SHUT_WR);
	assert_true(take(fd, 20));
	close(fd);
	assert_string_equal(denials.text, "tls a (TLS handshake failed)\n");
	assert_int_equal(counts[0].hits, 0);
}

/* The signal that ends who makes this call. */
static int forbidden(long number, long first)
{
	const struct rlimit none = { 0, 0 };
	struct mr_error err = MR_ERROR_INIT;
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (setrlimit(RLIMIT_CORE, &none) < 0 || mr_netd_forbid_sockets(&err) < 0)
			_exit(2);
		signal(SIGSYS, SIG_DFL);
		syscall(number, first, 0, 0, 0, 0, 0);
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void what_answers_reaches_nothing_by_itself(void **state)
{
	(void)state;
	assert_int_equal(forbidden(SYS_socket, AF_INET), SIGSYS);
	assert_int_equal(forbidden(SYS_connect, -1), SIGSYS);
	assert_int_equal(forbidden(SYS_bind, -1), SIGSYS);
	assert_int_equal(forbidden(SYS_splice, -1), SIGSYS);
	assert_int_equal(forbidden(SYS_accept4, -1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(canned_answers_are_given, stop),
		cmocka_unit_test_teardown(requests_may_come_one_behind_the_other, stop),
		cmocka_unit_test_teardown(a_body_is_asked_for, stop),
		cmocka_unit_test_teardown(what_no_mock_answers_is_refused_and_told, stop),
		cmocka_unit_test_teardown(bad_requests_are_answered_and_the_connection_ends, stop),
		cmocka_unit_test_teardown(failures_fall_where_the_seed_says, stop),
		cmocka_unit_test_teardown(each_failure_is_what_it_says, stop),
		cmocka_unit_test_teardown(the_first_byte_comes_late, stop),
		cmocka_unit_test_teardown(commands_answer_in_turn, stop),
		cmocka_unit_test_teardown(a_command_is_given_one_request, stop),
		cmocka_unit_test_teardown(what_is_never_answered_is_no_body_that_waits, stop),
		cmocka_unit_test_teardown(who_leaves_gets_no_answer_of_a_command, stop),
		cmocka_unit_test_teardown(what_nobody_reads_is_bounded, stop),
		cmocka_unit_test_teardown(bodies_that_wait_are_bounded, stop),
		cmocka_unit_test_teardown(the_slow_hold_nobody_up, stop),
		cmocka_unit_test_teardown(connections_are_bounded, stop),
		cmocka_unit_test_teardown(who_is_refused_waits_until_that_is_told, stop),
		cmocka_unit_test_teardown(no_handshake_no_answer, stop),
		cmocka_unit_test(what_answers_reaches_nothing_by_itself),
	};

	signal(SIGPIPE, SIG_IGN);
	mr_clock_set_virtual(1000000000);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

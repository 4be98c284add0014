/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: requests as hostile clients write them, in one piece and byte by byte
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "netns/mock.h"
#include "netns/stub_dns.h"
#include "netns/stub_http.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

static struct mr_http http;

/* All of it, in pieces of `piece` bytes; the first BAD or DONE. */
static enum mr_http_event feed(const char *text, size_t n, size_t piece, size_t *ret_used)
{
	enum mr_http_event event = MR_HTTP_MORE;
	size_t at = 0;

	mr_http_reset(&http);
	while (at < n || event == MR_HTTP_HEAD) {
		const size_t size = n - at < piece ? n - at : piece;
		size_t used;

		event = mr_http_feed(&http, text + at, size, &used);
		assert_true(used <= size);
		at += used;
		if (event == MR_HTTP_DONE || event == MR_HTTP_BAD)
			break;
		if (event == MR_HTTP_HEAD)
			continue;
		assert_int_equal(used, size);
	}
	*ret_used = at;
	return event;
}

static void is_request(const char *text, const char *rest)
{
	const size_t n = strlen(text) + strlen(rest);
	char whole[4096];
	size_t used;

	snprintf(whole, sizeof(whole), "%s%s", text, rest);
	for (size_t piece = 1; piece <= n; piece += piece == 1 ? 6 : n) {
		enum mr_http_event event = feed(whole, n, piece, &used);

		if (event != MR_HTTP_DONE)
			fail_msg("%s: %s", text, event == MR_HTTP_BAD ? http.why : "not done");
		assert_int_equal(used, strlen(text));
	}
}

static void is_bad(const char *text, unsigned int status, const char *why)
{
	size_t used, n = strlen(text);

	for (size_t piece = 1; piece <= n; piece += piece == 1 ? 6 : n) {
		if (feed(text, n, piece, &used) != MR_HTTP_BAD)
			fail_msg("accepted: %s", text);
		if (strcmp(http.why, why) != 0)
			fail_msg("%s\n%s\nwanted: %s", text, http.why, why);
		assert_int_equal(http.status, status);
		assert_false(http.keep_alive);
	}
}

#define H "Host: a.example\r\n"

static void requests_are_read(void **state)
{
	(void)state;
	is_request("GET / HTTP/1.1\r\n" H "\r\n", "GET ");
	assert_string_equal(http.method, "GET");
	assert_string_equal(http.target, "/");
	assert_string_equal(http.host, "a.example");
	assert_true(http.keep_alive);
	assert_false(http.has_body);
	is_request("HEAD /x?y=%20 HTTP/1.1\r\nhost:\tA.Example.:8080 \r\nConnection: x, "
		   "Close\r\n\r\n",
		   "");
	assert_true(http.is_head);
	assert_false(http.keep_alive);
	assert_string_equal(http.host, "a.example");
	assert_int_equal(http.port, 8080);
	is_request("GET / HTTP/1.1\r\nHost: [2001:DB8:0::1]:8080\r\n\r\n", "");
	assert_string_equal(http.host, "[2001:db8::1]");
	assert_int_equal(http.port, 8080);
	is_request("GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n", "");
	assert_string_equal(http.host, "[::1]");
	is_request("\r\nGET / HTTP/1.0\r\n\r\n", "");
	assert_false(http.keep_alive);
	assert_string_equal(http.host, "");
	is_request("POST / HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello", "GET /");
	assert_true(http.has_body);
	is_request("POST / HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n", "x");
	is_request("PUT / HTTP/1.1\r\n" H
		   "Expect: 100-Continue\r\nTransfer-Encoding: Chunked\r\n\r\n"
		   "5;a=\"b\"\r\nhello\r\n00A\r\n0123456789\r\n0\r\nX: y\r\n\r\n",
		   "GET / HTTP/1.1\r\n");
	assert_true(http.expects_continue);
	is_request("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "\r\n");
}

static void smuggling_is_refused(void **state)
{
	(void)state;
	is_bad("POST / HTTP/1.1\r\n" H "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
	       400, "both Content-Length and Transfer-Encoding");
	is_bad("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
	       400, "both Content-Length and Transfer-Encoding");
	is_bad("POST / HTTP/1.1\r\n" H "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400,
	       "two Content-Length headers");
	is_bad("POST / HTTP/1.1\r\n" H "Content-Length: 5, 5\r\n\r\n", 400,
	       "Content-Length is no number");
	is_bad("POST / HTTP/1.1\r\n" H "Content-Length: +5\r\n\r\n", 400,
	       "Content-Length is no number");
	is_bad("POST / HTTP/1.1\r\n" H "Content-Length: 0x5\r\n\r\n", 400,
	       "Content-Length is no number");
	is_bad("POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\n", 400,
	       "Content-Length is no number");
	is_bad("POST / HTTP/1.1\r\n" H "Content-Length : 5\r\n\r\n", 400,
	       "a header without a name");
	is_bad("POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked, identity\r\n\r\n", 501,
	       "a transfer coding other than chunked");
	is_bad("POST / HTTP/1.1\r\n" H "Transfer-Encoding: xchunked\r\n\r\n", 501,
	       "a transfer coding other than chunked");
	is_bad("POST / HTTP/1.1\r\n" H
	       "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
	       400, "two Transfer-Encoding headers");
	is_bad("POST / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n", 400,
	       "Transfer-Encoding in HTTP/1.0");
	is_bad("POST / HTTP/1.1\r\n" H "X: a\r\n b\r\n\r\n", 400, "a folded header");
	is_bad("POST / HTTP/1.1\r\n" H "X: a\nContent-Length: 5\r\n\r\n", 400,
	       "a control character in the head");
	is_bad("POST / HTTP/1.1\r\n" H "X: a\rb\r\n\r\n", 400, "a control character in the head");
	is_bad("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "two Host headers");
	for (size_t i = 0; i < 7; i++) {
		static const char *const hosts[] = { "[",	   "[]",     "[::1",   "[::1]x",
						     "[::1%25lo]", "[a.ex]", "[[::1]]" };
		mr_auto_free char *text =
			mr_str_format("GET / HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[i]);

		is_bad(text, 400, "Host is no IPv6 address in brackets");
	}
	is_bad("GET / HTTP/1.1\r\nHost: [::1]:\r\n\r\n", 400, "Host has no port after its colon");
}

static void what_is_no_request_is_refused(void **state)
{
	(void)state;
	is_bad("\x16\x03\x01", 400, "no request");
	is_bad(" GET / HTTP/1.1\r\n\r\n", 400, "no request");
	is_bad("GET /\r\n\r\n", 400, "no request line");
	is_bad("GET  / HTTP/1.1\r\n" H "\r\n", 505, "not HTTP/1.1 or HTTP/1.0");
	is_bad("G@T / HTTP/1.1\r\n" H "\r\n", 400, "no request line");
	is_bad("GET /\x80 HTTP/1.1\r\n" H "\r\n", 400, "the target has a byte that no URL has");
	is_bad("PRI * HTTP/2.0\r\n\r\n", 505, "not HTTP/1.1 or HTTP/1.0");
	is_bad("GET / HTTP/1.1\r\n\r\n", 400, "no Host header");
	is_bad("GET / HTTP/1.1\r\nHost:\r\n\r\n", 400, "Host is no name");
	is_bad("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, "Host is no name");
	is_bad("GET / HTTP/1.1\r\nHost: a:70000\r\n\r\n", 400, "Host has no port after its colon");
	is_bad("GET / HTTP/1.1\r\n" H "nocolon\r\n\r\n", 400, "a header without a name");
	is_bad("GET / HTTP/1.1\r\n" H "Expect: more\r\n\r\n", 417,
	       "an expectation other than 100-continue");
	is_bad("CONNECT a:443 HTTP/1.1\r\n" H "\r\n", 405, "nothing is tunnelled");
	is_bad("GET http://a/ HTTP/1.1\r\n" H "\r\n", 400,
	       "the target is not a path: nothing is relayed");
	is_bad("OPTIONS * HTTP/1.1\r\n" H "\r\n", 400,
	       "the target is not a path: nothing is relayed");
}

#define C "POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"

static void chunks_that_are_none_are_refused(void **state)
{
	(void)state;
	is_bad(C "\r\n", 400, "a chunk without a size");
	is_bad(C "-1\r\n", 400, "a chunk without a size");
	is_bad(C "x\r\n", 400, "a chunk without a size");
	is_bad(C "5 \r\n", 400, "a chunk without a size");
	is_bad(C "5\n", 400, "a chunk without a size");
	is_bad(C "5\rx", 400, "a chunk's size without CRLF");
	is_bad(C "000000005\r\n", 413, "a chunk is too large");
	is_bad(C "4000001\r\n", 413, "the body is too large");
	is_bad(C "1\r\nxy", 400, "a chunk does not end where it said");
	is_bad(C "1\r\nx\n", 400, "a chunk does not end where it said");
	is_bad(C "1;\x01\r\n", 400, "a chunk's extension is no line");
	is_bad(C "0\r\nX: y\n", 400, "a trailer without CRLF");
	is_bad(C "0\r\n\rx", 400, "a trailer without CRLF");
}

/* A head of n bytes. */
static void put_head(struct mr_buf *buf, size_t n)
{
	mr_buf_clear(buf);
	mr_buf_add(buf, "GET / HTTP/1.1\r\n" H "X: ");
	while (buf->len < n - 4)
		mr_buf_add(buf, "x");
	mr_buf_add(buf, "\r\n\r\n");
}

static void sizes_are_bounded(void **state)
{
	mr_auto_buf struct mr_buf buf = { 0 };
	size_t used;

	(void)state;
	put_head(&buf, MR_HTTP_HEAD_MAX);
	assert_int_equal(feed(buf.text, buf.len, 999, &used), MR_HTTP_DONE);
	put_head(&buf, MR_HTTP_HEAD_MAX + 1);
	assert_int_equal(feed(buf.text, buf.len, 999, &used), MR_HTTP_BAD);
	assert_int_equal(http.status, 431);
	for (int n = MR_HTTP_HEADERS_MAX; n <= MR_HTTP_HEADERS_MAX + 1; n++) {
		mr_buf_clear(&buf);
		mr_buf_add(&buf, "GET / HTTP/1.1\r\n" H);
		for (int i = 1; i < n; i++)
			mr_buf_printf(&buf, "X%d: y\r\n", i);
		mr_buf_add(&buf, "\r\n");
		assert_int_equal(feed(buf.text, buf.len, 99, &used),
				 n <= MR_HTTP_HEADERS_MAX ? MR_HTTP_DONE : MR_HTTP_BAD);
	}
	assert_string_equal(http.why, "too many headers");
	is_bad("POST / HTTP/1.1\r\n" H "Content-Length: 67108865\r\n\r\n", 413,
	       "the body is too large");
	is_bad("POST / HTTP/1.1\r\n" H "Content-Length: 18446744073709551621\r\n\r\n", 413,
	       "the body is too large");
	mr_buf_clear(&buf);
	mr_buf_add(&buf, C "0\r\n");
	for (int i = 0; i <= MR_HTTP_TRAILERS_MAX; i++)
		mr_buf_add(&buf, "x");
	assert_int_equal(feed(buf.text, buf.len, 999, &used), MR_HTTP_BAD);
	assert_string_equal(http.why, "the trailers are too large");
	mr_buf_clear(&buf);
	mr_buf_add(&buf, "GET / HTTP/1.1\r\nHost: a\r\nX: ");
	mr_buf_addn(&buf, "\0\r\n\r\n", 5);
	assert_int_equal(feed(buf.text, buf.len, 999, &used), MR_HTTP_BAD);
}

/* --- names ------------------------------------------------------------------------- */

static uint8_t reply[MR_DNS_REPLY_MAX];
static char name[MR_DNS_NAME_SIZE];
static size_t reply_size;
static bool without_ipv6;

static enum mr_dns_outcome ask(const struct mr_mocks *mocks, const char *query, size_t n)
{
	return mr_stub_dns_answer(mocks, without_ipv6, (const uint8_t *)query, n, reply,
				  &reply_size, name);
}

#define Q(text) text, sizeof(text) - 1
#define HEAD "\x12\x34\x01\x00\0\1\0\0\0\0\0\0"

static void names_are_answered(void **state)
{
	static const char found[] = "\x12\x34\x85\x80\0\1\0\1\0\0\0\0\1A\2eX\0\0\1\0\1"
				    "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\1";
	static const char six[] = "\x12\x34\x85\x80\0\1\0\1\0\0\0\0\1a\2ex\0\0\x1c\0\1"
				  "\xc0\x0c\0\x1c\0\1\0\0\0\x3c\0\x10"
				  "\x20\1\0\2\0\0\0\0\0\0\0\0\0\0\0\1";
	static const char both[] = "\x12\x34\x85\x80\0\1\0\2\0\0\0\0\1a\2ex\0\0\xff\0\1";
	static const char failed[] = "\x12\x34\x85\x82\0\1\0\0\0\0\0\0\1a\2ex\0\0\xff\0\1";
	static const char none[] = "\x12\x34\x85\x80\0\1\0\0\0\0\0\0\1a\2ex\0\0\x1c\0\1";
	struct mr_mocks mocks = { 0 };
	struct mr_error err;
	struct mr_mock mock;

	(void)state;
	assert_int_equal(mr_mock_parse("a.ex=reset", &mock, &err), 0);
	assert_int_equal(mr_mocks_add(&mocks, &mock, &err), 0);
	assert_int_equal(ask(&mocks, Q(HEAD "\1A\2eX\0\0\1\0\1")), MR_DNS_FOUND);
	assert_int_equal(reply_size, sizeof(found) - 1);
	assert_memory_equal(reply, found, reply_size);
	assert_string_equal(name, "a.ex");
	assert_int_equal(ask(&mocks, Q(HEAD "\1a\2ex\0\0\x1c\0\1")), MR_DNS_FOUND);
	assert_int_equal(reply_size, sizeof(six) - 1);
	assert_memory_equal(reply, six, reply_size);
	without_ipv6 = true;
	assert_int_equal(ask(&mocks, Q(HEAD "\1a\2ex\0\0\x1c\0\1")), MR_DNS_FOUND);
	without_ipv6 = false;
	assert_int_equal(reply_size, sizeof(none) - 1);
	assert_memory_equal(reply, none, reply_size);
	assert_int_equal(ask(&mocks, Q(HEAD "\1a\2ex\0\0\xff\0\1")), MR_DNS_FOUND);
	assert_int_equal(reply_size, sizeof(both) - 1 + 16 + 28);
	assert_memory_equal(reply, both, sizeof(both) - 1);
	/* Without its answers, however many those were. */
	assert_int_equal(mr_stub_dns_fail(reply, reply_size), sizeof(failed) - 1);
	assert_memory_equal(reply, failed, sizeof(failed) - 1);
	/* Another class, another name, the root, bytes that are no letters. */
	assert_int_equal(ask(&mocks, Q(HEAD "\1a\2ex\0\0\1\0\3")), MR_DNS_UNKNOWN);
	assert_int_equal(ask(&mocks, Q(HEAD "\2ex\0\0\1\0\1")), MR_DNS_UNKNOWN);
	assert_int_equal(reply[3], 0x83);
	assert_int_equal(ask(&mocks, Q(HEAD "\0\0\1\0\1")), MR_DNS_UNKNOWN);
	assert_int_equal(ask(&mocks, Q(HEAD "\4a.ex\0\0\1\0\1")), MR_DNS_UNKNOWN);
	assert_string_equal(name, "a\\046ex");
	mr_mocks_deinit(&mocks);
}

static void what_is_no_query_is_not_answered_as_one(void **state)
{
	const struct mr_mocks mocks = { 0 };
	static const char end[] = { 0, 0, 1, 0, 1 };
	char longest[300] = HEAD;

	(void)state;
	assert_int_equal(ask(&mocks, Q("")), MR_DNS_IGNORED);
	assert_int_equal(ask(&mocks, Q("\x12\x34\x01\x00\0\1\0\0\0\0\0")), MR_DNS_IGNORED);
	assert_int_equal(ask(&mocks, Q("\x12\x34\x81\x00\0\1\0\0\0\0\0\0\0\0\1\0\1")),
			 MR_DNS_IGNORED);
	assert_int_equal(reply_size, 0);
	assert_int_equal(ask(&mocks, Q("\x12\x34\x28\x00\0\1\0\0\0\0\0\0\0\0\1\0\1")),
			 MR_DNS_MALFORMED);
	assert_int_equal(reply[3], 0x84);
	assert_int_equal(ask(&mocks, Q("\x12\x34\x01\x00\0\2\0\0\0\0\0\0\0\0\1\0\1")),
			 MR_DNS_MALFORMED);
	assert_int_equal(reply[3], 0x81);
	assert_int_equal(reply_size, 12);
	assert_int_equal(ask(&mocks, Q(HEAD)), MR_DNS_MALFORMED);
	assert_int_equal(ask(&mocks, Q(HEAD "\0\0\1\0")), MR_DNS_MALFORMED);
	assert_int_equal(ask(&mocks, Q(HEAD "\5abc")), MR_DNS_MALFORMED);
	assert_int_equal(ask(&mocks, Q(HEAD "\xc0\x0c\0\1\0\1")), MR_DNS_MALFORMED);
	assert_int_equal(ask(&mocks, Q(HEAD "\1a\xc0\x0c\0\1\0\1")), MR_DNS_MALFORMED);
	/* Labels of 49: 5 are 250 bytes, one of 3 more makes 255 with the end, one of 4 is too long */
	for (size_t last = 3; last <= 4; last++) {
		size_t at = 12;

		for (int i = 0; i < 5; i++, at += 50) {
			longest[at] = 49;
			memset(longest + at + 1, 'a', 49);
		}
		longest[at] = (char)last;
		memset(longest + at + 1, 'b', last);
		memcpy(longest + at + 1 + last, end, sizeof(end));
		assert_int_equal(ask(&mocks, longest, at + 6 + last),
				 last == 3 ? MR_DNS_UNKNOWN : MR_DNS_MALFORMED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_read),
		cmocka_unit_test(smuggling_is_refused),
		cmocka_unit_test(what_is_no_request_is_refused),
		cmocka_unit_test(chunks_that_are_none_are_refused),
		cmocka_unit_test(sizes_are_bounded),
		cmocka_unit_test(names_are_answered),
		cmocka_unit_test(what_is_no_query_is_not_answered_as_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CGI: what a command printed becomes one answer, or none
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "netns/mock.h"
#include "netns/stub_cgi.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

static const char *given_action;

/* "STATUS|HEADER|HEADER|BODY", or what is wrong with it. */
static char *read_output(const char *text, size_t size)
{
	mr_auto_free char *mock_text = mr_str_format("a=%s", given_action);
	mr_auto_free char *copy = mr_str_alloc(size + 1); /* its end is the memory's */
	struct mr_mock given = { 0 }, answer = { 0 };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_buf buf = { 0 };
	size_t body = 0;

	memcpy(copy, text, size);
	assert_int_equal(mr_mock_parse(mock_text, &given, &err), 0);
	if (mr_cgi_parse(copy, size, &given, &answer, &body, &err) < 0) {
		assert_int_equal(err.code, MR_E_USAGE);
		mr_buf_add(&buf, err.msg);
	} else {
		mr_buf_printf(&buf, "%u|", answer.status);
		for (size_t i = 0; i < answer.n_headers; i++)
			mr_buf_printf(&buf, "%s|", answer.headers[i]);
		assert_true(body <= size);
		mr_buf_add(&buf, copy + body);
	}
	mr_mock_deinit(&answer);
	mr_mock_deinit(&given);
	return buf.text;
}

static void is(const char *text, const char *expected)
{
	mr_auto_free char *got = read_output(text, strlen(text));

	if (strcmp(got, expected) != 0)
		fail_msg("%s\n%s\nwanted: %s", text, got, expected);
}

static void a_plain_body_is_one(void **state)
{
	(void)state;
	given_action = "exec:x";
	is("", "0|");
	is("hello", "0|hello");
	is("{\"Status\": 1}", "0|{\"Status\": 1}");
	is("\nStatus: 404\n\n", "0|\nStatus: 404\n\n");
	is(" Status: 404\n\n", "0| Status: 404\n\n");
	is("X-A: b\n\nc", "0|X-A: b\n\nc");
	is("Statu", "0|Statu");
	given_action = "status:201,type:text/x,header:X-A:b,exec:x";
	is("hello", "201|Content-Type: text/x|X-A: b|hello");
}

static void header_lines_take_the_place_of_the_mock(void **state)
{
	(void)state;
	given_action = "status:201,type:text/x,header:X-A:b,exec:x";
	is("Status: 404 Not Found\n\nno", "404|Content-Type: text/x|X-A: b|no");
	is("status:404\r\nX-a: c \r\n\r\nno\r\n", "404|X-a: c|Content-Type: text/x|no\r\n");
	is("CONTENT-TYPE: text/y; charset=utf-8\n\n\nx",
	   "201|CONTENT-TYPE: text/y; charset=utf-8|X-A: b|\nx");
	given_action = "exec:x";
	is("Content-Type: a/b\nLocation: /x\n\n", "0|Content-Type: a/b|Location: /x|");
	is("Status: 204\n\n", "204|");
}

static void what_would_be_another_answer_is_none(void **state)
{
	mr_auto_buf struct mr_buf buf = { 0 };
	static const char nul[] = "Status: 200\nX: a\0b\n\n";
	mr_auto_free char *got = NULL;

	(void)state;
	given_action = "exec:x";
	is("Status: 200\nX: y", "its header lines do not end in an empty one within 8192 bytes");
	is("Status:", "its header lines do not end in an empty one within 8192 bytes");
	is("Status:\n\n", "\"\": not a status; accepted: 200 to 599");
	is("Status: 99\n\n", "\"99\": not a status; accepted: 200 to 599");
	is("Status: 100\n\n", "\"100\": not a status; accepted: 200 to 599");
	is("Status: 200\nStatus: 201\n\n", "\"201\": the status is said twice");
	is("Content-Type: a\nContent-type: b\n\n",
	   "\"Content-type: b\": this header is said twice");
	is("Status: 200\nContent-Length: 5\n\nx",
	   "\"Content-Length: 5\": this header is the responder's own");
	is("Status: 200\nTransfer-Encoding: chunked\n\nx",
	   "\"Transfer-Encoding: chunked\": this header is the responder's own");
	is("Status: 200\nConnection: close\n\n",
	   "\"Connection: close\": this header is the responder's own");
	is("Status: 200\nX: a\rSet-Cookie: b\n\n",
	   "\"a\\x0dSet-Cookie: b\": a header's value is printable ASCII");
	is("Status: 200\n folded\n\n", "\" folded\": accepted: NAME:VALUE");
	is("Status: 200\nX Y: z\n\n", "\"X Y: z\": not the name of a header");
	is("Status: 200\nno colon\n\n", "\"no colon\": accepted: NAME:VALUE");
	is("Status: 304\n\nx", "an answer of status 204, 205 or 304 has no body");
	given_action = "status:204,exec:x";
	is("x", "an answer of status 204, 205 or 304 has no body");
	given_action = "exec:x";
	got = read_output(nul, sizeof(nul) - 1);
	assert_string_equal(got, "a header line has a NUL");
	mr_buf_add(&buf, "Status: 200\n");
	for (int i = 0; i < 33; i++)
		mr_buf_printf(&buf, "X-%d: a\n", i);
	mr_buf_add(&buf, "\n");
	is(buf.text, "\"X-32: a\": too many headers; accepted: at most 32");
	mr_buf_clear(&buf);
	mr_buf_add(&buf, "Status: 200\n");
	while (buf.len < MR_CGI_HEAD_MAX)
		mr_buf_printf(
			&buf,
			"X-%zu: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			"\n",
			buf.len);
	mr_buf_add(&buf, "\n");
	is(buf.text, "its header lines do not end in an empty one within 8192 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_body_is_one),
		cmocka_unit_test(header_lines_take_the_place_of_the_mock),
		cmocka_unit_test(what_would_be_another_answer_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

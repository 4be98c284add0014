/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: what a command printed, as an answer
 *
 * A line becomes an item of a mock, by the same rules: a header that the responder makes itself, one
 * that is said twice or has other bytes than printable ones never gets into the answer.
 */
#include "netns/stub_cgi.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "netns/mock.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

static const char status[] = "Status:", type[] = "Content-Type:";

static bool begins(const char *text, size_t size, const char *name)
{
	const size_t n = strlen(name);

	return size >= n && strncasecmp(text, name, n) == 0;
}

static int refuse(struct mr_error *err, const char *why)
{
	return mr_err(err, MR_E_USAGE, EPROTO, "%s", why);
}

/* "404 Not Found": the number alone counts. */
static int take_status(struct mr_mock *mock, char *value, struct mr_error *err)
{
	value += strspn(value, " \t");
	value[strcspn(value, " \t")] = '\0';
	return mr_mock_set(mock, "status", value, err);
}

/* n bytes without their end. */
static int take_line(struct mr_mock *mock, const char *text, size_t n, struct mr_error *err)
{
	mr_auto_free char *line = NULL;

	if (memchr(text, '\0', n))
		return refuse(err, "a header line has a NUL");
	while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	line = mr_str_ndup(text, n);
	if (begins(line, n, status))
		return take_status(mock, line + sizeof(status) - 1, err);
	return mr_mock_set(mock, "header", line, err);
}

/* The header lines from the begin of the text on, and where they end. */
static int take_lines(struct mr_mock *mock, const char *text, size_t size, size_t *ret_end,
		      struct mr_error *err)
{
	const size_t max = size < MR_CGI_HEAD_MAX ? size : MR_CGI_HEAD_MAX;
	size_t at = 0;

	for (;;) {
		const char *line = text + at, *lf = memchr(line, '\n', max - at);
		size_t n;
		int r;

		if (!lf)
			return refuse(err, "its header lines do not end in an empty one within "
					   "8192 bytes");
		n = (size_t)(lf - line);
		at += n + 1;
		n -= n > 0 && line[n - 1] == '\r';
		if (n == 0)
			break;
		r = take_line(mock, line, n, err);
		if (r < 0)
			return r;
	}
	*ret_end = at;
	return 0;
}

static int take_given(struct mr_mock *mock, const struct mr_mock *given, struct mr_error *err)
{
	int r = 0;

	if (!mock->status)
		mock->status = given->status;
	for (size_t i = 0; r == 0 && i < given->n_headers; i++) {
		const size_t n = strcspn(given->headers[i], ":");
		mr_auto_free char *name = mr_str_ndup(given->headers[i], n);

		if (!mr_mock_has_header(mock, name))
			r = mr_mock_set(mock, "header", given->headers[i], err);
	}
	return r;
}

int mr_cgi_parse(const char *text, size_t size, const struct mr_mock *given, struct mr_mock *ret,
		 size_t *ret_body, struct mr_error *err)
{
	size_t end = 0;
	int r = 0;

	if (begins(text, size, status) || begins(text, size, type))
		r = take_lines(ret, text, size, &end, err);
	if (r == 0)
		r = take_given(ret, given, err);
	if (r == 0 && end < size && mr_mock_is_bodiless(ret->status))
		r = refuse(err, "an answer of status 204, 205 or 304 has no body");
	if (r == 0)
		*ret_body = end;
	return r;
}

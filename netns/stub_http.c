/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: HTTP/1.1 requests
 *
 * The head is gathered whole, then cut into lines in place.  A body is only counted, unless
 * somebody keeps it: canned answers do not depend on it, but where the next request begins does.
 */
#include "netns/stub_http.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"

#define CHUNK_DIGITS_MAX 8
#define EXTENSION_MAX 256
#define METHOD_MAX 32

void mr_http_reset(struct mr_http *http)
{
	/* Not all of the head's 16 KiB each time. */
	http->head[0] = '\0';
	memset((char *)http + offsetof(struct mr_http, len), 0,
	       sizeof(*http) - offsetof(struct mr_http, len));
	http->state = MR_HTTP_IN_HEAD;
	http->method = http->target = "";
}

bool mr_http_has_begun(const struct mr_http *http)
{
	return http->state != MR_HTTP_IN_HEAD || http->len > 0;
}

static bool bad(struct mr_http *http, unsigned int status, const char *why)
{
	http->state = MR_HTTP_IS_BAD;
	http->status = status;
	http->why = why;
	http->keep_alive = false;
	return false;
}

static bool is_token(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)text[i]) &&
		    (!text[i] || !strchr("!#$%&'*+-.^_`|~", text[i])))
			return false;
	return n > 0;
}

/* --- the head ------------------------------------------------------------------- */

static bool check_version(struct mr_http *http, const char *version)
{
	if (strcmp(version, "HTTP/1.1") == 0)
		http->is_11 = http->keep_alive = true;
	else if (strcmp(version, "HTTP/1.0") != 0)
		return bad(http, 505, "not HTTP/1.1 or HTTP/1.0");
	return true;
}

/* "METHOD TARGET VERSION" */
static bool take_request_line(struct mr_http *http, char *line)
{
	char *target = strchr(line, ' ');
	char *version = target ? strchr(target + 1, ' ') : NULL;

	if (!version || !is_token(line, (size_t)(target - line)) || target - line > METHOD_MAX)
		return bad(http, 400, "no request line");
	*target++ = '\0';
	*version++ = '\0';
	for (const unsigned char *p = (const unsigned char *)target; *p; p++)
		if (*p <= 0x20 || *p == 0x7f || (*p > 0x7f && !http->relays))
			return bad(http, 400, "the target has a byte that no URL has");
	http->method = line;
	http->target = target;
	http->is_head = strcmp(line, "HEAD") == 0;
	if (!check_version(http, version))
		return false;
	if (strcmp(line, "CONNECT") == 0)
		return bad(http, 405, "nothing is tunnelled");
	if (target[0] != '/' && !http->relays)
		return bad(http, 400, "the target is not a path: nothing is relayed");
	return true;
}

static bool take_port(struct mr_http *http, const char *text)
{
	unsigned int port = 0;
	size_t n = strlen(text);

	if (n < 1 || n > 5 || strspn(text, "0123456789") != n)
		return false;
	for (size_t i = 0; i < n; i++)
		port = port * 10 + (unsigned int)(text[i] - '0');
	http->port = (uint16_t)port;
	return port >= 1 && port <= UINT16_MAX;
}

/* "[...]", n bytes: written in the one way that each address has. */
static bool take_ipv6(struct mr_http *http, const char *value, size_t n)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;

	if (n < 2 || n - 2 >= sizeof(text) || value[n - 1] != ']')
		return false;
	memcpy(text, value + 1, n - 2);
	text[n - 2] = '\0';
	if (inet_pton(AF_INET6, text, &address) != 1 ||
	    !inet_ntop(AF_INET6, &address, text, sizeof(text)))
		return false;
	snprintf(http->host, sizeof(http->host), "[%s]", text);
	return true;
}

static bool take_host(struct mr_http *http, const char *value)
{
	const bool is_ipv6 = value[0] == '[' && !http->relays;
	size_t n = is_ipv6 ? strcspn(value, "]") + 1 : strcspn(value, ":");

	if (http->has_host)
		return bad(http, 400, "two Host headers");
	http->has_host = true;
	if (is_ipv6 && (!take_ipv6(http, value, n) || (value[n] && value[n] != ':')))
		return bad(http, 400, "Host is no IPv6 address in brackets");
	if (is_ipv6)
		return !value[n] || take_port(http, value + n + 1) ||
		       bad(http, 400, "Host has no port after its colon");
	if (n == 0 || n > MR_HTTP_HOST_MAX ||
	    strspn(value, "0123456789abcdefghijklmnopqrstuvwxyz"
			  "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.") != n)
		return bad(http, 400, "Host is no name");
	if (value[n] && !take_port(http, value + n + 1))
		return bad(http, 400, "Host has no port after its colon");
	for (size_t i = 0; i < n; i++)
		http->host[i] = (char)tolower((unsigned char)value[i]);
	if (n > 1 && http->host[n - 1] == '.')
		n--;
	http->host[n] = '\0';
	return true;
}

static bool take_length(struct mr_http *http, const char *value)
{
	size_t n = strlen(value);

	if (http->has_length)
		return bad(http, 400, "two Content-Length headers");
	if (n == 0 || strspn(value, "0123456789") != n)
		return bad(http, 400, "Content-Length is no number");
	if (n > 18)
		return bad(http, 413, "the body is too large");
	http->has_length = true;
	for (size_t i = 0; i < n; i++)
		http->left = http->left * 10 + (uint64_t)(value[i] - '0');
	return http->relays || http->left <= MR_HTTP_BODY_MAX ||
	       bad(http, 413, "the body is too large");
}

static bool take_coding(struct mr_http *http, const char *value)
{
	if (http->chunked)
		return bad(http, 400, "two Transfer-Encoding headers");
	http->chunked = true;
	return strcasecmp(value, "chunked") == 0 ||
	       bad(http, 501, "a transfer coding other than chunked");
}

static bool take_expect(struct mr_http *http, const char *value)
{
	http->expects_continue = strcasecmp(value, "100-continue") == 0;
	return http->expects_continue || bad(http, 417, "an expectation other than 100-continue");
}

/* Is one of the words between commas "close"? */
static bool take_connection(struct mr_http *http, const char *value)
{
	for (;;) {
		size_t n;

		value += strspn(value, ", \t");
		n = strcspn(value, ", \t");
		if (n == 0)
			return true;
		if (n == 5 && strncasecmp(value, "close", 5) == 0)
			http->keep_alive = false;
		value += n;
	}
}

static const struct header {
	const char *name;
	bool (*take)(struct mr_http *http, const char *value);
} headers[] = {
	{ "host", take_host },
	{ "content-length", take_length },
	{ "transfer-encoding", take_coding },
	{ "expect", take_expect },
	{ "connection", take_connection },
};

/* "Name: value"; the value without the white space around it. */
static bool take_header(struct mr_http *http, char *line)
{
	size_t n = strcspn(line, ":"), end;
	char *value = line + n + 1;

	if (line[0] == ' ' || line[0] == '\t')
		return bad(http, 400, "a folded header");
	if (line[n] == '\0' || !is_token(line, n))
		return bad(http, 400, "a header without a name");
	line[n] = '\0';
	value += strspn(value, " \t");
	end = strlen(value);
	while (end > 0 && (value[end - 1] == ' ' || value[end - 1] == '\t'))
		value[--end] = '\0';
	for (size_t i = 0; i < N_ELEMENTS(headers); i++)
		if (strcasecmp(headers[i].name, line) == 0)
			return headers[i].take(http, value);
	return true;
}

/* Only CRLF ends a line, and nothing else is a control character but a tab. */
static bool check_bytes(struct mr_http *http)
{
	for (size_t i = 0; i < http->len; i++) {
		const unsigned char c = (unsigned char)http->head[i];

		if (c == '\r'	? http->head[i + 1] != '\n'
		    : c == '\n' ? i == 0 || http->head[i - 1] != '\r'
				: (c < 0x20 && c != '\t') || c == 0x7f)
			return bad(http, 400, "a control character in the head");
	}
	return true;
}

static bool check_head(struct mr_http *http)
{
	if (http->is_11 && !http->has_host)
		return bad(http, 400, "no Host header");
	if (http->chunked && http->has_length)
		return bad(http, 400, "both Content-Length and Transfer-Encoding");
	if (http->chunked && !http->is_11)
		return bad(http, 400, "Transfer-Encoding in HTTP/1.0");
	if (!http->is_11)
		http->expects_continue = false;
	http->has_body = http->chunked || http->has_length;
	http->state = http->chunked ? MR_HTTP_IN_SIZE : MR_HTTP_IN_BODY;
	http->len = 0;
	return true;
}

/* head holds all up to the empty line. */
static bool parse_head(struct mr_http *http)
{
	unsigned int n = 0;
	char *line = http->head, *next;

	if (!check_bytes(http))
		return false;
	for (; strncmp(line, "\r\n", 2) != 0; line = next + 2, n++) {
		next = strstr(line, "\r\n");
		*next = '\0';
		if (n > MR_HTTP_HEADERS_MAX)
			return bad(http, 431, "too many headers");
		if (!(n == 0 ? take_request_line(http, line) : take_header(http, line)))
			return false;
	}
	return check_head(http);
}

static bool ends_head(const struct mr_http *http)
{
	return http->len >= 4 && memcmp(http->head + http->len - 4, "\r\n\r\n", 4) == 0;
}

static size_t feed_head(struct mr_http *http, const char *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		/* An empty line before a request is some clients' habit. */
		if (http->len == 2 && memcmp(http->head, "\r\n", 2) == 0)
			http->len = 0;
		if (http->len == MR_HTTP_HEAD_MAX) {
			bad(http, 431, "the head is too large");
			return i;
		}
		http->head[http->len++] = data[i];
		http->head[http->len] = '\0';
		if (http->len == 1 && data[i] != '\r' && !is_token(data + i, 1)) {
			bad(http, 400, "no request");
			return i + 1;
		}
		if (ends_head(http)) {
			if (http->raw)
				mr_buf_addn(http->raw, http->head, http->len);
			parse_head(http);
			return i + 1;
		}
	}
	return n;
}

/* --- the body ------------------------------------------------------------------- */

static size_t skip(struct mr_http *http, const char *data, size_t n, enum mr_http_state next)
{
	if (n > http->left)
		n = (size_t)http->left;
	http->left -= n;
	if (http->left == 0)
		http->state = next;
	if (http->raw_body_max)
		mr_buf_addn(http->raw, data, n);
	return n;
}

bool mr_http_keep_body(struct mr_http *http, size_t max)
{
	http->raw_body_max = max;
	return http->left <= max || bad(http, 413, "the body is too large for a command");
}

static unsigned int hex_value(char c)
{
	return c <= '9' ? (unsigned int)(c - '0')
			: (unsigned int)(tolower((unsigned char)c) - 'a') + 10;
}

static bool end_size(struct mr_http *http)
{
	if (http->len == 0)
		return bad(http, 400, "a chunk without a size");
	http->body_size += http->left;
	http->len = 0;
	if (http->raw_body_max && http->body_size > http->raw_body_max)
		return bad(http, 413, "the body is too large for a command");
	if (http->body_size > MR_HTTP_BODY_MAX && !http->relays)
		return bad(http, 413, "the body is too large");
	return true;
}

static bool feed_size(struct mr_http *http, char c)
{
	if (isxdigit((unsigned char)c)) {
		if (++http->len > CHUNK_DIGITS_MAX)
			return bad(http, 413, "a chunk is too large");
		http->left = http->left * 16 + hex_value(c);
		return true;
	}
	if (c != ';' && c != '\r')
		return bad(http, 400, "a chunk without a size");
	http->state = c == ';' ? MR_HTTP_IN_EXTENSION : MR_HTTP_IN_SIZE_LF;
	return end_size(http);
}

static bool feed_extension(struct mr_http *http, char c)
{
	if (c == '\r')
		http->state = MR_HTTP_IN_SIZE_LF;
	else if (++http->len > EXTENSION_MAX || (unsigned char)c < 0x20)
		return bad(http, 400, "a chunk's extension is no line");
	return true;
}

static bool feed_size_lf(struct mr_http *http, char c)
{
	http->len = 0;
	http->line_empty = true;
	http->state = http->left ? MR_HTTP_IN_CHUNK : MR_HTTP_IN_TRAILERS;
	return c == '\n' || bad(http, 400, "a chunk's size without CRLF");
}

static bool feed_chunk_end(struct mr_http *http, char c)
{
	const bool cr = http->state == MR_HTTP_IN_CHUNK_CR;

	http->state = cr ? MR_HTTP_IN_CHUNK_LF : MR_HTTP_IN_SIZE;
	http->len = 0;
	return c == (cr ? '\r' : '\n') || bad(http, 400, "a chunk does not end where it said");
}

/* Trailers are dropped, up to the empty line. */
static bool feed_trailers(struct mr_http *http, char c)
{
	if (++http->len > MR_HTTP_TRAILERS_MAX)
		return bad(http, 431, "the trailers are too large");
	if (http->after_cr != (c == '\n'))
		return bad(http, 400, "a trailer without CRLF");
	http->after_cr = c == '\r';
	if (c == '\n' && http->line_empty)
		http->state = MR_HTTP_IS_DONE;
	if (c == '\n')
		http->line_empty = true;
	else if (c != '\r')
		http->line_empty = false;
	return true;
}

/* What is not skipped in bulk: byte by byte. */
static size_t feed_framing(struct mr_http *http, char c)
{
	switch (http->state) {
	case MR_HTTP_IN_SIZE:
		feed_size(http, c);
		break;
	case MR_HTTP_IN_EXTENSION:
		feed_extension(http, c);
		break;
	case MR_HTTP_IN_SIZE_LF:
		feed_size_lf(http, c);
		break;
	case MR_HTTP_IN_CHUNK_CR:
	case MR_HTTP_IN_CHUNK_LF:
		feed_chunk_end(http, c);
		break;
	case MR_HTTP_IN_TRAILERS:
		feed_trailers(http, c);
		break;
	case MR_HTTP_IN_HEAD:
	case MR_HTTP_IN_BODY:
	case MR_HTTP_IN_CHUNK:
	case MR_HTTP_IS_DONE:
	case MR_HTTP_IS_BAD:
		return 0;
	}
	return 1;
}

enum mr_http_event mr_http_feed(struct mr_http *http, const char *data, size_t n, size_t *ret_used)
{
	const bool in_head = http->state == MR_HTTP_IN_HEAD;
	size_t used = in_head ? feed_head(http, data, n) : 0;

	*ret_used = used;
	if (in_head)
		return http->state == MR_HTTP_IN_HEAD  ? MR_HTTP_MORE
		       : http->state == MR_HTTP_IS_BAD ? MR_HTTP_BAD
						       : MR_HTTP_HEAD;
	if (http->state == MR_HTTP_IN_BODY && http->left == 0)
		http->state = MR_HTTP_IS_DONE;
	while (used < n && http->state < MR_HTTP_IS_DONE) {
		if (http->state == MR_HTTP_IN_BODY)
			used += skip(http, data + used, n - used, MR_HTTP_IS_DONE);
		else if (http->state == MR_HTTP_IN_CHUNK)
			used += skip(http, data + used, n - used, MR_HTTP_IN_CHUNK_CR);
		else
			used += feed_framing(http, data[used]);
	}
	*ret_used = used;
	return http->state == MR_HTTP_IS_DONE  ? MR_HTTP_DONE
	       : http->state == MR_HTTP_IS_BAD ? MR_HTTP_BAD
					       : MR_HTTP_MORE;
}

const char *mr_http_reason(unsigned int status)
{
	static const struct {
		unsigned int status;
		const char *reason;
	} reasons[] = {
		{ 200, "OK" },
		{ 201, "Created" },
		{ 202, "Accepted" },
		{ 204, "No Content" },
		{ 206, "Partial Content" },
		{ 301, "Moved Permanently" },
		{ 302, "Found" },
		{ 303, "See Other" },
		{ 304, "Not Modified" },
		{ 307, "Temporary Redirect" },
		{ 308, "Permanent Redirect" },
		{ 400, "Bad Request" },
		{ 401, "Unauthorized" },
		{ 403, "Forbidden" },
		{ 404, "Not Found" },
		{ 405, "Method Not Allowed" },
		{ 408, "Request Timeout" },
		{ 409, "Conflict" },
		{ 410, "Gone" },
		{ 413, "Content Too Large" },
		{ 417, "Expectation Failed" },
		{ 421, "Misdirected Request" },
		{ 422, "Unprocessable Content" },
		{ 429, "Too Many Requests" },
		{ 431, "Request Header Fields Too Large" },
		{ 500, "Internal Server Error" },
		{ 501, "Not Implemented" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 504, "Gateway Timeout" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < N_ELEMENTS(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "Unknown";
}

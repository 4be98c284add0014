/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sniff
 *
 * A handshake may be spread over several TLS records; they are put together first.  Of the
 * message itself only lengths are followed until the extensions.  Whatever begins like TLS or HTTP and
 * cannot be read is malformed rather than something else: a server might be more
 * generous than we are.
 */
#include "netns/sniff.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"

#define RECORD_HANDSHAKE 22
#define RECORD_HEAD 5
#define RECORD_MAX 16384
#define HANDSHAKE_HEAD 4
#define CLIENT_HELLO 1
#define EXTENSION_SERVER_NAME 0
#define EXTENSION_ECH 0xfe0d
#define EXTENSION_ECH_OLD 0xffce /* as drafts and some libraries had it */

/* Counts down what is left; after too much was asked for it stays failed. */
struct cursor {
	const uint8_t *at;
	size_t left;
	bool failed;
};

static const uint8_t *take(struct cursor *c, size_t n)
{
	const uint8_t *at = c->at;

	if (c->failed || c->left < n) {
		c->failed = true;
		return NULL;
	}
	c->at += n;
	c->left -= n;
	return at;
}

/* A number of `width` bytes. */
static size_t take_number(struct cursor *c, size_t width)
{
	const uint8_t *at = take(c, width);
	size_t value = 0;

	for (size_t i = 0; at && i < width; i++)
		value = value << 8 | at[i];
	return value;
}

/* What stands behind its length of `width` bytes. */
static struct cursor take_vector(struct cursor *c, size_t width)
{
	struct cursor inner = { .left = take_number(c, width) };

	inner.at = take(c, inner.left);
	inner.failed = !inner.at;
	return inner;
}

/* --- TLS ------------------------------------------------------------------------------ */

static bool read_server_name(struct cursor c, char ret_name[MR_RULE_NAME_MAX + 1])
{
	struct cursor list = take_vector(&c, 2);
	size_t type = take_number(&list, 1);
	struct cursor name = take_vector(&list, 2);

	return !name.failed && !list.failed && list.left == 0 && c.left == 0 && type == 0 &&
	       mr_rule_normalise_name((const char *)name.at, name.left, ret_name);
}

static enum mr_sniff read_extensions(struct cursor c, char ret_name[MR_RULE_NAME_MAX + 1])
{
	bool has_name = false, has_ech = false;

	while (!c.failed && c.left > 0) {
		size_t type = take_number(&c, 2);
		struct cursor data = take_vector(&c, 2);

		if (data.failed)
			return MR_SNIFF_TLS_MALFORMED;
		if (type == EXTENSION_ECH || type == EXTENSION_ECH_OLD)
			has_ech = true;
		if (type != EXTENSION_SERVER_NAME)
			continue;
		if (has_name || !read_server_name(data, ret_name)) {
			ret_name[0] = '\0';
			return MR_SNIFF_TLS_MALFORMED;
		}
		has_name = true;
	}
	if (c.failed)
		return MR_SNIFF_TLS_MALFORMED;
	if (has_ech)
		return MR_SNIFF_TLS_ECH;
	return has_name ? MR_SNIFF_TLS : MR_SNIFF_TLS_NO_NAME;
}

static enum mr_sniff read_hello(struct cursor c, char ret_name[MR_RULE_NAME_MAX + 1])
{
	struct cursor extensions;

	take(&c, 2 + 32); /* version, random */
	take_vector(&c, 1); /* session */
	take_vector(&c, 2); /* ciphers */
	take_vector(&c, 1); /* compression */
	if (c.failed)
		return MR_SNIFF_TLS_MALFORMED;
	if (c.left == 0)
		return MR_SNIFF_TLS_NO_NAME;
	extensions = take_vector(&c, 2);
	if (extensions.failed || c.left > 0)
		return MR_SNIFF_TLS_MALFORMED;
	return read_extensions(extensions, ret_name);
}

/* The handshake without the heads of its records: bytes of it that are there, or -1. */
static long join_records(const uint8_t *bytes, size_t size, uint8_t *joined)
{
	size_t at = 0, n = 0;

	while (size - at >= RECORD_HEAD) {
		size_t len = (size_t)bytes[at + 3] << 8 | bytes[at + 4];
		size_t there = size - at - RECORD_HEAD;

		if (bytes[at] != RECORD_HANDSHAKE || bytes[at + 1] != 3 || len == 0 ||
		    len > RECORD_MAX)
			return -1;
		there = there < len ? there : len;
		memcpy(joined + n, bytes + at + RECORD_HEAD, there);
		n += there;
		at += RECORD_HEAD + there;
		if (n >= HANDSHAKE_HEAD &&
		    n - HANDSHAKE_HEAD >=
			    ((size_t)joined[1] << 16 | (size_t)joined[2] << 8 | joined[3]))
			break;
		if (there < len)
			break;
	}
	return (long)n;
}

static enum mr_sniff sniff_tls(const uint8_t *bytes, size_t size,
			       char ret_name[MR_RULE_NAME_MAX + 1])
{
	uint8_t joined[MR_SNIFF_MAX];
	size_t len;
	long n;

	if (size >= 2 && bytes[1] != 3)
		return MR_SNIFF_TLS_MALFORMED;
	n = join_records(bytes, size, joined);
	if (n < 0 || (n > 0 && joined[0] != CLIENT_HELLO))
		return MR_SNIFF_TLS_MALFORMED;
	if (n < HANDSHAKE_HEAD)
		return MR_SNIFF_MORE;
	len = (size_t)joined[1] << 16 | (size_t)joined[2] << 8 | joined[3];
	if (len > MR_SNIFF_MAX - HANDSHAKE_HEAD - RECORD_HEAD)
		return MR_SNIFF_TLS_MALFORMED;
	if ((size_t)n - HANDSHAKE_HEAD < len)
		return MR_SNIFF_MORE;
	return read_hello((struct cursor){ .at = joined + HANDSHAKE_HEAD, .left = len }, ret_name);
}

/* --- HTTP ----------------------------------------------------------------------------- */

struct line {
	const char *text;
	size_t n;
};

/* "host", "host:port", "[v6]:port": the host.  False: it is none. */
static bool read_authority(const char *text, size_t n, char ret_name[MR_RULE_NAME_MAX + 1])
{
	const char *colon = memchr(text, ':', n);

	if (n > 0 && text[0] == '[') {
		const char *end = memchr(text, ']', n);

		if (!end || (size_t)(end - text) > MR_RULE_NAME_MAX)
			return false;
		memcpy(ret_name, text + 1, (size_t)(end - text - 1));
		ret_name[end - text - 1] = '\0';
		return true;
	}
	n = colon ? (size_t)(colon - text) : n;
	return mr_rule_normalise_name(text, n, ret_name);
}

/* How many bytes of white space are in front. */
static size_t count_blank(const char *text, size_t size)
{
	size_t n = 0;

	while (n < size &&
	       (text[n] == '\r' || text[n] == '\n' || text[n] == ' ' || text[n] == '\t'))
		n++;
	return n;
}

/* The next line of the head, without its end.  False: it is not complete. */
static bool next_line(const char **at, size_t *left, struct line *ret)
{
	const char *end = memchr(*at, '\n', *left);

	if (!end)
		return false;
	ret->text = *at;
	ret->n = (size_t)(end - *at);
	*left -= ret->n + 1;
	*at = end + 1;
	if (ret->n > 0 && ret->text[ret->n - 1] == '\r')
		ret->n--;
	return true;
}

/* "METHOD TARGET HTTP/1.x".  The host of the target in ret_name, "" if it has none. */
static enum mr_sniff read_request_line(struct line line, char ret_name[MR_RULE_NAME_MAX + 1])
{
	const char *space = memchr(line.text, ' ', line.n);
	const char *target = space ? space + 1 : NULL, *end;
	size_t left = space ? line.n - (size_t)(target - line.text) : 0, n;
	const char *scheme;

	end = space ? memchr(target, ' ', left) : NULL;
	if (!end || line.n - (size_t)(end - line.text) != 9 || strncmp(end, " HTTP/1.", 8) != 0)
		return MR_SNIFF_HTTP_MALFORMED;
	n = (size_t)(end - target);
	if (space - line.text == 7 && strncmp(line.text, "CONNECT", 7) == 0)
		return read_authority(target, n, ret_name) ? MR_SNIFF_HTTP_CONNECT
							   : MR_SNIFF_HTTP_MALFORMED;
	ret_name[0] = '\0';
	if (n > 0 && (target[0] == '/' || (n == 1 && target[0] == '*')))
		return MR_SNIFF_HTTP;
	scheme = memmem(target, n, "://", 3);
	if (!scheme)
		return MR_SNIFF_HTTP_MALFORMED;
	n -= (size_t)(scheme + 3 - target);
	target = scheme + 3;
	end = memchr(target, '/', n);
	n = end ? (size_t)(end - target) : n;
	/* User names in front are how one host is made to look like another. */
	return !memchr(target, '@', n) && read_authority(target, n, ret_name)
		       ? MR_SNIFF_HTTP
		       : MR_SNIFF_HTTP_MALFORMED;
}

/* A line "Host: VALUE".  1: it is one, 0: another field, -1: cannot be read. */
static int read_host_field(struct line line, char ret_name[MR_RULE_NAME_MAX + 1])
{
	const char *colon = memchr(line.text, ':', line.n);
	const char *value;
	size_t n;

	/* A line that goes on with the one before, or that others may read as Host. */
	if (!colon || line.text[0] == ' ' || line.text[0] == '\t' || colon == line.text ||
	    colon[-1] == ' ' || colon[-1] == '\t')
		return -1;
	if (colon - line.text != 4 || strncasecmp(line.text, "host", 4) != 0)
		return 0;
	value = colon + 1;
	n = line.n - 5;
	while (n > 0 && (*value == ' ' || *value == '\t')) {
		value++;
		n--;
	}
	while (n > 0 && (value[n - 1] == ' ' || value[n - 1] == '\t'))
		n--;
	return read_authority(value, n, ret_name) ? 1 : -1;
}

/* Host, target and each other must agree. */
static enum mr_sniff read_fields(const char *at, size_t left, char name[MR_RULE_NAME_MAX + 1])
{
	char host[MR_RULE_NAME_MAX + 1];
	struct line line;
	bool has_host = false;

	while (next_line(&at, &left, &line)) {
		int r;

		if (line.n == 0)
			return has_host ? MR_SNIFF_HTTP : MR_SNIFF_HTTP_MALFORMED;
		r = read_host_field(line, host);
		if (r < 0 || (r > 0 && has_host) || (r > 0 && name[0] && strcmp(name, host) != 0))
			return MR_SNIFF_HTTP_MALFORMED;
		if (r > 0) {
			has_host = true;
			memcpy(name, host, sizeof(host));
		}
	}
	return MR_SNIFF_MORE;
}

static enum mr_sniff sniff_http(const char *at, size_t left, char ret_name[MR_RULE_NAME_MAX + 1])
{
	struct line line;
	enum mr_sniff kind;

	if (!next_line(&at, &left, &line))
		return MR_SNIFF_MORE;
	kind = read_request_line(line, ret_name);
	if (kind != MR_SNIFF_HTTP)
		return kind;
	kind = read_fields(at, left, ret_name);
	return kind;
}

/* A first line with "HTTP/" in it, wherever: what a generous server might take for a request. */
static bool is_http_line(const char *text, size_t n)
{
	for (size_t i = 0; i + 5 <= n; i++) {
		if (strncasecmp(text + i, "HTTP/", 5) == 0)
			return true;
	}
	return false;
}

static bool is_text(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if ((text[i] < ' ' && text[i] != '\t' && text[i] != '\r') || text[i] == 127)
			return false;
	}
	return true;
}

static enum mr_sniff sniff(const char *text, size_t size, char ret_name[MR_RULE_NAME_MAX + 1])
{
	/* Servers pass over empty lines in front of a request. */
	const size_t blank = count_blank(text, size);
	const char *end = memchr(text + blank, '\n', size - blank);
	const size_t n = end ? (size_t)(end - text) - blank : size - blank;

	if (blank == 0 && size > 0 && (uint8_t)text[0] == RECORD_HANDSHAKE)
		return sniff_tls((const uint8_t *)text, size, ret_name);
	if (!end)
		return is_text(text + blank, n) ? MR_SNIFF_MORE : MR_SNIFF_OTHER;
	if (!is_http_line(text + blank, n))
		return MR_SNIFF_OTHER;
	return blank ? MR_SNIFF_HTTP_MALFORMED : sniff_http(text, size, ret_name);
}

enum mr_sniff mr_sniff(const uint8_t *bytes, size_t size, char ret_name[MR_RULE_NAME_MAX + 1])
{
	const size_t looked_at = size < MR_SNIFF_MAX ? size : MR_SNIFF_MAX;
	enum mr_sniff kind;

	ret_name[0] = '\0';
	kind = sniff((const char *)bytes, looked_at, ret_name);
	if (kind == MR_SNIFF_MORE && looked_at == MR_SNIFF_MAX)
		kind = bytes[0] == RECORD_HANDSHAKE ? MR_SNIFF_TLS_MALFORMED
						    : MR_SNIFF_HTTP_MALFORMED;
	if (kind != MR_SNIFF_TLS && kind != MR_SNIFF_TLS_ECH && kind != MR_SNIFF_HTTP &&
	    kind != MR_SNIFF_HTTP_CONNECT)
		ret_name[0] = '\0';
	return kind;
}

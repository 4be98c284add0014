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

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"

#define RECORD_FIRST 20 /* change of cipher, alert, */
#define RECORD_HANDSHAKE 22
#define RECORD_LAST 24 /* data, heartbeat */
#define RECORD_HEAD 5
#define RECORD_MAX 16384
#define HANDSHAKE_HEAD 4
#define CLIENT_HELLO 1
#define PROXY_SIGNATURE 12
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

/* What stands between words of a request line for one reader or another of it. */
static bool is_gap(char c)
{
	const uint8_t byte = (uint8_t)c;

	return byte == ' ' || (byte >= '\t' && byte <= '\r' && byte != '\n') ||
	       (byte >= 0x1c && byte <= 0x1f) || byte == 0x85 || byte == 0xa0;
}

static size_t count_gap(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && is_gap(text[i]))
		i++;
	return i;
}

/* How many bytes of a token, a method or the name of a field, are in front. */
static size_t count_token(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && ((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'z') ||
			 (text[i] >= 'A' && text[i] <= 'Z') ||
			 (text[i] && strchr("!#$%&'*+-.^_`|~", text[i]))))
		i++;
	return i;
}

/* How many bytes of a scheme are in front of a ':'; 0: there is none. */
static size_t count_scheme(const char *text, size_t n)
{
	size_t i = 0;

	while (i < n && ((text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z') ||
			 (i > 0 && ((text[i] >= '0' && text[i] <= '9') ||
				    (text[i] && strchr("+.-", text[i]))))))
		i++;
	return i < n && text[i] == ':' ? i : 0;
}

/* ":1" to ":65535", or nothing. */
static bool is_port(const char *text, size_t n)
{
	unsigned int port = 0;

	if (n == 0)
		return true;
	if (text[0] != ':' || n < 2 || n > 6)
		return false;
	for (size_t i = 1; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		port = port * 10 + (unsigned int)(text[i] - '0');
	}
	return port >= 1 && port <= UINT16_MAX;
}

/* Of an IPv6 address there is one way to write it afterwards. */
static bool read_ipv6(const char *text, size_t n, char ret_name[MR_RULE_NAME_MAX + 1])
{
	char copy[INET6_ADDRSTRLEN];
	struct in6_addr address;

	if (n >= sizeof(copy) || memchr(text, '\0', n))
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	return inet_pton(AF_INET6, copy, &address) == 1 &&
	       inet_ntop(AF_INET6, &address, ret_name, MR_RULE_NAME_MAX + 1);
}

/* "host", "host:port", "[v6]:port": the host.  False: it is none, or there is something else
 * beside, such as a user's name, by which one host is made to look like another. */
static bool read_authority(const char *text, size_t n, char ret_name[MR_RULE_NAME_MAX + 1])
{
	const bool bracketed = n > 0 && text[0] == '[';
	const char *end = memchr(text, bracketed ? ']' : ':', n);
	size_t host = end ? (size_t)(end - text) : n;

	if (!bracketed)
		return is_port(text + host, n - host) &&
		       mr_rule_normalise_name(text, host, ret_name);
	return end && is_port(end + 1, n - host - 1) && read_ipv6(text + 1, host - 1, ret_name);
}

/* How many bytes that some servers pass over are in front of a request. */
static size_t count_blank(const char *text, size_t size)
{
	size_t n = 0;

	while (n < size && (text[n] == '\n' || is_gap(text[n])))
		n++;
	return n;
}

static bool is_plain(struct line line)
{
	for (size_t i = 0; i < line.n; i++) {
		if (((uint8_t)line.text[i] < ' ' && line.text[i] != '\t') || line.text[i] == 127)
			return false;
	}
	return true;
}

static bool is_ascii(struct line line)
{
	for (size_t i = 0; i < line.n; i++) {
		if ((uint8_t)line.text[i] >= 0x80)
			return false;
	}
	return is_plain(line);
}

/* The next line of the head, without its end.  0: it is not complete; -1: it has bytes by which
 * another reader may see other lines. */
static int next_line(const char **at, size_t *left, struct line *ret)
{
	const char *end = memchr(*at, '\n', *left);

	if (!end)
		return 0;
	ret->text = *at;
	ret->n = (size_t)(end - *at);
	*left -= ret->n + 1;
	*at = end + 1;
	if (ret->n == 0 || ret->text[ret->n - 1] != '\r')
		return -1;
	ret->n--;
	return is_plain(*ret) ? 1 : -1;
}

/* "/path", "*", "scheme://authority...": the host in ret_name, "" if it has none. */
static bool read_target(const char *target, size_t n, char ret_name[MR_RULE_NAME_MAX + 1])
{
	size_t scheme, authority = 0;

	ret_name[0] = '\0';
	if (n > 0 && (target[0] == '/' || (n == 1 && target[0] == '*')))
		return true;
	scheme = count_scheme(target, n);
	if (scheme == 0 || n - scheme < 3 || memcmp(target + scheme, "://", 3) != 0)
		return false;
	target += scheme + 3;
	n -= scheme + 3;
	while (authority < n && target[authority] != '/' && target[authority] != '?' &&
	       target[authority] != '#')
		authority++;
	return read_authority(target, authority, ret_name);
}

/* "METHOD TARGET HTTP/1.x".  The host of the target in ret_name, "" if it has none. */
static enum mr_sniff read_request_line(struct line line, char ret_name[MR_RULE_NAME_MAX + 1])
{
	const size_t method = count_token(line.text, line.n);
	const char *target = line.text + method + 1, *end;

	if (method == 0 || line.n < method + 1 || line.text[method] != ' ')
		return MR_SNIFF_HTTP_MALFORMED;
	end = memchr(target, ' ', line.n - method - 1);
	if (!end || line.n - (size_t)(end - line.text) != 9 ||
	    (memcmp(end, " HTTP/1.1", 9) != 0 && memcmp(end, " HTTP/1.0", 9) != 0))
		return MR_SNIFF_HTTP_MALFORMED;
	if (method == 7 && strncasecmp(line.text, "CONNECT", 7) == 0)
		return read_authority(target, (size_t)(end - target), ret_name)
			       ? MR_SNIFF_HTTP_CONNECT
			       : MR_SNIFF_HTTP_MALFORMED;
	return read_target(target, (size_t)(end - target), ret_name) ? MR_SNIFF_HTTP
								     : MR_SNIFF_HTTP_MALFORMED;
}

/* A line "Host: VALUE".  1: it is one, 0: another field, -1: cannot be read. */
static int read_host_field(struct line line, char ret_name[MR_RULE_NAME_MAX + 1])
{
	const size_t name = count_token(line.text, line.n);
	const char *value;
	size_t n;

	/* No field, one that goes on with the line before, or that others may read as Host. */
	if (name == 0 || name == line.n || line.text[name] != ':')
		return -1;
	if (name != 4 || strncasecmp(line.text, "host", 4) != 0)
		return 0;
	value = line.text + 5;
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
	int r;

	while ((r = next_line(&at, &left, &line)) > 0) {
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
	return r < 0 ? MR_SNIFF_HTTP_MALFORMED : MR_SNIFF_MORE;
}

static enum mr_sniff sniff_http(const char *at, size_t left, char ret_name[MR_RULE_NAME_MAX + 1])
{
	struct line line;
	enum mr_sniff kind;

	int r = next_line(&at, &left, &line);

	if (r <= 0)
		return r < 0 ? MR_SNIFF_HTTP_MALFORMED : MR_SNIFF_MORE;
	kind = read_request_line(line, ret_name);
	return kind == MR_SNIFF_HTTP ? read_fields(at, left, ret_name) : kind;
}

/* Does it begin with a method, whatever follows? */
static bool begins_request(struct line line)
{
	const size_t method = count_token(line.text, line.n);

	return line.n == 0 || (method > 0 && (method == line.n || is_gap(line.text[method])));
}

/* "TOKEN /..." and "TOKEN scheme:/...": a request, if need be of HTTP/0.9. */
static bool has_target(struct line line)
{
	size_t at = count_token(line.text, line.n), scheme;

	at += count_gap(line.text + at, line.n - at);
	if (!begins_request(line) || at == line.n)
		return false;
	if (line.text[at] == '/')
		return true;
	scheme = count_scheme(line.text + at, line.n - at);
	at += scheme + 1;
	return scheme > 0 && at < line.n && (line.text[at] == '/' || line.text[at] == '\\');
}

/* A first line with "HTTP/" in it, wherever, or with a target: what a generous server might take for
 * a request.  That of the PROXY protocol has one behind it. */
static bool is_http_line(struct line line)
{
	for (size_t i = 0; i + 5 <= line.n; i++) {
		if (strncasecmp(line.text + i, "HTTP/", 5) == 0)
			return true;
	}
	return has_target(line) || (line.n >= 6 && memcmp(line.text, "PROXY ", 6) == 0);
}

/* The PROXY protocol in its second form: another protocol follows. */
static bool begins_proxy(const uint8_t *bytes, size_t size)
{
	static const char signature[PROXY_SIGNATURE + 1] = "\r\n\r\n\0\r\nQUIT\n";

	return memcmp(bytes, signature, size < PROXY_SIGNATURE ? size : PROXY_SIGNATURE) == 0;
}

static enum mr_sniff sniff_text(const char *text, size_t size, char ret_name[MR_RULE_NAME_MAX + 1])
{
	const size_t blank = count_blank(text, size);
	const char *end = memchr(text + blank, '\n', size - blank);
	const struct line first = {
		.text = text + blank,
		.n = end ? (size_t)(end - text) - blank : size - blank,
	};

	if (begins_proxy((const uint8_t *)text, size))
		return size < PROXY_SIGNATURE ? MR_SNIFF_MORE : MR_SNIFF_HTTP_MALFORMED;
	/* Once it cannot become a request it is none; a method may be followed by any bytes. */
	if (!end)
		return begins_request(first) || is_ascii(first) ? MR_SNIFF_MORE : MR_SNIFF_OTHER;
	if (!is_http_line(first))
		return MR_SNIFF_OTHER;
	return blank ? MR_SNIFF_HTTP_MALFORMED : sniff_http(text, size, ret_name);
}

/* --- which ---------------------------------------------------------------------------- */

static enum mr_sniff sniff(const uint8_t *bytes, size_t size, char ret_name[MR_RULE_NAME_MAX + 1])
{
	const bool record = size > 0 && bytes[0] >= RECORD_FIRST && bytes[0] <= RECORD_LAST;
	const bool ssl2 = size > 0 && (bytes[0] & 0x80);

	if (record && bytes[0] == RECORD_HANDSHAKE)
		return sniff_tls(bytes, size, ret_name);
	/* Other records in front, and the hello of SSL 2: some servers take them. */
	if ((record && size < 2) || (ssl2 && size < 3))
		return MR_SNIFF_MORE;
	if ((record && bytes[1] == 3) || (ssl2 && bytes[2] == CLIENT_HELLO))
		return MR_SNIFF_TLS_MALFORMED;
	return sniff_text((const char *)bytes, size, ret_name);
}

enum mr_sniff mr_sniff(const uint8_t *bytes, size_t size, char ret_name[MR_RULE_NAME_MAX + 1])
{
	const size_t looked_at = size < MR_SNIFF_MAX ? size : MR_SNIFF_MAX;
	enum mr_sniff kind;

	ret_name[0] = '\0';
	kind = sniff(bytes, looked_at, ret_name);
	if (kind == MR_SNIFF_MORE && looked_at == MR_SNIFF_MAX)
		kind = bytes[0] == RECORD_HANDSHAKE ? MR_SNIFF_TLS_MALFORMED
						    : MR_SNIFF_HTTP_MALFORMED;
	if (kind != MR_SNIFF_TLS && kind != MR_SNIFF_TLS_ECH && kind != MR_SNIFF_HTTP &&
	    kind != MR_SNIFF_HTTP_CONNECT)
		ret_name[0] = '\0';
	return kind;
}

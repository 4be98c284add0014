/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mock: the text of one
 *
 * A target is normalised while it is read, so that two spellings of the same are one
 * mock and a request is compared byte by byte.  Which '=' divides target and action is
 * decided by what follows it: a query may hold any number of them.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netns/mock.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"

static const char *const fault_names[] = {
	[MR_FAULT_NONE] = "none",	[MR_FAULT_STATUS] = "status",
	[MR_FAULT_AUTH] = "auth",	[MR_FAULT_RESET] = "reset",
	[MR_FAULT_TIMEOUT] = "timeout", [MR_FAULT_TRUNCATE] = "truncate",
	[MR_FAULT_FLIP] = "flip",
};

static int refuse(const char *text, const char *why, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];

	return mr_err(err, MR_E_USAGE, EINVAL, "%s: %s", mr_str_quote(quoted, sizeof(quoted), text),
		      why);
}

const char *mr_mock_fault_name(enum mr_mock_fault fault)
{
	return fault_names[fault];
}

/* --- targets ------------------------------------------------------------------ */

static bool is_digits(const char *text)
{
	return text[0] && text[strspn(text, "0123456789")] == '\0';
}

static int parse_port(struct mr_mock *mock, const char *text, struct mr_error *err)
{
	uint64_t port = 0;

	if (!is_digits(text) || mr_units_parse_count(text, &port, NULL) < 0 || port < 1 ||
	    port > UINT16_MAX)
		return refuse(text, "not a port; accepted: 1 to 65535", err);
	mock->port = (uint16_t)port;
	return 0;
}

static bool is_label(const char *label, size_t n)
{
	if (n == 0 || n > 63 || label[0] == '-' || label[n - 1] == '-')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!(label[i] >= 'a' && label[i] <= 'z') &&
		    !(label[i] >= '0' && label[i] <= '9') && label[i] != '-' && label[i] != '_')
			return false;
	return true;
}

static bool is_name(const char *host)
{
	for (const char *label = host;;) {
		size_t n = strcspn(label, ".");

		if (!is_label(label, n))
			return false;
		if (label[n] == '\0')
			return true;
		label += n + 1;
	}
}

/* Answered by the sandbox itself, whatever a mock says. */
static bool is_own(const struct mr_mock *mock)
{
	const struct in6_addr *address = &mock->address;

	return strcmp(mock->host, "localhost") == 0 || mr_str_ends_with(mock->host, ".localhost") ||
	       IN6_IS_ADDR_LOOPBACK(address) ||
	       (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

static int parse_ipv4(struct mr_mock *mock, const char *host, struct mr_error *err)
{
	struct in_addr in;
	uint32_t address;

	if (inet_pton(AF_INET, host, &in) != 1)
		return refuse(host, "neither a name nor an IPv4 address", err);
	address = ntohl(in.s_addr);
	if (address == 0 || address >> 28 >= 0xe ||
	    address >> (32 - MR_MOCK_NET_BITS) == MR_MOCK_NET >> (32 - MR_MOCK_NET_BITS))
		return refuse(host,
			      "not the address of a host that could be mocked (198.18.0.0/16 is "
			      "what mocked names are given)",
			      err);
	mock->address = (struct in6_addr){ .s6_addr = { [10] = 0xff, [11] = 0xff } };
	memcpy(&mock->address.s6_addr[12], &in, sizeof(in));
	return 0;
}

static bool is_of_names(const struct in6_addr *address)
{
	struct in6_addr net;

	return inet_pton(AF_INET6, MR_MOCK_NET6, &net) == 1 &&
	       memcmp(address, &net, MR_MOCK_NET6_BITS / 8) == 0;
}

/* "[...]"; there is one way to write each, and the host is written so. */
static int parse_ipv6(struct mr_mock *mock, const char *host, struct mr_error *err)
{
	const size_t n = strlen(host);
	mr_auto_free char *inner = mr_str_ndup(host + 1, n > 1 ? n - 2 : 0);
	struct in6_addr *address = &mock->address;
	char text[INET6_ADDRSTRLEN];

	if (host[n - 1] != ']' || inet_pton(AF_INET6, inner, address) != 1)
		return refuse(host, "not an IPv6 address in brackets", err);
	if (IN6_IS_ADDR_V4MAPPED(address) || IN6_IS_ADDR_V4COMPAT(address))
		return refuse(host, "an IPv4 address is written as one: a.b.c.d", err);
	if (IN6_IS_ADDR_UNSPECIFIED(address) || IN6_IS_ADDR_MULTICAST(address) ||
	    IN6_IS_ADDR_LINKLOCAL(address) || is_of_names(address))
		return refuse(host,
			      "not the address of a host that could be mocked (2001:2::/48 is "
			      "what mocked names are given)",
			      err);
	mr_assert(inet_ntop(AF_INET6, address, text, sizeof(text)));
	free(mock->host);
	mock->host = mr_str_format("[%s]", text);
	return 0;
}

/* mock->host, as it was written so far. */
static int check_host(struct mr_mock *mock, struct mr_error *err)
{
	char *host = mock->host;
	size_t n;
	int r = 0;

	for (char *p = host; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	n = strlen(host);
	if (n > 1 && host[n - 1] == '.')
		host[--n] = '\0';
	if (n == 0)
		return refuse(host, "the host is empty", err);
	if (host[0] == '[')
		r = parse_ipv6(mock, host, err);
	else if (host[strspn(host, "0123456789.")] == '\0')
		r = parse_ipv4(mock, host, err);
	else if (n > MR_MOCK_HOST_MAX || !is_name(host))
		r = refuse(host, "not the name of a host", err);
	if (r == 0 && is_own(mock))
		r = refuse(mock->host, "the sandbox's own loopback is not mocked", err);
	return r;
}

/* HOST[:PORT], n bytes. */
static int parse_authority(struct mr_mock *mock, const char *text, size_t n, struct mr_error *err)
{
	mr_auto_free char *authority = mr_str_ndup(text, n);
	const char *end = authority[0] == '[' ? strchr(authority, ']') : NULL;
	char *colon = strchr(end ? end : authority, ':');
	int r = 0;

	if (strchr(authority, '@'))
		return refuse(authority, "a target has no user and no password", err);
	if (!end && colon && strchr(colon + 1, ':'))
		return refuse(authority, "an IPv6 address stands in brackets: [2001:db8::1]:8080",
			      err);
	if (colon) {
		r = parse_port(mock, colon + 1, err);
		*colon = '\0';
	}
	mock->host = mr_str_dup(authority);
	return r < 0 ? r : check_host(mock, err);
}

static int check_path(const char *path, struct mr_error *err)
{
	for (const char *p = path; *p; p++)
		if (*p <= 0x20 || *p >= 0x7f || *p == '#')
			return refuse(path,
				      "a space, '#', control or non-ASCII character is never part "
				      "of "
				      "what is asked for; write it percent-encoded",
				      err);
	return 0;
}

static int parse_path(struct mr_mock *mock, const char *rest, struct mr_error *err)
{
	size_t n = strlen(rest);
	const char *star = strchr(rest, '*');

	mock->match = star ? MR_MOCK_PREFIX : MR_MOCK_URL;
	if (star && star[1])
		return refuse(rest, "a '*' stands at the end only", err);
	if (star == rest)
		return refuse(mock->host, "a prefix ends in the path: write \"/*\"", err);
	mock->path =
		mr_str_format("%s%.*s", rest[0] == '/' ? "" : "/", (int)(star ? n - 1 : n), rest);
	return check_path(mock->path, err);
}

static void normalise(struct mr_mock *mock)
{
	char port[8] = "";

	if (mock->port)
		snprintf(port, sizeof(port), ":%u", mock->port);
	if (mock->match == MR_MOCK_HOST) {
		mock->target = mr_str_format("%s%s", mock->host, port);
		return;
	}
	if (mock->port == (mock->https ? 443 : 80))
		port[0] = '\0';
	mock->target = mr_str_format("%s://%s%s%s%s", mock->https ? "https" : "http", mock->host,
				     port, mock->path, mock->match == MR_MOCK_PREFIX ? "*" : "");
}

static int parse_url(struct mr_mock *mock, const char *target, const char *rest,
		     struct mr_error *err)
{
	size_t n = strcspn(rest, "/?#*");
	mr_auto_free char *scheme = mr_str_ndup(target, (size_t)(rest - target) - 3);
	int r;

	mock->https = mr_str_equal_nocase(scheme, "https");
	if (!mock->https && !mr_str_equal_nocase(scheme, "http"))
		return refuse(scheme, "unknown scheme; accepted: http, https", err);
	r = parse_authority(mock, rest, n, err);
	if (r < 0)
		return r;
	if (!mock->port)
		mock->port = mock->https ? 443 : 80;
	return parse_path(mock, rest + n, err);
}

int mr_mock_parse_target(struct mr_mock *mock, const char *target, struct mr_error *err)
{
	const char *colon = strstr(target, "://");
	int r;

	mock->delay_ms = MR_MOCK_NO_DELAY;
	if (strlen(target) > MR_MOCK_TARGET_MAX)
		return refuse(target, "the target is too long; accepted: at most 2048 bytes", err);
	if (target[0] == '\0')
		return refuse(target,
			      "the target is empty; accepted: URL, URL-PREFIX*, HOST[:PORT]", err);
	if (colon && colon < target + strcspn(target, "/?#*=") + 1) {
		r = parse_url(mock, target, colon + 3, err);
	} else if (target[strcspn(target, "/?#*")]) {
		return refuse(target, "neither HOST[:PORT] nor a URL with http:// or https://",
			      err);
	} else {
		mock->match = MR_MOCK_HOST;
		r = parse_authority(mock, target, strlen(target), err);
	}
	if (r == 0)
		normalise(mock);
	return r;
}

/* --- actions ------------------------------------------------------------------ */

static int set_status(struct mr_mock *mock, const char *value, struct mr_error *err)
{
	uint64_t status = 0;

	if (mock->status)
		return refuse(value, "the status is said twice", err);
	if (!is_digits(value) || mr_units_parse_count(value, &status, NULL) < 0 || status < 200 ||
	    status > 599)
		return refuse(value, "not a status; accepted: 200 to 599", err);
	mock->status = (unsigned int)status;
	return 0;
}

static bool is_token_char(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static int check_header(const struct mr_mock *mock, const char *name, size_t n, const char *value,
			struct mr_error *err)
{
	static const char *const ours[] = { "content-length", "transfer-encoding", "connection",
					    "keep-alive",     "upgrade",	   "trailer" };

	for (size_t i = 0; i < n; i++)
		if (!is_token_char(name[i]))
			n = 0;
	if (n == 0)
		return refuse(name, "not the name of a header", err);
	for (const char *p = value; *p; p++)
		if ((unsigned char)*p < 0x20 || (unsigned char)*p >= 0x7f)
			return refuse(value, "a header's value is printable ASCII", err);
	for (size_t i = 0; i < N_ELEMENTS(ours); i++)
		if (strlen(ours[i]) == n && strncasecmp(ours[i], name, n) == 0)
			return refuse(name, "this header is the responder's own", err);
	for (size_t i = 0; i < mock->n_headers; i++)
		if (strncasecmp(mock->headers[i], name, n) == 0 && mock->headers[i][n] == ':')
			return refuse(name, "this header is said twice", err);
	return 0;
}

static int set_header(struct mr_mock *mock, const char *value, struct mr_error *err)
{
	size_t n = strcspn(value, ":");
	const char *text = value + n + (value[n] == ':');
	char **grown;
	int r;

	if (value[n] == '\0')
		return refuse(value, "accepted: NAME:VALUE", err);
	text += strspn(text, " ");
	if (strlen(value) > MR_MOCK_HEADER_MAX)
		return refuse(value, "the header is too long; accepted: at most 1024 bytes", err);
	if (mock->n_headers == MR_MOCK_HEADERS_MAX)
		return refuse(value, "too many headers; accepted: at most 32", err);
	r = check_header(mock, value, n, text, err);
	if (r < 0)
		return r;
	grown = reallocarray(mock->headers, mock->n_headers + 1, sizeof(*grown));
	mr_assert(grown);
	mock->headers = grown;
	mock->headers[mock->n_headers++] = mr_str_format("%.*s: %s", (int)n, value, text);
	return 0;
}

static int set_type(struct mr_mock *mock, const char *value, struct mr_error *err)
{
	mr_auto_free char *header = mr_str_format("Content-Type:%s", value);

	return set_header(mock, header, err);
}

static int set_delay(struct mr_mock *mock, const char *value, struct mr_error *err)
{
	uint64_t ms = 0;
	int r;

	if (mock->delay_ms != MR_MOCK_NO_DELAY)
		return refuse(value, "the delay is said twice", err);
	r = mr_units_parse_timespan(value, false, &ms, err);
	if (r == 0 && ms > MR_MOCK_DELAY_MAX_MS)
		return refuse(value, "the delay is too long; accepted: 0 to 10m", err);
	if (r == 0)
		mock->delay_ms = ms;
	return r;
}

static int parse_kind(struct mr_mock *mock, const char *kind, size_t n, struct mr_error *err)
{
	mr_auto_free char *word = mr_str_ndup(kind, n);
	uint64_t status = 0;

	for (size_t i = MR_FAULT_AUTH; i < N_ELEMENTS(fault_names); i++)
		if (strcmp(fault_names[i], word) == 0)
			mock->fault = (enum mr_mock_fault)i;
	if (mock->fault)
		return 0;
	if (!is_digits(word) || mr_units_parse_count(word, &status, NULL) < 0 || status < 400 ||
	    status > 599)
		return refuse(word,
			      "unknown failure; accepted: 400 to 599, auth, reset, timeout, "
			      "truncate, flip",
			      err);
	mock->fault = MR_FAULT_STATUS;
	mock->fault_status = (unsigned int)status;
	return 0;
}

/* "F/R" */
static int parse_share(struct mr_mock *mock, const char *share, struct mr_error *err)
{
	size_t n = strcspn(share, "/");
	mr_auto_free char *first = mr_str_ndup(share, n);
	const char *second = share + n + (share[n] == '/');
	uint64_t f = 0, of = 0;

	if (!is_digits(first) || !is_digits(second) || mr_units_parse_count(first, &f, NULL) < 0 ||
	    mr_units_parse_count(second, &of, NULL) < 0 || f < 1 || f > of ||
	    of > MR_MOCK_ROUND_MAX)
		return refuse(share,
			      "accepted: F/R, F failures of every R requests, 1 <= F <= R <= 10000",
			      err);
	mock->fail_of = (uint32_t)f;
	mock->fail_round = (uint32_t)of;
	return 0;
}

static int set_fail(struct mr_mock *mock, const char *value, struct mr_error *err)
{
	size_t n = strcspn(value, ":");
	int r;

	if (mock->fault)
		return refuse(value, "a failure is said twice", err);
	r = parse_kind(mock, value, n, err);
	return r < 0 ? r : parse_share(mock, value[n] ? value + n + 1 : "1/1", err);
}

static int set_file(struct mr_mock *mock, const char *value, struct mr_error *err)
{
	if (value[0] == '\0')
		return refuse(value, "the name of the file is empty", err);
	if (mock->file || mock->body || mock->by_command)
		return refuse(value, "the body is said twice", err);
	mock->file = mr_str_dup(value);
	return 0;
}

/* --- commands ---------------------------------------------------------------- */

/* One word, which *text then stands behind.  No shell: nothing is looked up, and nothing but blanks
 * divides.  NULL, or why it is none. */
static const char *take_word(const char **text, struct mr_buf *word)
{
	const char *p = *text;
	char quote = '\0';

	mr_buf_add(word, "");
	for (; *p && (quote || (*p != ' ' && *p != '\t')); p++) {
		if (quote && *p == quote) {
			quote = '\0';
		} else if (!quote && (*p == '\'' || *p == '"')) {
			quote = *p;
		} else if (*p == '\\' && quote != '\'' && (!quote || p[1] == '"' || p[1] == '\\')) {
			if (*++p == '\0')
				return "nothing follows the last \\";
			mr_buf_addn(word, p, 1);
		} else {
			mr_buf_addn(word, p, 1);
		}
	}
	*text = p;
	return quote ? "a quote is not closed" : NULL;
}

static int add_word(struct mr_mock *mock, const char *word, struct mr_error *err)
{
	char **grown;

	if (mock->n_words == MR_MOCK_WORDS_MAX)
		return refuse(word, "too many words of a command; accepted: at most 64", err);
	grown = reallocarray(mock->words, mock->n_words + 2, sizeof(*grown));
	mr_assert(grown);
	mock->words = grown;
	mock->words[mock->n_words++] = mr_str_dup(word);
	mock->words[mock->n_words] = NULL;
	return 0;
}

/* Can this be a command, and is it the first answer? */
static int begin_command(struct mr_mock *mock, const char *text, struct mr_error *err)
{
	if (mock->file || mock->body || mock->by_command)
		return refuse(text, "the body is said twice", err);
	mock->by_command = true;
	return 0;
}

static int end_command(const struct mr_mock *mock, const char *text, struct mr_error *err)
{
	size_t size = 0;

	if (mock->n_words == 0 || mock->words[0][0] == '\0')
		return refuse(text, "the command is empty", err);
	for (size_t i = 0; i < mock->n_words; i++)
		size += strlen(mock->words[i]) + 1;
	if (size > MR_MOCK_COMMAND_MAX)
		return refuse(text, "the command is too long; accepted: at most 4096 bytes", err);
	return 0;
}

static int set_exec(struct mr_mock *mock, const char *value, struct mr_error *err)
{
	const char *p = value + strspn(value, " \t");
	int r = begin_command(mock, value, err);

	for (; r == 0 && *p; p += strspn(p, " \t")) {
		mr_auto_buf struct mr_buf word = { 0 };
		const char *why = take_word(&p, &word);

		r = why ? refuse(value, why, err) : add_word(mock, word.text, err);
	}
	return r < 0 ? r : end_command(mock, value, err);
}

int mr_mock_set_words(struct mr_mock *mock, const char *const *words, size_t n,
		      struct mr_error *err)
{
	const char *first = n > 0 ? words[0] : "";
	int r = begin_command(mock, first, err);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = add_word(mock, words[i], err);
	return r < 0 ? r : end_command(mock, first, err);
}

static int set_within(struct mr_mock *mock, const char *value, struct mr_error *err)
{
	uint64_t ms = 0;
	int r;

	if (mock->within_ms)
		return refuse(value, "the time of the command is said twice", err);
	r = mr_units_parse_timespan(value, false, &ms, err);
	if (r == 0 && (ms < 1 || ms > MR_MOCK_WITHIN_MAX_MS))
		return refuse(value, "not a time that a command may have; accepted: 1ms to 5m",
			      err);
	if (r == 0)
		mock->within_ms = ms;
	return r;
}

/* --- the items ---------------------------------------------------------------- */

static const struct item {
	const char *name;
	int (*set)(struct mr_mock *mock, const char *value, struct mr_error *err);
} items[] = {
	{ "status", set_status }, { "header", set_header }, { "type", set_type },
	{ "delay", set_delay },	  { "fail", set_fail },	    { "file", set_file },
	{ "exec", set_exec },	  { "within", set_within },
};

int mr_mock_set(struct mr_mock *mock, const char *item, const char *value, struct mr_error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(items); i++)
		if (strcmp(items[i].name, item) == 0)
			return items[i].set(mock, value, err);
	return mr_err(err, MR_E_BUG, EINVAL, "no item %s of a mock", item);
}

int mr_mock_set_body(struct mr_mock *mock, const void *body, size_t size, struct mr_error *err)
{
	if (mock->file || mock->body || mock->by_command)
		return mr_err(err, MR_E_USAGE, EINVAL, "the body is said twice");
	if (size > MR_MOCK_BODY_MAX)
		return mr_err(err, MR_E_USAGE, EFBIG,
			      "the body has %zu bytes; accepted: at most %u", size,
			      MR_MOCK_BODY_MAX);
	mock->body = mr_str_alloc(size + 1);
	memcpy(mock->body, body, size);
	mock->body_size = size;
	return 0;
}

int mr_mock_check(const struct mr_mock *mock, struct mr_error *err)
{
	const bool has_body = mock->file || mock->body_size;

	if (!mock->file && !mock->body && !mock->status && !mock->fault && !mock->by_command)
		return refuse(mock->target,
			      "no answer; accepted: @FILE, body:TEXT, exec:COMMAND, status:N or a "
			      "failure",
			      err);
	if (mock->within_ms && !mock->by_command)
		return refuse(mock->target, "within is the time that a command (exec) has", err);
	if (mock->by_command && (mock->fault == MR_FAULT_TRUNCATE || mock->fault == MR_FAULT_FLIP))
		return refuse(mock->target,
			      "truncate and flip need a body that is known; a command's is not",
			      err);
	if (has_body && mr_mock_is_bodiless(mock->status))
		return refuse(mock->target, "an answer of status 204, 205 or 304 has no body", err);
	if (!has_body && (mock->fault == MR_FAULT_TRUNCATE || mock->fault == MR_FAULT_FLIP))
		return refuse(mock->target, "truncate and flip need a body", err);
	return 0;
}

const char *mr_mock_fail_text(const struct mr_mock *mock, char buf[MR_MOCK_FAIL_SIZE])
{
	struct mr_str text;

	mr_str_init(&text, buf, MR_MOCK_FAIL_SIZE);
	if (mock->fault == MR_FAULT_STATUS)
		mr_str_printf(&text, "%u", mock->fault_status);
	else if (mock->fault)
		mr_str_add(&text, fault_names[mock->fault]);
	if (mock->fault && mock->fail_of != mock->fail_round)
		mr_str_printf(&text, ":%" PRIu32 "/%" PRIu32, mock->fail_of, mock->fail_round);
	return buf;
}

static bool is_failure(const char *word)
{
	for (size_t i = MR_FAULT_AUTH; i < N_ELEMENTS(fault_names); i++)
		if (strcmp(fault_names[i], word) == 0)
			return true;
	return false;
}

static int take_item(struct mr_mock *mock, const char *text, struct mr_error *err)
{
	size_t n = strcspn(text, ":");
	mr_auto_free char *name = mr_str_ndup(text, n);

	if (text[0] == '@')
		return set_file(mock, text + 1, err);
	if (is_failure(text))
		return set_fail(mock, text, err);
	for (size_t i = 0; text[n] && i < N_ELEMENTS(items); i++)
		if (strcmp(items[i].name, name) == 0 && strcmp(name, "file") != 0)
			return items[i].set(mock, text + n + 1, err);
	return refuse(text,
		      "unknown answer; accepted: @FILE, body:TEXT, exec:COMMAND, status:N, "
		      "header:NAME:VALUE, type:MIME, delay:TIME, within:TIME, fail:KIND[:F/R], "
		      "timeout, reset, truncate, flip, auth",
		      err);
}

int mr_mock_parse_action(struct mr_mock *mock, const char *action, struct mr_error *err)
{
	for (;;) {
		size_t n = strcspn(action, ",");
		mr_auto_free char *item = NULL;
		int r;

		/* These take the rest, commas and all. */
		if (mr_str_starts_with(action, "body:"))
			return mr_mock_set_body(mock, action + 5, strlen(action + 5), err);
		if (mr_str_starts_with(action, "exec:"))
			return set_exec(mock, action + 5, err);
		item = mr_str_ndup(action, n);
		r = take_item(mock, item, err);
		if (r < 0 || action[n] == '\0')
			return r;
		action += n + 1;
	}
}

/* Does an action begin here? */
static bool is_action(const char *text)
{
	const size_t n = strcspn(text, ":,=");
	mr_auto_free char *word = mr_str_ndup(text, n);

	if (text[0] == '@')
		return true;
	if (text[n] != ':')
		return text[n] != '=' && is_failure(word);
	for (size_t i = 0; i < N_ELEMENTS(items); i++)
		if (strcmp(items[i].name, word) == 0 && strcmp(word, "file") != 0)
			return true;
	return strcmp(word, "body") == 0;
}

static const char *find_action(const char *text)
{
	for (const char *equals = strchr(text, '='); equals; equals = strchr(equals + 1, '='))
		if (is_action(equals + 1))
			return equals;
	return strchr(text, '=');
}

int mr_mock_parse(const char *text, struct mr_mock *ret, struct mr_error *err)
{
	const char *equals = find_action(text);
	mr_auto_free char *target = NULL;
	struct mr_mock mock = { 0 };
	int r;

	if (!equals)
		return refuse(text, "no answer; accepted: TARGET=ACTION", err);
	target = mr_str_ndup(text, (size_t)(equals - text));
	r = mr_mock_parse_target(&mock, target, err);
	if (r == 0)
		r = mr_mock_parse_action(&mock, equals + 1, err);
	if (r == 0)
		r = mr_mock_check(&mock, err);
	if (r < 0) {
		mr_mock_deinit(&mock);
		return r;
	}
	*ret = mock;
	return 0;
}

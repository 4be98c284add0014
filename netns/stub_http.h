/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: HTTP/1.1 requests
 *
 * Reads one request after the other from hostile bytes and keeps of each what a canned
 * answer depends on.  Strict where leniency would let two readers see different requests:
 * lines end in CRLF, no folding, one length or one "chunked", one Host.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_buf;

#define MR_HTTP_HEAD_MAX 16384 /* request line and headers */
#define MR_HTTP_HEADERS_MAX 100
#define MR_HTTP_BODY_MAX (64u << 20)
#define MR_HTTP_TRAILERS_MAX 4096
#define MR_HTTP_HOST_MAX 255

enum mr_http_event {
	MR_HTTP_MORE, /* all was used, more is needed */
	MR_HTTP_HEAD, /* the head is whole: method and so on can be read */
	MR_HTTP_DONE, /* and so is the body */
	MR_HTTP_BAD, /* no request: status and why; nothing more can be fed */
};

enum mr_http_state {
	MR_HTTP_IN_HEAD,
	MR_HTTP_IN_BODY, /* `left` bytes */
	MR_HTTP_IN_SIZE, /* of a chunk */
	MR_HTTP_IN_EXTENSION, /* after it */
	MR_HTTP_IN_SIZE_LF,
	MR_HTTP_IN_CHUNK, /* `left` bytes */
	MR_HTTP_IN_CHUNK_CR,
	MR_HTTP_IN_CHUNK_LF,
	MR_HTTP_IN_TRAILERS,
	MR_HTTP_IS_DONE,
	MR_HTTP_IS_BAD,
};

struct mr_http {
	/* Set once, and kept by a reset: requests for another server, of which only the frames matter:
	 * any form of target and any length of a body. */
	bool relays;
	/* Likewise: gets each head as it came, and with raw_body_max the body without its framing; or
	 * NULL.  Who reads it clears it. */
	struct mr_buf *raw;

	enum mr_http_state state;
	char head[MR_HTTP_HEAD_MAX + 1];
	size_t len; /* of the head; in a chunk's line or the trailers: bytes of it so far */

	/* Once the head is whole; of a bad request what could be made out, or "". */
	const char *method;
	const char *target; /* as sent: "/path?query" */
	/* lower case, no port, no dot at its end, an IPv6 address as "[2001:db8::1]"; "" without Host */
	char host[MR_HTTP_HOST_MAX + 1];
	uint16_t port; /* of Host, or 0 */
	bool is_head; /* a HEAD: the answer has no body */
	bool keep_alive;
	bool expects_continue;
	bool has_body; /* announced, whatever its length */

	unsigned int status; /* what a bad request is answered */
	const char *why; /* constant text */

	/* private */
	bool chunked, has_length, has_host, is_11, line_has_digit, after_cr, line_empty;
	uint64_t left, body_size;
	size_t raw_body_max;
};

/* Before the first request and after each that is done. */
void mr_http_reset(struct mr_http *http);
/* Read on.  *ret_used of the n bytes were used; the event happened after them. */
enum mr_http_event mr_http_feed(struct mr_http *http, const char *data, size_t n, size_t *ret_used);
/* With the head: have the body kept, too.  False: it is larger, and then the request is bad, as it is
 * when that shows only later. */
bool mr_http_keep_body(struct mr_http *http, size_t max);
/* Has the request begun? */
bool mr_http_has_begun(const struct mr_http *http);
/* "Not Found"; "Unknown" for what has no name. */
const char *mr_http_reason(unsigned int status);

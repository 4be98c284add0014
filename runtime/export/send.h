/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Send: bodies of OTLP requests to a receiver, by HTTP
 *
 * Of menace-send only: libcurl comes with thirty shared objects.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mr_error;
struct mr_sender;

struct mr_send_opts {
	const char *endpoint; /* http or https; /v1/metrics and /v1/logs are put behind it */
	const char *const *headers; /* "Name: value" */
	size_t n_headers;
	const char *ca; /* file of certificates to trust instead of the system's; NULL: those */
	uint64_t timeout_ms; /* of one request */
	uint64_t retries; /* after the first try */
	uint64_t wait_ms; /* before the first retry; doubles, to half a minute */
};

enum mr_send_outcome {
	MR_SEND_ACCEPTED,
	MR_SEND_PARTLY, /* the receiver rejected parts, or had something to say; err says what */
	MR_SEND_REFUSED, /* this body will never be taken; err says why.  Others may be. */
};

/* Errors: MR_E_USAGE the endpoint, a header or the file of certificates is none. */
int mr_sender_new(const struct mr_send_opts *opts, struct mr_sender **ret, struct mr_error *err);
struct mr_sender *mr_sender_free(struct mr_sender *sender);

/* Post one body to endpoint/path.  Returns an outcome; negative: it could not be delivered, and
 * nothing else could be.  Retries what may be tried again: no answer, 429, 502, 503 and 504, after
 * the time that the receiver asks for.  *ret_rejected: data points or records that an outcome of
 * MR_SEND_PARTLY names, else 0. */
int mr_sender_post(struct mr_sender *sender, const char *path, const char *body, size_t size,
		   uint64_t *ret_rejected, struct mr_error *err);
/* Requests made, with the repeated ones. */
uint64_t mr_sender_requests(const struct mr_sender *sender);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: TLS with an authority of the run's own
 *
 * The authority and its keys are made in memory when the run begins and never leave it;
 * only its certificate does.  A server's certificate is made when its name is first asked
 * for and holds that name alone.  The one place that includes OpenSSL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct mr_error;
struct mr_tls;
struct mr_tls_session;

int mr_tls_new(struct mr_tls **ret, struct mr_error *err);
/* NULL is accepted, as is one with sessions left to be freed before it.  Returns NULL. */
struct mr_tls *mr_tls_free(struct mr_tls *tls);
/* The authority's certificate as PEM; borrowed. */
const char *mr_tls_ca_pem(const struct mr_tls *tls);

/* The server's side on a non-blocking socket, which stays the caller's. host: the name (or IPv4
 * address) that is certified, whatever the client asks for.  SIGPIPE must be ignored. */
int mr_tls_session_new(struct mr_tls *tls, int fd, const char *host, struct mr_tls_session **ret,
		       struct mr_error *err);
struct mr_tls_session *mr_tls_session_free(struct mr_tls_session *session);
/* 1: done; 0: when the socket is ready again; negative errno: failed, see why. */
int mr_tls_handshake(struct mr_tls_session *session);
/* As read() and write(): -EAGAIN is "when the socket is ready again". */
ssize_t mr_tls_read(struct mr_tls_session *session, void *buf, size_t size);
ssize_t mr_tls_write(struct mr_tls_session *session, const void *buf, size_t size);
/* Does the last call wait for room to write, rather than for something to read? */
bool mr_tls_wants_write(const struct mr_tls_session *session);
/* Say goodbye, if that can be done at once. */
void mr_tls_bye(struct mr_tls_session *session);
/* Of a failed call; constant text. */
const char *mr_tls_why(const struct mr_tls_session *session);

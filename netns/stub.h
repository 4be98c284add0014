/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: the responder that plays canned answers
 *
 * Is handed connections and datagrams of the sandbox and answers them from mocks: names by
 * DNS, requests by HTTP/1.1, over TLS where the client begins so.  What no mock answers is
 * refused and told.  Runs in its owner's loop, without threads; one client, whatever it does,
 * takes no more than its connection's share of memory and time.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netns/stub_dns.h"

struct mr_error;
struct mr_loop;
struct mr_mocks;
struct mr_stub;
struct mr_tls;

#define MR_STUB_CONNECTIONS_MAX 256
#define MR_STUB_ASK_BODY_MAX (256u << 10) /* of a request that a command answers */
#define MR_STUB_OUTPUT_MAX (1u << 20) /* of a command */
/* Of all connections together: bodies that wait for a command, and memory of what commands said and
 * nobody has read yet.  Beyond the first a request is refused, beyond the second none is asked for. */
#define MR_STUB_ASK_BODIES_MAX 64
#define MR_STUB_OUTPUTS_MAX (32u << 20)

/* Of one mock, in the order of the mocks; may lie in memory that another process reads. */
struct mr_stub_count {
	uint64_t hits; /* requests that it answered, failures included */
	uint64_t bytes; /* of bodies sent */
	uint64_t failures; /* injected */
	uint64_t late, late_ns; /* answers that delay_ns was for, and how late they were to be */
	uint64_t punctual; /* that it could have been for */
	uint64_t checks, drifts; /* answers that have other bodies, and those that were one */
	uint64_t unusable; /* outputs of its command that were no answer */
};

/* A request that a command is to answer; borrowed for the call. */
struct mr_stub_ask {
	uint32_t id; /* for mr_stub_output() */
	uint32_t mock; /* its place */
	bool https;
	uint16_t port;
	const char *method, *target; /* a token; printable ASCII from '/' on */
	const char *request; /* the head as it came, then the body without its framing */
	size_t head_size, body_size;
};

/* What was refused.  Texts are printable and borrowed for the call. */
struct mr_stub_denial {
	uint32_t id; /* for mr_stub_acknowledge() */
	const char *op; /* "dns", "connect", "tls", "http" */
	struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d; ::: for dns */
	uint16_t port;
	uint16_t source_port; /* of who asked; 0: not known */
	const char *name; /* of the host, or NULL */
	const char *object; /* a name, HOST:PORT, or METHOD URL */
	const char *rule;
	const char *reason;
};

struct mr_stub_opts {
	struct mr_loop *loop;
	const struct mr_mocks *mocks; /* loaded; borrowed */
	struct mr_tls *tls; /* borrowed, or NULL: no TLS is spoken */
	uint64_t delay_ns; /* before the first byte, of mocks that do not say */
	unsigned int punctual_percent; /* of their answers, those that do without the delay */
	uint64_t seed; /* of the positions of failures */
	bool without_ipv6; /* names have no such address */
	struct mr_stub_count *counts; /* mocks->n */
	/* Is the resolver to fail at this name?  Counts it. */
	bool (*fails)(void *owner, const char *name);
	/* True: it will be acknowledged, and until then who asked is not answered, so that he is
	 * still there to be looked at. */
	bool (*on_denial)(void *owner, const struct mr_stub_denial *denial);
	/* With mocks by a command: have it run.  False: not now; it is asked again after the next
	 * mr_stub_output(). */
	bool (*ask)(void *owner, const struct mr_stub_ask *ask);
	/* What a command said was no answer, and why; text, borrowed. */
	void (*on_unusable)(void *owner, uint32_t mock, const char *why);
	void *owner;
};

/* SIGPIPE must be ignored. */
int mr_stub_new(const struct mr_stub_opts *opts, struct mr_stub **ret, struct mr_error *err);
/* Resets all connections.  NULL is accepted; returns NULL. */
struct mr_stub *mr_stub_free(struct mr_stub *stub);

/* A non-blocking connection to this address (IPv4 as ::ffff:a.b.c.d) and port (host byte order);
 * takes fd. */
void mr_stub_connect(struct mr_stub *stub, int fd, const struct in6_addr *address, uint16_t port,
		     uint16_t source_port);
/* The answer to a query; its size, 0: none is to be sent.  *ret_wait: the denial to whose
 * acknowledgement the answer is to wait, which is the caller's to do; 0: none. */
size_t mr_stub_query(struct mr_stub *stub, const void *query, size_t size, uint16_t source_port,
		     uint8_t reply[MR_DNS_REPLY_MAX], uint32_t *ret_wait);
/* A denial was dealt with.  Unknown ids are nobody's. */
void mr_stub_acknowledge(struct mr_stub *stub, uint32_t id);
/* What a command said; output NULL: it gave none.  Who asked may be gone. */
void mr_stub_output(struct mr_stub *stub, uint32_t id, const char *output, size_t size);
/* Connections that are open. */
size_t mr_stub_connections(const struct mr_stub *stub);

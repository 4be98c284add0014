/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: --net stub, what its menace-netd and the supervisor say to each other
 *
 * The configuration is struct mr_stub_config, the run's faults and packed mocks (netns/mock.h).  AUTHORITY
 * comes before READY.  Numbers are in host byte order, texts end in NUL.
 */
#pragma once

#include <netinet/in.h>
#include <stdint.h>

#include "netns/mock.h"
#include "netns/netd.h"
#include "netns/stub.h"

struct mr_stub_config {
	uint64_t delay_ns, seed;
	uint64_t punctual_percent;
	uint64_t faults_size; /* bytes of texts (netns/netd_faults.h) before the mocks */
	uint64_t lanes; /* their number; behind the doors */
	uint64_t without_ipv6; /* the sandbox has none: names have no such address */
};

enum mr_stub_message {
	MR_STUB_AUTHORITY = MR_NETD_MODE_FIRST, /* struct mr_stub_authority */
	MR_STUB_DENIED, /* struct mr_stub_denied */
	MR_STUB_COUNTS, /* struct mr_stub_counts: at the end, until all mocks were told */
	MR_STUB_LOST, /* struct mr_stub_lost: the last message */
	MR_STUB_ACK, /* to menace-netd: struct mr_stub_ack */
	MR_STUB_UNUSABLE, /* struct mr_stub_unusable; one that is lost is counted still */
};

struct mr_stub_authority {
	struct mr_netd_head head;
	char pem[1536]; /* the certificate */
};

struct mr_stub_denied {
	struct mr_netd_head head;
	uint32_t id; /* for the ACK, which comes once it was looked who asked */
	struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d; ::: none */
	uint16_t port, source_port;
	char op[10];
	char rule[32];
	char name[MR_MOCK_HOST_MAX + 3]; /* "": none */
	char reason[80];
	char object[1024];
};

/* What a command said was no answer. */
struct mr_stub_unusable {
	struct mr_netd_head head;
	uint32_t mock;
	char why[200];
};

#define MR_STUB_COUNTS_MAX 24

struct mr_stub_counts {
	struct mr_netd_head head;
	uint32_t first, n;
	struct mr_stub_count counts[MR_STUB_COUNTS_MAX]; /* the rest is zero */
};

struct mr_stub_lost {
	struct mr_netd_head head;
	uint64_t denials; /* that found no room */
};

struct mr_stub_ack {
	struct mr_netd_head head;
	uint32_t id;
};

_Static_assert(sizeof(struct mr_stub_authority) <= MR_NETD_MESSAGE_MAX &&
		       sizeof(struct mr_stub_denied) <= MR_NETD_MESSAGE_MAX &&
		       sizeof(struct mr_stub_counts) <= MR_NETD_MESSAGE_MAX,
	       "a message is one message");
/* In menace-netd. */
int mr_stub_main(struct mr_netd *netd, mr_netd_confine_fn *confine, struct mr_error *err);

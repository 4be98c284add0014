/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gate: --net allowlist, what its menace-netd and the supervisor say to each other
 *
 * Addresses are 16 bytes, IPv4 as ::ffff:a.b.c.d.  Ports are in host byte order.
 */
#pragma once

#include <netinet/in.h>
#include <stdint.h>

#include "netns/netd.h"

enum mr_gate_reason {
#define GATE_REASON(name, ...) MR_GATE_##name,
#include "netns/gate_reasons.def"
#undef GATE_REASON
	MR_GATE_REASONS_,
};

/* Of the enum's value; a value beyond it is a bug of the caller's. */
struct mr_gate_reason_row {
	const char *rule, *what, *help;
};
const struct mr_gate_reason_row *mr_gate_reason(enum mr_gate_reason reason);

enum mr_gate_type {
	/* from menace-netd */
	MR_GATE_DENIED = MR_NETD_MODE_FIRST, /* struct mr_gate_denied: answered by ACK */
	MR_GATE_PIN, /* struct mr_gate_pin: answered by ACK before the name is given out */
	MR_GATE_CONNECTION, /* struct mr_gate_connection: one has ended */
	MR_GATE_TOTALS, /* struct mr_gate_totals: the last message */
	/* to menace-netd */
	MR_GATE_ACK, /* struct mr_gate_ack */
};

#define MR_GATE_NAME_SIZE 256
#define MR_GATE_PORTS_MAX 16

struct mr_gate_denied {
	struct mr_netd_head head;
	uint32_t id; /* for the ACK */
	uint16_t reason; /* enum mr_gate_reason */
	uint16_t protocol; /* IPPROTO_TCP, IPPROTO_UDP */
	uint16_t port, source_port; /* 0: not known */
	struct in6_addr address, source;
	char name[MR_GATE_NAME_SIZE]; /* asked for, or shown in a handshake; "" if none */
	char detail[80]; /* more of it: a type of record; or "" */
};

/* A name leads to an address for a while. */
struct mr_gate_pin {
	struct mr_netd_head head;
	uint32_t id;
	uint32_t ttl_s;
	struct in6_addr address;
	uint32_t n_ports; /* 0: every port */
	uint16_t ports[MR_GATE_PORTS_MAX];
	char name[MR_GATE_NAME_SIZE];
};

/* By what a connection was let through. */
enum mr_gate_checked {
	MR_GATE_CHECKED_NOTHING, /* its address was given for a name, which it showed nowhere */
	MR_GATE_CHECKED_ADDRESS, /* a rule allows the address */
	MR_GATE_CHECKED_TLS, /* by the server name of its handshake */
	MR_GATE_CHECKED_HTTP, /* by the host of each request */
	MR_GATE_CHECKED_KINDS_,
};

struct mr_gate_connection {
	struct mr_netd_head head;
	uint16_t port;
	uint16_t error; /* errno when the peer could not be reached */
	uint16_t checked; /* enum mr_gate_checked */
	struct in6_addr address;
	uint64_t out_bytes, in_bytes; /* from the sandbox, to it */
	uint64_t took_ns;
	char name[MR_GATE_NAME_SIZE];
};

struct mr_gate_totals {
	struct mr_netd_head head;
	uint64_t queries, resolved, connections, out_bytes, in_bytes;
	uint64_t open_max; /* connections at once */
	uint64_t lost; /* messages that found no room ... */
	uint64_t denied_lost; /* ... of them, denials */
};

struct mr_gate_ack {
	struct mr_netd_head head;
	uint32_t id;
	uint32_t ok;
};

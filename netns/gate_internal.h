/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of the gate, shared by gate.c (its life and its messages), gate_dns.c (names) and
 * gate_relay.c (connections)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netns/gate.h"
#include "netns/gate_policy.h"
#include "netns/netd_faults.h"
#include "runtime/base/loop.h"

/* --- gate.c ---------------------------------------------------------------------------- */

struct mr_gate_resolver;
struct mr_gate_relay;

struct mr_gate {
	struct mr_netd *netd;
	struct mr_loop *loop;
	struct mr_source channel, timer;
	struct mr_gate_policy policy;
	struct mr_netd_faults faults;
	struct mr_gate_resolver *resolver;
	struct mr_gate_relay *relay;
	struct mr_gate_totals totals;
	uint32_t last_id;
	int spare; /* a descriptor to give up where there is no other */
	bool over;
};

/* Tell the supervisor; what cannot be told in time is counted. */
void mr_gate_tell(struct mr_gate *gate, struct mr_netd_head *head, uint32_t type, uint32_t size);
/* Tell it of a denial; its id, of which the ACK says that the supervisor has looked who asked. */
uint32_t mr_gate_deny(struct mr_gate *gate, struct mr_gate_denied *denied,
		      enum mr_gate_reason reason);
/* Is this address one of the host's own? */
bool mr_gate_is_own(const struct in6_addr *address);

/* Take a connection from a door: its descriptor, or -1 when there is none now.  Where no descriptor is
 * free it is refused, and where even that fails the door rests until the next tick. */
int mr_gate_accept(struct mr_gate *gate, struct mr_source *door);

/* --- gate_dns.c, gate_relay.c ---------------------------------------------------------- */

int mr_gate_resolver_new(struct mr_gate *gate, struct mr_error *err);
void mr_gate_resolver_free(struct mr_gate *gate);
void mr_gate_resolver_ack(struct mr_gate *gate, uint32_t id);
void mr_gate_resolver_tick(struct mr_gate *gate, uint64_t now_ns);

int mr_gate_relay_new(struct mr_gate *gate, struct mr_error *err);
/* Tells of the connections that are still open. */
void mr_gate_relay_free(struct mr_gate *gate);
void mr_gate_relay_ack(struct mr_gate *gate, uint32_t id);
void mr_gate_relay_tick(struct mr_gate *gate, uint64_t now_ns);
/* Refuse an accepted connection (owned from now on) for want of room. */
void mr_gate_relay_refuse(struct mr_gate *gate, int fd);
/* Take an accepted connection (owned from now on) that may lead outside. */
void mr_gate_relay_take(struct mr_gate *gate, int fd);

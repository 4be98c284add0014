/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guard: connects of a control group that lead nowhere fail at once, and are told
 *
 * Programs on connect4, connect6, sendmsg4 and sendmsg6 of the group, run in the caller's own
 * context: what they judge is what the kernel will use, whatever becomes of the caller's memory, and they know
 * who it is.  What they refuse is ENETUNREACH.  They judge the sockets that were made in the group,
 * whoever uses them; a stream that is opened by what it sends first (MSG_FASTOPEN) is a connect.
 *
 * Not the enforcement itself (that is who answers, or does not, or that there is no way), but its
 * explanation.
 */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/ring.h"

struct mr_error;

#define MR_GUARD_PORTS_MAX 16
#define MR_GUARD_HOOKS 4

enum mr_guard_hook { MR_GUARD_CONNECT, MR_GUARD_SENDMSG, MR_GUARD_HOOK_KINDS_ };

/* What is allowed. */
enum mr_guard_kind {
	MR_GUARD_NOTHING, /* not even loopback */
	/* Loopback, and what is in the map; a datagram with an address of its own goes to loopback
	 * alone. */
	MR_GUARD_CONNECTS,
	MR_GUARD_LISTED, /* loopback, and what is in the map, by either way */
};

struct mr_guard {
	int map_fd, lost_fd; /* map_fd is -1 where nothing is allowed */
	int links[MR_GUARD_HOOKS]; /* hold the programs in place */
	struct mr_ring ring; /* ring.fd is readable when something was refused */
};
#define MR_GUARD_INIT                                                                           \
	{                                                                                       \
		.map_fd = -1, .lost_fd = -1, .links = { -1, -1, -1, -1 }, .ring = MR_RING_INIT, \
	}

/* One that was refused. */
struct mr_guard_event {
	struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d */
	uint32_t port; /* network byte order */
	uint32_t type; /* SOCK_STREAM, SOCK_DGRAM */
	uint32_t hook; /* enum mr_guard_hook */
	uint32_t pid; /* process, as the initial namespace counts */
	char comm[16];
};

/* Attach to the group.  Needs CAP_BPF and CAP_NET_ADMIN; MR_E_KERNEL where the kernel cannot. */
int mr_guard_attach(struct mr_guard *guard, enum mr_guard_kind kind, int cgroup_fd,
		    struct mr_error *err);
/* Read back from the kernel that each program hangs where it was attached: MR_E_KERNEL where one does
 * not. */
int mr_guard_verify(const struct mr_guard *guard, uint64_t cgroup_id, struct mr_error *err);
/* Allow a network (length of 128 bits) with these ports (host byte order; n 0: every port).  Of several that
 * hold an address the longest counts. */
int mr_guard_allow(struct mr_guard *guard, const struct in6_addr *address, unsigned int length,
		   const uint16_t *ports, size_t n, struct mr_error *err);
/* Hand on what was refused since the last time. */
void mr_guard_read(struct mr_guard *guard,
		   void (*take)(void *owner, const struct mr_guard_event *event), void *owner);
/* The call that a denial by this hook is told as: all that send a datagram are one. */
const char *mr_guard_call(enum mr_guard_hook hook);
/* Refused ones of which there was no room to tell, by the hook they came by. */
uint64_t mr_guard_lost(const struct mr_guard *guard, enum mr_guard_hook hook);
/* No-op for one that is not attached. */
void mr_guard_detach(struct mr_guard *guard);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doors: the sockets inside a sandbox's network namespace on which somebody outside answers
 *
 * A socket stays in the namespace it was made in, so who holds these answers the sandbox from
 * anywhere, and the sandbox has no link that leads out.
 *
 * All four are AF_INET6 sockets for both families (IPv4 shows as ::ffff:a.b.c.d), non-blocking,
 * close-on-exec, and tell where the peer wanted to go:
 *
 *   tcp       listens at a port of the kernel's choice.  With bpf/steer.h every connection to a
 *             prefix below arrives here, whatever its port; getsockname() of the accepted
 *             socket is the address and port asked for, getpeername() who asks.
 *   udp       bound likewise, for all datagrams; see mr_doors_receive().
 *   dns_tcp   listens at port 53 of all addresses, 127.0.0.53 of resolv.conf among them.
 *   dns_udp   bound to port 53 of all addresses.
 */
#pragma once

#include <netinet/in.h>
#include <stddef.h>
#include <sys/types.h>

#include "netns/anyip.h"

struct mr_error;

/* What the sandbox's resolv.conf names. */
#define MR_DOORS_RESOLVER "127.0.0.53"
#define MR_DOORS_DNS_PORT 53

/* Addresses of the loopback link beside 127.0.0.1 and ::1, so that its families count as there.  Nobody
 * is answered on them that would not be answered without, and nothing is sent from them by itself: the
 * second is in a network that no mock may name (mock.h), and no mock's. */
#define MR_DOORS_SEEN4 "127.0.0.2"
#define MR_DOORS_SEEN6 "2001:2:0:ffff::1"

enum mr_door { MR_DOOR_TCP, MR_DOOR_UDP, MR_DOOR_DNS_TCP, MR_DOOR_DNS_UDP, MR_DOORS };

struct mr_doors {
	int fds[MR_DOORS]; /* by enum mr_door; -1: closed */
	int netns_fd; /* the namespace they are in */
	unsigned int n_routes; /* prefixes made local, as the kernel shows them */
	int without_ipv6; /* 1: it is switched off, and so are prefixes of it */
};
#define MR_DOORS_INIT                                      \
	{                                                  \
		.fds = { -1, -1, -1, -1 }, .netns_fd = -1, \
	}

/* Set up in the namespace of process pid: lo up, the prefixes local, the sockets.  Enters the
 * namespace and comes home again: the calling process must be single-threaded and have
 * CAP_SYS_ADMIN.  On failure nothing is open. */
int mr_doors_open(pid_t pid, const struct mr_anyip_prefix *prefixes, size_t n, struct mr_doors *ret,
		  struct mr_error *err);
void mr_doors_close(struct mr_doors *doors);

/* One datagram from a udp door: its size (cut to size), -EAGAIN when there is none, or another negative errno.
 * *ret_from is who sent it, *ret_to the address and port it was for. */
ssize_t mr_doors_receive(int fd, void *buf, size_t size, struct sockaddr_in6 *ret_from,
			 struct sockaddr_in6 *ret_to);
/* Answer from the address a datagram was for (its port is that of the door: 53 with dns_udp).
 * 0 or negative errno. */
int mr_doors_reply(int fd, const void *buf, size_t size, const struct sockaddr_in6 *from,
		   const struct sockaddr_in6 *to);

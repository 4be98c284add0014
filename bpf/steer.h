/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steer: connections of a network namespace to a few sockets, whatever address and port they are for
 *
 * A program of type sk_lookup, attached to the namespace.  Left alone are loopback addresses, which
 * are the payload's own business, and port 53, on which a socket bound to it listens.
 */
#pragma once

#include <stdint.h>

struct mr_error;

struct mr_steer {
	int map_fd, prog_fd, link_fd; /* -1: none; the link holds it in place */
	uint32_t prog_id;
};
#define MR_STEER_INIT                                       \
	{                                                   \
		.map_fd = -1, .prog_fd = -1, .link_fd = -1, \
	}

/* New TCP connections go to tcp_fd, which listens, and datagrams to udp_fd, which is bound; both of
 * that namespace, AF_INET6 for both families.  It is in place until mr_steer_detach() or
 * the end of this process.  Needs CAP_BPF and CAP_NET_ADMIN; MR_E_KERNEL where the kernel cannot. */
int mr_steer_attach(struct mr_steer *steer, int netns_fd, int tcp_fd, int udp_fd,
		    struct mr_error *err);
/* Ask the kernel what is attached to the namespace: MR_E_KERNEL unless it is ours alone. */
int mr_steer_verify(const struct mr_steer *steer, int netns_fd, struct mr_error *err);
void mr_steer_detach(struct mr_steer *steer);

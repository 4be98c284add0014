/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose: which process of a run has a socket
 *
 * How much there is to walk through, and how often, is the payload's to choose; who looks has the
 * deadlines of the run to keep.  So a look has an end, and all looks of a supervisor together
 * have a share of each second.  What is left out is told, not guessed.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mr_cgroup;

/* Zeroed at first; one for all runs of a supervisor. */
struct mr_looks {
	uint64_t begin_ns, spent_ns; /* of this second */
};

struct mr_whose {
	int protocol; /* IPPROTO_TCP, IPPROTO_UDP */
	struct in6_addr local; /* IPv4 as ::ffff:a.b.c.d; all zero: not known */
	struct in6_addr remote; /* likewise; not for UDP */
	uint16_t local_port, remote_port;
};

struct mr_who {
	pid_t pid; /* as we see it; 0: not known */
	char comm[17];
	const char *why; /* it is not known: "its socket was closed"; NULL when it is */
	bool looked; /* time was spent */
	bool left_out; /* for want of time */
};

/* Of the run's own network namespace, of which ns_pid is a process.  Of several processes that share
 * the socket it is the first. */
void mr_whose_socket(struct mr_looks *looks, pid_t ns_pid, const struct mr_cgroup *cgroup,
		     const struct mr_whose *whose, struct mr_who *ret);

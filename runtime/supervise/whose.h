/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose: which process of a run has a socket
 */
#pragma once

#include <netinet/in.h>
#include <stdint.h>
#include <sys/types.h>

struct mr_cgroup;

struct mr_whose {
	int protocol; /* IPPROTO_TCP, IPPROTO_UDP */
	struct in6_addr remote; /* IPv4 as ::ffff:a.b.c.d; not for UDP */
	uint16_t local_port, remote_port;
};

/* Of the run's own network namespace, of which ns_pid is a process.  The pid as we see it and its
 * name; 0: the socket is closed, or no process that can be looked at has it. */
pid_t mr_whose_socket(pid_t ns_pid, const struct mr_cgroup *cgroup, const struct mr_whose *whose,
		      char ret_comm[17]);

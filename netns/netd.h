/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netd: what menace-run and its helper menace-netd agree on
 *
 * menace-netd MODE is started for one run and lives as long as it.  It is in the network namespace of
 * menace-run and holds the doors (doors.h) of the sandbox's.  Descriptors at its start:
 *
 *   3   its configuration: a sealed memory file, JSON of the mode
 *   4   the channel: a SOCK_SEQPACKET socket, one message is one struct that begins with
 *       struct mr_netd_head; its end of file means that the run is over: what the payload had sent by
 *       then is still taken in and told
 *   5.. the doors, in the order of enum mr_door
 *   then what else the mode is given, at most MR_NETD_MORE_MAX
 *
 * Its first message is READY, once it is confined.  Before that it may say FAILED.  All others are
 * the mode's own.
 */
#pragma once

#include <stdint.h>

#include "netns/doors.h"
#include "netns/drop_wire.h"
#include "runtime/base/error.h"

#define MR_NETD_PROGRAM "menace-netd"
#define MR_NETD_MESSAGE_MAX 2048

#define MR_NETD_MORE_MAX 4

enum mr_netd_fd {
	MR_NETD_FD_CONFIG = 3,
	MR_NETD_FD_CHANNEL,
	MR_NETD_FD_DOORS,
	MR_NETD_FD_MORE = MR_NETD_FD_DOORS + MR_DOORS
};

enum mr_netd_type {
	MR_NETD_READY = 1, /* struct mr_netd_ready */
	MR_NETD_FAILED, /* struct mr_netd_failed: the last message */
	MR_NETD_BEGIN, /* to the helper: struct mr_netd_begin, where there are faults or a relay */
	MR_NETD_MET, /* struct mr_netd_met: at the end, until all faults were told */
	MR_NETD_MODE_FIRST = 16, /* from here on: the mode's */
};

struct mr_netd_head {
	uint32_t type; /* enum mr_netd_type, or the mode's */
	uint32_t size; /* of the whole message */
};

struct mr_netd_ready {
	struct mr_netd_head head;
	int32_t landlock_abi; /* 0: this kernel has none */
};

/* The payload's first instruction; for a relay, a time before it at which nothing is measured any more. */
struct mr_netd_begin {
	struct mr_netd_head head;
	uint64_t begin_ns; /* CLOCK_BOOTTIME */
};

#define MR_NETD_MET_MAX 16

/* A fault of the run (netns/outage.h), as the helper had it and with what it counted of it. */
struct mr_netd_window {
	uint64_t from_ms, to_ms;
	struct mr_drop_met met;
};

struct mr_netd_met {
	struct mr_netd_head head;
	uint32_t first, n;
	struct mr_netd_window windows[MR_NETD_MET_MAX]; /* the rest is zero */
};

_Static_assert(sizeof(struct mr_netd_met) <= MR_NETD_MESSAGE_MAX, "a message is one message");

struct mr_netd_failed {
	struct mr_netd_head head;
	struct mr_error error;
};

/* In the helper.  A mode runs until the channel ends; 0, or an error that is told as FAILED. */
struct mr_netd {
	const char *config; /* NUL-terminated */
	size_t config_size;
	int channel; /* non-blocking */
	int doors[MR_DOORS]; /* owned by the mode from the start */
};
/* gate.c: --net allowlist.  `ready` is called once everything that needs rights is done: it confines the
 * process and says READY. */
typedef int mr_netd_confine_fn(struct mr_netd *netd, struct mr_error *err);
int mr_gate_main(struct mr_netd *netd, mr_netd_confine_fn *confine, struct mr_error *err);

/* From here on this process is killed when it makes a socket, binds or connects one, or moves bytes
 * between two unseen (splice). */
int mr_netd_forbid_sockets(struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sync: the protocol between the supervisor and the sandbox's side
 *
 * One SOCK_SEQPACKET pair a run.  The supervisor holds one end; the sandbox's
 * init (pid 1) and, until its exec, the payload hold the other.
 *
 *   supervisor                      init                       payload
 *      |--- MAPPED (user ns only) --->|
 *      |<-- RELAY config, device -----|  the link is delayed by a process of the supervisor's
 *      |--- SERVED ------------------>|
 *      |<-- BUILT root, pool, upper --|  root file system is up, the link shaped
 *      |                              |---- fork ----------------->|
 *      |<------------------------- READY listener, pty ------------|  confined
 *      |   verify, then 1 byte on the go pipe ------------------->|  exec
 *      |--- SIGNAL n ---------------->|-------- kill ------------->|
 *      |<-- EXITED status, rusage ----|  main process ended
 *
 * FAILED carries struct mr_error from whoever failed and is the sender's last
 * message.  Death of the peer: the supervisor sees end of file (or init's pidfd);
 * init sees end of file and exits, which ends its pid namespace and everything in it;
 * the payload waiting on the go pipe sees end of file and exits.
 */
#pragma once

#include <stdint.h>
#include <sys/resource.h>

#include "netns/emulate.h"
#include "netns/relay.h"
#include "runtime/base/error.h"

enum mr_sync_type {
	MR_SYNC_FAILED = 1,
	MR_SYNC_MAPPED,
	MR_SYNC_BUILT,
	MR_SYNC_READY,
	MR_SYNC_SIGNAL,
	MR_SYNC_EXITED,
	MR_SYNC_RELAY,
	MR_SYNC_SERVED,
	MR_SYNC_NETWORK,
};

#define MR_SYNC_MAX_STEPS 32

/* Of these init counts no more: it has other things to do. */
#define MR_SYNC_UNREAPED_MAX 4096

struct mr_sync_msg {
	uint32_t type; /* enum mr_sync_type */
	uint32_t
		fds; /* BUILT, READY, RELAY, NETWORK: mask of enum mr_sync_fd of what is attached, in order */
	union {
		struct mr_error error; /* FAILED */
		int32_t signal; /* SIGNAL */
		struct mr_relay_config relay; /* RELAY */
		struct {
			int32_t wait_status; /* as wait(2) gives it */
			struct rusage rusage; /* main process and all it and init waited for */
			int32_t unreaped; /* that had ended by then, and nobody waited for them; -1: more than
					   * MR_SYNC_UNREAPED_MAX */
		} exited;
		struct {
			uint32_t n;
			uint32_t took_ns[MR_SYNC_MAX_STEPS]; /* in the order of the child's table */
			int32_t landlock_abi; /* 0: not used */
			int32_t no_opaque; /* 1: the workspace cannot mark a folder as replaced */
			int32_t shared_inodes; /* 1: the host's files are shown as bind mounts */
			uint32_t policy_rules; /* paths of the policy that are in force ... */
			uint32_t policy_missing; /* ... and those that are not there */
			uint32_t policy_floor; /* files of the program itself */
			struct mr_emulated shape; /* of the network link */
		} built;
	};
};

enum mr_sync_fd {
	MR_SYNC_FD_ROOT = 1 << 0, /* O_PATH of the sandbox's root */
	MR_SYNC_FD_DEVICE = 1 << 0, /* in RELAY: what the relay reads and writes */
	MR_SYNC_FD_NETNS = 1 << 0, /* in NETWORK: the namespace to join */
	MR_SYNC_FD_POOL = 1 << 1, /* the file system of all writable places */
	MR_SYNC_FD_UPPER = 1 << 2, /* upper directory of the workspace */
	MR_SYNC_FD_LOWER = 1 << 3, /* the workspace as it was */
	MR_SYNC_FD_LISTENER = 1 << 4, /* seccomp notifications */
	MR_SYNC_FD_ROOT_COPY = 1 << 4, /* in BUILT: the root for a later run */
	MR_SYNC_FD_PTY = 1 << 5, /* master of the payload's terminal */
	MR_SYNC_FD_RTNL = 1 << 6, /* netlink socket of the sandbox's network namespace */
	MR_SYNC_FD_DROP_MAP = 1 << 7, /* memory of the programs that lose packets */
};

/* Send; fds in the order of the mask's bits. */
int mr_sync_send(int sock, const struct mr_sync_msg *msg, const int *fds, unsigned int n_fds);
/* Receive into *msg: 1 for a message, 0 at end of file, negative errno (-EAGAIN with
 * MSG_DONTWAIT).  fds[] gets one descriptor a bit of the mask, indexed by bit number, -1 where
 * absent; pid (may be NULL) the sender's. */
int mr_sync_recv(int sock, struct mr_sync_msg *msg, int flags, int fds[8], int *ret_pid,
		 struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notify: the supervisor's answer to calls that seccomp hands over
 *
 * A denied call gets the errno of its row and becomes a denial.  What is let
 * through is never let through because of what its arguments pointed to: the
 * payload could change that between our look and the kernel's.  Such a look only
 * decides what is recorded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/loop.h"
#include "runtime/launch/seccomp.h"
#include "runtime/supervise/denials.h"

struct mr_error;
struct mr_mocks;
struct mr_policy_path;
struct mr_recorder;
struct mr_spec;
struct seccomp_notif;
struct seccomp_notif_resp;

struct mr_notify {
	struct mr_loop *loop;
	struct mr_source source;
	int fd; /* the listener, owned */
	int root_fd; /* the sandbox's root, borrowed */
	uid_t uid; /* the payload's, outside */
	gid_t gid;
	struct mr_seccomp_policy policy;
	struct mr_denials *denials;
	pid_t payload_pid;
	bool started; /* the exec that starts the program is over */
	bool judges_paths; /* a policy is enforced that has paths: these, as they are inside */
	struct mr_policy_path *rules;
	size_t n_rules, rules_cap;
	struct mr_recorder *recorder; /* what the program uses is noted there; or NULL */
	const struct mr_mocks *mocks;
	unsigned int net_mode;
	void (*on_socket)(void *owner); /* as of the payload */
	void *socket_owner;
	/* Asked of each call that is let through once the program runs; see mr_notify_watch(). */
	bool (*on_pass)(void *owner, struct mr_notify *notify);
	void *pass_owner;
	uint64_t handled;
	struct seccomp_notif *req;
	struct seccomp_notif_resp *resp;
	size_t req_size, resp_size; /* the kernel's structs may be longer than ours */
};

/* Who the main process is, outside, and what is asked of it. */
struct mr_notify_payload {
	pid_t pid;
	uid_t uid;
	gid_t gid;
	const struct mr_spec
		*paths_of; /* Landlock enforces its policy's paths; NULL: there are none */
	struct mr_recorder *recorder; /* or NULL */
	const struct mr_mocks *mocks; /* net.mode=stub: what has a route; NULL: nothing has */
	unsigned int net_mode; /* enum mr_net_mode */
	/* Unless the network is the host's: an internet socket is about to be made, and waits until
	 * this returns.  May be NULL. */
	void (*on_socket)(void *owner);
	void *socket_owner;
};

/* Serve listener_fd (owned from now on, also on failure). */
int mr_notify_start(struct mr_notify *notify, struct mr_loop *loop, int listener_fd, int root_fd,
		    const struct mr_seccomp_policy *policy, const struct mr_notify_payload *payload,
		    struct mr_denials *denials, struct mr_error *err);
void mr_notify_stop(struct mr_notify *notify);
/* From now on on_pass is asked about each call that is let through once the program runs.  It may
 * refuse it (mr_notify_refuse), or return true: the call waits until mr_notify_release() says that
 * it goes on. */
void mr_notify_watch(struct mr_notify *notify,
		     bool (*on_pass)(void *owner, struct mr_notify *notify), void *owner);
void mr_notify_refuse(struct mr_notify *notify, int errnum);
/* The number of a call that waits is that of its notification.  Whoever is gone is no error. */
void mr_notify_release(struct mr_notify *notify, uint64_t id);

/* A denial of an address that has no route, but for what was called, where to and who did;
 * is_local: it is one that a loopback would have. */
struct mr_denial mr_notify_no_route(unsigned int net_mode, bool is_local);

/* The text of a socket address, "1.2.3.4:80" or "[::1]:80", for messages. */
void mr_notify_format_address(const void *addr, size_t len, char *buf, size_t size);

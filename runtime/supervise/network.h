/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network: what answers a run's network, where something does
 *
 * For the modes that have a row in network.c: the doors in the sandbox's namespace
 * (netns/doors.h), the program that leads its connections to them (bpf/steer.h), and the
 * menace-netd that holds them (netd.h).  What a mode says to its menace-netd and hears from it is its
 * own.  With other modes every function is a no-op, but for the end of what watches the sockets of
 * a run without a network (datagrams.h).
 */
#pragma once

#include "bpf/steer.h"
#include "netns/anyip.h"
#include "netns/doors.h"
#include "runtime/supervise/netd.h"
#include "runtime/supervise/unseen.h"

struct json_t;
struct mr_cgroup;
struct mr_error;
struct mr_limits;
struct mr_network_mode;
struct mr_run;
struct mr_stub_count;

struct mr_network {
	const struct mr_network_mode *mode;
	struct mr_doors doors; /* after the start only the namespace is still open here */
	struct mr_steer steer;
	struct mr_netd_run netd;
	struct mr_cgroup *group; /* what menace-netd is in, beside the run's; NULL: none */
	void *state; /* the mode's */
	bool verified;
	size_t config_size; /* of what begin() made, where it is no text; else 0 */
	int more[MR_NETD_MORE_MAX]; /* begin()'s own descriptors for menace-netd; closed once it has them */
	size_t n_more;
};

/* One mode.  run->network->state is what begin() leaves there. */
struct mr_network_mode {
	unsigned int net_mode; /* enum mr_net_mode */
	const char *name; /* of the mode of menace-netd, and of the member of the result ... */
	const char *member; /* ... unless that is called so */
	const struct mr_anyip_prefix *prefixes; /* what is answered for */
	size_t n_prefixes;
	/* ... or, for a mode that has none of its own, what this makes: malloc'd, their number. */
	size_t (*make_prefixes)(const struct mr_run *run, struct mr_anyip_prefix **ret);
	/* Make the state, and the configuration for menace-netd: malloc'd text. */
	int (*begin)(struct mr_run *run, char **ret_config, struct mr_error *err);
	/* menace-netd serves: what else must be true before the payload's first instruction. */
	int (*verify)(struct mr_run *run, struct mr_error *err);
	void (*on_message)(struct mr_run *run, const struct mr_netd_head *head);
	/* The payload is gone, menace-netd is not yet; or NULL. */
	void (*stop)(struct mr_run *run);
	/* All was said; menace-netd is gone. */
	void (*finish)(struct mr_run *run);
	/* The facts of the result, and of the receipt: new references. */
	struct json_t *(*to_json)(const struct mr_run *run);
	struct json_t *(*receipt)(const struct mr_run *run);
	void (*free)(struct mr_run *run);
};

/* gate.c: --net allowlist */
extern const struct mr_network_mode mr_gate_mode;
/* canned.c: --net stub */
extern const struct mr_network_mode mr_canned_mode;
/* canned.c: of the run's mocks, in their order, once all were told; else NULL. */
const struct mr_stub_count *mr_canned_counts(const struct mr_run *run, size_t *ret_n);

/* inject_mocks.c: what failure modes make of mocks whose bodies are loaded, and of how they are
 * answered. */
struct mr_mocks;
struct mr_stub_config;
bool mr_mocks_are_injected(struct mr_run *run);
void mr_inject_into_mocks(struct mr_run *run, struct mr_mocks *mocks,
			  struct mr_stub_config *config);

/* A group of its own for a helper of the run's: what that uses is not the payload's, and not without
 * end.  *ret_group stays NULL where the host has none, or where that is tolerated (and told). */
int mr_network_bound(struct mr_run *run, pid_t pid, const char *name,
		     const struct mr_limits *limits, struct mr_cgroup **ret_group,
		     struct mr_error *err);

/* It waits for a namespace without a link: the pool's, or one made while it builds the rest. */
int mr_network_give(struct mr_run *run, struct mr_error *err);
/* The sandbox's namespace is there. */
int mr_network_start(struct mr_run *run, struct mr_error *err);
/* The payload is about to start. */
int mr_network_verify(struct mr_run *run, struct mr_error *err);
/* It is gone, and menace-netd with it: remove its control group. */
int mr_network_remove_group(struct mr_run *run, struct mr_error *err);
/* It has ended. */
void mr_network_finish(struct mr_run *run);
/* What was denied in the network and is in no record, since whoever denies it did not come to its
 * end; borrows from the run. */
struct mr_unseen_part mr_network_unseen(const struct mr_run *run);
void mr_network_free(struct mr_run *run);

/* The member "network" of the result, {mode: facts}, null without; new reference. */
struct json_t *mr_network_to_json(const struct mr_run *run);
/* Add to the receipt's member "network". */
void mr_network_receipt(const struct mr_run *run, struct json_t *network);

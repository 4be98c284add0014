/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relay: the process that delays a run's packets, where the kernel does not
 *
 * A menace-netd of its own (netns/relay.h), beside the one that may answer for the network: outside
 * of the sandbox, in a control group of its own, and with the run it ends.  When it ends before,
 * the run does: its packets would go nowhere.
 */
#pragma once

#include <stdbool.h>

#include "netns/relay.h"
#include "runtime/supervise/netd.h"

struct json_t;
struct mr_cgroup;
struct mr_error;
struct mr_run;

struct mr_relay {
	bool started;
	struct mr_netd_run netd;
	struct mr_cgroup *group; /* NULL: none */
	bool counted;
	struct mr_relay_counts counts; /* what it told at its end */
};

/* The sandbox's side asks for one; the descriptor stays the caller's.  Waits until it serves, and says
 * so. */
int mr_relay_start(struct mr_run *run, const struct mr_relay_config *config, int device,
		   struct mr_error *err);
/* The payload is about to start: what was counted so far was not its. */
int mr_relay_begin(struct mr_run *run, struct mr_error *err);
/* Hear its counts, and end it.  Like all below a no-op without one. */
void mr_relay_stop(struct mr_run *run);
int mr_relay_remove_group(struct mr_run *run, struct mr_error *err);
void mr_relay_free(struct mr_run *run);
/* null without one; new reference. */
struct json_t *mr_relay_to_json(const struct mr_run *run);

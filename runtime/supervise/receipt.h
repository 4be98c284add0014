/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receipt: what is really enforced, as the kernel shows it
 *
 * Read back by the supervisor from /proc and from the control group after the
 * sandbox is set up and before the payload's first instruction.  What does not
 * match what was asked is an error, unless the spec tolerates that item by name; then it is
 * listed as degraded with the reason.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cgroups/cgroup.h"
#include "runtime/launch/caps.h"
#include "runtime/launch/launch.h"
#include "runtime/spec/spec.h"

struct json_t;
struct mr_error;

/* Reasons that are told of one item; the last of them is MR_RECEIPT_MORE. */
#define MR_RECEIPT_REASONS 4
#define MR_RECEIPT_MORE "there were more reasons than are told here"
/* Room for that many of each item of best_effort.def, and of one that no spec names: network-record. */
#define MR_RECEIPT_MAX_DEGRADED 80

struct mr_degraded {
	const char *item; /* of best_effort.def, or "network-record"; lives for ever */
	char why[200];
};

struct mr_receipt {
	uint64_t ns_made; /* mask of enum mr_ns */
	uint64_t ns_inode[MR_NS_COUNT_]; /* 0: not known */
	struct mr_caps_shown caps;
	uint32_t uid, gid; /* as the host sees the payload */
	char cgroup_path[256];
	char cgroup_note[160]; /* what a limit does not cover here, or "" */
	enum mr_cgroup_mode cgroup_mode;
	struct mr_cgroup_shown limits[8];
	size_t n_limits;
	int landlock_abi; /* 0: not in force */
	char filter_hash[65];
	unsigned int filter_length; /* instructions */
	int notified; /* denials are answered and recorded by us */
	char mounts_hash[65]; /* sha256 of the payload's mountinfo */
	unsigned int n_mounts;
	char links[128]; /* names of the network links, comma-separated */
	unsigned int n_routes;
	int built; /* what the sandbox alone shows was read */
	int complete; /* everything above was read */
	struct mr_degraded degraded[MR_RECEIPT_MAX_DEGRADED];
	size_t n_degraded;
};

/* Right after the start, while the child may still be looked at without privilege: namespaces, and what
 * the start had to do without. */
void mr_receipt_begin(struct mr_receipt *receipt, const struct mr_launched *launched);
/* Note a tolerated degradation.  One that is noted already is not noted again. */
void mr_receipt_degrade(struct mr_receipt *receipt, const char *item, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

struct mr_receipt_input {
	const struct mr_spec *spec;
	const struct mr_launched *launched;
	const struct mr_cgroup *cgroup; /* NULL: none */
	enum mr_cgroup_mode cgroup_mode;
	pid_t payload_pid; /* with the rest below of no use until it is there */
	int landlock_abi;
	int has_listener;
};
/* Read back and compare what is settled once the sandbox is built: the namespaces of its init, and
 * the limits of its group. */
int mr_receipt_built(struct mr_receipt *receipt, const struct mr_receipt_input *in,
		     struct mr_error *err);
/* After it, with the payload there: all the rest, which is about the payload itself. */
int mr_receipt_complete(struct mr_receipt *receipt, const struct mr_receipt_input *in,
			struct mr_error *err);
/* How many mounts of a mountinfo stand at "/": more than one when the host's tree is still there. */
unsigned int mr_receipt_count_roots(const char *mountinfo);
/* The member "receipt" of a result; new reference. */
struct json_t *mr_receipt_to_json(const struct mr_receipt *receipt, const struct mr_spec *spec);

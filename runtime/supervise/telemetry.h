/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telemetry: what the kernel itself saw of a run
 *
 * Observing never decides about a run: what cannot be had is null in the result, with
 * the reason.  Counters are exact; events are kept as far as there is room.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/probe.h"
#include "runtime/base/error.h"
#include "runtime/base/loop.h"
#include "runtime/spec/spec.h"

struct json_t;
struct mr_cgroup;
struct mr_run_host;
struct mr_sink;
struct mr_telemetry_host;

#define MR_TELEMETRY_EXECS_MAX 1024
#define MR_TELEMETRY_TEXT_MAX (256 * 1024) /* bytes of the names and arguments kept */
#define MR_TELEMETRY_CRASHES_MAX 32

struct mr_telemetry_exec;
struct mr_telemetry_crash;

struct mr_telemetry {
	enum mr_telemetry_level requested;
	struct mr_error why; /* code set: nothing is known, and why */
	struct mr_telemetry_host *host;
	struct mr_loop *loop;
	struct mr_probe_run probe;
	struct mr_source sources[MR_RING_COUNT_];
	struct mr_sink *sink; /* gets every event; or NULL */

	uint64_t setup_ns; /* what it cost to begin */
	bool has_counts;
	struct mr_wire_slot counts;
	uint64_t taken[MR_WIRE_TYPE_COUNT_], malformed;
	uint64_t not_kept; /* events that the sink refused */
	struct mr_telemetry_exec *execs;
	size_t n_execs, text_bytes;
	uint64_t execs_dropped;
	struct mr_telemetry_crash *crashes;
	size_t n_crashes;
};

/* What all runs of a process share. */
struct mr_telemetry_host *mr_telemetry_host_free(struct mr_telemetry_host *host);

/* Before the first process of the run is made.  cgroup NULL: there is none. */
void mr_telemetry_begin(struct mr_telemetry *t, struct mr_run_host *host,
			enum mr_telemetry_level level, const struct mr_cgroup *cgroup);
/* After the last one is gone. */
void mr_telemetry_finish(struct mr_telemetry *t);
void mr_telemetry_deinit(struct mr_telemetry *t);
/* The member "telemetry" of a result; new reference.  go_ns: when the program was let go. */
struct json_t *mr_telemetry_to_json(const struct mr_telemetry *t, uint64_t go_ns);

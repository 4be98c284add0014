/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telemetry: what the kernel itself saw of a run
 *
 * Observing never decides about a run: what cannot be had is null in the result, with
 * the reason.  Counters are exact; processes and events are kept as far as there is room,
 * and what there was no room for is counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/choice.h"
#include "bpf/probe.h"
#include "runtime/base/error.h"
#include "runtime/base/loop.h"
#include "runtime/spec/spec.h"

struct json_t;
struct mr_net_trail;
struct mr_sink;
struct mr_telemetry_host;
struct mr_trail;

struct mr_telemetry {
	enum mr_telemetry_level requested;
	struct mr_probe_choice choice;
	bool wants_net; /* the run can have sockets */
	bool has_init; /* its first process was made by somebody else */
	bool has_io; /* its control group has the block controller */
	struct mr_error why; /* code set: nothing is known, and why */
	struct mr_telemetry_host *host;
	struct mr_loop *loop;
	struct mr_probe_run probe;
	struct mr_source sources[MR_RING_COUNT_];
	struct mr_sink *sink; /* gets every event; or NULL */

	uint64_t setup_ns; /* what it cost to begin */
	uint64_t not_kept; /* events that the sink refused */
	struct mr_trail *trail; /* processes and events */
	struct mr_net_trail *net; /* names asked and connections */
	/* From the end on: */
	bool has_counts;
	struct mr_wire_slot counts;
	struct json_t *syscalls, *probes, *above; /* or NULL */
	bool all_known; /* every probe of the level was on */
	bool known[MR_COUNTER_COUNT_], knows_sched, knows_block, knows_calls, knows_dns, knows_tcp;
	uint64_t taken[MR_WIRE_TYPE_COUNT_], malformed;
	bool knows_missed;
	uint64_t
		missed; /* programs passed over while the run went on, for whatever there is on the host */
};

/* What all runs of a process share. */
struct mr_telemetry_host *mr_telemetry_host_free(struct mr_telemetry_host *host);
/* Make it, and open what runs of this level share; why that cannot be is told by the runs. */
struct mr_telemetry_host *mr_telemetry_host_new(enum mr_telemetry_level level);

/* Where the run is, and who looks. */
struct mr_telemetry_place {
	struct mr_loop *loop;
	struct mr_telemetry_host **host; /* *host is made by the first run; the caller's */
	uint64_t group_id; /* in the v2 hierarchy */
	int group_fd; /* its folder, borrowed; -1: there is none */
	bool has_init; /* process 1 of the run is there already, made by somebody else: it is not
			* observed */
	const struct mr_error *why; /* why there is no group; NULL: a run may have none */
};
/* Before the first process of the run is made, or, with has_init, before that makes another. */
void mr_telemetry_begin(struct mr_telemetry *t, const struct mr_telemetry_place *place,
			const struct mr_spec *spec);
/* Take what the kernel has ready now; by itself it is taken when much is there, and at the end. */
void mr_telemetry_read(struct mr_telemetry *t);
/* After the last one is gone. */
void mr_telemetry_finish(struct mr_telemetry *t);
void mr_telemetry_deinit(struct mr_telemetry *t);
/* The member "telemetry" of a result; new reference. */
struct json_t *mr_telemetry_to_json(const struct mr_telemetry *t);

/* The name of a system call, or its number as text; new reference. */
struct json_t *mr_syscall_json(unsigned int nr);

/* telemetry_json.c: what is only known while the run is observed. */
void mr_telemetry_note_facts(struct mr_telemetry *t);

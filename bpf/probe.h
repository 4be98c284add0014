/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probe: have a run observed
 *
 *   struct mr_probes      the pinned set, opened once for each process of ours
 *   struct mr_probe_run   one run: a slot of the set
 *
 * A run begins before its first process is made and ends when the last is gone.  Its
 * counters are exact from the first instruction on; what could not be handed over as an
 * event is counted as lost.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/pins.h"
#include "bpf/ring.h"
#include "bpf/wire.h"

struct mr_event;
struct mr_probes;

/* Open the set with everything up to the level but hooks of control groups; when it is not there, the
 * loader makes it, with these rows (a bit each) beside.  An error says why nothing can be observed here. */
int mr_probes_open(enum mr_probe_level level, uint64_t wanted, struct mr_probes **ret,
		   struct mr_error *err);
/* What was mapped stays so until the process ends: unmapping can cost more than a run. */
struct mr_probes *mr_probes_free(struct mr_probes *probes);
/* Have these rows tried, whatever their level; those of the level are, but hooks. */
int mr_probes_need(struct mr_probes *probes, uint64_t wanted, struct mr_error *err);
/* What the loader found of a row of probes.def; borrowed. */
const struct mr_wire_probe *mr_probes_state(const struct mr_probes *probes, size_t row);
/* Take away what runs whose supervisor died left in the maps; the number of them. */
unsigned int mr_probes_sweep(struct mr_probes *probes);

/* A slot as we see it; mapped when this process first uses it, and then kept. */
struct mr_probe_view {
	struct mr_ring rings[MR_RING_COUNT_];
	uint64_t *calls; /* live outcomes of system calls; NULL: never wanted */
};

struct mr_probe_run {
	struct mr_probes *probes; /* NULL: not observed */
	struct mr_probe_view *view;
	unsigned int slot;
	int lock_fd;
	uint64_t generation;
	uint64_t rows; /* of probes.def that look at it */
	int links[MR_WIRE_PROBES_MAX]; /* of programs attached for this run alone; -1: none */
	int errnums[MR_WIRE_PROBES_MAX]; /* why such a program could not be attached; 0: it is, or
					  * was not wanted */
	uint64_t taken[MR_WIRE_TYPE_COUNT_]; /* events handed over */
	uint64_t malformed; /* records that were none of ours */
	bool knows_missed;
	uint64_t missed_before; /* how often its programs had been passed over when it began */
};
/* An empty one. */
void mr_probe_run_init(struct mr_probe_run *run);

struct mr_probe_group {
	uint64_t id;
	int fd; /* its directory */
	bool wants_net; /* it can have sockets: attach what looks at them */
	bool has_io; /* it has a block controller */
	bool has_init; /* not empty: process 1 of the run's own namespace is there, and is not of it */
	uint64_t rows; /* of probes.def that are wanted; hooks only where it can have sockets */
};

/* Observe a control group that is still empty, or has_init.  -ESTALE: the set was purged; open it again. */
int mr_probe_run_begin(struct mr_probes *probes, const struct mr_probe_group *group,
		       struct mr_probe_run *run, struct mr_error *err);
/* Is the fact that rows of this name stand for known of this run? */
bool mr_probe_run_knows(const struct mr_probe_run *run, const char *name);
/* Hand over the events there are. */
void mr_probe_run_read(struct mr_probe_run *run,
		       void (*take)(void *owner, const struct mr_event *event), void *owner);
/* What is counted of it so far. */
int mr_probe_run_counts(const struct mr_probe_run *run, struct mr_wire_slot *ret,
			struct mr_error *err);
/* How often the kernel passed a program over that looks at this run, since that began, whoever it would
 * have been run for.  false: not known. */
bool mr_probe_run_missed(const struct mr_probe_run *run, uint64_t *ret);
/* Stop; no-op for a run that is not observed. */
void mr_probe_run_end(struct mr_probe_run *run);

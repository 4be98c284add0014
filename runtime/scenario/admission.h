/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission: what may run at once under a cap
 *
 * A load is what its sandboxes may use at most: processors, memory, processes.
 * Loads are let in while their sum stays under the cap.  One that is over the cap
 * by itself is let in alone, or it would wait for ever.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;
struct mr_error;

struct mr_load {
	uint64_t cpus; /* thousandths */
	uint64_t memory; /* bytes */
	uint64_t pids;
};

struct mr_admission {
	struct mr_load cap, used;
	size_t n; /* loads that are in */
	struct mr_load peak; /* the largest sums there were */
};

/* By what this host has: its processors (or as many as jobs), four fifths of the memory that is
 * available, half of its process ids. */
int mr_admission_host_cap(size_t jobs, struct mr_load *ret, struct mr_error *err);
/* Of one sandbox, by its request: the knobs limits.cpus (one processor if unlimited), memory_max_bytes
 * and pids_max; what is unlimited is the cap's. */
int mr_admission_load(const struct json_t *spec, const struct mr_load *cap, struct mr_load *ret,
		      struct mr_error *err);
struct mr_load mr_admission_times(const struct mr_load *load, uint64_t copies);
/* How many copies of a load fit in at once, by memory and processes; at least 1.  Processors do
 * not count: that copies compete for them is what copies are for. */
uint64_t mr_admission_fit(const struct mr_load *load, const struct mr_load *cap);
/* Let it in, if it may. */
bool mr_admission_enter(struct mr_admission *admission, const struct mr_load *load);
void mr_admission_leave(struct mr_admission *admission, const struct mr_load *load);

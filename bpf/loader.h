/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loader: programs into the kernel, pinned for all later runs
 *
 * For the executable menace-probe-load alone, which menace-run starts when what it wants
 * is not there yet.  A probe that the kernel refuses is noted in the matrix with its errno; only
 * what makes all of it impossible is an error.
 */
#pragma once

#include <stdint.h>

#include "bpf/choice.h"

/* Make this build's set with everything up to the level and what else is chosen, unless it is
 * there.  Any number may do
 * this at one moment; each may be killed at any. */
int mr_loader_load(const struct mr_probe_choice *choice, struct mr_error *err);
/* Hand on each control group that this build's set observes at present; their number, 0 also
 * when there is no set. */
int mr_loader_entries(void (*take)(void *owner, uint64_t cgroup_id), void *owner,
		      struct mr_error *err);
/* Gets OBJECT/PROGRAM, how many instructions the verifier walked through (0: this kernel does not
 * tell) and how often the program was not run because it was running on that processor. */
struct mr_loader_programs {
	void (*take)(void *owner, const char *name, uint32_t verified, uint64_t missed);
	void *owner;
};
/* Hand on each program of this build's set; none when there is no set. */
int mr_loader_programs(const struct mr_loader_programs *to, struct mr_error *err);
/* Remove every set that no run uses and none has used for this long: programs, links and maps.  The
 * number of sets removed; *ret_left gets the number of those that are left. */
int mr_loader_purge(uint64_t idle_s, int *ret_left, struct mr_error *err);

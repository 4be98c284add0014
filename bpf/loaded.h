/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded: what of this build's set is in the kernel
 *
 * For the executable menace-probe-load alone.
 */
#pragma once

#include <stdint.h>

struct mr_error;

/* Hand on each control group that this build's set observes at present; their number, 0 also
 * when there is no set. */
int mr_loaded_entries(void (*take)(void *owner, uint64_t cgroup_id), void *owner,
		      struct mr_error *err);
/* Gets OBJECT/PROGRAM, how many instructions the verifier walked through (0: this kernel does not
 * tell) and how often the program was not run because it was running on that processor. */
struct mr_loaded_programs {
	void (*take)(void *owner, const char *name, uint32_t verified, uint64_t missed);
	void *owner;
};
/* Hand on each program of this build's set; none when there is no set. */
int mr_loaded_programs(const struct mr_loaded_programs *to, struct mr_error *err);

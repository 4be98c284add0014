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
/* Remove every set that no run uses and none has used for this long: programs, links and maps.  The
 * number of sets removed; *ret_left gets the number of those that are left. */
int mr_loader_purge(uint64_t idle_s, int *ret_left, struct mr_error *err);

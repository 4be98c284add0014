/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choice: which of the probes a run wants
 */
#pragma once

#include <stdint.h>

#include "bpf/pins.h"

/* A level, and of the rows of probes.def (a bit each) those that are wanted, whatever their
 * level. */
struct mr_probe_choice {
	enum mr_probe_level level;
	uint64_t rows;
	uint64_t on; /* of these, those that are named */
	uint64_t off; /* of the level's, those that are switched off */
};

/* Rows of hooks of control groups: of use for runs with a network alone, and loaded with the first. */
uint64_t mr_probe_hooks(void);
/* switches: "+NAME" and "-NAME" with commas between, in any order, or "".
 * MR_E_USAGE for a name that is unknown (with a hint) or there twice. */
int mr_probe_choose(enum mr_probe_level level, const char *switches, struct mr_probe_choice *ret,
		    struct mr_error *err);

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
	uint64_t off; /* of the level's, those that are switched off */
};

/* switches: "+NAME" and "-NAME" with commas between, in any order, or "".
 * MR_E_USAGE for a name that is unknown (with a hint) or there twice. */
int mr_probe_choose(enum mr_probe_level level, const char *switches, struct mr_probe_choice *ret,
		    struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start the loader, an executable of its own beside us
 */
#pragma once

#include <stdint.h>

#include "bpf/pins.h"

/* Run menace-probe-load and wait for it; switches as for mr_probe_choose(). */
int mr_start_loader(enum mr_probe_level level, const char *switches, struct mr_error *err);
/* Have it remove every set that no run uses and none has used for idle_s. */
int mr_start_purge(uint64_t idle_s, uint64_t *ret_removed, uint64_t *ret_left,
		   struct mr_error *err);

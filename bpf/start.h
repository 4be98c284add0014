/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start the loader, an executable of its own beside us
 */
#pragma once

#include "bpf/pins.h"

/* Run menace-probe-load and wait for it. */
int mr_start_loader(enum mr_probe_level level, struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patience: how long the product waits for something, and how often it looks
 *
 * All of them are rows of patience.def.  A build with MENACE_TEST_BUILD multiplies each by the
 * percentage in MENACE_PATIENCE_SCALE (1 to 100000), which is read once: a slow machine is given more,
 * and a test of a time-out less.  Other builds do not look at it: nobody's environment changes what
 * is shipped.
 */
#pragma once

#include <stdint.h>

enum mr_patience {
#define PATIENCE(name, value, unit, why) MR_PATIENCE_##name,
#include "runtime/base/patience.def"
#undef PATIENCE
	MR_PATIENCE_COUNT_
};

uint64_t mr_patience_ns(enum mr_patience which);
/* In whole units, rounded up: never 0. */
uint64_t mr_patience_ms(enum mr_patience which);
uint64_t mr_patience_s(enum mr_patience which);

#define MR_PATIENCE_NS(name) mr_patience_ns(MR_PATIENCE_##name)
#define MR_PATIENCE_MS(name) mr_patience_ms(MR_PATIENCE_##name)
#define MR_PATIENCE_S(name) mr_patience_s(MR_PATIENCE_##name)

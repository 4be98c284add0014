/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TSC: how fast this processor's time stamp counter is
 *
 * An emulated machine shows its guest this very counter.  A guest's kernel that is not told its rate
 * measures it by timers that are emulated, too, for a tenth of a second and more.
 */
#pragma once

#include <stdint.h>

struct mr_tsc_mark {
	uint64_t ticks, ns; /* at one instant; ticks 0: this processor has none */
};

void mr_tsc_mark(struct mr_tsc_mark *ret);
/* By two marks: kHz.  0: they are too near to each other to tell it to 100 in a million, or make no sense. */
uint64_t mr_tsc_khz(const struct mr_tsc_mark *begin, const struct mr_tsc_mark *end);

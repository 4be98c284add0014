/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock: was the time of day set meanwhile?
 *
 * The kernel speeds up and slows down all its clocks alike, so that the time of day less the time since
 * boot only changes when somebody sets the clock.  Two clocks cannot be read at one instant:
 * by how much they may be apart is part of a reading.
 */
#pragma once

#include <stdint.h>

struct mr_clock_reading {
	int64_t offset_ns; /* CLOCK_REALTIME less CLOCK_BOOTTIME */
	int64_t doubt_ns; /* off at most so much, to either side */
};

void mr_clock_read(struct mr_clock_reading *ret);
/* By how much the clock was set forward between two readings; below 0: back; 0: by no more than they may
 * be off. */
int64_t mr_clock_skew_ns(const struct mr_clock_reading *from, const struct mr_clock_reading *to);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock
 *
 * The time of day lies between two readings of the time since boot; of a few tries the one is taken
 * that was not interrupted.
 */
#include "runtime/base/clock.h"

#include <stdlib.h>
#include <time.h>

#define TRIES 4
#define GOOD_NS 1000

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static void read_once(struct mr_clock_reading *ret)
{
	int64_t before = now_ns(CLOCK_BOOTTIME), real = now_ns(CLOCK_REALTIME);
	int64_t after = now_ns(CLOCK_BOOTTIME);

	ret->offset_ns = real - (before + (after - before) / 2);
	ret->doubt_ns = (after - before) / 2 + 1;
}

void mr_clock_read(struct mr_clock_reading *ret)
{
	struct mr_clock_reading next;

	read_once(ret);
	for (int i = 1; i < TRIES && ret->doubt_ns > GOOD_NS; i++) {
		read_once(&next);
		if (next.doubt_ns < ret->doubt_ns)
			*ret = next;
	}
}

int64_t mr_clock_skew_ns(const struct mr_clock_reading *from, const struct mr_clock_reading *to)
{
	int64_t skew = to->offset_ns - from->offset_ns;

	return llabs(skew) <= from->doubt_ns + to->doubt_ns ? 0 : skew;
}

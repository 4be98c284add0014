/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock
 *
 * The time of day lies between two readings of the time since boot; of a few tries the one is taken
 * that was not interrupted.
 */
#include "runtime/base/clock.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/base/error.h"

#define TRIES 4
#define GOOD_NS 1000
#define MS UINT64_C(1000000)

static const struct mr_clock_hook *hook; /* a unit test's */

uint64_t mr_clock_ns(enum mr_clock clock)
{
	static const clockid_t ids[] = {
		[MR_CLOCK_BOOT] = CLOCK_BOOTTIME,
		[MR_CLOCK_MONOTONIC] = CLOCK_MONOTONIC,
		[MR_CLOCK_REAL] = CLOCK_REALTIME,
		[MR_CLOCK_PROCESS_CPU] = CLOCK_PROCESS_CPUTIME_ID,
		[MR_CLOCK_THREAD_CPU] = CLOCK_THREAD_CPUTIME_ID,
	};
	struct timespec ts;

	if (hook)
		return hook->read(clock);
	mr_assert(clock_gettime(ids[clock], &ts) == 0);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t mr_now_ns(void)
{
	return mr_clock_ns(MR_CLOCK_BOOT);
}

int64_t mr_clock_real_us(void)
{
	return (int64_t)(mr_clock_ns(MR_CLOCK_REAL) / 1000);
}

/* Rounded up, for who is back too early looks again and again. */
static int ms_until(uint64_t until_ns)
{
	const uint64_t now = mr_now_ns();
	const uint64_t left_ms = until_ns > now ? (until_ns - now) / MS + 1 : 0;

	if (until_ns == UINT64_MAX)
		return -1;
	return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

int mr_clock_poll(struct pollfd *fds, nfds_t n, uint64_t until_ns)
{
	int r = poll(fds, n, hook ? 0 : ms_until(until_ns));

	if (r == 0 && hook)
		r = poll(fds, n, hook->pass(until_ns));
	return r;
}

void mr_clock_sleep(uint64_t until_ns)
{
	while (mr_now_ns() < until_ns)
		if (mr_clock_poll(NULL, 0, until_ns) < 0 && errno != EINTR)
			return;
}

void mr_clock_set_hook(const struct mr_clock_hook *new_hook)
{
	hook = new_hook;
}

const struct mr_clock_hook *mr_clock_hook(void)
{
	return hook;
}

static void read_once(struct mr_clock_reading *ret)
{
	const int64_t before = (int64_t)mr_clock_ns(MR_CLOCK_BOOT);
	const int64_t real = (int64_t)mr_clock_ns(MR_CLOCK_REAL);
	const int64_t after = (int64_t)mr_clock_ns(MR_CLOCK_BOOT);

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

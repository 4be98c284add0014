/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TSC
 *
 * The counter is read between two readings of a clock that nobody sets; of some such triples the
 * one whose readings are nearest to each other is taken, as nothing came between them.
 */
#include "runtime/backend/qemu_tsc.h"
#include "runtime/base/clock.h"

#define TRIES 8
#define SPAN_LEAST_NS 2000000 /* readings are off by less than 100 ns each */
#define KHZ_LEAST 100000
#define KHZ_MOST 20000000

static uint64_t read_counter(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	return 0;
#endif
}

void mr_tsc_mark(struct mr_tsc_mark *ret)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		const uint64_t before = mr_now_ns(), ticks = read_counter(), after = mr_now_ns();

		if (after - before >= least)
			continue;
		least = after - before;
		*ret = (struct mr_tsc_mark){ ticks, before + least / 2 };
	}
}

uint64_t mr_tsc_khz(const struct mr_tsc_mark *begin, const struct mr_tsc_mark *end)
{
	uint64_t ticks, ns, khz;

	if (begin->ticks == 0 || end->ticks <= begin->ticks || end->ns < begin->ns + SPAN_LEAST_NS)
		return 0;
	ticks = end->ticks - begin->ticks;
	ns = end->ns - begin->ns;
	if (ticks > UINT64_MAX / 1000000)
		return 0;
	khz = ticks * 1000000 / ns;
	return khz < KHZ_LEAST || khz > KHZ_MOST ? 0 : khz;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patience
 *
 * A table of constants; what a test build multiplies them by is read at the first use.
 */
#include "runtime/base/patience.h"

#ifdef MENACE_TEST_BUILD
#include <stdlib.h>

#include "runtime/base/error.h"
#include "runtime/base/units.h"
#endif

#define NS UINT64_C(1)
#define US (1000 * NS)
#define MS (1000 * US)
#define S (1000 * MS)

static const uint64_t table[MR_PATIENCE_COUNT_] = {
#define PATIENCE(name, value, unit, why) [MR_PATIENCE_##name] = (value)*unit,
#include "runtime/base/patience.def"
#undef PATIENCE
};

#ifdef MENACE_TEST_BUILD

#define SCALE_VARIABLE "MENACE_PATIENCE_SCALE"
#define SCALE_MAX 100000

static uint64_t read_scale(void)
{
	const char *text = getenv(SCALE_VARIABLE);
	struct mr_error err = MR_ERROR_INIT;
	uint64_t percent = 100;

	/* A test that asks for nonsense must not pass with the ordinary times. */
	mr_assert(!text || mr_units_parse_count(text, &percent, &err) == 0);
	mr_assert(percent >= 1 && percent <= SCALE_MAX);
	return percent;
}

uint64_t mr_patience_ns(enum mr_patience which)
{
	static uint64_t percent;

	if (percent == 0)
		percent = read_scale();
	return (table[which] * percent + 99) / 100;
}

#else

uint64_t mr_patience_ns(enum mr_patience which)
{
	return table[which];
}

#endif

uint64_t mr_patience_ms(enum mr_patience which)
{
	return (mr_patience_ns(which) + MS - 1) / MS;
}

uint64_t mr_patience_s(enum mr_patience which)
{
	return (mr_patience_ns(which) + S - 1) / S;
}

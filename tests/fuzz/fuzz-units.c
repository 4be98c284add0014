/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: every unit grammar
 *
 * Holds: the result is untouched or within its bounds, a refusal carries a
 * printable message, and what is printed is read back to the same value.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"

#define UNTOUCHED UINT64_C(0xfeedfacefeedface)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int seconds(const char *text, uint64_t *ret, struct mr_error *err)
{
	return mr_units_parse_timespan(text, true, ret, err);
}

static int milliseconds(const char *text, uint64_t *ret, struct mr_error *err)
{
	return mr_units_parse_timespan(text, false, ret, err);
}

static int flag(const char *text, uint64_t *ret, struct mr_error *err)
{
	bool value = false;
	int r = mr_units_parse_flag(text, &value, err);

	if (r == 0)
		*ret = value;
	return r;
}

static const struct grammar {
	int (*parse)(const char *text, uint64_t *ret, struct mr_error *err);
	uint64_t max;
	const char *(*print)(char *buf, uint64_t value); /* NULL: not read back */
} grammars[] = {
	{ mr_units_parse_size, INT64_MAX, mr_units_print_size },
	{ seconds, INT64_MAX, mr_units_print_timespan },
	{ milliseconds, INT64_MAX, mr_units_print_timespan },
	{ mr_units_parse_bandwidth, UINT64_C(10000000000), NULL },
	{ mr_units_parse_count, INT64_MAX, NULL },
	{ mr_units_parse_milli, INT64_MAX, mr_units_print_milli },
	{ mr_units_parse_percent, 1000000, NULL },
	{ mr_units_parse_id, UINT32_MAX - 1, NULL },
	{ flag, 1, NULL },
};

static void check(const struct grammar *grammar, const char *text)
{
	struct mr_error err = MR_ERROR_INIT;
	uint64_t value = UNTOUCHED;
	uint64_t again = UNTOUCHED;
	char buf[MR_UNITS_SIZE];

	if (grammar->parse(text, &value, &err) < 0) {
		mr_assert(value == UNTOUCHED && err.code == MR_E_USAGE && err.msg[0] == '"');
		for (const char *p = err.msg; *p; p++)
			mr_assert(*p >= 0x20 && *p < 0x7f);
		return;
	}
	mr_assert(value <= grammar->max);
	mr_units_human_size(buf, value);
	mr_units_human_time(buf, value);
	if (!grammar->print)
		return;
	mr_assert(grammar->parse(grammar->print(buf, value), &again, &err) == 0);
	mr_assert(again == value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	mr_auto_free char *text = mr_str_alloc(size + 1);

	if (size > 0)
		memcpy(text, data, size);
	for (size_t i = 0; i < N_ELEMENTS(grammars); i++)
		check(&grammars[i], text);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the text of a fault of the link
 *
 * Holds: a refusal is a printable usage error, and what was accepted is printed in a form that is read
 * as the same and whose times are in order.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netns/outage.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	mr_auto_free char *text = mr_str_ndup((const char *)data, size);
	mr_auto_free char *first = NULL, *second = NULL;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_outage outage, again;

	if (mr_outage_parse(text, &outage, &err) < 0) {
		mr_assert(err.code == MR_E_USAGE && err.msg[0]);
		for (const char *p = err.msg; *p; p++)
			mr_assert(*p >= 0x20 && *p < 0x7f);
		return 0;
	}
	mr_assert(outage.from_ms < outage.to_ms && outage.n_hosts <= MR_OUTAGE_HOSTS_MAX);
	mr_assert(outage.from_ms <= MR_OUTAGE_TIME_MAX_MS);
	first = mr_outage_print(&outage);
	mr_assert(mr_outage_parse(first, &again, &err) == 0);
	second = mr_outage_print(&again);
	mr_assert(strcmp(first, second) == 0);
	return 0;
}

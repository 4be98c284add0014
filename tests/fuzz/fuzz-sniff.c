/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the first bytes of a connection, TLS or HTTP or neither
 *
 * Holds: a name is one of a host or an address, what is complete stays what it is when more
 * follows, and what is not complete is no verdict yet.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netns/sniff.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[MR_RULE_NAME_MAX + 1], longer[MR_RULE_NAME_MAX + 1];
	mr_auto_free uint8_t *more = malloc(size + 8);
	enum mr_sniff kind = mr_sniff(data, size, name);

	mr_assert(more && kind <= MR_SNIFF_HTTP_MALFORMED);
	mr_assert(strlen(name) <= MR_RULE_NAME_MAX);
	if (kind == MR_SNIFF_MORE || kind == MR_SNIFF_OTHER || kind == MR_SNIFF_TLS_NO_NAME)
		mr_assert(name[0] == '\0');
	if (kind == MR_SNIFF_TLS)
		mr_assert(name[0] != '\0');
	/* Nobody gets another verdict by sending more in one piece. */
	memcpy(more, data, size);
	memset(more + size, 'x', 8);
	if (kind != MR_SNIFF_MORE && kind != MR_SNIFF_TLS_MALFORMED)
		mr_assert(mr_sniff(more, size + 8, longer) == kind && strcmp(name, longer) == 0);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the first bytes of a connection, TLS or HTTP or neither
 *
 * Holds: a name is one of a host or an address, what is complete stays what it is when more
 * follows, and what is not complete is no verdict yet.  As requests on one connection the bytes have the
 * same heads in the same places, in one piece or in many.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "netns/gate_http.h"
#include "netns/sniff.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct heads {
	size_t n, ends; /* how many, and the sum of where they end */
	bool bad;
};

static struct heads read_heads(const uint8_t *data, size_t size, size_t step)
{
	static struct mr_gate_http h;
	struct heads heads = { 0 };
	size_t at = 0, there = step < size ? step : size;

	h = (struct mr_gate_http){ 0 };
	while (at < there && !heads.bad) {
		char name[MR_RULE_NAME_MAX + 1];
		enum mr_sniff kind = MR_SNIFF_MORE;
		size_t used;
		enum mr_gate_frame frame =
			mr_gate_http_feed(&h, data + at, there - at, &used, &kind, name);

		mr_assert(used <= there - at);
		at += used;
		heads.bad = frame == MR_GATE_FRAME_BAD;
		if (frame == MR_GATE_FRAME_HEAD) {
			mr_assert(used > 0 && name[0] != '\0');
			heads.n++;
			heads.ends += at;
		}
		if (frame == MR_GATE_FRAME_MORE && there == size)
			break;
		if (frame == MR_GATE_FRAME_MORE || at == there)
			there = there + step < size ? there + step : size;
	}
	return heads;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[MR_RULE_NAME_MAX + 1], longer[MR_RULE_NAME_MAX + 1];
	mr_auto_free uint8_t *more = malloc(size + 8);
	enum mr_sniff kind = mr_sniff(data, size, name);
	const struct heads whole = read_heads(data, size, size), pieces = read_heads(data, size, 7);

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
	mr_assert(whole.n == pieces.n && whole.ends == pieces.ends && whole.bad == pieces.bad);
	return 0;
}

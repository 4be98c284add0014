/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the requests a responder reads
 *
 * Holds: where a request ends, and what it is, does not depend on the pieces it comes in; of
 * a bad one the status is an error's; and no more is used than was given.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "netns/stub_http.h"
#include "runtime/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
	enum mr_http_event event;
	size_t used;
	unsigned int status;
};

static struct outcome read_one(struct mr_http *http, const char *data, size_t size, size_t piece)
{
	struct outcome out = { .event = MR_HTTP_MORE };

	mr_http_reset(http);
	while (out.event != MR_HTTP_DONE && out.event != MR_HTTP_BAD &&
	       (out.used < size || out.event == MR_HTTP_HEAD)) {
		const size_t n = size - out.used < piece ? size - out.used : piece;
		size_t used;

		out.event = mr_http_feed(http, data + out.used, n, &used);
		mr_assert(used <= n && (out.event != MR_HTTP_MORE || used == n));
		out.used += used;
	}
	out.status = http->status;
	mr_assert(out.event != MR_HTTP_BAD || (out.status >= 400 && out.status <= 599));
	return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mr_http whole, pieces;
	const char *text = (const char *)data;

	for (size_t at = 0; at < size;) {
		const struct outcome a = read_one(&whole, text + at, size - at, size);
		const struct outcome b = read_one(&pieces, text + at, size - at, 1 + at % 7);

		mr_assert(a.event == b.event && a.used == b.used && a.status == b.status);
		mr_assert(strcmp(whole.host, pieces.host) == 0);
		if (a.event != MR_HTTP_DONE)
			break;
		mr_assert(strcmp(whole.method, pieces.method) == 0 && whole.method[0]);
		mr_assert(strcmp(whole.target, pieces.target) == 0 && whole.target[0] == '/');
		at += a.used;
	}
	return 0;
}

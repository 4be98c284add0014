/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of an engine, in pieces whose size is the first byte: what is passed on does not depend on
 * the cuts, and is no more than what came. */
#include <stddef.h>
#include <stdint.h>

#include "runtime/backend/docker_stream.h"
#include "runtime/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct heard {
	uint64_t n, sum;
};

static void hear(void *owner, enum mr_docker_channel channel, const char *buf, size_t n)
{
	struct heard *heard = owner;

	for (size_t i = 0; i < n; i++)
		heard->sum = heard->sum * 31 + (unsigned char)buf[i] + (uint64_t)channel;
	heard->n += n;
}

static int feed(const uint8_t *data, size_t size, size_t piece, struct heard *heard)
{
	struct mr_docker_stream stream = { .on_bytes = hear, .owner = heard };
	struct mr_error err = MR_ERROR_INIT;
	int r = 0;

	for (size_t at = 0; at < size && r == 0; at += piece)
		r = mr_docker_stream_feed(&stream, (const char *)data + at,
					  size - at < piece ? size - at : piece, &err);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heard whole = { 0 }, cut = { 0 };
	int a, b;

	if (size < 2)
		return 0;
	a = feed(data + 1, size - 1, size, &whole);
	b = feed(data + 1, size - 1, (size_t)data[0] + 1, &cut);
	mr_assert(a == b && whole.n == cut.n && whole.sum == cut.sum && whole.n < size);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, stream
 *
 * Either a header is being gathered (left is 0) or bytes of a frame are (n_header is 8).
 */
#include "runtime/backend/docker_stream.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/error.h"

/* What is missing of the header, or as much as there is. */
static size_t take_header(struct mr_docker_stream *s, const char *buf, size_t n)
{
	const size_t missing = sizeof(s->header) - s->n_header;
	const size_t taken = n < missing ? n : missing;

	memcpy(s->header + s->n_header, buf, taken);
	s->n_header += taken;
	return taken;
}

static int read_header(struct mr_docker_stream *s, struct mr_error *err)
{
	const unsigned char *h = s->header;

	if (h[0] >= MR_DOCKER_CHANNELS_ || h[1] || h[2] || h[3])
		return mr_err(err, MR_E_PROTO, EPROTO,
			      "the engine's output stream has a frame that begins with "
			      "%02x%02x%02x%02x",
			      h[0], h[1], h[2], h[3]);
	s->channel = (enum mr_docker_channel)h[0];
	s->left = (uint64_t)h[4] << 24 | (uint64_t)h[5] << 16 | (uint64_t)h[6] << 8 | h[7];
	if (s->left == 0)
		s->n_header = 0;
	return 0;
}

static size_t take_bytes(struct mr_docker_stream *s, const char *buf, size_t n)
{
	const size_t taken = n < s->left ? n : (size_t)s->left;

	s->on_bytes(s->owner, s->channel, buf, taken);
	s->left -= taken;
	if (s->left == 0)
		s->n_header = 0;
	return taken;
}

int mr_docker_stream_feed(struct mr_docker_stream *s, const char *buf, size_t n,
			  struct mr_error *err)
{
	while (n > 0) {
		const bool in_frame = s->left > 0;
		const size_t taken = in_frame ? take_bytes(s, buf, n) : take_header(s, buf, n);

		buf += taken;
		n -= taken;
		if (!in_frame && s->n_header == sizeof(s->header)) {
			int r = read_header(s, err);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

bool mr_docker_stream_is_whole(const struct mr_docker_stream *s)
{
	return s->n_header == 0 && s->left == 0;
}

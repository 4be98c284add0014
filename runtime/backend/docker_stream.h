/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, stream: both outputs of a container on one connection, taken apart
 *
 * A frame is 8 bytes of header (channel, three zeros, size as 32 bits, most significant first)
 * and that many bytes.  What arrives may be cut anywhere, so nothing is waited for: each
 * byte is passed on as it comes, and memory does not grow with the size of a frame.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_error;

enum mr_docker_channel {
	MR_DOCKER_STDIN, /* echoes of the engine's; never seen in practice */
	MR_DOCKER_STDOUT,
	MR_DOCKER_STDERR,
	MR_DOCKER_SYSTEM, /* an error of the engine, as text */
	MR_DOCKER_CHANNELS_,
};

/* Zeroed, with on_bytes set, is the beginning of a stream. */
struct mr_docker_stream {
	unsigned char header[8];
	size_t n_header; /* bytes of it that came */
	uint64_t left; /* of the frame's bytes */
	enum mr_docker_channel channel; /* of the frame */
	void (*on_bytes)(void *owner, enum mr_docker_channel channel, const char *buf, size_t n);
	void *owner;
};

/* MR_E_PROTO: this is no such stream; what came before is passed on, the stream is of no more use. */
int mr_docker_stream_feed(struct mr_docker_stream *stream, const char *buf, size_t n,
			  struct mr_error *err);
/* At its end: was the last frame whole? */
bool mr_docker_stream_is_whole(const struct mr_docker_stream *stream);

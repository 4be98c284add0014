/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring: the reading end of one of the kernel's ring buffers
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mr_error;

struct mr_ring {
	int fd; /* of the map; readable (EPOLLIN) when a wake-up was asked for; -1: none */
	size_t size;
	uint64_t *consumer; /* mapped: how far we have read */
	const uint64_t *producer; /* mapped: how far it is written */
	const uint8_t *data; /* mapped */
	uint64_t oversized; /* records longer than any of ours, passed over */
};
#define MR_RING_INIT     \
	{                \
		.fd = -1 \
	}

/* Takes fd, a ring buffer of size bytes, in any case.  What is in it already is passed over. */
int mr_ring_open(struct mr_ring *ring, int fd, size_t size, struct mr_error *err);
void mr_ring_close(struct mr_ring *ring);
/* Pass over what is in it. */
void mr_ring_skip(struct mr_ring *ring);
/* Hand every complete record on, in order; the number of them.  A record lives as long as the
 * call. */
size_t mr_ring_read(struct mr_ring *ring,
		    void (*take)(void *owner, const void *record, size_t size), void *owner);

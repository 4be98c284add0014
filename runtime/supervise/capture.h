/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture: the beginning and the end of a stream, and its exact length
 *
 * Memory grows with what arrives and never exceeds head + tail: a stream of ten
 * bytes costs 256, one of a terabyte head + tail.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;

struct mr_capture_part {
	char *buf;
	size_t max; /* bytes to keep */
	size_t cap; /* allocated so far */
	size_t used; /* bytes kept */
	size_t start; /* tail only: index of the oldest byte once the ring is full */
};

/* All members are private to capture.c. */
struct mr_capture {
	struct mr_capture_part head;
	struct mr_capture_part tail;
	uint64_t total;
	bool cut;
};

/* Keep the first head_bytes and the last tail_bytes; either may be 0.  Allocates nothing. */
void mr_capture_init(struct mr_capture *cap, size_t head_bytes, size_t tail_bytes);
void mr_capture_deinit(struct mr_capture *cap);

/* Never fails: when memory cannot be had, less is kept and the capture counts as truncated. */
void mr_capture_add(struct mr_capture *cap, const void *buf, size_t size);

/* More came than was given to it, or than the caller got: it counts as truncated. */
void mr_capture_cut(struct mr_capture *cap);

/* Bytes seen, kept or not. */
uint64_t mr_capture_total(const struct mr_capture *cap);
/* Were bytes seen that are not kept, or was it cut? */
bool mr_capture_truncated(const struct mr_capture *cap);

/* New reference:
 *   bytes          total seen
 *   truncated      bool
 *   omitted_bytes  bytes - those shown below
 *   encoding       "utf-8", or "base64" when what is kept is not UTF-8 or holds a NUL
 *   text | base64  the whole stream, when not truncated
 *   head, tail     when truncated, in that encoding.  A character that the cut split at the
 *                  end of head or the beginning of tail is left out and counted as omitted. */
struct json_t *mr_capture_to_json(const struct mr_capture *cap);

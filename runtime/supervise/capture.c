/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Capture
 *
 * Bytes fill the head until it is full and flow on into the tail.  The tail is a
 * plain growing array until it has its full size and a ring from then on, so it
 * has one layout to read back: buf[start..cap) then buf[0..start), where start
 * stays 0 as long as the array still grows.
 *
 * "Truncated" is derived (total > kept) and not a flag, so it cannot disagree
 * with the numbers beside it, also after an allocation failed.
 */
#include "runtime/supervise/capture.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/text.h"

#define FIRST_ALLOCATION 256

void mr_capture_init(struct mr_capture *cap, size_t head_bytes, size_t tail_bytes)
{
	*cap = (struct mr_capture){ .head = { .max = head_bytes }, .tail = { .max = tail_bytes } };
}

void mr_capture_deinit(struct mr_capture *cap)
{
	free(cap->head.buf);
	free(cap->tail.buf);
	*cap = (struct mr_capture){ 0 };
}

/* Room for `size` more bytes, as far as max allows; on failure max becomes what there is. */
static void grow(struct mr_capture_part *part, size_t size)
{
	size_t want, cap = part->cap ? part->cap : FIRST_ALLOCATION;
	char *buf;

	want = size > part->max - part->used ? part->max : part->used + size;
	if (want <= part->cap)
		return;
	while (cap < want)
		cap = cap > part->max / 2 ? part->max : cap * 2;
	if (cap > part->max)
		cap = part->max;
	buf = realloc(part->buf, cap);
	if (!buf) {
		part->max = part->cap;
		return;
	}
	part->buf = buf;
	part->cap = cap;
}

/* Append what fits below max; returns how much that was. */
static size_t append(struct mr_capture_part *part, const char *buf, size_t size)
{
	size_t room;

	grow(part, size);
	room = part->cap - part->used;
	if (size > room)
		size = room;
	if (size > 0)
		memcpy(part->buf + part->used, buf, size);
	part->used += size;
	return size;
}

/* The tail is full (used == cap == max): overwrite the oldest bytes. */
static void overwrite(struct mr_capture_part *tail, const char *buf, size_t size)
{
	size_t first;

	if (tail->cap == 0)
		return;
	if (size >= tail->cap) {
		memcpy(tail->buf, buf + size - tail->cap, tail->cap);
		tail->start = 0;
		return;
	}
	first = tail->cap - tail->start;
	if (first > size)
		first = size;
	memcpy(tail->buf + tail->start, buf, first);
	memcpy(tail->buf, buf + first, size - first);
	tail->start = (tail->start + size) % tail->cap;
}

void mr_capture_add(struct mr_capture *cap, const void *buf, size_t size)
{
	const char *p = buf;
	size_t n;

	cap->total += size;
	if (size == 0)
		return;
	n = append(&cap->head, p, size);
	p += n;
	size -= n;
	if (size == 0)
		return;
	n = append(&cap->tail, p, size);
	if (size > n)
		overwrite(&cap->tail, p + n, size - n);
}

void mr_capture_cut(struct mr_capture *cap)
{
	cap->cut = true;
}

uint64_t mr_capture_total(const struct mr_capture *cap)
{
	return cap->total;
}

bool mr_capture_truncated(const struct mr_capture *cap)
{
	return cap->cut || cap->total > cap->head.used + cap->tail.used;
}

/* Head and tail in stream order as one malloc'd array. */
static char *join_parts(const struct mr_capture *cap)
{
	const struct mr_capture_part *head = &cap->head, *tail = &cap->tail;
	char *all = mr_str_alloc(head->used + tail->used + 1);
	char *p = all;

	if (head->used > 0)
		p = mempcpy(p, head->buf, head->used);
	if (tail->used > 0) {
		p = mempcpy(p, tail->buf + tail->start, tail->used - tail->start);
		p = mempcpy(p, tail->buf, tail->start);
	}
	return all;
}

static struct json_t *describe(const struct mr_capture *cap, uint64_t shown, const char *encoding)
{
	return json_pack("{s:I, s:b, s:I, s:s}", "bytes", (json_int_t)cap->total, "truncated",
			 mr_capture_truncated(cap), "omitted_bytes",
			 (json_int_t)(cap->total - shown), "encoding", encoding);
}

static struct json_t *whole_to_json(const struct mr_capture *cap, const char *all, size_t size)
{
	bool is_text = mr_text_is_plain(all, size);
	struct json_t *obj = describe(cap, size, is_text ? "utf-8" : "base64");

	json_object_set_new(obj, is_text ? "text" : "base64",
			    is_text ? json_stringn_nocheck(all, size) : mr_text_base64(all, size));
	return obj;
}

static struct json_t *parts_to_json(const struct mr_capture *cap, const char *all)
{
	const char *tail = all + cap->head.used;
	size_t head_size = mr_text_trim_end(all, cap->head.used);
	size_t skip = mr_text_trim_start(tail, cap->tail.used);
	struct json_t *obj;

	if (mr_text_is_plain(all, head_size) &&
	    mr_text_is_plain(tail + skip, cap->tail.used - skip)) {
		obj = describe(cap, head_size + cap->tail.used - skip, "utf-8");
		json_object_set_new(obj, "head", json_stringn_nocheck(all, head_size));
		json_object_set_new(obj, "tail",
				    json_stringn_nocheck(tail + skip, cap->tail.used - skip));
		return obj;
	}
	obj = describe(cap, cap->head.used + cap->tail.used, "base64");
	json_object_set_new(obj, "head", mr_text_base64(all, cap->head.used));
	json_object_set_new(obj, "tail", mr_text_base64(tail, cap->tail.used));
	return obj;
}

struct json_t *mr_capture_to_json(const struct mr_capture *cap)
{
	mr_auto_free char *all = join_parts(cap);

	if (mr_capture_truncated(cap))
		return parts_to_json(cap, all);
	return whole_to_json(cap, all, cap->head.used + cap->tail.used);
}

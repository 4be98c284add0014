/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wire
 *
 * A frame is judged as soon as its head is there, so that a huge size is refused
 * before a byte of its body was kept.
 */
#include "runtime/backend/qemu_wire.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/buf.h"
#include "runtime/base/error.h"

static const struct {
	const char *name;
	enum mr_wire_side sender;
	uint32_t min, max;
} types[] = {
#define TYPE(name, sender, min, max) { #name, MR_WIRE_##sender, min, max },
	MR_WIRE_TYPES(TYPE)
#undef TYPE
};

void mr_wire_head(unsigned char ret[MR_WIRE_HEAD], enum mr_wire_type type, size_t size)
{
	mr_assert((size_t)type < N_ELEMENTS(types) && size >= types[type].min &&
		  size <= types[type].max);
	memset(ret, 0, MR_WIRE_HEAD);
	ret[0] = (unsigned char)type;
	for (size_t i = 0; i < 4; i++)
		ret[4 + i] = (unsigned char)(size >> (8 * i));
}

void mr_wire_init(struct mr_wire *wire, enum mr_wire_side sender)
{
	wire->sender = sender;
	wire->n = 0;
}

static uint32_t body_size(const struct mr_wire *wire)
{
	uint32_t size = 0;

	for (size_t i = 0; i < 4; i++)
		size |= (uint32_t)wire->buf[4 + i] << (8 * i);
	return size;
}

static int judge_head(const struct mr_wire *wire, struct mr_error *err)
{
	const unsigned int type = wire->buf[0];
	const uint32_t size = body_size(wire);

	if (wire->buf[1] || wire->buf[2] || wire->buf[3] || type >= N_ELEMENTS(types))
		return mr_err(err, MR_E_PROTO, EPROTO, "%02x%02x%02x%02x begins no frame", type,
			      wire->buf[1], wire->buf[2], wire->buf[3]);
	if (types[type].sender != wire->sender)
		return mr_err(err, MR_E_PROTO, EPROTO, "a frame %s is not for this side to send",
			      types[type].name);
	if (size < types[type].min || size > types[type].max)
		return mr_err(err, MR_E_PROTO, EPROTO, "a frame %s of %u bytes (%u to %u)",
			      types[type].name, size, types[type].min, types[type].max);
	return 0;
}

/* How many bytes are missing of the head, then of the frame. */
static size_t missing(const struct mr_wire *wire)
{
	return wire->n < MR_WIRE_HEAD ? MR_WIRE_HEAD - wire->n
				      : MR_WIRE_HEAD + body_size(wire) - wire->n;
}

int mr_wire_feed(struct mr_wire *wire, const void *data, size_t size, mr_wire_fn *take, void *owner,
		 struct mr_error *err)
{
	const unsigned char *at = data;
	int r = 0;

	while (r >= 0 && size > 0) {
		const size_t want = missing(wire), n = want < size ? want : size;

		memcpy(wire->buf + wire->n, at, n);
		wire->n += n;
		at += n;
		size -= n;
		if (wire->n == MR_WIRE_HEAD)
			r = judge_head(wire, err);
		if (r < 0 || wire->n < MR_WIRE_HEAD || missing(wire) > 0)
			continue;
		r = take(owner, (enum mr_wire_type)wire->buf[0], wire->buf + MR_WIRE_HEAD,
			 wire->n - MR_WIRE_HEAD, err);
		wire->n = 0;
	}
	return r < 0 ? r : 0;
}

void mr_wire_queue(struct mr_buf *queue, enum mr_wire_type type, const void *body, size_t size)
{
	unsigned char head[MR_WIRE_HEAD];

	mr_wire_head(head, type, size);
	mr_buf_addn(queue, (const char *)head, sizeof(head));
	if (size > 0)
		mr_buf_addn(queue, body, size);
}

void mr_wire_queue_text(struct mr_buf *queue, enum mr_wire_type type, const char *text)
{
	const size_t size = strlen(text);

	for (size_t at = 0; at < size; at += MR_WIRE_BODY_MAX)
		mr_wire_queue(queue, type, text + at,
			      size - at < MR_WIRE_BODY_MAX ? size - at : MR_WIRE_BODY_MAX);
}

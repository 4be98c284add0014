/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what a guest sends
 *
 * Holds: the frames are the same however the bytes come, each within the size of its type, and the
 * result in them is judged without harm.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/backend/errand.h"
#include "runtime/backend/qemu_result.h"
#include "runtime/backend/qemu_wire.h"
#include "runtime/base/buf.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct frames {
	size_t n, bytes;
	int r;
	struct mr_buf result;
};

static int take(void *owner, enum mr_wire_type type, const unsigned char *body, size_t size,
		struct mr_error *err)
{
	struct frames *frames = owner;

	(void)err;
	mr_assert(type >= MR_WIRE_HELLO && type <= MR_WIRE_END && size <= MR_WIRE_BODY_MAX);
	frames->n++;
	frames->bytes += size;
	if (type == MR_WIRE_RESULT)
		mr_buf_addn(&frames->result, (const char *)body, size);
	return 0;
}

static struct frames read_frames(const uint8_t *data, size_t size, size_t step)
{
	static struct mr_wire wire;
	struct mr_error err = MR_ERROR_INIT;
	struct frames frames = { 0 };

	mr_wire_init(&wire, MR_WIRE_GUEST);
	for (size_t at = 0; frames.r == 0 && at < size; at += step)
		frames.r = mr_wire_feed(&wire, data + at, size - at < step ? size - at : step, take,
					&frames, &err);
	return frames;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct frames whole = read_frames(data, size, size ? size : 1);
	struct frames bytes = read_frames(data, size, 1);
	struct mr_errand errand = { .run_id = "aaaaaaaaaaaaaaaaaaaaaaaaaa" };
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_json json_t *result = NULL;

	mr_assert(whole.n == bytes.n && whole.bytes == bytes.bytes && whole.r == bytes.r);
	mr_spec_init(&errand.spec);
	if (mr_guest_result(whole.result.text, whole.result.len, &errand, &result, &err) == 0)
		mr_assert(json_is_object(result));
	else
		mr_assert(!result && err.code == MR_E_PROTO);
	mr_spec_deinit(&errand.spec);
	mr_buf_deinit(&whole.result);
	mr_buf_deinit(&bytes.result);
	return 0;
}

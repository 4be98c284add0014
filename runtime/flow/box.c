/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Box
 *
 * The program goes with the request, as a snippet that is its own interpreter's, and its input through a
 * file in memory.
 */
#include "runtime/flow/box.h"

#include <string.h>

#include "runtime/backend/child.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/spec/bytes.h"
#include "runtime/spec/spec.h"

#define HEAD_MAX (16u << 20)
#define PIDS_MAX 64

static json_t *make_spec(const struct mr_box_opts *opts)
{
	const uint64_t head = opts->output_bytes < HEAD_MAX ? opts->output_bytes : HEAD_MAX;
	json_t *spec =
		json_pack("{s:s, s:s, s:{s:o}, s:{s:b, s:I}, s:{s:I, s:I, s:I, s:I}, s:{s:s}}",
			  "schema", MR_SPEC_SCHEMA, "name", opts->name, "snippet", "code",
			  mr_spec_bytes_json(opts->code, opts->code_size), "output", "forward", 0,
			  "head_bytes", (json_int_t)head, "limits", "wall_ms",
			  (json_int_t)opts->wall_ms, "memory_max_bytes",
			  (json_int_t)opts->memory_bytes, "output_bytes",
			  (json_int_t)opts->output_bytes, "pids_max", (json_int_t)PIDS_MAX, "net",
			  "mode", "none");

	mr_assert(spec);
	if (opts->workspace)
		json_object_set_new(spec, "sandbox",
				    json_pack("{s:s}", "workspace", opts->workspace));
	return spec;
}

static void on_end(struct mr_child *child, void *owner)
{
	struct mr_box *box = owner;

	(void)child;
	box->ended = true;
}

int mr_box_start(struct mr_box *box, const struct mr_box_opts *opts, struct mr_error *err)
{
	mr_auto_json json_t *spec = make_spec(opts);
	const struct mr_child_opts child = { .loop = opts->loop,
					     .program = opts->program,
					     .store = opts->store,
					     .spec = spec,
					     .input = opts->input,
					     .input_size = opts->input_size,
					     .on_end = on_end,
					     .owner = box };

	return mr_child_start(&child, &box->child, err);
}

void mr_box_interrupt(struct mr_box *box)
{
	if (box->child && !box->ended)
		mr_child_interrupt(box->child);
}

int mr_box_result(struct mr_box *box, const json_t **ret, struct mr_error *err)
{
	return mr_child_result(box->child, ret, err);
}

void mr_box_deinit(struct mr_box *box)
{
	mr_child_free(box->child);
	*box = (struct mr_box){ 0 };
}

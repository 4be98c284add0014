/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Box: one of our programs in Python, in a sandbox
 *
 * Its files stand in a temporary folder, which goes with the box.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;
struct mr_child;
struct mr_error;
struct mr_loop;

struct mr_section_box {
	char *folder; /* NULL: not made */
	struct mr_child *child;
	bool ended;
};

/* What a box is run with. */
struct mr_section_box_opts {
	struct mr_loop *loop;
	const char *program; /* path of menace-run */
	const char *store; /* as of struct mr_child_opts */
	const char *name; /* of the run */
	const char *script; /* text of the program; python3 -I runs it */
	const void *input; /* of its standard input */
	size_t input_size;
	const char *workspace; /* folder that is its /work; NULL: an empty one */
	uint64_t wall_ms, memory_bytes, output_bytes;
};

/* Begin; an end is seen in box->ended, from the loop.  Accepts a zeroed box; deinit after a failure, too. */
int mr_section_box_start(struct mr_section_box *box, const struct mr_section_box_opts *opts,
			 struct mr_error *err);
/* After the end: the result of menace-run, borrowed. */
int mr_section_box_result(struct mr_section_box *box, const struct json_t **ret,
			  struct mr_error *err);
void mr_section_box_deinit(struct mr_section_box *box);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Box: one program that somebody handed to us, in a sandbox
 *
 * The program, what it reads and what it says are in memory alone: whatever ends the caller, no file is
 * left of it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;
struct mr_child;
struct mr_error;
struct mr_loop;

struct mr_box {
	struct mr_child *child; /* NULL: not started */
	bool ended;
};

/* What a box is run with; nothing of it is needed after the start but the loop. */
struct mr_box_opts {
	struct mr_loop *loop;
	const char *program; /* path of menace-run */
	const char *store; /* as of struct mr_child_opts */
	const char *name; /* of the run */
	const void *code; /* the program itself: a script with its "#!" line, or an ELF file */
	size_t code_size;
	const void *input; /* of its standard input */
	size_t input_size;
	const char *workspace; /* folder that is its /work; NULL: an empty one */
	uint64_t wall_ms, memory_bytes;
	uint64_t output_bytes; /* of each stream, up to 16 MiB */
};

/* Begin; it has no network.  An end is seen in box->ended, from the loop.  Accepts a zeroed box; deinit
 * after a failure, too. */
int mr_box_start(struct mr_box *box, const struct mr_box_opts *opts, struct mr_error *err);
/* Ask it to end, if it runs; it still gives a result. */
void mr_box_interrupt(struct mr_box *box);
/* After the end: the result of menace-run, borrowed. */
int mr_box_result(struct mr_box *box, const struct json_t **ret, struct mr_error *err);
/* One that runs is ended without a result. */
void mr_box_deinit(struct mr_box *box);

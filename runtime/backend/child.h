/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child: a run made by a menace-run process
 *
 * The request goes in and the result comes out through files in memory or pipes, so no name
 * of either is on a disk.  Many children share the caller's loop.  When the caller
 * dies, however it dies, each is told to end its run.
 */
#pragma once

#include <limits.h>
#include <stddef.h>

struct json_t;
struct mr_child;
struct mr_error;
struct mr_loop;

struct mr_runners;

struct mr_child_opts {
	struct mr_loop *loop;
	struct mr_runners *runners; /* who does it, and outlives it; NULL: a process of its own */
	const char *program; /* else: path of menace-run */
	const char *store; /* else: of --store; NULL: where it is by default */
	const struct json_t *spec; /* document of schema menace.spec/1 */
	/* else: what the program reads, where the spec names no file for it; NULL: nothing.  Copied. */
	const void *input;
	size_t input_size;
	int output_fd; /* where what it prints goes, borrowed for the start; 0: nowhere */
	/* With runners that hold: all is ready, and it begins at mr_child_let_go().  NULL: it is let go at
	 * once.  From the loop. */
	void (*on_ready)(struct mr_child *child, void *owner);
	/* It has ended; it may be freed here.  Called from the loop, once. */
	void (*on_end)(struct mr_child *child, void *owner);
	void *owner;
};

/* Start.  The options are not needed afterwards, but the loop is.  Negative: nothing was started. */
int mr_child_start(const struct mr_child_opts *opts, struct mr_child **ret, struct mr_error *err);
/* Let one that is ready begin. */
void mr_child_let_go(struct mr_child *child);
/* After the end: the result, borrowed.  Negative: it left none; the message has what it said. */
int mr_child_result(struct mr_child *child, const struct json_t **ret, struct mr_error *err);
/* Ask it to end its run as an interrupt would; it still gives a result. */
void mr_child_interrupt(struct mr_child *child);
/* End its run at once, and it: it gives no result.  For one that no interrupt ends. */
void mr_child_kill(struct mr_child *child);
/* A child that lives is ended without a result.  Accepts NULL, returns NULL. */
struct mr_child *mr_child_free(struct mr_child *child);

/* Path of the menace-run that stands beside this program. */
int mr_child_find_program(char ret[PATH_MAX], struct mr_error *err);

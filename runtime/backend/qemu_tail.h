/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tail: what a machine's console or one of its programs says, of which the end is kept
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct mr_capture;
struct mr_loop;
struct mr_source;

#define MR_TAIL_LOG 480 /* bytes of a program's messages */

/* Some of what is there; the source leaves the loop with the end of it. */
void mr_tail_read(struct mr_loop *loop, struct mr_source *source, struct mr_capture *tail);
/* At the end, what is still on its way, but not for ever. */
void mr_tail_read_rest(struct mr_loop *loop, struct mr_source *source, struct mr_capture *tail);
/* What is kept, as one line. */
void mr_tail_line(const struct mr_capture *tail, char *ret, size_t size);
bool mr_tail_has(const struct mr_capture *tail, const char *words);

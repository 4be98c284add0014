/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON that is written piece by piece
 *
 * For documents with more members than should be in memory at once.  What comes out is
 * what json_dumpf() writes of the whole with JSON_INDENT(2) | JSON_ENSURE_ASCII.
 *
 *   struct mr_json_out out = { .stream = stdout };
 *
 *   mr_json_out_begin(&out, NULL, '{');
 *   mr_json_out_value(&out, "name", name);
 *   mr_json_out_begin(&out, "cells", '[');
 *   ...
 *   mr_json_out_end(&out, ']');
 *   mr_json_out_end(&out, '}');
 *
 * Whether all was written is the stream's ferror(3).
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

struct json_t;

struct mr_json_out {
	FILE *stream;
	int depth;
	bool has_members; /* the innermost object or array that is open */
};

/* key: of a member, a word of ours that needs no escape; NULL: an item of an array, or the root. */
void mr_json_out_begin(struct mr_json_out *out, const char *key, char bracket);
void mr_json_out_end(struct mr_json_out *out, char bracket);
/* Any value, whole; borrowed. */
void mr_json_out_value(struct mr_json_out *out, const char *key, const struct json_t *value);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places: {{stub:NAME}} in a text
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct mr_error;
struct mr_input;

/* name: n bytes, not terminated. */
typedef int mr_place_fn(const char *name, size_t n, void *owner, struct mr_error *err);

#define MR_PLACE_FILLED_MAX (16u << 20) /* bytes of a text with values in it */

/* Does the text begin a place anywhere, NULs or not? */
bool mr_place_is_in(const char *text, size_t size);

/* Each in turn, until one returns what is not 0.  MR_E_USAGE: one that does not end, or whose name is
 * none. */
int mr_place_each(const char *text, size_t size, mr_place_fn *fn, void *owner,
		  struct mr_error *err);

/* The value for a name (borrowed), or NULL: the place stays. */
typedef const struct mr_input *mr_place_find_fn(const char *name, size_t n, void *owner);

/* The text with values in their places, malloc'd with a NUL after it.  *ret_absent: a value is absent,
 * and its place is all of the text.  MR_E_USAGE: it would be over MR_PLACE_FILLED_MAX. */
int mr_place_fill(const char *text, size_t size, mr_place_find_fn *find, void *owner, char **ret,
		  size_t *ret_size, bool *ret_absent, struct mr_error *err);

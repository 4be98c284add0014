/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile: inputs made to break what reads them
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct mr_hostile {
	const char *id, *class;
	const char *head, *tail;
	size_t head_size, tail_size, n;
};
const struct mr_hostile *mr_hostile_rows(size_t *ret_n);
/* Is it the id, or the class, that text names?  "" names all. */
bool mr_hostile_is(const struct mr_hostile *row, const char *text);
/* The input: malloc'd. */
char *mr_hostile_build(const struct mr_hostile *row, size_t *ret_size);

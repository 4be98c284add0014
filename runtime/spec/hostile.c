/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hostile
 *
 * Data: what they are is hostile.def, and nothing here reads them.
 */
#include "runtime/spec/hostile.h"

#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"

static const struct mr_hostile rows[] = {
#define HOSTILE(id_, class_, head_, n_, tail_) \
	{ .id = (id_),                         \
	  .class = (class_),                   \
	  .head = (head_),                     \
	  .tail = (tail_),                     \
	  .head_size = sizeof(head_) - 1,      \
	  .tail_size = sizeof(tail_) - 1,      \
	  .n = (n_) },
#include "runtime/spec/hostile.def"
#undef HOSTILE
};

const struct mr_hostile *mr_hostile_rows(size_t *ret_n)
{
	*ret_n = N_ELEMENTS(rows);
	return rows;
}

bool mr_hostile_is(const struct mr_hostile *row, const char *text)
{
	return text[0] == '\0' || strcmp(row->id, text) == 0 || strcmp(row->class, text) == 0;
}

char *mr_hostile_build(const struct mr_hostile *row, size_t *ret_size)
{
	const size_t size = row->n * (row->head_size + row->tail_size);
	char *bytes = mr_str_alloc(size + 1), *p = bytes;

	for (size_t i = 0; i < row->n; i++, p += row->head_size)
		memcpy(p, row->head, row->head_size);
	for (size_t i = 0; i < row->n; i++, p += row->tail_size)
		memcpy(p, row->tail, row->tail_size);
	*ret_size = size;
	return bytes;
}

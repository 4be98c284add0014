/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Map: from the columns of a fact to the fields of a format, as a table
 */
#pragma once

#include <stddef.h>

#include "runtime/export/facts.h"

enum mr_map_as {
	MR_MAP_AS_IS,
	MR_MAP_TEXT, /* numbers as decimal digits */
	MR_MAP_BOOL, /* 0 and 1 */
	MR_MAP_MS, /* nanoseconds as milliseconds */
	MR_MAP_US_AS_NS,
	MR_MAP_ISO, /* nanoseconds since 1970 as 2026-01-31T12:00:00.000000000Z */
	MR_MAP_BASENAME, /* of a path */
	MR_MAP_IP, /* if it is an IP address, else nothing */
	MR_MAP_NO_IP, /* if it is none */
	MR_MAP_WORD, /* the number of the row's words */
};

struct mr_map_word {
	const char *word; /* NULL: any other, and the last */
	int number;
};

/* One field.  Without the column nothing is written. */
struct mr_map_row {
	const char *to; /* NULL ends a table */
	const char *from; /* a column of the fact, run.COLUMN, or one of @time_ns @kind @variant @n
			   * @uid (unique) @seq (@n + 1); NULL: always there */
	enum mr_map_as as;
	const char *value; /* what is written then instead: text, or a number behind '#' */
	const struct mr_map_word *words;
};

#define MR_MAP_FIELD(to_, from_)                                                \
	{                                                                       \
		.to = (to_), .from = (from_), .as = MR_MAP_AS_IS, .value = NULL \
	}
#define MR_MAP_FIELD_AS(to_, from_, as_)                                        \
	{                                                                       \
		.to = (to_), .from = (from_), .as = MR_MAP_##as_, .value = NULL \
	}
#define MR_MAP_CONST(to_, from_, value_)                        \
	{                                                       \
		.to = (to_), .from = (from_), .value = (value_) \
	}
#define MR_MAP_WORDS(to_, from_, words_)                                           \
	{                                                                          \
		.to = (to_), .from = (from_), .as = MR_MAP_WORD, .words = (words_) \
	}
#define MR_MAP_END         \
	{                  \
		.to = NULL \
	}

/* The value of a row for a fact, new reference; NULL: there is none. */
struct json_t *mr_map_value(const struct mr_map_row *row, const struct mr_facts *facts,
			    const struct mr_fact *fact);
/* All rows into an object, as mr_map_set() does. */
void mr_map_nest(struct json_t *object, const struct mr_map_row *rows, const struct mr_facts *facts,
		 const struct mr_fact *fact);
/* Set the member that a path leads to, making what is missing on the way: "a.b", and "a[].b" for
 * the first element of a list. value is stolen. */
void mr_map_set(struct json_t *object, const char *path, struct json_t *value);
/* What none of the n tables reads of a fact's columns, less those that are said in other ways; an object,
 * new reference. */
struct json_t *mr_map_rest(const struct mr_fact *fact, const struct mr_map_row *const *tables,
			   size_t n);

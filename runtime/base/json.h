/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON
 *
 * The one place that includes <jansson.h>; whoever builds or reads JSON includes
 * this.  Reading goes through a cursor, struct mr_json, that knows the way from
 * the root, so that every complaint names the exact place:
 *
 *   job.json: limits.memory_max_bytes: "12x" is not a size: ...
 *   job.json:3:14: duplicate object key near '"limits"'
 *
 * All complaints are MR_E_USAGE.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

struct mr_error;

/* A value and how it was reached.  Lives on the stack of whoever walks the document;
 * borrows the document and its parents. */
struct mr_json {
	json_t *value;
	const struct mr_json *parent; /* NULL: the root */
	const char *key; /* member name, or NULL: index counts */
	size_t index;
	const char *source; /* names the document in messages */
};

static inline void mr_json_decrefp(json_t **json)
{
	json_decref(*json);
}
#define mr_auto_json __attribute__((cleanup(mr_json_decrefp)))

/* Parse one value that fills the text.  Duplicate keys, trailing text, invalid UTF-8 and
 * numbers that do not fit are refused with source:line:column.  Strings may hold NUL: see the
 * getters.  *ret is a new reference. */
int mr_json_parse(const char *text, size_t size, const char *source, json_t **ret,
		  struct mr_error *err);

struct mr_json mr_json_root(json_t *value, const char *source);
/* True, and *ret the member, if the object has it. */
bool mr_json_member(const struct mr_json *object, const char *key, struct mr_json *ret);
struct mr_json mr_json_item(const struct mr_json *array, size_t index);

/* "source: path: message". */
int mr_json_err(const struct mr_json *json, struct mr_error *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Puts "source: path: " before a message that is already there; returns r. */
int mr_json_wrap(const struct mr_json *json, int r, struct mr_error *err);
/* "limits.memory_max_bytes", "mounts[2].dest"; "" for the root.  Returns buf. */
const char *mr_json_path(const struct mr_json *json, char *buf, size_t size);
/* "a string", "a number", ... for messages. */
const char *mr_json_type_name(const json_t *value);

int mr_json_want_object(const struct mr_json *json, struct mr_error *err);
int mr_json_want_array(const struct mr_json *json, struct mr_error *err);
/* Borrowed; refused if it holds a NUL. */
int mr_json_get_string(const struct mr_json *json, const char **ret, struct mr_error *err);
/* Borrowed; may hold NUL. */
int mr_json_get_bytes(const struct mr_json *json, const char **ret, size_t *ret_size,
		      struct mr_error *err);
int mr_json_get_bool(const struct mr_json *json, bool *ret, struct mr_error *err);
int mr_json_get_uint(const struct mr_json *json, uint64_t min, uint64_t max, uint64_t *ret,
		     struct mr_error *err);
/* A string, number or boolean as the text that the unit grammars read: 0.5 is "0.5", true is
 * "1".  malloc'd. */
int mr_json_get_text(const struct mr_json *json, char **ret, struct mr_error *err);

/* Of a document of ours, whose shape is known: the member of a member of a member; b and c may be
 * NULL.  Borrowed; NULL where there is none. */
json_t *mr_json_at(const json_t *json, const char *a, const char *b, const char *c);
/* Borrowed; "" where there is no such text. */
const char *mr_json_text_or_empty(const json_t *json, const char *key);

/* Refuses members that are not in known (NULL-terminated), with the nearest name as a hint. */
int mr_json_check_keys(const struct mr_json *object, const char *const *known,
		       struct mr_error *err);

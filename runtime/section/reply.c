/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reply
 *
 * members[] has what a section consists of.  To tell something new of sections, add it in extract.py and
 * a row here.  A section within another is counted twice when hashes are made, and one can be within 100 others
 * (Python indents no deeper): more work than that is refused, so that no reply keeps us busy.
 */
#include "runtime/section/reply.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/hash.h"
#include "runtime/base/str.h"

/* Bytes; extract.py counts in characters, of 4 bytes at most, and adds "..." or "#10000". */
#define TEXT_SIZE 820
#define NAME_SIZE 4020
#define SECTIONS_MAX 10000
#define HINTS_MAX 50
#define LIST_MAX 1000
#define NESTING_MAX 101

#define MODULE 1u
#define CLASS 2u
#define FUNCTION 4u
#define ANY (MODULE | CLASS | FUNCTION)

struct source {
	const char *data;
	size_t size;
	size_t *starts; /* of lines, and the end of the last one */
	size_t n_lines, n_hashed;
};

/* --- lines ------------------------------------------------------------------ */

/* Where a line ends as Python sees it: after \n, \r\n or \r. */
static size_t end_of_line(const struct source *s, size_t at)
{
	while (at < s->size && s->data[at] != '\n' && s->data[at] != '\r')
		at++;
	if (at < s->size && s->data[at] == '\r' && at + 1 < s->size && s->data[at + 1] == '\n')
		at++;
	return at < s->size ? at + 1 : at;
}

static void find_lines(struct source *s)
{
	size_t cap = 0;

	for (size_t at = 0; at < s->size; at = end_of_line(s, at)) {
		s->starts = mr_str_grow(s->starts, s->n_lines, &cap, sizeof(*s->starts));
		s->starts[s->n_lines++] = at;
	}
	s->starts = mr_str_grow(s->starts, s->n_lines, &cap, sizeof(*s->starts));
	s->starts[s->n_lines] = s->size;
}

/* Are they in the file, and is the hash theirs?  A file without a line has a first one, which is empty. */
static bool has_lines(struct source *s, const json_t *row)
{
	const json_int_t first = json_integer_value(json_object_get(row, "first"));
	const json_int_t last = json_integer_value(json_object_get(row, "last"));
	const size_t n = s->n_lines > 0 ? s->n_lines : 1;
	char sha256[MR_HASH_HEX_SIZE];
	size_t begin, size;

	if (first < 1 || last < first || (json_int_t)n < last)
		return false;
	begin = s->n_lines > 0 ? s->starts[first - 1] : 0;
	size = s->n_lines > 0 ? s->starts[last] - begin : 0;
	s->n_hashed += size;
	if (s->n_hashed > s->size * NESTING_MAX)
		return false;
	mr_hash_hex(s->data + begin, size, sha256);
	return strcmp(mr_json_text_or_empty(row, "sha256"), sha256) == 0;
}

/* --- members ---------------------------------------------------------------- */

static bool is_in(const json_t *value, const char *const *words)
{
	const char *text = json_string_value(value);

	for (size_t i = 0; text && words[i]; i++)
		if (strcmp(text, words[i]) == 0 && strlen(text) == json_string_length(value))
			return true;
	return false;
}

static bool is_short(const json_t *value, size_t max)
{
	return json_is_string(value) && json_string_length(value) <= max &&
	       strlen(json_string_value(value)) == json_string_length(value);
}

static bool is_text(const json_t *value)
{
	return is_short(value, TEXT_SIZE);
}

static bool is_text_or_null(const json_t *value)
{
	return json_is_null(value) || is_text(value);
}

/* No sign that ends a name, or that a terminal or a line of text would not show as it is. */
static bool is_name(const json_t *value)
{
	if (!is_short(value, NAME_SIZE))
		return false;
	for (const char *p = json_string_value(value); *p; p++)
		if ((unsigned char)*p <= ' ' || *p == 0x7f || *p == ':')
			return false;
	return true;
}

static bool is_line(const json_t *value)
{
	return json_is_integer(value) && json_integer_value(value) >= 0;
}

static bool is_boolean(const json_t *value)
{
	return json_is_boolean(value);
}

static bool is_section_kind(const json_t *value)
{
	static const char *const words[] = {
		"module", "class", "function", "method", "nested", NULL
	};

	return is_in(value, words);
}

static bool is_hint_kind(const json_t *value)
{
	static const char *const words[] = { "network", "write",  "read", "process",
					     "code",	"native", NULL };

	return is_in(value, words);
}

static bool is_parameter_kind(const json_t *value)
{
	static const char *const words[] = { "positional_only", "positional_or_keyword",
					     "var_positional",	"keyword_only",
					     "var_keyword",	NULL };

	return is_in(value, words);
}

static bool is_stub(const json_t *value)
{
	static const char *const words[] = { "str",  "int",	 "float", "bool", "list",
					     "dict", "datetime", "any",	  NULL };

	return json_is_null(value) || is_in(value, words);
}

typedef bool check_fn(const json_t *value);

static bool is_list(const json_t *value, size_t max, check_fn *check)
{
	if (!json_is_array(value) || json_array_size(value) > max)
		return false;
	for (size_t i = 0; i < json_array_size(value); i++)
		if (!check(json_array_get(value, i)))
			return false;
	return true;
}

struct member {
	const char *key;
	check_fn *check;
	unsigned int where; /* in which kinds of sections */
};

/* All of the members that it has to have, and no other. */
static bool has_members(const json_t *object, const struct member *members, size_t n,
			unsigned int where)
{
	size_t met = 0;

	for (size_t i = 0; i < n; i++) {
		const json_t *value;

		if ((members[i].where & where) == 0)
			continue;
		value = json_object_get(object, members[i].key);
		if (!value || !members[i].check(value))
			return false;
		met++;
	}
	return json_object_size(object) == met;
}

static bool is_texts(const json_t *value)
{
	return is_list(value, LIST_MAX, is_text);
}

static bool is_reach(const json_t *value)
{
	return is_list(value, 6, is_hint_kind);
}

static bool is_hint(const json_t *value)
{
	static const struct member members[] = {
		{ "kind", is_hint_kind, ANY },
		{ "what", is_text, ANY },
		{ "line", is_line, ANY },
	};

	return has_members(value, members, N_ELEMENTS(members), ANY);
}

static bool is_hints(const json_t *value)
{
	return is_list(value, HINTS_MAX, is_hint);
}

static bool is_parameter(const json_t *value)
{
	static const struct member members[] = {
		{ "name", is_name, ANY },
		{ "kind", is_parameter_kind, ANY },
		{ "annotation", is_text_or_null, ANY },
		{ "default", is_text_or_null, ANY },
		{ "required", is_boolean, ANY },
		{ "stub", is_stub, ANY },
	};

	return has_members(value, members, N_ELEMENTS(members), ANY) &&
	       mr_json_text_or_empty(value, "name")[0];
}

static bool is_parameters(const json_t *value)
{
	return is_list(value, LIST_MAX, is_parameter);
}

static const struct member members[] = {
	{ "name", is_name, ANY },
	{ "kind", is_section_kind, ANY },
	{ "first", is_line, ANY },
	{ "last", is_line, ANY },
	{ "doc", is_text_or_null, ANY },
	{ "sha256", is_text, ANY },
	{ "hints", is_hints, ANY },
	{ "reach", is_reach, ANY },
	{ "shadowed", is_boolean, ANY },
	{ "decorators", is_texts, CLASS | FUNCTION },
	{ "bases", is_texts, CLASS },
	{ "async", is_boolean, FUNCTION },
	{ "parameters", is_parameters, FUNCTION },
	{ "returns", is_text_or_null, FUNCTION },
};

/* --- the whole -------------------------------------------------------------- */

static unsigned int where_of(const json_t *row)
{
	const char *kind = mr_json_text_or_empty(row, "kind");

	if (strcmp(kind, "module") == 0)
		return MODULE;
	return strcmp(kind, "class") == 0 ? CLASS : FUNCTION;
}

/* One module, which is the first and has no name; each other one has a name of its own. */
static bool are_sections(struct source *s, const json_t *sections)
{
	mr_auto_json json_t *names = json_object();
	size_t n = json_array_size(sections);

	if (n == 0 || n > SECTIONS_MAX)
		return false;
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(sections, i);
		const unsigned int where = where_of(row);
		const char *name = mr_json_text_or_empty(row, "name");

		if (!has_members(row, members, N_ELEMENTS(members), where) ||
		    (where == MODULE) != (i == 0) || (name[0] == '\0') != (i == 0) ||
		    json_object_get(names, name) || !has_lines(s, row))
			return false;
		json_object_set_new_nocheck(names, name, json_true());
	}
	return true;
}

static bool is_error(const json_t *error)
{
	static const struct member parts[] = {
		{ "line", is_line, ANY },
		{ "message", is_text, ANY },
	};

	return has_members(error, parts, N_ELEMENTS(parts), ANY);
}

bool mr_section_reply_fits(const json_t *reply, const char *data, size_t size)
{
	struct source s = { .data = data, .size = size };
	const json_t *error = json_object_get(reply, "error");
	bool fits;

	if (json_object_size(reply) != 1)
		return false;
	if (error)
		return is_error(error);
	find_lines(&s);
	fits = are_sections(&s, json_object_get(reply, "sections"));
	free(s.starts);
	return fits;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings: keyword_profiles of a settings file
 *
 * Read line by line; the depth of a line is all of YAML's structure that is needed.
 */
#include "runtime/scenario/settings.h"

#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"

#define KEY "keyword_profiles"

/* A line without its comment and the spaces at its ends. */
struct line {
	const char *text;
	size_t n, indent, number;
};

struct reading {
	const char *source;
	json_t *keywords; /* NULL: the mapping was not met yet */
	json_t *open; /* list that lines with "-" go to, borrowed, or NULL */
	bool inside;
};

static int refuse(const struct reading *r, const struct line *line, const char *why,
		  struct mr_error *err)
{
	return mr_err(err, MR_E_USAGE, EINVAL, "%s: line %zu: %s", r->source, line->number, why);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void trim(const char **text, size_t *n)
{
	while (*n > 0 && is_space(**text)) {
		(*text)++;
		(*n)--;
	}
	while (*n > 0 && is_space((*text)[*n - 1]))
		(*n)--;
}

/* A plain or quoted scalar without escapes; NULL: it is none. */
static json_t *scalar(const char *text, size_t n)
{
	trim(&text, &n);
	if (n >= 2 && (text[0] == '"' || text[0] == '\'') && text[n - 1] == text[0]) {
		text++;
		n -= 2;
	}
	if (n == 0 || memchr(text, '"', n) || memchr(text, '\'', n) || memchr(text, ':', n) ||
	    memchr(text, '\\', n) || strchr("[]{}&*!|>%@`-?", text[0]))
		return NULL;
	return json_stringn(text, n);
}

/* "[a, b]" */
static json_t *flow_list(const char *text, size_t n)
{
	mr_auto_json json_t *list = json_array();

	text++;
	n -= 2;
	trim(&text, &n);
	while (n > 0) {
		const char *comma = memchr(text, ',', n);
		const size_t length = comma ? (size_t)(comma - text) : n;
		json_t *item = scalar(text, length);

		if (!item)
			return NULL;
		json_array_append_new(list, item);
		text += length + (comma != NULL);
		n -= length + (comma != NULL);
	}
	return mr_take_ptr(list);
}

static int take_item(struct reading *r, const struct line *line, struct mr_error *err)
{
	json_t *item = scalar(line->text + 1, line->n - 1);

	if (!item || !r->open) {
		json_decref(item);
		return refuse(r, line, "\"-\" and a name are expected below a word alone", err);
	}
	json_array_append_new(r->open, item);
	return 0;
}

static int take_word(struct reading *r, const struct line *line, struct mr_error *err)
{
	const char *colon = memchr(line->text, ':', line->n);
	mr_auto_json json_t *word = NULL;
	const char *rest;
	json_t *value;
	size_t n;

	if (colon)
		word = scalar(line->text, (size_t)(colon - line->text));
	if (!word)
		return refuse(r, line, "a word and a colon are expected", err);
	rest = colon + 1;
	n = line->n - (size_t)(rest - line->text);
	trim(&rest, &n);
	r->open = NULL;
	if (n == 0)
		value = r->open = json_array();
	else if (n >= 2 && rest[0] == '[' && rest[n - 1] == ']')
		value = flow_list(rest, n);
	else
		value = scalar(rest, n);
	if (!value)
		return refuse(r, line, "a name, or names in brackets, are expected", err);
	json_object_set_new(r->keywords, json_string_value(word), value);
	return 0;
}

static int take_line(struct reading *r, const struct line *line, struct mr_error *err)
{
	const size_t n = strlen(KEY);

	if (r->inside && line->text[0] == '-')
		return take_item(r, line, err);
	if (line->indent > 0)
		return r->inside ? take_word(r, line, err) : 0;
	r->inside = line->n > n && memcmp(line->text, KEY, n) == 0 && line->text[n] == ':';
	if (!r->inside)
		return 0;
	if (line->n > n + 1)
		return refuse(r, line, "the words are expected on lines of their own", err);
	if (r->keywords)
		return refuse(r, line, "a second " KEY, err);
	r->keywords = json_object();
	r->open = NULL;
	return 0;
}

/* Bytes before a comment. */
static size_t without_comment(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (text[i] == '#' && (i == 0 || is_space(text[i - 1])))
			return i;
	return n;
}

static int read_yaml(struct reading *r, const char *text, size_t size, struct mr_error *err)
{
	const char *end = text + size;
	int result = 0;

	for (size_t number = 1; result == 0 && text < end; number++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		const size_t n = (size_t)((newline ? newline : end) - text);
		struct line line = { .text = text, .number = number };

		line.n = without_comment(text, n);
		trim(&line.text, &line.n);
		line.indent = (size_t)(line.text - text);
		if (line.n > 0 && memchr(line.text, '\0', line.n))
			result = refuse(r, &line, "a NUL byte", err);
		else if (line.n > 0)
			result = take_line(r, &line, err);
		text += n + (newline != NULL);
	}
	return result;
}

int mr_settings_keywords(const char *text, size_t size, const char *source, json_t **ret,
			 struct mr_error *err)
{
	struct reading reading = { .source = source };
	mr_auto_json json_t *document = NULL;
	size_t first = 0;
	int r;

	while (first < size && (is_space(text[first]) || text[first] == '\n'))
		first++;
	*ret = NULL;
	if (first < size && text[first] == '{') {
		r = mr_json_parse(text, size, source, &document, err);
		if (r == 0)
			*ret = json_incref(json_object_get(document, KEY));
		return r;
	}
	r = read_yaml(&reading, text, size, err);
	if (r == 0)
		*ret = reading.keywords;
	else
		json_decref(reading.keywords);
	return r;
}

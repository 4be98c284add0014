/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places
 *
 * What is filled in is not looked at again: a value with a place in it stays as it is.
 */
#include "runtime/stub/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/stub/input.h"

static const char opening[] = "{{stub:", closing[] = "}}";

struct place {
	const char *begin, *end; /* with the braces */
	const char *name;
	size_t n;
};

/* Of the next one from here: 0; 1 there is none. */
static int next_place(const char *text, const char *end, struct place *ret, struct mr_error *err)
{
	const char *begin = memmem(text, (size_t)(end - text), opening, sizeof(opening) - 1), *name;
	mr_auto_free char *shown = NULL;
	char quoted[MR_STR_QUOTE_SIZE];
	size_t n = 0;

	if (!begin)
		return 1;
	name = begin + sizeof(opening) - 1;
	while (name + n < end && name[n] && strchr(MR_INPUT_NAME_BYTES, name[n]))
		n++;
	if (n == 0 || n > MR_INPUT_NAME_MAX || end - (name + n) < 2 ||
	    memcmp(name + n, closing, 2) != 0) {
		shown = mr_str_ndup(begin, (size_t)(end - begin));
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s is no place of a stub: {{stub:NAME}}, with a name of 1 to %d "
			      "letters, digits, \"_\", \".\" and \"-\"",
			      mr_str_quote(quoted, 40, shown), MR_INPUT_NAME_MAX);
	}
	*ret = (struct place){ .begin = begin, .end = name + n + 2, .name = name, .n = n };
	return 0;
}

bool mr_place_is_in(const char *text, size_t size)
{
	return size > 0 && memmem(text, size, opening, sizeof(opening) - 1);
}

int mr_place_each(const char *text, size_t size, mr_place_fn *fn, void *owner, struct mr_error *err)
{
	const char *end = text + size;
	struct place place;

	for (;;) {
		int r = next_place(text, end, &place, err);

		if (r != 0)
			return r < 0 ? r : 0;
		r = fn(place.name, place.n, owner, err);
		if (r != 0)
			return r;
		text = place.end;
	}
}

/* The text up to a place and the value in it, or the place itself where there is none. */
static int add_value(struct mr_buf *filled, const char *text, const struct place *place,
		     const struct mr_input *input, struct mr_error *err)
{
	mr_auto_free char *value = NULL;
	const char *from = place->begin;
	size_t size = (size_t)(place->end - place->begin);
	const size_t before = (size_t)(place->begin - text);

	if (input)
		from = value = mr_input_render(input, false, &size);
	if (filled->len + before + size > MR_PLACE_FILLED_MAX)
		return mr_err(err, MR_E_USAGE, E2BIG,
			      "with stub \"%.*s\", a value of %zu bytes, the text has %zu bytes; "
			      "at "
			      "most %u are accepted",
			      (int)place->n, place->name, size, filled->len + before + size,
			      MR_PLACE_FILLED_MAX);
	mr_buf_addn(filled, text, before);
	if (size > 0)
		mr_buf_addn(filled, from, size);
	return 0;
}

int mr_place_fill(const char *text, size_t size, mr_place_find_fn *find, void *owner, char **ret,
		  size_t *ret_size, bool *ret_absent, struct mr_error *err)
{
	const char *end = text + size;
	struct mr_buf filled = { 0 };
	struct place place;
	bool absent = false;
	int r;

	while ((r = next_place(text, end, &place, err)) == 0) {
		const struct mr_input *input = find(place.name, place.n, owner);

		r = add_value(&filled, text, &place, input, err);
		if (r < 0)
			break;
		absent = absent ||
			 (input && input->absent && (size_t)(place.end - place.begin) == size);
		text = place.end;
	}
	if (r >= 0 && filled.len + (size_t)(end - text) > MR_PLACE_FILLED_MAX)
		r = mr_err(err, MR_E_USAGE, E2BIG,
			   "with the values of its stubs the text has %zu bytes; at most %u are "
			   "accepted",
			   filled.len + (size_t)(end - text), MR_PLACE_FILLED_MAX);
	if (r < 0) {
		mr_buf_deinit(&filled);
		return r;
	}
	mr_buf_addn(&filled, text, (size_t)(end - text));
	*ret_size = filled.len;
	*ret = filled.text ? mr_take_ptr(filled.text) : mr_str_dup("");
	*ret_absent = absent;
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON that is written piece by piece
 *
 * A value is dumped as if it were the root; a line end in what comes of it is never in a
 * text (there it is escaped), so the indentation of where it stands goes behind each.
 */
#include "runtime/base/json_out.h"

#include <string.h>

#include "runtime/base/json.h"

#define INDENT 2

static void put_line_end(const struct mr_json_out *out)
{
	fprintf(out->stream, "\n%*s", INDENT * out->depth, "");
}

static void put_key(struct mr_json_out *out, const char *key)
{
	if (out->has_members)
		fputc(',', out->stream);
	if (out->depth > 0)
		put_line_end(out);
	if (key)
		fprintf(out->stream, "\"%s\": ", key);
	out->has_members = true;
}

void mr_json_out_begin(struct mr_json_out *out, const char *key, char bracket)
{
	put_key(out, key);
	fputc(bracket, out->stream);
	out->depth++;
	out->has_members = false;
}

void mr_json_out_end(struct mr_json_out *out, char bracket)
{
	out->depth--;
	if (out->has_members)
		put_line_end(out);
	fputc(bracket, out->stream);
	out->has_members = true;
}

static int put_indented(const char *text, size_t size, void *owner)
{
	const struct mr_json_out *out = owner;
	const char *end;

	while (size > 0 && (end = memchr(text, '\n', size))) {
		fwrite(text, 1, (size_t)(end - text), out->stream);
		put_line_end(out);
		size -= (size_t)(end + 1 - text);
		text = end + 1;
	}
	fwrite(text, 1, size, out->stream);
	return 0;
}

void mr_json_out_value(struct mr_json_out *out, const char *key, const json_t *value)
{
	put_key(out, key);
	json_dump_callback(value, put_indented, out,
			   JSON_INDENT(INDENT) | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
}

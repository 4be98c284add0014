/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output
 *
 * A stream is told whole, or as head and tail when there was too much, each as text or as base64.
 */
#include "runtime/flow/output.h"

#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/text.h"
#include "runtime/spec/bytes.h"

/* The last piece that there is of it, borrowed. */
static const json_t *find_piece(const json_t *stream)
{
	static const char *const names[] = { "text", "base64", "tail", "head" };
	const json_t *found = NULL;

	for (size_t i = 0; i < N_ELEMENTS(names); i++) {
		const json_t *piece = json_object_get(stream, names[i]);

		if (json_is_string(piece) && (!found || json_string_length(found) == 0))
			found = piece;
	}
	return found;
}

static int decode(const json_t *piece, char **ret, size_t *ret_size)
{
	mr_auto_json json_t *copy = json_deep_copy(piece);
	const struct mr_json root = mr_json_root(copy, "output");
	struct mr_error err;

	return mr_spec_decode_base64(&root, json_string_value(copy), json_string_length(copy), ret,
				     ret_size, &err);
}

void mr_output_tell(json_t *row, const char *key, const json_t *stream, size_t max)
{
	const json_t *piece = find_piece(stream);
	mr_auto_free char *decoded = NULL;
	const char *bytes = json_string_value(piece);
	size_t size = json_string_length(piece), skip;

	json_object_set_new(row, key, json_null());
	if (!piece)
		return;
	if (strcmp(mr_json_text_or_empty(stream, "encoding"), "base64") == 0) {
		if (decode(piece, &decoded, &size) < 0)
			return;
		bytes = decoded;
	}
	skip = size > max ? size - max : 0;
	if (skip > 0)
		skip += mr_text_trim_start(bytes + skip, size - skip);
	mr_text_set(row, key, bytes + skip, size - skip);
}

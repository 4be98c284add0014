/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: bytes in a document
 *
 * JSON holds text, and a path or an argument may be any bytes: what is not UTF-8
 * stands as {"base64": "..."}, as print.c writes it.  Only the one spelling that
 * mr_str_base64() gives is read, so that equal requests have equal documents.
 */
#include <stdint.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"
#include "runtime/spec/internal.h"

/* malloc'd and followed by a NUL; NULL: not base64. */
static char *decode(const char *text, size_t size, size_t *ret_size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	mr_auto_free char *out = mr_str_alloc(size / 4 * 3 + 4);
	mr_auto_free char *again = NULL;
	uint32_t bits = 0;
	size_t n = 0;

	for (size_t i = 0; i < size && text[i] != '='; i++) {
		const char *digit = text[i] ? strchr(digits, text[i]) : NULL;

		if (!digit)
			return NULL;
		bits = bits << 6 | (uint32_t)(digit - digits);
		if (i % 4 != 0)
			out[n++] = (char)(unsigned char)(bits >> (6 - 2 * (i % 4)));
	}
	again = mr_str_base64(out, n);
	if (strlen(again) != size || memcmp(again, text, size) != 0)
		return NULL;
	*ret_size = n;
	return mr_take_ptr(out);
}

int mr_spec_decode_base64(const struct mr_json *json, const char *text, size_t size, char **ret,
			  size_t *ret_size, struct mr_error *err)
{
	char *bytes = decode(text, size, ret_size);

	if (!bytes)
		return mr_json_err(json, err, "not base64 (RFC 4648, padded, without spaces)");
	*ret = bytes;
	return 0;
}

int mr_spec_get_bytes(const struct mr_json *json, char **ret, size_t *ret_size,
		      struct mr_error *err)
{
	static const char *const keys[] = { "base64", NULL };
	struct mr_json encoded;
	const char *text = "";
	size_t size = 0;
	int r;

	if (json_is_object(json->value) && mr_json_member(json, "base64", &encoded)) {
		r = mr_json_check_keys(json, keys, err);
		if (r == 0)
			r = mr_json_get_bytes(&encoded, &text, &size, err);
		return r < 0 ? r : mr_spec_decode_base64(&encoded, text, size, ret, ret_size, err);
	}
	r = mr_json_get_bytes(json, &text, &size, err);
	if (r < 0)
		return r;
	*ret = mr_str_alloc(size + 1);
	memcpy(*ret, text, size);
	*ret_size = size;
	return 0;
}

int mr_spec_get_text(const struct mr_json *json, char **ret, struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r = mr_spec_get_bytes(json, &text, &size, err);

	if (r < 0)
		return r;
	if (!text || strlen(text) != size)
		return mr_json_err(json, err, "holds a NUL byte");
	*ret = mr_take_ptr(text);
	return 0;
}

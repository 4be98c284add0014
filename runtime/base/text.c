/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text
 *
 * What becomes a JSON string as it is, what is escaped, and where bytes may be
 * cut.  The escape is for people and the base64 beside it for programs.
 */
#include "runtime/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"

bool mr_text_is_plain(const char *buf, size_t size)
{
	return size == 0 || (!memchr(buf, '\0', size) && mr_str_utf8_valid(buf, size));
}

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Bytes of a UTF-8 sequence from its first byte; 0 for a byte that cannot begin one. */
static size_t sequence_length(unsigned char c)
{
	if (c < 0x80)
		return 1;
	if (c >= 0xc2 && c <= 0xdf)
		return 2;
	if (c >= 0xe0 && c <= 0xef)
		return 3;
	return c >= 0xf0 && c <= 0xf4 ? 4 : 0;
}

size_t mr_text_trim_end(const char *buf, size_t size)
{
	size_t back = 0;

	while (back < 3 && back < size && is_continuation(buf[size - 1 - back]))
		back++;
	if (back == size)
		return size;
	if (sequence_length((unsigned char)buf[size - 1 - back]) > back + 1)
		return size - 1 - back;
	return size;
}

size_t mr_text_trim_start(const char *buf, size_t size)
{
	size_t n = 0;

	while (n < 3 && n < size && is_continuation(buf[n]))
		n++;
	return n;
}

struct json_t *mr_text_base64(const char *buf, size_t size)
{
	mr_auto_free char *text = mr_str_base64(buf, size);

	return json_string_nocheck(text);
}

/* \xNN for NUL and what is not ASCII, \\ for a backslash. */
static json_t *escape(const char *buf, size_t size)
{
	mr_auto_free char *out = mr_str_alloc(size * 4 + 1);
	char *p = out;

	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)buf[i];

		if (c == '\\')
			p = mempcpy(p, "\\\\", 2);
		else if (c >= 0x80 || c == '\0')
			p += snprintf(p, 5, "\\x%02x", c);
		else
			*p++ = (char)c;
	}
	return json_stringn_nocheck(out, (size_t)(p - out));
}

void mr_text_set(struct json_t *obj, const char *key, const char *buf, size_t size)
{
	char exact_key[64];

	if (mr_text_is_plain(buf, size)) {
		json_object_set_new(obj, key, json_stringn_nocheck(buf, size));
		return;
	}
	snprintf(exact_key, sizeof(exact_key), "%s_base64", key);
	json_object_set_new(obj, key, escape(buf, size));
	json_object_set_new(obj, exact_key, mr_text_base64(buf, size));
}

struct json_t *mr_text_error(const struct mr_error *err)
{
	json_t *obj =
		json_pack("{s:s, s:i}", "code", mr_errc_name(err->code), "errno", err->errnum);

	mr_assert(obj);
	mr_text_set(obj, "message", err->msg, mr_text_trim_end(err->msg, strlen(err->msg)));
	return obj;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings
 *
 * Everything here is independent of the locale: bytes above 127 are never
 * letters, and case means ASCII case.
 */
#include "runtime/base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"

#define DISTANCE_MAX_LEN 64

void mr_str_init(struct mr_str *str, char *buf, size_t size)
{
	mr_assert(size > 0);
	buf[0] = '\0';
	*str = (struct mr_str){ .buf = buf, .size = size };
}

void mr_str_addn(struct mr_str *str, const char *text, size_t n)
{
	size_t room = str->size - str->len - 1;

	if (str->truncated)
		return;
	if (n > room) {
		str->truncated = true;
		n = room;
	}
	memcpy(str->buf + str->len, text, n);
	str->len += n;
	str->buf[str->len] = '\0';
}

void mr_str_add(struct mr_str *str, const char *text)
{
	mr_str_addn(str, text, strlen(text));
}

void mr_str_printf(struct mr_str *str, const char *fmt, ...)
{
	size_t room = str->size - str->len;
	va_list ap;
	int n;

	if (str->truncated)
		return;
	va_start(ap, fmt);
	n = vsnprintf(str->buf + str->len, room, fmt, ap);
	va_end(ap);
	mr_assert(n >= 0);
	if ((size_t)n >= room) {
		str->truncated = true;
		str->len = str->size - 1;
		return;
	}
	str->len += (size_t)n;
}

/* One byte as it may appear between quotes; returns its length, at most 4. */
static size_t escape_byte(char out[5], unsigned char c)
{
	if (c == '"' || c == '\\')
		return (size_t)snprintf(out, 5, "\\%c", c);
	if (c == '\n')
		return (size_t)snprintf(out, 5, "\\n");
	if (c == '\t')
		return (size_t)snprintf(out, 5, "\\t");
	if (c < 0x20 || c >= 0x7f)
		return (size_t)snprintf(out, 5, "\\x%02x", c);
	return (size_t)snprintf(out, 5, "%c", c);
}

const char *mr_str_quote(char *buf, size_t size, const char *text)
{
	static const char cut[] = "\"...";
	size_t len = 1;

	mr_assert(size >= 16);
	buf[0] = '"';
	for (; *text; text++) {
		char out[5];
		size_t n = escape_byte(out, (unsigned char)*text);

		if (len + n + sizeof(cut) > size) {
			memcpy(buf + len, cut, sizeof(cut));
			return buf;
		}
		memcpy(buf + len, out, n);
		len += n;
	}
	buf[len] = '"';
	buf[len + 1] = '\0';
	return buf;
}

void *mr_str_alloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	mr_assert(p != NULL);
	return p;
}

void *mr_str_grow(void *array, size_t n, size_t *cap, size_t element_size)
{
	if (n < *cap)
		return array;
	*cap = *cap ? *cap * 2 : 16;
	array = reallocarray(array, *cap, element_size);
	mr_assert(array != NULL);
	return array;
}

char *mr_str_dup(const char *text)
{
	return mr_str_ndup(text, strlen(text));
}

char *mr_str_ndup(const char *text, size_t n)
{
	char *copy = strndup(text, n);

	mr_assert(copy != NULL);
	return copy;
}

char *mr_str_format(const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	mr_assert(n >= 0);
	return text;
}

bool mr_str_starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool mr_str_ends_with(const char *text, const char *suffix)
{
	size_t n = strlen(text);
	size_t m = strlen(suffix);

	return n >= m && memcmp(text + n - m, suffix, m) == 0;
}

static char lower_ascii(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool mr_str_equal_nocase(const char *a, const char *b)
{
	while (*a && lower_ascii(*a) == lower_ascii(*b)) {
		a++;
		b++;
	}
	return lower_ascii(*a) == lower_ascii(*b);
}

bool mr_str_is_under(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return strncmp(path, folder, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* Optimal string alignment: three rows, for a swap looks two back. */
size_t mr_str_distance(const char *a, const char *b)
{
	size_t rows[3][DISTANCE_MAX_LEN + 1];
	size_t n = strlen(a);
	size_t m = strlen(b);

	if (n > DISTANCE_MAX_LEN || m > DISTANCE_MAX_LEN)
		return SIZE_MAX;
	for (size_t j = 0; j <= m; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t *row = rows[i % 3];
		const size_t *up = rows[(i - 1) % 3];
		const size_t *up2 = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			char x = lower_ascii(a[i - 1]);
			char y = lower_ascii(b[j - 1]);

			row[j] = min3(up[j] + 1, row[j - 1] + 1, up[j - 1] + (x != y));
			if (i > 1 && j > 1 && x == lower_ascii(b[j - 2]) &&
			    lower_ascii(a[i - 2]) == y && up2[j - 2] + 1 < row[j])
				row[j] = up2[j - 2] + 1;
		}
	}
	return rows[n % 3][m];
}

void mr_str_nearest_init(struct mr_str_nearest *nearest, const char *word)
{
	/* A third of the letters may be wrong: beyond that a hint misleads. */
	*nearest = (struct mr_str_nearest){ .word = word, .distance = strlen(word) / 3 + 1 };
	if (nearest->distance < 2)
		nearest->distance = 2;
}

void mr_str_nearest_offer(struct mr_str_nearest *nearest, const char *name)
{
	const size_t own = strlen(nearest->word), other = strlen(name);
	const size_t least = own > other ? own - other : other - own;
	size_t distance = SIZE_MAX;

	if (nearest->distance == 0)
		return;
	if (least <
	    nearest->distance) /* each letter too many is a step: others need not be counted */
		distance = mr_str_distance(nearest->word, name);
	/* An abbreviation is as near as one typing error. */
	if (distance > 1 && own >= 4 && mr_str_starts_with(name, nearest->word))
		distance = 1;
	if (distance < nearest->distance && distance < other) {
		nearest->distance = distance;
		nearest->best = name;
	}
}

/* Length of the sequence that starts with c and the range of its second byte; 0: no start. */
static size_t utf8_length(unsigned char c, unsigned char *ret_low, unsigned char *ret_high)
{
	*ret_low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
	*ret_high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
	if (c < 0x80)
		return 1;
	if (c >= 0xc2 && c <= 0xdf)
		return 2;
	if (c >= 0xe0 && c <= 0xef)
		return 3;
	if (c >= 0xf0 && c <= 0xf4)
		return 4;
	return 0;
}

static bool is_octal_escape(const char *p)
{
	return p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' &&
	       p[3] >= '0' && p[3] <= '7';
}

void mr_str_unescape_octal(char *text)
{
	char *out = text;

	for (const char *p = text; *p; p++) {
		if (is_octal_escape(p)) {
			*out++ = (char)((p[1] - '0') * 64 + (p[2] - '0') * 8 + (p[3] - '0'));
			p += 3;
		} else {
			*out++ = *p;
		}
	}
	*out = '\0';
}

size_t mr_str_utf8_next(const void *data, size_t size, uint32_t *ret_code)
{
	static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	const unsigned char *p = data;
	unsigned char low;
	unsigned char high;
	size_t n = utf8_length(p[0], &low, &high);

	uint32_t code;

	if (n == 0 || n > size || (n > 1 && (p[1] < low || p[1] > high)))
		return 0;
	code = p[0] & masks[n];
	for (size_t k = 1; k < n; k++) {
		if ((p[k] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[k] & 0x3f);
	}
	*ret_code = code;
	return n;
}

bool mr_str_utf8_valid(const void *data, size_t size)
{
	const unsigned char *p = data;
	uint32_t code;

	for (size_t i = 0; i < size;) {
		size_t n = mr_str_utf8_next(p + i, size - i, &code);

		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

bool mr_str_acts(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad || code == 0x61c ||
	       (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
	       (code >= 0xfff9 && code <= 0xfffb) || (code >= 0xe0000 && code <= 0xe007f);
}

void mr_str_make_printable(char *text)
{
	size_t left = strlen(text);
	char *out = text;

	while (left > 0) {
		uint32_t code = 0;
		size_t n = mr_str_utf8_next(text, left, &code);

		if (n == 0 || (mr_str_acts(code) && code != '\t')) {
			*out++ = '?';
		} else {
			memmove(out, text, n);
			out += n;
		}
		n = n > 0 ? n : 1;
		text += n;
		left -= n;
	}
	*out = '\0';
}

char *mr_str_base64(const void *data, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *p = data;
	char *text = mr_str_alloc((size + 2) / 3 * 4 + 1);
	char *out = text;

	for (size_t i = 0; i < size; i += 3) {
		size_t left = size - i;
		uint32_t v = (uint32_t)p[i] << 16;

		if (left > 1)
			v |= (uint32_t)p[i + 1] << 8;
		if (left > 2)
			v |= p[i + 2];
		*out++ = digits[v >> 18];
		*out++ = digits[(v >> 12) & 63];
		*out++ = left > 1 ? digits[(v >> 6) & 63] : '=';
		*out++ = left > 2 ? digits[v & 63] : '=';
	}
	return text;
}

void mr_str_hex(const void *data, size_t size, char *ret)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = data;

	for (size_t i = 0; i < size; i++) {
		ret[2 * i] = digits[p[i] >> 4];
		ret[2 * i + 1] = digits[p[i] & 15];
	}
	ret[2 * size] = '\0';
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canonical JSON, RFC 8785
 *
 * Members are sorted by UTF-16 code units, which differs from the order of bytes
 * only between U+E000..U+FFFF and what lies beyond the first plane.
 */
#include "runtime/store/canon.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"

#define EXACT_MAX (INT64_C(1) << 53)
#define FEW 32 /* members of an object */

/* What printf put behind the "e": a sign and two or three digits. */
static int read_exponent(const char *text)
{
	uint64_t value = 0;

	mr_assert(text[0] == '-' || text[0] == '+');
	mr_assert(mr_units_parse_count(text + 1, &value, NULL) == 0 && value < 1000);
	return text[0] == '-' ? -(int)value : (int)value;
}

/* Shortest decimal digits that read back as value; the value is 0.DIGITS * 10^*ret_point. */
static void shortest_digits(double value, char digits[24], int *ret_point)
{
	char text[40];

	for (int precision = 0; precision < 17; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, value);
		if (strtod(text, NULL) >= value && strtod(text, NULL) <= value)
			break;
	}

	const char *e = strchr(text, 'e');
	size_t n = 0;

	mr_assert(e); /* else it is infinite or no number */
	for (const char *p = text; p < e; p++)
		if (*p >= '0' && *p <= '9')
			digits[n++] = *p;
	while (n > 1 && digits[n - 1] == '0')
		n--;
	digits[n] = '\0';
	*ret_point = read_exponent(e + 1) + 1;
}

const char *mr_canon_number(double value, char *buf)
{
	char digits[24];
	struct mr_str out;
	int point = 0;
	int n;

	mr_str_init(&out, buf, MR_CANON_NUMBER_SIZE);
	if (value < 0) {
		mr_str_add(&out, "-");
		value = -value;
	}
	if (!(value > 0)) { /* -0 is 0 */
		mr_str_init(&out, buf, MR_CANON_NUMBER_SIZE);
		mr_str_add(&out, "0");
		return buf;
	}
	shortest_digits(value, digits, &point);
	n = (int)strlen(digits);
	if (n <= point && point <= 21)
		mr_str_printf(&out, "%s%.*s", digits, point - n, "000000000000000000000");
	else if (0 < point && point <= 21)
		mr_str_printf(&out, "%.*s.%s", point, digits, digits + point);
	else if (-6 < point && point <= 0)
		mr_str_printf(&out, "0.%.*s%s", -point, "000000", digits);
	else
		mr_str_printf(&out, "%c%s%se%+d", digits[0], n > 1 ? "." : "", digits + 1,
			      point - 1);
	return buf;
}

static void add_char(struct mr_buf *out, char c)
{
	if (out->len + 1 < out->size) { /* nearly always, and a text has thousands of these */
		out->text[out->len++] = c;
		out->text[out->len] = '\0';
		return;
	}
	mr_buf_addn(out, &c, 1);
}

static void add_escape(struct mr_buf *out, unsigned char c)
{
	static const char letters[] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
					['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\' };
	char text[8];

	if (c < sizeof(letters) && letters[c])
		snprintf(text, sizeof(text), "\\%c", letters[c]);
	else
		snprintf(text, sizeof(text), "\\u%04x", c);
	mr_buf_add(out, text);
}

static void put_string(struct mr_buf *out, const char *text, size_t size)
{
	size_t plain = 0; /* where the part that needs no escape begins */

	add_char(out, '"');
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x20 && c != '"' && c != '\\')
			continue;
		mr_buf_addn(out, text + plain, i - plain);
		add_escape(out, c);
		plain = i + 1;
	}
	mr_buf_addn(out, text + plain, size - plain);
	add_char(out, '"');
}

struct member {
	const char *key;
	const json_t *value;
};

static int compare_keys(const char *a, const char *b)
{
	const unsigned char *x = (const unsigned char *)a;
	const unsigned char *y = (const unsigned char *)b;

	while (*x && *x == *y) {
		x++;
		y++;
	}
	if (*x >= 0xf0 && (*y == 0xee || *y == 0xef))
		return -1;
	if (*y >= 0xf0 && (*x == 0xee || *x == 0xef))
		return 1;
	return *x < *y ? -1 : *x > *y;
}

static int compare_members(const void *a, const void *b)
{
	return compare_keys(((const struct member *)a)->key, ((const struct member *)b)->key);
}

/* Most objects have some ten members: putting each into its place costs less than qsort's calls.  What
 * a program chose can have any number. */
static void sort_members(struct member *members, size_t n)
{
	if (n > FEW) {
		qsort(members, n, sizeof(*members), compare_members);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		const struct member next = members[i];
		size_t at = i;

		for (; at > 0 && compare_keys(members[at - 1].key, next.key) > 0; at--)
			members[at] = members[at - 1];
		members[at] = next;
	}
}

static void put(struct mr_buf *out, const json_t *json);

static void put_object(struct mr_buf *out, const json_t *json)
{
	const size_t size = json_object_size(json);
	struct member few[FEW];
	mr_auto_free struct member *many = size > FEW ? mr_str_alloc(size * sizeof(*many)) : NULL;
	struct member *members = many ? many : few;
	const char *key;
	json_t *value;
	size_t n = 0;

	json_object_foreach ((json_t *)(uintptr_t)json, key, value)
		members[n++] = (struct member){ key, value };
	sort_members(members, n);
	add_char(out, '{');
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			add_char(out, ',');
		put_string(out, members[i].key, strlen(members[i].key));
		add_char(out, ':');
		put(out, members[i].value);
	}
	add_char(out, '}');
}

static void put_array(struct mr_buf *out, const json_t *json)
{
	add_char(out, '[');
	for (size_t i = 0; i < json_array_size(json); i++) {
		if (i > 0)
			add_char(out, ',');
		put(out, json_array_get(json, i));
	}
	add_char(out, ']');
}

static void put_integer(struct mr_buf *out, json_int_t value)
{
	bool exact = value <= EXACT_MAX && value >= -EXACT_MAX;
	uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	char text[24];
	char *p = text + sizeof(text);

	if (!exact)
		*--p = '"';
	do
		*--p = (char)('0' + rest % 10);
	while (rest /= 10);
	if (value < 0)
		*--p = '-';
	if (!exact)
		*--p = '"';
	mr_buf_addn(out, p, (size_t)(text + sizeof(text) - p));
}

static void put(struct mr_buf *out, const json_t *json)
{
	char number[MR_CANON_NUMBER_SIZE];

	switch (json_typeof(json)) {
	case JSON_OBJECT:
		put_object(out, json);
		return;
	case JSON_ARRAY:
		put_array(out, json);
		return;
	case JSON_STRING:
		put_string(out, json_string_value(json), json_string_length(json));
		return;
	case JSON_INTEGER:
		put_integer(out, json_integer_value(json));
		return;
	case JSON_REAL:
		mr_buf_add(out, mr_canon_number(json_real_value(json), number));
		return;
	case JSON_TRUE:
		mr_buf_add(out, "true");
		return;
	case JSON_FALSE:
		mr_buf_add(out, "false");
		return;
	case JSON_NULL:
		mr_buf_add(out, "null");
		return;
	}
}

char *mr_canon_text(const struct json_t *json, size_t *ret_size)
{
	struct mr_buf out = { 0 };

	put(&out, json);
	*ret_size = out.len;
	return out.text;
}

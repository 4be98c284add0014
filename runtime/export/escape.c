/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Escape
 *
 * One row a style: what each special byte becomes.  A backslash that we make up for
 * a control character is escaped as the style says, so that a reader gets "\x1b" as
 * four characters and a terminal gets nothing to act on.
 */
#include "runtime/export/escape.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"
#include "runtime/base/buf.h"

static const struct style {
	const char *special; /* bytes that have an escape ... */
	const char *escapes[4]; /* ... and which */
} styles[MR_ESCAPE_COUNT_] = {
	[MR_ESCAPE_PROMETHEUS_LABEL] = { "\\\"\n", { "\\\\", "\\\"", "\\n" } },
	[MR_ESCAPE_PROMETHEUS_HELP] = { "\\\n", { "\\\\", "\\n" } },
	[MR_ESCAPE_CEF_HEADER] = { "\\|", { "\\\\", "\\|" } },
	[MR_ESCAPE_CEF_VALUE] = { "\\=\n\r", { "\\\\", "\\=", "\\n", "\\r" } },
};

/* Length of the character at p if it acts on what shows it, else 0: controls (C0, DEL, C1), and what
 * separates lines (U+2028, U+2029) or turns the direction of text (U+202A to E, U+2066 to 9). */
static size_t acting_length(const unsigned char *p, size_t left)
{
	if (p[0] < 0x20 || p[0] == 0x7f)
		return 1;
	if (p[0] == 0xc2 && left > 1 && p[1] < 0xa0)
		return 2;
	if (p[0] != 0xe2 || left < 3)
		return 0;
	return (p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae) ||
			       (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9)
		       ? 3
		       : 0;
}

static void add_acting(struct mr_buf *out, const unsigned char *p, size_t n)
{
	if (n == 3)
		mr_buf_printf(out, "\\\\u%04x", 0x2000U | (p[1] & 0x3fU) << 6 | (p[2] & 0x3fU));
	else
		mr_buf_printf(out, "\\\\x%02x", p[n - 1]);
}

void mr_escape(struct mr_buf *out, enum mr_escape_style style, const char *text, size_t size)
{
	const struct style *s = &styles[style];
	bool utf8 = mr_str_utf8_valid(text, size);
	size_t plain = 0; /* where the part that needs no escape begins */

	for (size_t i = 0; i < size;) {
		const unsigned char *p = (const unsigned char *)text + i;
		const char *special = p[0] ? strchr(s->special, p[0]) : NULL;
		size_t n = !utf8 && p[0] >= 0x80 ? 1 : acting_length(p, size - i);

		if (!special && n == 0) {
			i++;
			continue;
		}
		mr_buf_addn(out, text + plain, i - plain);
		if (special)
			mr_buf_add(out, s->escapes[special - s->special]);
		else if (!utf8 && p[0] >= 0x80)
			mr_buf_add(out, "?");
		else
			add_acting(out, p, n);
		i += special ? 1 : n;
		plain = i;
	}
	mr_buf_addn(out, text + plain, size - plain);
}

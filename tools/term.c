/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Term
 */
#include "tools/term.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"

static const char *const styles[] = {
	[MR_TERM_PLAIN] = "",	    [MR_TERM_BOLD] = "\033[1m",	   [MR_TERM_DIM] = "\033[2m",
	[MR_TERM_RED] = "\033[31m", [MR_TERM_YELLOW] = "\033[33m",
};

bool mr_term_has_colour(void)
{
	static int known = -1;
	const char *no = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (known < 0)
		known = isatty(STDOUT_FILENO) && !(no && no[0]) && term &&
			strcmp(term, "dumb") != 0;
	return known > 0;
}

/* Code point of the well-formed sequence at p and its length. */
static uint32_t decode(const unsigned char *p, size_t *ret_length)
{
	static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	size_t n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	uint32_t code = p[0] & masks[n];

	for (size_t i = 1; i < n; i++)
		code = code << 6 | (p[i] & 0x3f);
	*ret_length = n;
	return code;
}

/* Things that move, hide or turn what is around them. */
static bool acts(uint32_t code)
{
	return (code >= 0x80 && code < 0xa0) || code == 0xad || code == 0x61c ||
	       (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2060 && code <= 0x206f) || code == 0xfeff ||
	       (code >= 0xfff9 && code <= 0xfffb) || (code >= 0xe0000 && code <= 0xe007f);
}

char *mr_term_safe(const char *text)
{
	const unsigned char *p = (const unsigned char *)(text ? text : "-");
	bool utf8 = mr_str_utf8_valid(p, strlen((const char *)p));
	char *copy = mr_str_alloc(strlen((const char *)p) * 5 + 1);
	char *out = copy;

	while (*p) {
		size_t n = 1;
		uint32_t code = utf8 ? decode(p, &n) : *p;

		if (code < 0x20 || code == 0x7f || (!utf8 && code >= 0x80))
			out += snprintf(out, 5, "\\x%02x", (unsigned int)code);
		else if (utf8 && acts(code))
			out += snprintf(out, 11, "\\u{%x}", (unsigned int)code);
		else
			out = mempcpy(out, p, n);
		p += n;
	}
	return copy;
}

static void put_styled(enum mr_term_style style, const char *safe)
{
	bool colour = style != MR_TERM_PLAIN && mr_term_has_colour();

	printf("%s%s%s", colour ? styles[style] : "", safe, colour ? "\033[0m" : "");
}

void mr_term_put(enum mr_term_style style, const char *text)
{
	mr_auto_free char *safe = mr_term_safe(text);

	put_styled(style, safe);
}

void mr_term_cell(enum mr_term_style style, const char *text, int width)
{
	mr_auto_free char *safe = mr_term_safe(text);
	int shown = 0;
	char *p = safe;

	for (; *p && shown < width; shown++) {
		size_t n = 1;

		if (mr_str_utf8_valid(p, strlen(p)))
			decode((const unsigned char *)p, &n);
		p += n;
	}
	if (*p && width > 1) {
		/* Too long: the last column says so. */
		do
			p--;
		while (p > safe && ((unsigned char)*p & 0xc0) == 0x80);
		*p = '\0';
		put_styled(style, safe);
		printf("~");
		return;
	}
	put_styled(style, safe);
	printf("%*s", width - shown, "");
}

const char *mr_term_time(int64_t us, char buf[32])
{
	time_t seconds = (time_t)(us / 1000000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || strftime(buf, 32, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		snprintf(buf, 32, "-");
	return buf;
}

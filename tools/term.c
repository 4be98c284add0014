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

char *mr_term_safe(const char *text)
{
	const unsigned char *p = (const unsigned char *)(text ? text : "-");
	size_t left = strlen((const char *)p);
	bool utf8 = mr_str_utf8_valid(p, left);
	char *copy = mr_str_alloc(left * 5 + 1);
	char *out = copy;

	while (left > 0) {
		size_t n = 1;
		uint32_t code = *p;

		if (utf8)
			n = mr_str_utf8_next(p, left, &code);
		if (code < 0x20 || code == 0x7f || (!utf8 && code >= 0x80))
			out += snprintf(out, 5, "\\x%02x", (unsigned int)code);
		else if (mr_str_acts(code))
			out += snprintf(out, 11, "\\u{%x}", (unsigned int)code);
		else
			out = mempcpy(out, p, n);
		p += n;
		left -= n;
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
		uint32_t code;
		size_t n = mr_str_utf8_next(p, strlen(p), &code);

		p += n > 0 ? n : 1;
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

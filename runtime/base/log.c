/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log
 *
 * One line is one write(2), so lines of concurrent processes do not mix.  When
 * standard error is the journal's stream, the <N> prefix carries the priority.
 */
#include "runtime/base/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
	const char *program;
	enum mr_log_level level;
	enum mr_log_format format;
	bool journal;
} state = { "menace", MR_LOG_NOTICE, MR_LOG_TEXT, false };

static const struct {
	const char *word;
	int priority; /* syslog's */
} levels[] = {
	[MR_LOG_ERROR] = { "error", 3 },   [MR_LOG_WARN] = { "warning", 4 },
	[MR_LOG_NOTICE] = { "notice", 5 }, [MR_LOG_INFO] = { "info", 6 },
	[MR_LOG_DEBUG] = { "debug", 7 },
};

static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	uintmax_t dev, ino;
	struct stat st;

	return stream && sscanf(stream, "%ju:%ju", &dev, &ino) == 2 && fstat(2, &st) == 0 &&
	       st.st_dev == dev && st.st_ino == ino;
}

void mr_log_init(const char *program, enum mr_log_level level, enum mr_log_format format)
{
	state.program = program;
	state.level = level;
	state.format = format;
	state.journal = stderr_is_journal();
}

bool mr_log_wants(enum mr_log_level level)
{
	return level <= state.level;
}

/* Escape for a JSON string; cuts when full. Bytes above 0x7f pass: messages are UTF-8. */
static void escape(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from && n + 7 < size; from++) {
		unsigned char c = (unsigned char)*from;

		if (c == '"' || c == '\\') {
			to[n++] = '\\';
			to[n++] = (char)c;
		} else if (c < 0x20 || c == 0x7f) {
			n += (size_t)snprintf(to + n, size - n, "\\u%04x", c);
		} else {
			to[n++] = (char)c;
		}
	}
	to[n] = '\0';
}

/* Control bytes of hostile names must not reach a terminal. */
static void make_printable(char *s)
{
	for (; *s; s++) {
		if (((unsigned char)*s < 0x20 && *s != '\t') || *s == 0x7f)
			*s = '?';
	}
}

void mr_log(enum mr_log_level level, const char *fmt, ...)
{
	char text[1024], line[2600];
	struct timespec now;
	va_list ap;
	int n;

	if (!mr_log_wants(level))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (state.format == MR_LOG_JSON) {
		char escaped[2400];

		clock_gettime(CLOCK_REALTIME, &now);
		escape(escaped, sizeof(escaped), text);
		n = snprintf(line, sizeof(line),
			     "{\"time\":%" PRIdMAX ".%03ld,\"level\":\"%s\",\"program\":\"%s\","
			     "\"message\":\"%s\"}\n",
			     (intmax_t)now.tv_sec, now.tv_nsec / 1000000, levels[level].word,
			     state.program, escaped);
	} else {
		make_printable(text);
		if (state.journal)
			n = snprintf(line, sizeof(line), "<%d>%s\n", levels[level].priority, text);
		else
			n = snprintf(line, sizeof(line), "%s: %s%s%s\n", state.program,
				     level == MR_LOG_WARN ? "warning" : "",
				     level == MR_LOG_WARN ? ": " : "", text);
	}
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		return; /* nobody left to tell */
}

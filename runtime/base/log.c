/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log
 *
 * One line is one write(2), so lines of concurrent processes do not mix.  When
 * standard error is the journal's stream, the <N> prefix carries the priority.
 * What is said again and again, as by the runs of a batch, is counted where the program asks for it.
 */
#include "runtime/base/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/str.h"

#define TEXT_SIZE 1024
#define KNOWN_MAX 64

/* What was written, and how often it came again. */
struct known {
	enum mr_log_level level;
	char text[TEXT_SIZE];
	uint64_t repeats;
};

static struct {
	const char *program;
	enum mr_log_level level;
	enum mr_log_format format;
	bool journal;
	pid_t counts; /* who counts repeats; 0: nobody */
	struct known *known[KNOWN_MAX]; /* oldest first */
	size_t n_known;
} state = { .program = "menace", .level = MR_LOG_NOTICE, .format = MR_LOG_TEXT };

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

/* Escape for a JSON string; cuts when full.  Names in messages may be of any bytes: what is no UTF-8
 * becomes U+FFFD. */
static void escape(char *to, size_t size, const char *from)
{
	size_t left = strlen(from);
	size_t n = 0;

	while (left > 0 && n + 7 < size) {
		uint32_t code = 0xfffd;
		size_t length = mr_str_utf8_next(from, left, &code);

		if (code == '"' || code == '\\') {
			to[n++] = '\\';
			to[n++] = (char)code;
		} else if (length == 0 || (mr_str_acts(code) && code < 0x10000)) {
			n += (size_t)snprintf(to + n, size - n, "\\u%04x", (unsigned int)code);
		} else {
			memcpy(to + n, from, length);
			n += length;
		}
		length = length > 0 ? length : 1;
		from += length;
		left -= length;
	}
	to[n] = '\0';
}

/* The text is made printable in place: hostile names must not reach a terminal as they are. */
static size_t make_line(enum mr_log_level level, char *text, char line[MR_LOG_LINE_SIZE])
{
	uint64_t now_ms;
	int n;

	if (state.format == MR_LOG_JSON) {
		char escaped[2400];

		now_ms = mr_clock_ns(MR_CLOCK_REAL) / 1000000;
		escape(escaped, sizeof(escaped), text);
		n = snprintf(line, MR_LOG_LINE_SIZE,
			     "{\"time\":%" PRIu64 ".%03d,\"level\":\"%s\",\"program\":\"%s\","
			     "\"message\":\"%s\"}\n",
			     now_ms / 1000, (int)(now_ms % 1000), levels[level].word, state.program,
			     escaped);
	} else {
		mr_str_make_printable(text);
		if (state.journal)
			n = snprintf(line, MR_LOG_LINE_SIZE, "<%d>%s\n", levels[level].priority,
				     text);
		else
			n = snprintf(line, MR_LOG_LINE_SIZE, "%s: %s%s%s\n", state.program,
				     level == MR_LOG_WARN ? "warning" : "",
				     level == MR_LOG_WARN ? ": " : "", text);
	}
	return n > 0 ? (size_t)n : 0;
}

static void put(enum mr_log_level level, char *text)
{
	char line[MR_LOG_LINE_SIZE];
	size_t n = make_line(level, text, line);

	if (n > 0 && write(STDERR_FILENO, line, n) < 0)
		return; /* nobody left to tell */
}

size_t mr_log_line(enum mr_log_level level, char line[MR_LOG_LINE_SIZE], const char *fmt, ...)
{
	char text[TEXT_SIZE];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return make_line(level, text, line);
}

/* --- repeats --------------------------------------------------------------- */

/* One place free, where that loses no count. */
static bool make_room(void)
{
	size_t i = 0;

	if (state.n_known < KNOWN_MAX)
		return true;
	while (i < KNOWN_MAX && state.known[i]->repeats > 0)
		i++;
	if (i == KNOWN_MAX)
		return false;
	free(state.known[i]);
	state.n_known--;
	memmove(state.known + i, state.known + i + 1, (state.n_known - i) * sizeof(struct known *));
	return true;
}

/* Was it written before?  It is counted, or kept for the next time. */
static bool is_repeat(enum mr_log_level level, const char *text)
{
	struct known *one;

	for (size_t i = 0; i < state.n_known; i++)
		if (state.known[i]->level == level && strcmp(state.known[i]->text, text) == 0) {
			state.known[i]->repeats++;
			return true;
		}
	one = make_room() ? malloc(sizeof(*one)) : NULL;
	if (!one)
		return false;
	one->level = level;
	one->repeats = 0;
	snprintf(one->text, sizeof(one->text), "%s", text);
	state.known[state.n_known++] = one;
	return false;
}

void mr_log_count_repeats(void)
{
	state.counts = getpid();
}

void mr_log_tell_repeats(void)
{
	char text[TEXT_SIZE + 64];

	for (size_t i = 0; i < state.n_known; i++) {
		const struct known *one = state.known[i];

		if (one->repeats == 1)
			snprintf(text, sizeof(text), "once more: %s", one->text);
		else
			snprintf(text, sizeof(text), "%" PRIu64 " times more: %s", one->repeats,
				 one->text);
		if (one->repeats > 0)
			put(one->level, text);
		free(state.known[i]);
	}
	state.n_known = 0;
	state.counts = 0;
}

void mr_log(enum mr_log_level level, const char *fmt, ...)
{
	char text[TEXT_SIZE];
	va_list ap;

	if (!mr_log_wants(level))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if ((level == MR_LOG_WARN || level == MR_LOG_NOTICE) && state.counts &&
	    state.counts == getpid() && is_repeat(level, text))
		return;
	put(level, text);
}

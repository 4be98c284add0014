/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log: messages of ours for people and machines, on standard error
 *
 * Set up once by the tool; library code only calls mr_log() through the macros.
 * Events are not logs.  In JSON form each message is one object a line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MR_LOG_LINE_SIZE 2600 /* the longest line that is written */

enum mr_log_level { MR_LOG_ERROR, MR_LOG_WARN, MR_LOG_NOTICE, MR_LOG_INFO, MR_LOG_DEBUG };
enum mr_log_format { MR_LOG_TEXT, MR_LOG_JSON };

/* Messages above `level` are dropped.  Detects a journal on stderr (JOURNAL_STREAM). */
void mr_log_init(const char *program, enum mr_log_level level, enum mr_log_format format);
bool mr_log_wants(enum mr_log_level level);
/* From here on a warning or notice that was written before is only counted, in this process and not in
 * those that it forks, and mr_log_tell_repeats() writes each with its count, once, and ends that.  Of many
 * different ones it forgets the oldest that were not repeated. */
void mr_log_count_repeats(void);
void mr_log_tell_repeats(void);
void mr_log(enum mr_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The line that mr_log() would write now, for who cannot call it when it is needed, as a handler of a
 * signal.  Returns its length. */
size_t mr_log_line(enum mr_log_level level, char line[MR_LOG_LINE_SIZE], const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define mr_log_error(...) mr_log(MR_LOG_ERROR, __VA_ARGS__)
#define mr_log_warn(...) mr_log(MR_LOG_WARN, __VA_ARGS__)
#define mr_log_notice(...) mr_log(MR_LOG_NOTICE, __VA_ARGS__)
#define mr_log_info(...) mr_log(MR_LOG_INFO, __VA_ARGS__)
#define mr_log_debug(...) mr_log(MR_LOG_DEBUG, __VA_ARGS__)

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stats
 *
 * Four small readers, one for each shape the kernel's files have, driven by the
 * tables of v1.c and v2.c.  A line counts only when it is complete (ends in a
 * newline): a text cut off at the end of a buffer can lose a number, never
 * invent one.
 */
#include "cgroups/stats.h"

#include <stdbool.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/io.h"

#define TEXT_MAX 16384 /* memory.stat, the longest, has about 5,000 */

void mr_stats_init(struct mr_cgroup_stats *stats)
{
	memset(stats, 0xff, sizeof(*stats)); /* MR_STAT_UNKNOWN in every number */
	stats->memory_peak_source = NULL;
}

/* A decimal number that ends in white space or the text's end. */
static uint64_t parse_number(const char *text)
{
	uint64_t value;

	if (*text < '0' || *text > '9' || !mr_limits_parse(text, &value))
		return MR_STAT_UNKNOWN;
	return value;
}

static void add_value(const struct mr_stat_file *file, const struct mr_stat_field *field,
		      uint64_t value, struct mr_cgroup_stats *stats)
{
	uint64_t *slot = (uint64_t *)(void *)((char *)stats + field->offset);

	if (value == MR_STAT_UNKNOWN)
		return;
	if (field->divisor)
		value /= field->divisor;
	if (*slot == MR_STAT_UNKNOWN)
		*slot = value;
	else if (__builtin_add_overflow(*slot, value, slot))
		*slot = MR_STAT_UNKNOWN - 1;
	if (slot == &stats->memory_peak_bytes)
		stats->memory_peak_source = file->file;
}

/* The text after "KEY" and the separator, when the line begins so. */
static const char *after_key(const char *line, const char *key, char separator)
{
	size_t n = strlen(key);

	return strncmp(line, key, n) == 0 && line[n] == separator ? line + n + 1 : NULL;
}

/* The number after " NAME=" within one line. */
static uint64_t line_value(const char *line, const char *end, const char *name)
{
	for (const char *p = line; p < end; p++) {
		const char *value = *p == ' ' ? after_key(p + 1, name, '=') : NULL;

		if (value)
			return parse_number(value);
	}
	return MR_STAT_UNKNOWN;
}

static uint64_t field_value(enum mr_stat_form form, const char *key, const char *line,
			    const char *end)
{
	const char *value;

	switch (form) {
	case MR_STAT_FORM_SINGLE:
		return parse_number(line);
	case MR_STAT_FORM_KEYED:
		value = after_key(line, key, ' ');
		return value ? parse_number(value) : MR_STAT_UNKNOWN;
	case MR_STAT_FORM_PSI:
		return after_key(line, key, ' ') ? line_value(line, end, "total") : MR_STAT_UNKNOWN;
	case MR_STAT_FORM_IO:
		return line_value(line, end, key);
	}
	return MR_STAT_UNKNOWN;
}

void mr_stats_parse(const struct mr_stat_file *file, const char *text,
		    struct mr_cgroup_stats *stats)
{
	const char *end;

	for (const char *line = text; (end = strchr(line, '\n')); line = end + 1) {
		for (size_t i = 0; i < N_ELEMENTS(file->fields) && file->fields[i].key; i++) {
			const struct mr_stat_field *field = &file->fields[i];

			add_value(file, field, field_value(file->form, field->key, line, end),
				  stats);
		}
		if (file->form == MR_STAT_FORM_SINGLE)
			break;
	}
}

void mr_stats_read(int dir_fd, const struct mr_stat_file *files, size_t n, unsigned int controllers,
		   struct mr_cgroup_stats *stats)
{
	char text[TEXT_MAX];

	for (size_t i = 0; i < n; i++) {
		const struct mr_stat_file *file = &files[i];

		if (file->controller != MR_CONTROLLER_COUNT_ &&
		    !(controllers & MR_CONTROLLER_BIT(file->controller)))
			continue;
		if (mr_read_file_at(dir_fd, file->file, text, sizeof(text)) > 0)
			mr_stats_parse(file, text, stats);
	}
}

uint64_t mr_stats_keyed(const char *text, const char *key)
{
	const char *end;

	for (const char *line = text; (end = strchr(line, '\n')); line = end + 1) {
		const char *value = after_key(line, key, ' ');

		if (value)
			return parse_number(value);
	}
	return MR_STAT_UNKNOWN;
}

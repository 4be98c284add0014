/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace top: the sandboxes that run now, and what they use
 *
 * On a terminal a table that is drawn again and again; else it is printed once, or with
 * --interval every so often.  Names are what some caller chose: mr_term_cell() shows them.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "tools/cmd.h"
#include "tools/live.h"
#include "tools/screen.h"
#include "tools/term.h"

#define INTERVAL_MIN_MS 100
#define INTERVAL_MAX_MS (24 * 3600 * 1000)
#define NAME_WIDTH 16 /* of the name; the program has what is left of the line */
#define WHOLE 0 /* a line as long as it is */

struct top {
	struct mr_cmd_common common;
	int64_t interval_ms;
	const char *sort;
	bool once;
	enum mr_live_sort by;
	struct mr_live live;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("interval", 'i', "TIME", TIMESPAN, top, interval_ms,
		   "time between two looks, 100ms or more; 2 seconds if not given"),
	MR_CMD_ROW("once", '1', NULL, FLAG, top, once, "look once, also on a terminal"),
	MR_CMD_ROW("sort", 's', "KEY", TEXT, top, sort,
		   "cpu (default), memory, time or pids first"),
	MR_CMD_JSON_ROWS(top),
};

static const struct sort_key {
	const char *name;
	char key;
	enum mr_live_sort by;
} sort_keys[] = {
	{ "cpu", 'c', MR_LIVE_CPU },
	{ "memory", 'm', MR_LIVE_MEMORY },
	{ "time", 't', MR_LIVE_TIME },
	{ "pids", 'p', MR_LIVE_PIDS },
};

static int parse_sort(struct top *top, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	struct mr_str_nearest nearest;

	if (!top->sort)
		return 0;
	mr_str_nearest_init(&nearest, top->sort);
	for (size_t i = 0; i < N_ELEMENTS(sort_keys); i++) {
		if (strcmp(sort_keys[i].name, top->sort) == 0) {
			top->by = sort_keys[i].by;
			return 0;
		}
		mr_str_nearest_offer(&nearest, sort_keys[i].name);
	}
	mr_str_quote(quoted, sizeof(quoted), top->sort);
	if (nearest.best)
		return mr_err(err, MR_E_USAGE, EINVAL, "--sort: unknown value %s; did you mean %s?",
			      quoted, nearest.best);
	return mr_err(err, MR_E_USAGE, EINVAL,
		      "--sort: unknown value %s; known are cpu, memory, time and pids", quoted);
}

static int check_interval(const struct top *top, struct mr_error *err)
{
	if (top->interval_ms == MR_CMD_NOT_GIVEN ||
	    (top->interval_ms >= INTERVAL_MIN_MS && top->interval_ms <= INTERVAL_MAX_MS))
		return 0;
	return mr_err(err, MR_E_USAGE, ERANGE, "--interval: accepted are 100ms to 24h");
}

static int look(struct top *top, struct mr_error *err)
{
	struct mr_live now = { .n = 0 };
	int r = mr_live_take(&top->live, &now, err);

	if (r < 0)
		return r;
	mr_live_deinit(&top->live);
	top->live = now;
	mr_live_sort(&top->live, top->by);
	return 0;
}

/* --- the table ----------------------------------------------------------------------------- */

static const char *size_text(char buf[MR_UNITS_SIZE], uint64_t bytes)
{
	return bytes == MR_STAT_UNKNOWN ? "-" : mr_units_human_size(buf, bytes);
}

static const char *count_text(char buf[MR_UNITS_SIZE], uint64_t n)
{
	if (n == MR_STAT_UNKNOWN)
		return "-";
	snprintf(buf, MR_UNITS_SIZE, "%ju", (uintmax_t)n);
	return buf;
}

static const char *percent_text(char buf[MR_UNITS_SIZE], double percent)
{
	if (percent < 0)
		return "-";
	snprintf(buf, MR_UNITS_SIZE, "%.1f", percent);
	return buf;
}

static void put_cut(enum mr_term_style style, const char *text, int width)
{
	if (width == WHOLE)
		mr_term_put(style, text);
	else
		mr_term_cell(style, text, width);
}

/* One line, no wider than that; the end of the line is the caller's. */
static void print_run(const struct mr_live_row *row, int width)
{
	const struct mr_cgroup_stats *s = &row->stats;
	char buf[8][MR_UNITS_SIZE], line[256];
	uint64_t io = s->io_read_bytes == MR_STAT_UNKNOWN ? MR_STAT_UNKNOWN
							  : s->io_read_bytes + s->io_write_bytes;
	bool limited = row->memory_max != MR_UNLIMITED;

	snprintf(line, sizeof(line), "%-26s %-9s %9s %6s %9s %9s %9s %6s %9s ", row->run.info.id,
		 row->state ? row->state : "-",
		 row->age_ns == MR_STAT_UNKNOWN ? "-" : mr_units_human_time(buf[0], row->age_ns),
		 percent_text(buf[1], row->cpu_percent), size_text(buf[2], s->memory_current_bytes),
		 size_text(buf[3], s->memory_peak_bytes),
		 limited ? mr_units_human_size(buf[4], row->memory_max) : "-",
		 count_text(buf[5], s->pids_current), size_text(buf[6], io));
	if (width != WHOLE && (int)strlen(line) >= width) {
		mr_term_cell(MR_TERM_PLAIN, line, width);
		return;
	}
	printf("%s", line);
	width -= width == WHOLE ? 0 : (int)strlen(line);
	if (row->run.info.name && (width == WHOLE || width > NAME_WIDTH + 1)) {
		mr_term_cell(MR_TERM_BOLD, row->run.info.name, NAME_WIDTH);
		putchar(' ');
		width -= width == WHOLE ? 0 : NAME_WIDTH + 1;
	}
	put_cut(MR_TERM_PLAIN, row->run.info.program, width);
}

static void print_head(int width)
{
	put_cut(MR_TERM_BOLD,
		"RUN                        STATE           AGE   CPU%    MEMORY      PEAK    "
		" "
		"LIMIT   PIDS        IO NAME, PROGRAM",
		width);
}

static void print_document(const struct top *top)
{
	json_t *list = json_array();
	mr_auto_json json_t *document = json_pack("{s:o}", "runs", list);

	for (size_t i = 0; i < top->live.n; i++)
		json_array_append_new(list, mr_live_json(&top->live.rows[i]));
	mr_cmd_print_line(document);
}

static void print_table(const struct top *top)
{
	if (top->common.json) {
		print_document(top);
		return;
	}
	print_head(WHOLE);
	putchar('\n');
	for (size_t i = 0; i < top->live.n; i++) {
		print_run(&top->live.rows[i], WHOLE);
		putchar('\n');
	}
}

/* --- on a terminal ------------------------------------------------------------------------- */

static void end_line(bool more)
{
	printf("\033[K%s", more ? "\r\n" : "");
}

static void draw(const struct top *top)
{
	int columns, lines;
	size_t shown = 0;
	char said[128];

	mr_screen_size(&columns, &lines);
	printf("\033[H");
	snprintf(said, sizeof(said),
		 "%zu running; sort by c cpu, m memory, t time, p pids; q quits", top->live.n);
	mr_term_cell(MR_TERM_PLAIN, said, columns);
	end_line(lines > 1);
	if (lines > 1) {
		print_head(columns);
		end_line(lines > 2 && top->live.n > 0);
	}
	while (shown < top->live.n && (int)shown + 2 < lines) {
		print_run(&top->live.rows[shown++], columns);
		end_line(shown < top->live.n && (int)shown + 2 < lines);
	}
	printf("\033[J");
	fflush(stdout);
}

/* True: to be looked at anew. */
static bool take_key(struct top *top, int key)
{
	for (size_t i = 0; i < N_ELEMENTS(sort_keys); i++)
		if (key == sort_keys[i].key) {
			top->by = sort_keys[i].by;
			mr_live_sort(&top->live, top->by);
		}
	return key == ' ';
}

/* Exit status. */
static int watch(struct top *top, struct mr_screen *screen, uint64_t interval_ns,
		 struct mr_error *err)
{
	uint64_t due = 0;

	for (;;) {
		int key;

		if (mr_now_ns() >= due) {
			int r = look(top, err);

			if (r < 0)
				return r;
			due = mr_now_ns() + interval_ns;
		}
		draw(top);
		key = mr_screen_wait(screen, due);
		if (key == 'q' || key == 'Q' || key == MR_SCREEN_GONE)
			return 0;
		if (key < MR_SCREEN_SIGNAL)
			return 128 + MR_SCREEN_SIGNAL - key;
		if (key >= 0 && take_key(top, key))
			due = 0;
	}
}

static int watch_screen(struct top *top, uint64_t interval_ns, struct mr_error *err)
{
	struct mr_screen screen;
	int r = mr_screen_open(&screen, err);

	if (r < 0)
		return r;
	r = watch(top, &screen, interval_ns, err);
	mr_screen_close(&screen);
	return r;
}

static int print_often(struct top *top, uint64_t interval_ns, struct mr_error *err)
{
	uint64_t due = mr_now_ns();

	for (;;) {
		int r = look(top, err);

		if (r < 0)
			return r;
		print_table(top);
		if (fflush(stdout) != 0)
			return mr_cmd_lost_output(errno, err);
		if (ferror(stdout))
			return 0; /* main says so */
		due += interval_ns;
		mr_clock_sleep(due);
	}
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct top *top = values;
	bool every = top->interval_ms != MR_CMD_NOT_GIVEN;
	uint64_t interval_ns;
	int r = parse_sort(top, err);

	(void)words;
	if (r == 0)
		r = check_interval(top, err);
	if (r < 0)
		return r;
	interval_ns = every ? (uint64_t)top->interval_ms * 1000000 : MR_PATIENCE_NS(TOP_INTERVAL);
	if (!top->once && !top->common.json && mr_screen_is_possible())
		r = watch_screen(top, interval_ns, err);
	else if (!top->once && every)
		r = print_often(top, interval_ns, err);
	else if ((r = look(top, err)) == 0)
		print_table(top);
	mr_live_deinit(&top->live);
	return r;
}

const struct mr_cmd mr_cmd_top = {
	.name = "top",
	.synopsis = "",
	.summary = "Show the sandboxes that run now and what they use",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct top),
	.run = run,
};

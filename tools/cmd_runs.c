/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace runs: the runs of a store, one a line
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/store/query.h"
#include "tools/cmd.h"
#include "tools/term.h"

#define LIMIT_DEFAULT 50

struct runs {
	struct mr_cmd_common common;
	const char *reason, *program, *sort;
	int64_t since_us, until_us, limit;
	bool all;
	size_t n; /* printed */
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("reason", 0, "REASON", TEXT, runs, reason,
		   "only runs that ended for this reason"),
	MR_CMD_ROW("program", 0, "PATTERN", TEXT, runs, program,
		   "only runs whose program or name matches (* and ?)"),
	MR_CMD_ROW("since", 0, "TIME", INSTANT, runs, since_us,
		   "only runs from then on: a date, or a time ago as 2h"),
	MR_CMD_ROW("until", 0, "TIME", INSTANT, runs, until_us, "only runs before"),
	MR_CMD_ROW("limit", 'n', "N", COUNT, runs, limit, "at most so many; 50 if not given"),
	MR_CMD_ROW("all", 'a', NULL, FLAG, runs, all, "all of them"),
	MR_CMD_ROW("sort", 0, "KEY", TEXT, runs, sort,
		   "newest (default), oldest, wall, cpu, memory or denials first"),
	MR_CMD_COMMON_ROWS(runs),
};

static const char *const sorts[] = { "newest", "oldest", "wall", "cpu", "memory", "denials" };

static void print_number(const json_t *value, const char *(*print)(char *, uint64_t),
			 uint64_t factor, int width)
{
	char buf[MR_UNITS_SIZE];
	bool known = json_is_integer(value) && json_integer_value(value) >= 0;

	printf("%*s ", width,
	       known ? print(buf, (uint64_t)json_integer_value(value) * factor) : "-");
}

static void print_run(const json_t *row)
{
	const json_t *started = json_object_get(row, "started_us");
	const char *reason = json_string_value(json_object_get(row, "reason"));
	bool well = reason && strcmp(reason, "exited") == 0;
	const char *name = json_string_value(json_object_get(row, "name"));
	char when[32];

	mr_term_cell(MR_TERM_PLAIN, json_string_value(json_object_get(row, "run_id")), 26);
	printf(" %-19s ",
	       json_is_integer(started) ? mr_term_time(json_integer_value(started), when) : "-");
	mr_term_cell(well ? MR_TERM_PLAIN : MR_TERM_RED, reason, 14);
	printf(" %4lld ", (long long)json_integer_value(json_object_get(row, "exit_status")));
	print_number(json_object_get(row, "wall_us"), mr_units_human_time, 1000, 10);
	print_number(json_object_get(row, "cpu_us"), mr_units_human_time, 1000, 10);
	print_number(json_object_get(row, "memory_peak_bytes"), mr_units_human_size, 1, 10);
	printf("%6lld %s", (long long)json_integer_value(json_object_get(row, "denials")),
	       json_integer_value(json_object_get(row, "held")) ? "held " : "");
	mr_term_put(MR_TERM_PLAIN, json_string_value(json_object_get(row, "program")));
	if (name) {
		printf(" (");
		mr_term_put(MR_TERM_PLAIN, name);
		printf(")");
	}
	putchar('\n');
}

static int on_run(const json_t *row, void *owner, struct mr_error *err)
{
	struct runs *runs = owner;

	(void)err;
	if (runs->common.json) {
		mr_cmd_print_line(row);
	} else {
		if (runs->n == 0)
			mr_term_put(MR_TERM_BOLD, "RUN                        STARTED (UTC)       "
						  "ENDED          EXIT   "
						  "    WALL        CPU     MEMORY DENIED PROGRAM");
		if (runs->n == 0)
			putchar('\n');
		print_run(row);
	}
	runs->n++;
	return 0;
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct runs *runs = values;
	mr_auto_store struct mr_store *store = NULL;
	int64_t limit = runs->limit == MR_CMD_NOT_GIVEN ? LIMIT_DEFAULT : runs->limit;
	int r = mr_cmd_check_reason(runs->reason, err);

	(void)words;
	if (r == 0)
		r = mr_cmd_check_word("sort", runs->sort, sorts, N_ELEMENTS(sorts), err);
	if (r == 0)
		r = mr_cmd_open(&runs->common, MR_STORE_READ, &store, err);
	if (r < 0)
		return r;
	return mr_query_each(store, "run.list",
			     json_pack("{s:s?, s:s?, s:s?, s:o, s:o, s:o}", "reason", runs->reason,
				       "program", runs->program, "sort", runs->sort, "since_us",
				       mr_cmd_instant(runs->since_us), "until_us",
				       mr_cmd_instant(runs->until_us), "limit",
				       runs->all ? json_null() : json_integer(limit)),
			     on_run, runs, err);
}

const struct mr_cmd mr_cmd_runs = {
	.name = "runs",
	.synopsis = "",
	.summary = "List runs",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct runs),
	.run = run,
};

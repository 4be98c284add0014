/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace diff: did behaviour grow from one run to another?
 *
 * Grown is what the second has and the first has not: denials, changed files,
 * programs, names, hosts, system calls, and usage beyond a margin.  What the first
 * alone has is told and is no growth.  A figure that one of them lacks is not compared.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/units.h"
#include "runtime/store/query.h"
#include "tools/cmd.h"
#include "tools/term.h"

#define STATUS_GREW 3
#define MARGIN_PERCENT 25

struct diff {
	struct mr_cmd_common common;
	int64_t margin;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("margin", 0, "PERCENT", COUNT, diff, margin,
		   "usage may grow by so much; 25 if not given"),
	MR_CMD_COMMON_ROWS(diff),
};

/* What is compared as numbers, and the growth that means nothing whatever the margin. */
static const struct figure {
	const char *column;
	int64_t floor;
} figures[] = {
	{ "wall_us", 100000 },
	{ "cpu_us", 50000 },
	{ "memory_peak_bytes", 8 << 20 },
	{ "pids_peak", 0 },
	{ "disk_used_bytes", 1 << 20 },
	{ "disk_used_inodes", 8 },
	{ "stdout_bytes", 4096 },
	{ "stderr_bytes", 4096 },
	{ "vfs_write_bytes", 1 << 20 },
	{ "block_write_bytes", 8 << 20 },
};

/* items: {kind: {item: true}} */
static int add_item(const json_t *row, void *owner, struct mr_error *err)
{
	json_t *items = owner;
	const char *kind = json_string_value(json_object_get(row, "kind"));
	json_t *set = json_object_get(items, kind);

	(void)err;
	if (!set) {
		set = json_object();
		json_object_set_new(items, kind, set);
	}
	json_object_set_new(set, json_string_value(json_object_get(row, "item")), json_true());
	return 0;
}

/* {kind: [item...]} of what `more` has and `less` has not. */
static json_t *surplus(json_t *more, json_t *less)
{
	json_t *ret = json_object();
	const char *kind, *item;
	json_t *set, *value;

	json_object_foreach (more, kind, set) {
		json_t *list = json_array();

		json_object_foreach (set, item, value) {
			if (!json_object_get(json_object_get(less, kind), item))
				json_array_append_new(list, json_string(item));
		}
		if (json_array_size(list) > 0)
			json_object_set(ret, kind, list);
		json_decref(list);
	}
	return ret;
}

static json_t *compare_usage(const json_t *before, const json_t *after, int64_t margin)
{
	json_t *ret = json_array();

	for (size_t i = 0; i < N_ELEMENTS(figures); i++) {
		const json_t *a = json_object_get(before, figures[i].column);
		const json_t *b = json_object_get(after, figures[i].column);
		double from, to;

		if (!json_is_integer(a) || !json_is_integer(b))
			continue;
		from = (double)json_integer_value(a);
		to = (double)json_integer_value(b);
		if (to <= from * (1 + (double)margin / 100) ||
		    to - from <= (double)figures[i].floor)
			continue;
		json_array_append_new(ret, json_pack("{s:s, s:I, s:I}", "figure", figures[i].column,
						     "from", json_integer_value(a), "to",
						     json_integer_value(b)));
	}
	return ret;
}

static void print_sets(const char *sign, enum mr_term_style style, const json_t *sets)
{
	const char *kind;
	json_t *list, *item;
	size_t i;

	json_object_foreach ((json_t *)(uintptr_t)sets, kind, list) {
		json_array_foreach (list, i, item) {
			printf("%s ", sign);
			mr_term_cell(MR_TERM_PLAIN, kind, 12);
			putchar(' ');
			mr_term_put(style, json_string_value(item));
			putchar('\n');
		}
	}
}

static void print_usage(const json_t *usage)
{
	size_t i;
	const json_t *row;

	json_array_foreach ((json_t *)(uintptr_t)usage, i, row)
		printf("+ usage        %s: %lld -> %lld\n",
		       json_string_value(json_object_get(row, "figure")),
		       (long long)json_integer_value(json_object_get(row, "from")),
		       (long long)json_integer_value(json_object_get(row, "to")));
}

static int load(struct mr_store *store, const char *word, char **ret_id, json_t *items,
		json_t **ret_run, struct mr_error *err)
{
	int r = mr_cmd_find_run(store, word, ret_id, err);

	if (r == 0)
		r = mr_query_one(store, "run.get", json_pack("{s:s}", "run_id", *ret_id), ret_run,
				 err);
	if (r == 0)
		r = mr_query_each(store, "diff.items", json_pack("{s:s}", "run_id", *ret_id),
				  add_item, items, err);
	return r;
}

static json_t *describe_end(const json_t *run)
{
	return json_pack("{s:O, s:O, s:O}", "run_id", json_object_get(run, "run_id"), "reason",
			 json_object_get(run, "reason"), "exit_status",
			 json_object_get(run, "exit_status"));
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct diff *diff = values;
	mr_auto_store struct mr_store *store = NULL;
	mr_auto_json json_t *first = json_object(), *second = json_object();
	mr_auto_json json_t *before = NULL, *after = NULL, *document = NULL;
	mr_auto_free char *from = NULL, *to = NULL;
	json_t *grown, *gone, *usage;
	bool grew;
	int r = mr_cmd_open(&diff->common, MR_STORE_READ, &store, err);

	if (r == 0)
		r = load(store, words[0], &from, first, &before, err);
	if (r == 0)
		r = load(store, words[1], &to, second, &after, err);
	if (r < 0)
		return r;
	grown = surplus(second, first);
	gone = surplus(first, second);
	usage = compare_usage(before, after,
			      diff->margin == MR_CMD_NOT_GIVEN ? MARGIN_PERCENT : diff->margin);
	grew = json_object_size(grown) > 0 || json_array_size(usage) > 0;
	document = json_pack("{s:o, s:o, s:b, s:o, s:o, s:o}", "from", describe_end(before), "to",
			     describe_end(after), "grew", grew, "new", grown, "gone", gone, "usage",
			     usage);
	if (diff->common.json) {
		mr_cmd_print_json(document);
	} else {
		print_sets("+", MR_TERM_RED, grown);
		print_usage(usage);
		print_sets("-", MR_TERM_DIM, gone);
		printf("%s\n", grew ? "behaviour grew" : "nothing grew");
	}
	return grew ? STATUS_GREW : 0;
}

const struct mr_cmd mr_cmd_diff = {
	.name = "diff",
	.synopsis = "RUN RUN",
	.summary = "Tell what the second run did more than the first; exit 3 if it did",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct diff),
	.min_words = 2,
	.max_words = 2,
	.run = run,
};

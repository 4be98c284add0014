/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace diff: did behaviour grow from one run to another?
 *
 * Grown is what the second has and the first has not: denials, changed files,
 * programs, names, hosts, system calls, and usage beyond a margin.  What the first
 * alone has is told and is no growth.  A figure that one of them lacks is not compared.
 * A list that is cut, since it had no room or its events were lost, is compared and said to
 * be: how much there is to list, the program decides.
 */
#include <stdio.h>
#include <stdlib.h>
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

static int add_kind(const json_t *row, void *owner, struct mr_error *err)
{
	(void)err;
	json_array_append((json_t *)owner, json_object_get(row, "kind"));
	return 0;
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

static void print_cut(const json_t *side)
{
	const json_t *kind;
	size_t i;

	json_array_foreach (json_object_get(side, "cut"), i, kind) {
		printf("? ");
		mr_term_cell(MR_TERM_PLAIN, json_string_value(kind), 12);
		printf(" not all are listed of run %s\n",
		       json_string_value(json_object_get(side, "run_id")));
	}
}

/* One of the two. */
struct side {
	json_t *items, *cut; /* kinds that are cut */
	json_t *run; /* of run.get */
	char *run_id;
};

static void side_deinit(struct side *side)
{
	json_decref(side->items);
	json_decref(side->cut);
	json_decref(side->run);
	free(side->run_id);
}

static int load(struct mr_store *store, const char *word, struct side *side, struct mr_error *err)
{
	int r = mr_cmd_find_run(store, word, &side->run_id, err);

	side->items = json_object();
	side->cut = json_array();
	if (r == 0)
		r = mr_query_one(store, "run.get", json_pack("{s:s}", "run_id", side->run_id),
				 &side->run, err);
	if (r == 0)
		r = mr_query_each(store, "diff.items", json_pack("{s:s}", "run_id", side->run_id),
				  add_item, side->items, err);
	if (r == 0)
		r = mr_query_each(store, "diff.cut", json_pack("{s:s}", "run_id", side->run_id),
				  add_kind, side->cut, err);
	return r;
}

static json_t *describe_end(const struct side *side)
{
	return json_pack("{s:O, s:O, s:O, s:O}", "run_id", json_object_get(side->run, "run_id"),
			 "reason", json_object_get(side->run, "reason"), "exit_status",
			 json_object_get(side->run, "exit_status"), "cut", side->cut);
}

/* from, to, grew, new, gone, usage. */
static json_t *compare(const struct side *before, const struct side *after, int64_t margin)
{
	json_t *grown = surplus(after->items, before->items);
	json_t *gone = surplus(before->items, after->items);
	json_t *usage = compare_usage(before->run, after->run, margin);
	const bool grew = json_object_size(grown) > 0 || json_array_size(usage) > 0;

	return json_pack("{s:o, s:o, s:b, s:o, s:o, s:o}", "from", describe_end(before), "to",
			 describe_end(after), "grew", grew, "new", grown, "gone", gone, "usage",
			 usage);
}

static void print(const json_t *document)
{
	const json_t *from = json_object_get(document, "from"),
		     *to = json_object_get(document, "to");
	const bool is_cut = json_array_size(json_object_get(from, "cut")) > 0 ||
			    json_array_size(json_object_get(to, "cut")) > 0;

	print_sets("+", MR_TERM_RED, json_object_get(document, "new"));
	print_usage(json_object_get(document, "usage"));
	print_sets("-", MR_TERM_DIM, json_object_get(document, "gone"));
	print_cut(from);
	print_cut(to);
	if (json_is_true(json_object_get(document, "grew")))
		puts("behaviour grew");
	else
		puts(is_cut ? "nothing grew of what is listed" : "nothing grew");
}

static int run(void *values, char **words, struct mr_error *err)
{
	const struct diff *diff = values;
	mr_auto_store struct mr_store *store = NULL;
	mr_auto_json json_t *document = NULL;
	struct side before = { 0 }, after = { 0 };
	bool grew = false;
	int r = mr_cmd_open(&diff->common, MR_STORE_READ, &store, err);

	if (r == 0)
		r = load(store, words[0], &before, err);
	if (r == 0)
		r = load(store, words[1], &after, err);
	if (r == 0) {
		document =
			compare(&before, &after,
				diff->margin == MR_CMD_NOT_GIVEN ? MARGIN_PERCENT : diff->margin);
		grew = json_is_true(json_object_get(document, "grew"));
		if (diff->common.json)
			mr_cmd_print_json(document);
		else
			print(document);
	}
	side_deinit(&before);
	side_deinit(&after);
	if (r < 0)
		return r;
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

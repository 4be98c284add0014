/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace query: one SELECT over the store
 */
#include <errno.h>
#include <stdio.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/store/query.h"
#include "tools/cmd.h"
#include "tools/term.h"

#define TIMEOUT_MS 10000

struct query {
	struct mr_cmd_common common;
	int64_t timeout_ms;
	bool headed;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("timeout", 't', "TIME", TIMESPAN, query, timeout_ms,
		   "longest time; a bare number is seconds; 10s if not given"),
	MR_CMD_COMMON_ROWS(query),
};

static void print_head(const json_t *row)
{
	const char *name;
	json_t *value;
	bool first = true;

	json_object_foreach ((json_t *)(uintptr_t)row, name, value) {
		if (!first)
			putchar('\t');
		mr_term_put(MR_TERM_BOLD, name);
		first = false;
	}
	putchar('\n');
}

static void print_row(const json_t *row)
{
	const char *name;
	json_t *value;
	bool first = true;

	json_object_foreach ((json_t *)(uintptr_t)row, name, value) {
		mr_auto_free char *text = NULL;

		if (!first)
			putchar('\t');
		first = false;
		if (json_is_string(value)) {
			mr_term_put(MR_TERM_PLAIN, json_string_value(value));
			continue;
		}
		text = json_dumps(value, JSON_ENCODE_ANY);
		mr_term_put(MR_TERM_PLAIN, json_is_null(value) ? "" : text);
	}
	putchar('\n');
}

static int on_row(const json_t *row, void *owner, struct mr_error *err)
{
	struct query *query = owner;

	(void)err;
	if (query->common.json) {
		mr_cmd_print_line(row);
		return 0;
	}
	if (!query->headed)
		print_head(row);
	query->headed = true;
	print_row(row);
	return 0;
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct query *query = values;
	mr_auto_store struct mr_store *store = NULL;
	uint64_t time_ms =
		query->timeout_ms == MR_CMD_NOT_GIVEN ? TIMEOUT_MS : (uint64_t)query->timeout_ms;
	int r = mr_cmd_open(&query->common, MR_STORE_READ, &store, err);

	return r < 0 ? r : mr_query_adhoc(store, words[0], time_ms, on_row, query, err);
}

const struct mr_cmd mr_cmd_query = {
	.name = "query",
	.synopsis = "SQL",
	.summary = "Answer one SELECT; the tables are in menace-store(5)",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct query),
	.min_words = 1,
	.max_words = 1,
	.run = run,
};

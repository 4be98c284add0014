/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace pool: the containers that are prepared
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "tools/cmd.h"
#include "tools/engine.h"
#include "tools/term.h"

struct pool {
	struct mr_cmd_common common;
	bool dry_run;
};

static const struct mr_cmd_row rows[] = { MR_CMD_JSON_ROWS(pool) };
static const struct mr_cmd_row drain_rows[] = {
	MR_CMD_ROW("dry-run", 'n', NULL, FLAG, pool, dry_run, "only tell what would go"),
	MR_CMD_JSON_ROWS(pool),
};

/* --- status ---------------------------------------------------------------- */

static void print_container(const json_t *c)
{
	const json_t *left = json_object_get(c, "left_ms");
	const char *engine_state = mr_json_text_or_empty(c, "engine_state");

	printf("%s  %-6s %-6s ", mr_json_text_or_empty(c, "id"), mr_json_text_or_empty(c, "state"),
	       json_is_true(json_object_get(c, "held")) ? "in use" : "free");
	mr_term_cell(MR_TERM_PLAIN, engine_state[0] ? engine_state : "-", 8);
	if (json_is_integer(left))
		printf("  %lld s left", (long long)json_integer_value(left) / 1000);
	printf("\n");
}

static void print_status(const json_t *status)
{
	const json_t *containers = json_object_get(status, "containers");
	const char *error = mr_json_text_or_empty(status, "engine_error");
	json_t *counters = json_object_get(status, "counters"), *value;
	const char *name;

	for (size_t i = 0; i < json_array_size(containers); i++)
		print_container(json_array_get(containers, i));
	if (json_array_size(containers) == 0)
		printf("no container is prepared\n");
	if (error[0])
		printf("the engine does not answer: %s\n", error);
	json_object_foreach (counters, name, value) {
		if (json_is_string(value))
			printf("%s: %s\n", name, json_string_value(value));
		else if (!mr_str_ends_with(name, "_ns"))
			printf("%s: %lld\n", name, (long long)json_integer_value(value));
	}
}

static int run_status(void *values, char **words, struct mr_error *err)
{
	const struct pool *pool = values;
	const char *const task[] = { "pool-status", NULL };
	mr_auto_json json_t *status = NULL;
	int r = mr_engine_ask(task, &status, err);

	(void)words;
	if (r < 0)
		return r;
	if (pool->common.json)
		mr_cmd_print_json(status);
	else
		print_status(status);
	return 0;
}

static const struct mr_cmd status = {
	.name = "pool status",
	.synopsis = "",
	.summary = "Show the prepared containers, and what became of those before",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct pool),
	.run = run_status,
};

/* --- drain ----------------------------------------------------------------- */

static int run_drain(void *values, char **words, struct mr_error *err)
{
	const struct pool *pool = values;
	const char *const task[] = { "pool-drain", pool->dry_run ? "dry" : NULL, NULL };
	mr_auto_json json_t *drained = NULL;
	int r = mr_engine_ask(task, &drained, err);

	(void)words;
	if (r < 0)
		return r;
	if (pool->common.json)
		mr_cmd_print_json(drained);
	else
		printf("%lld prepared containers %s\n",
		       (long long)json_integer_value(json_object_get(drained, "drained")),
		       pool->dry_run ? "would be removed" : "removed");
	return json_integer_value(json_object_get(drained, "left")) > 0;
}

static const struct mr_cmd drain = {
	.name = "pool drain",
	.synopsis = "",
	.summary = "Remove the prepared containers that no run has taken",
	.options = MR_OPTABLE(drain_rows),
	.size = sizeof(struct pool),
	.run = run_drain,
};

static const struct mr_cmd *const verbs[] = { &status, &drain, NULL };

const struct mr_cmd mr_cmd_pool = {
	.name = "pool",
	.synopsis = "VERB",
	.summary = "Look at the containers that menace-run --pool prepares, and remove them",
	.verbs = verbs,
};

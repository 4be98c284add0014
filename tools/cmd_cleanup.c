/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace cleanup: purge-stale, and the pool is emptied and templates of machines go, too
 */
#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "tools/cmd.h"
#include "tools/stale.h"

struct cleanup {
	struct mr_cmd_common common;
	bool dry_run;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("dry-run", 'n', NULL, FLAG, cleanup, dry_run, "only tell what would go"),
	MR_CMD_JSON_ROWS(cleanup),
};

/* Both tell of what they found; in the second of a dry run that is the same once more, less what
 * only the first looks for. */
static int remove_all(const struct cleanup *opts, struct mr_stale *first, struct mr_stale *second,
		      struct mr_error *err)
{
	int r = mr_stale_remove("purge", opts->dry_run, first, err);

	if (r < 0)
		return r;
	r = mr_stale_remove("pool-drain", opts->dry_run, second, err);
	if (r < 0) {
		mr_stale_deinit(first);
		return r;
	}
	r = mr_stale_remove_templates(opts->dry_run, first, err);
	if (r < 0) {
		mr_stale_deinit(first);
		mr_stale_deinit(second);
	}
	return r;
}

static int run(void *values, char **words, struct mr_error *err)
{
	const struct cleanup *opts = values;
	mr_auto_json json_t *document = NULL;
	struct mr_stale stale, drained;
	bool left;
	int r = remove_all(opts, &stale, &drained, err);

	(void)words;
	if (r < 0)
		return r;
	if (stale.docker && drained.docker)
		json_object_set(stale.docker, "drained",
				json_object_get(drained.docker, "drained"));
	document = mr_stale_json(&stale, opts->dry_run);
	if (opts->common.json)
		mr_cmd_print_json(document);
	else
		mr_stale_print(&stale, opts->dry_run);
	left = mr_stale_is_left(&stale) || mr_stale_is_left(&drained);
	mr_stale_deinit(&stale);
	mr_stale_deinit(&drained);
	return left;
}

const struct mr_cmd mr_cmd_cleanup = {
	.name = "cleanup",
	.synopsis = "",
	.summary = "Do what purge-stale does, empty the pool of prepared containers and remove "
		   "templates of machines",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct cleanup),
	.run = run,
};

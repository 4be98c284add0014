/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace purge-stale: remove what is left of those who died
 */
#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "tools/cmd.h"
#include "tools/stale.h"

struct purge_stale {
	struct mr_cmd_common common;
	bool dry_run;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("dry-run", 'n', NULL, FLAG, purge_stale, dry_run, "only tell what would go"),
	MR_CMD_JSON_ROWS(purge_stale),
};

static int run(void *values, char **words, struct mr_error *err)
{
	const struct purge_stale *opts = values;
	mr_auto_json json_t *document = NULL;
	struct mr_stale stale;
	bool left;
	int r = mr_stale_remove("purge", opts->dry_run, &stale, err);

	(void)words;
	if (r < 0)
		return r;
	document = mr_stale_json(&stale, opts->dry_run);
	if (opts->common.json)
		mr_cmd_print_json(document);
	else
		mr_stale_print(&stale, opts->dry_run);
	left = mr_stale_is_left(&stale);
	mr_stale_deinit(&stale);
	return left;
}

const struct mr_cmd mr_cmd_purge_stale = {
	.name = "purge-stale",
	.synopsis = "",
	.summary = "Remove what is left of runs whose supervisor is dead, and of prepared "
		   "containers past "
		   "their time",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct purge_stale),
	.run = run,
};

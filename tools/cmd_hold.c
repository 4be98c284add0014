/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace hold: protect a run from purges, or lift that
 */
#include <errno.h>
#include <stdio.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/store/query.h"
#include "runtime/store/retain.h"
#include "tools/cmd.h"
#include "tools/term.h"

struct hold {
	struct mr_cmd_common common;
	bool release;
	const char *reason;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("release", 0, NULL, FLAG, hold, release, "lift the hold"),
	MR_CMD_ROW("reason", 'r', "TEXT", TEXT, hold, reason, "why; goes into the account"),
	MR_CMD_COMMON_ROWS(hold),
};

static int list(const struct hold *hold, struct mr_store *store, struct mr_error *err)
{
	mr_auto_json json_t *held = NULL;
	size_t i;
	const json_t *row;
	int r = mr_query_all(store, "hold.list", NULL, &held, err);

	if (r < 0)
		return r;
	if (hold->common.json) {
		mr_cmd_print_json(held);
		return 0;
	}
	json_array_foreach (held, i, row) {
		mr_term_put(MR_TERM_PLAIN, json_string_value(json_object_get(row, "run_id")));
		putchar(' ');
		mr_term_put(MR_TERM_PLAIN, json_string_value(json_object_get(row, "reason")));
		putchar('\n');
	}
	return 0;
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct hold *hold = values;
	const char *reason = hold->reason ? hold->reason : "";
	mr_auto_store struct mr_store *store = NULL;
	mr_auto_free char *run_id = NULL;
	int r;

	if (!words[0] && (hold->release || hold->reason))
		return mr_err(err, MR_E_USAGE, EINVAL, "%s: of which run? menace hold RUN %s",
			      hold->release ? "--release" : "--reason",
			      hold->release ? "--release" : "--reason TEXT");
	r = mr_cmd_open(&hold->common, words[0] ? MR_STORE_WRITE : MR_STORE_READ, &store, err);
	if (r < 0)
		return r;
	if (!words[0])
		return list(hold, store, err);
	r = mr_cmd_find_run(store, words[0], &run_id, err);
	if (r == 0)
		r = hold->release ? mr_retain_release(store, run_id, reason, err)
				  : mr_retain_hold(store, run_id, reason, err);
	if (r < 0)
		return r;
	if (hold->common.json)
		printf("{\"run_id\": \"%s\", \"held\": %s, \"changed\": %s}\n", run_id,
		       hold->release ? "false" : "true", r == 0 ? "true" : "false");
	else
		printf("run %s %s %s\n", run_id, r > 0 ? "was already" : "is now",
		       hold->release ? "without a hold" : "held");
	return 0;
}

const struct mr_cmd mr_cmd_hold = {
	.name = "hold",
	.synopsis = "[RUN]",
	.summary = "Protect a run from purges; without RUN: list those that are",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct hold),
	.max_words = 1,
	.run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace preset import-policy, export-policy, show-policy: learned policies of presets
 *
 * All verbs work on files: what adapt and generate follow is the file that --policy names, or else the
 * variable SANDBOX_PRESET_RL_PATH.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/scenario/preset_policy.h"
#include "tools/cmd_preset.h"

#define POLICY_MAX (1 << 20) /* bytes; a whole table takes less */

struct policy {
	struct mr_cmd_common common;
	const char *output;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("output", 'o', "FILE", PATH, policy, output,
		   "write it there; without it on standard output"),
	MR_CMD_ROW("json", 0, NULL, FLAG, policy, common.json, "as without it: policies are JSON"),
	MR_CMD_HELP_ROW(policy),
};

static const struct mr_cmd_row show_rows[] = {
	MR_CMD_ROW("json", 0, NULL, FLAG, policy, common.json, "print the policy, as import does"),
	MR_CMD_HELP_ROW(policy),
};

int mr_cmd_preset_read_policy(const char *path, json_t **ret, struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	mr_auto_json json_t *document = NULL;
	struct mr_json root;
	size_t size = 0;
	int r = mr_read_whole_file(path, POLICY_MAX, &text, &size, err);

	if (r < 0) {
		err->code = MR_E_USAGE;
		return r;
	}
	r = mr_json_parse(text, size, path, &document, err);
	if (r < 0)
		return r;
	root = mr_json_root(document, path);
	return mr_preset_policy_parse(&root, ret, err);
}

int mr_cmd_preset_policy_to_follow(const char *option, json_t **ret, struct mr_error *err)
{
	const char *variable = getenv("SANDBOX_PRESET_RL_PATH");
	const char *path = option ? option : variable;
	int r;

	*ret = NULL;
	if (!path || path[0] == '\0')
		return 0;
	r = mr_cmd_preset_read_policy(path, ret, err);
	return r < 0 ? mr_err_wrap(err, r, option ? "--policy" : "SANDBOX_PRESET_RL_PATH") : 0;
}

/* --- import, export -------------------------------------------------------- */

static int run_import(void *values, char **words, struct mr_error *err)
{
	const struct policy *p = values;
	mr_auto_json json_t *policy = NULL;
	int r = mr_cmd_preset_read_policy(words[0], &policy, err);

	return r < 0 ? r : mr_cmd_preset_write(p->output, policy, err);
}

static int run_export(void *values, char **words, struct mr_error *err)
{
	const struct policy *p = values;
	mr_auto_json json_t *policy = NULL;
	mr_auto_json json_t *table = NULL;
	size_t left_out = 0;
	int r = mr_cmd_preset_read_policy(words[0], &policy, err);

	if (r < 0)
		return r;
	table = mr_preset_policy_export(policy, &left_out);
	if (left_out > 0)
		mr_log_warn("%zu values are left out: the older format has no number for their "
			    "actions",
			    left_out);
	return mr_cmd_preset_write(p->output, table, err);
}

/* --- show ------------------------------------------------------------------ */

static void print_policy(const json_t *policy)
{
	const char *state, *steps = NULL;
	json_t *values;
	double value = 0;

	printf("state:");
	for (size_t i = 0; mr_preset_policy_feature(i); i++)
		printf("%s %s", i > 0 ? "," : "", mr_preset_policy_feature(i));
	putchar('\n');
	json_object_foreach (json_object_get(policy, "states"), state, values) {
		const char *best = mr_preset_policy_best(values, &steps, &value);

		printf("%-22s %-11s %10.4g  of %zu\n", state, best, value,
		       json_object_size(values));
	}
	printf("%zu states\n", json_object_size(json_object_get(policy, "states")));
}

static int run_show(void *values, char **words, struct mr_error *err)
{
	const struct policy *p = values;
	mr_auto_json json_t *policy = NULL;
	int r = mr_cmd_preset_read_policy(words[0], &policy, err);

	if (r < 0)
		return r;
	if (p->common.json)
		return mr_cmd_preset_write(NULL, policy, err);
	print_policy(policy);
	return 0;
}

const struct mr_cmd mr_cmd_preset_policy_import = {
	.name = "preset import-policy",
	.synopsis = "FILE",
	.summary = "Check a learned policy, also a table of the older format, and write it for "
		   "--policy",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct policy),
	.min_words = 1,
	.max_words = 1,
	.run = run_import,
};

const struct mr_cmd mr_cmd_preset_policy_export = {
	.name = "preset export-policy",
	.synopsis = "FILE",
	.summary = "Print a learned policy as a table of the older format",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct policy),
	.min_words = 1,
	.max_words = 1,
	.run = run_export,
};

const struct mr_cmd mr_cmd_preset_policy_show = {
	.name = "preset show-policy",
	.synopsis = "FILE",
	.summary = "Print what a learned policy does in each state",
	.options = MR_OPTABLE(show_rows),
	.size = sizeof(struct policy),
	.min_words = 1,
	.max_words = 1,
	.run = run_show,
};

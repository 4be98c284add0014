/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace preset learn-policy: a policy of presets from the runs of the store
 *
 * A row of the store is put into the form of a result, which the learner reads.  Runs of the
 * same program with the same arguments, or of the same snippet, are one history.
 */
#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/scenario/preset_learn.h"
#include "runtime/store/query.h"
#include "tools/cmd_preset.h"

#define RATE 50
#define DISCOUNT 90

struct learn {
	struct mr_cmd_common common;
	const char *program, *policy_path, *output;
	int64_t since_us, until_us, rate, discount;
	/* while it learns */
	struct mr_preset_learner *learner;
	char *history; /* of the last row */
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("program", 0, "PATTERN", TEXT, learn, program,
		   "only from runs whose program or name matches (* and ?)"),
	MR_CMD_ROW("since", 0, "TIME", INSTANT, learn, since_us,
		   "only from runs from then on: a date, or a time ago as 2h"),
	MR_CMD_ROW("until", 0, "TIME", INSTANT, learn, until_us, "only from runs before"),
	MR_CMD_ROW("policy", 0, "FILE", PATH, learn, policy_path,
		   "go on from what this policy knows; what it was learned from is not to be "
		   "learned "
		   "twice"),
	MR_CMD_ROW("rate", 0, "PERCENT", COUNT, learn, rate,
		   "how much of what is known a step replaces, 1 to 100; 50 if not given"),
	MR_CMD_ROW("discount", 0, "PERCENT", COUNT, learn, discount,
		   "how much of what the next state is worth counts, 0 to 100; 90 if not given"),
	MR_CMD_ROW("output", 'o', "FILE", PATH, learn, output,
		   "write it there; without it on standard output"),
	MR_CMD_ROW("store", 0, "PATH", PATH, learn, common.store,
		   "the store; by default the one that menace-run keeps its runs in"),
	MR_CMD_HELP_ROW(learn),
};

static json_t *result_of_row(const json_t *row)
{
	json_t *result =
		json_pack("{s:s, s:O?, s:{s:O?}, s:{s:O?, s:{s:O?}, s:{s:O?}}, s:{s:O?, s:O?},"
			  " s:{s:{s:{s:{s:O?}}}}}",
			  "schema", "menace.result/1", "reason", json_object_get(row, "reason"),
			  "exit", "status", json_object_get(row, "exit_status"), "usage", "wall_us",
			  json_object_get(row, "wall_us"), "cpu", "usage_us",
			  json_object_get(row, "cpu_us"), "memory", "peak_bytes",
			  json_object_get(row, "memory_peak_bytes"), "limits", "cpus",
			  json_object_get(row, "cpus"), "memory_max_bytes",
			  json_object_get(row, "memory_max_bytes"), "receipt", "network", "shaping",
			  "applied", "rate", json_object_get(row, "rate"));

	mr_assert(result);
	return result;
}

static int on_row(const json_t *row, void *owner, struct mr_error *err)
{
	struct learn *learn = owner;
	const char *history = json_string_value(json_object_get(row, "history"));
	const char *run_id = json_string_value(json_object_get(row, "run_id"));
	mr_auto_json json_t *result = result_of_row(row);
	const struct mr_json root = mr_json_root(result, run_id ? run_id : "run");

	if (!learn->history || strcmp(learn->history, history ? history : "") != 0) {
		mr_preset_learner_begin(learn->learner);
		mr_freep(&learn->history);
		learn->history = mr_str_dup(history ? history : "");
	}
	return mr_preset_learner_add(learn->learner, &root, err);
}

static int read_runs(struct learn *learn, struct mr_error *err)
{
	mr_auto_store struct mr_store *store = NULL;
	int r = mr_cmd_open(&learn->common, MR_STORE_READ, &store, err);

	if (r < 0)
		return r;
	return mr_query_each(store, "learn.runs",
			     json_pack("{s:s?, s:o, s:o}", "program", learn->program, "since_us",
				       mr_cmd_instant(learn->since_us), "until_us",
				       mr_cmd_instant(learn->until_us)),
			     on_row, learn, err);
}

static int write_learned(const struct learn *learn, struct mr_error *err)
{
	mr_auto_json json_t *policy = mr_preset_learner_policy(learn->learner);
	struct mr_preset_learned told;

	mr_preset_learner_tell(learn->learner, &told);
	if (told.steps == 0)
		return mr_err(err, MR_E_NONE, ENOENT,
			      "nothing to learn from: %zu runs of %zu programs, and none after two "
			      "of the same program%s",
			      told.runs, told.histories,
			      told.several ? " that changed one limit at most" : "");
	mr_log_notice("learned from %zu steps of %zu runs of %zu programs; %zu that changed "
		      "several "
		      "limits at once are left out",
		      told.steps, told.runs, told.histories, told.several);
	return mr_cmd_preset_write(learn->output, policy, err);
}

static int learn_with(struct learn *learn, const json_t *policy, struct mr_error *err)
{
	const struct mr_preset_learn_opts opts = { .policy = policy,
						   .rate = (double)learn->rate / 100,
						   .discount = (double)learn->discount / 100 };
	int r;

	learn->learner = mr_preset_learner_new(&opts);
	r = read_runs(learn, err);
	if (r == 0)
		r = write_learned(learn, err);
	learn->learner = mr_preset_learner_free(learn->learner);
	mr_freep(&learn->history);
	return r;
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct learn *learn = values;
	mr_auto_json json_t *policy = NULL;
	int r = mr_cmd_check_count("rate", &learn->rate, RATE, 1, 100, err);

	(void)words;
	if (r == 0)
		r = mr_cmd_check_count("discount", &learn->discount, DISCOUNT, 0, 100, err);
	if (r < 0)
		return r;
	r = learn->policy_path ? mr_cmd_preset_read_policy(learn->policy_path, &policy, err) : 0;
	return r < 0 ? mr_err_wrap(err, r, "--policy") : learn_with(learn, policy, err);
}

const struct mr_cmd mr_cmd_preset_learn = {
	.name = "preset learn-policy",
	.synopsis = "",
	.summary = "Learn a policy from the runs of the store, for --policy",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct learn),
	.run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace purge: delete old runs, and keep account of it
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "bpf/start.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/store/retain.h"
#include "runtime/store/sign.h"
#include "tools/cmd.h"
#include "tools/progress.h"

struct purge {
	struct mr_cmd_common common;
	const char *run, *reason, *key;
	int64_t before_us, idle_ms;
	bool all, dry_run, probes;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("before", 0, "TIME", INSTANT, purge, before_us,
		   "runs that began before: a date, or a time ago as 90d"),
	MR_CMD_ROW("run", 0, "RUN", TEXT, purge, run, "this run"),
	MR_CMD_ROW("all", 0, NULL, FLAG, purge, all, "every run"),
	MR_CMD_ROW("reason", 'r', "TEXT", TEXT, purge, reason, "why; goes into the account"),
	MR_CMD_ROW("key", 'k', "FILE", PATH, purge, key,
		   "seal the beginning of the chain that tells only of purged runs with this key"),
	MR_CMD_ROW("probes", 0, NULL, FLAG, purge, probes,
		   "instead of runs, what is in the kernel to observe runs and no run uses"),
	MR_CMD_ROW("idle", 0, "TIME", TIMESPAN, purge, idle_ms,
		   "with --probes: only what no run has used for so long"),
	MR_CMD_ROW("dry-run", 'n', NULL, FLAG, purge, dry_run, "only tell what would go"),
	MR_CMD_COMMON_ROWS(purge),
};

static void tell(const struct purge *purge, int64_t runs, int64_t sealed)
{
	if (purge->common.json)
		printf("{\"dry_run\": %s, \"runs\": %lld, \"sealed\": %lld}\n",
		       purge->dry_run ? "true" : "false", (long long)runs, (long long)sealed);
	else
		printf("%lld runs %s, %lld rows of the chain sealed\n", (long long)runs,
		       purge->dry_run ? "would go" : "deleted", (long long)sealed);
}

static int tell_candidates(const struct purge *purge, struct mr_store *store,
			   const struct mr_purge_opts *opts, struct mr_error *err)
{
	mr_auto_json json_t *candidates = NULL;
	int r = mr_retain_candidates(store, opts, &candidates, err);

	if (r == 0)
		tell(purge, (int64_t)json_array_size(candidates), 0);
	return r;
}

static void show_progress(size_t done, size_t total, void *owner)
{
	mr_progress_tell(owner, done, total);
}

static int purge_runs(const struct purge *purge, struct mr_store *store,
		      const struct mr_purge_opts *chosen, struct mr_error *err)
{
	struct mr_purge_opts opts = *chosen;
	struct mr_progress progress;
	struct mr_sign_key key;
	int64_t runs = 0, sealed = 0;
	int r = 0;

	if (purge->key) {
		r = mr_sign_key_read(purge->key, &key, err);
		opts.key = &key;
	}
	mr_progress_begin(&progress, "deleting, tables done");
	opts.progress = show_progress;
	opts.owner = &progress;
	if (r == 0)
		r = mr_retain_purge(store, &opts, &runs, &sealed, err);
	mr_progress_end(&progress);
	mr_sign_key_forget(&key);
	if (r == 0)
		tell(purge, runs, sealed);
	return r;
}

/* Nothing of the store. */
static int purge_probes(const struct purge *purge, struct mr_error *err)
{
	uint64_t removed = 0, left = 0;
	uint64_t idle_ms = purge->idle_ms == MR_CMD_NOT_GIVEN ? 0 : (uint64_t)purge->idle_ms;
	int r = mr_start_purge((idle_ms + 999) / 1000, &removed, &left, err);

	if (r < 0)
		return r;
	printf(purge->common.json ? "{\"removed\": %" PRIu64 ", \"left\": %" PRIu64 "}\n"
				  : "%" PRIu64 " sets of probes removed, %" PRIu64 " left\n",
	       removed, left);
	return 0;
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct purge *purge = values;
	int64_t before_us = purge->before_us == MR_CMD_NOT_GIVEN ? 0 : purge->before_us;
	struct mr_purge_opts opts = { .before_us = before_us,
				      .reason = purge->reason ? purge->reason : "" };
	mr_auto_store struct mr_store *store = NULL;
	mr_auto_free char *run_id = NULL;
	int r;

	(void)words;
	if ((before_us != 0) + (purge->run != NULL) + purge->all + purge->probes != 1)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "say what is to go: --before, --run, --all or --probes");
	if (purge->idle_ms != MR_CMD_NOT_GIVEN && !purge->probes)
		return mr_err(err, MR_E_USAGE, EINVAL, "--idle is for --probes");
	if (purge->probes && (purge->reason || purge->key || purge->dry_run))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--reason, --key and --dry-run are for runs, not for --probes");
	if (purge->probes)
		return purge_probes(purge, err);
	r = mr_cmd_open(&purge->common, MR_STORE_WRITE, &store, err);
	if (r == 0 && purge->run)
		r = mr_cmd_find_run(store, purge->run, &run_id, err);
	if (r < 0)
		return r;
	opts.run_id = run_id;
	return purge->dry_run ? tell_candidates(purge, store, &opts, err)
			      : purge_runs(purge, store, &opts, err);
}

const struct mr_cmd mr_cmd_purge = {
	.name = "purge",
	.synopsis = "",
	.summary = "Delete runs that nobody holds; their heads stay in the chain",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct purge),
	.run = run,
};

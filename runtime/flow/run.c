/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run of a workflow
 *
 *   step     waiting -> running -> ended, or waiting -> ended (skipped)
 *   run      steps, then the combined run (n = n_steps), then the end
 *
 * A shared workspace is a folder of ours that no sandbox writes: a step sees it
 * under an overlay, and what it changed is brought in after its row was kept.  Until
 * that is finished the changes stay, so that the next start finishes it; doing it
 * twice changes nothing.  Steps that share one run one at a time.
 *
 *   FOLDER/shared     the workspace
 *   FOLDER/seen.N     what step N sees, where that is more than the workspace
 *   FOLDER/new.N.T    where the sandbox of step N that began at T puts what changed:
 *                     one that outlives us for a moment must not meet the next
 *   FOLDER/kept.N     the same once it has ended
 *   FOLDER/begun      the workspace was filled
 */
#include "runtime/flow/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/backend/child.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/flow/combined.h"
#include "runtime/flow/fixture.h"
#include "runtime/flow/metrics.h"
#include "runtime/flow/folder.h"
#include "runtime/flow/workflow.h"

enum step_state { WAITING, RUNNING, ENDED };

struct step {
	struct mr_flow_run *run;
	size_t n;
	enum step_state state;
	bool passed;
	struct mr_child *child;
	char *new; /* path of new.N.T */
	json_t *row;
};

struct mr_flow_run {
	struct mr_flow_run_opts opts;
	char *program, *store, *stage, *folder;
	size_t jobs, n_steps; /* with the combined run */
	struct step *steps;
	size_t busy;
	struct mr_child *held; /* of the first step, once it is ready and until it is let go */
	bool begun; /* a step was started */
	struct step *unsettled; /* the last one, that has ended and was not read; or NULL */
	bool interrupted, ended;
	int failed; /* negative: error says why */
	struct mr_error error;
	json_t *rows;
};

static void advance(struct mr_flow_run *run);

static void fail(struct mr_flow_run *run, int r, const struct mr_error *why)
{
	if (run->failed == 0) {
		run->failed = r;
		run->error = *why;
	}
	mr_flow_run_interrupt(run);
}

/* --- the shared workspace -------------------------------------------------- */

static char *path_in(const struct mr_flow_run *run, const char *name, size_t n)
{
	if (n == SIZE_MAX)
		return mr_str_format("%s/%s", run->folder, name);
	return mr_str_format("%s/%s.%zu", run->folder, name, n);
}

static int copy_into(const char *from, const char *to, struct mr_error *err)
{
	mr_auto_close int source = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mr_auto_close int target = -1;
	int r;

	if (source < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", from);
	r = mr_fixture_folder(to, &target, err);
	return r < 0 ? r : mr_folder_copy(source, target, NULL, err);
}

static int remove_path(const char *path, struct mr_error *err)
{
	return mr_folder_remove(AT_FDCWD, path, err);
}

static int bring_in(struct mr_flow_run *run, size_t n, struct mr_error *err)
{
	mr_auto_free char *kept = path_in(run, "kept", n);
	mr_auto_free char *shared = path_in(run, "shared", SIZE_MAX);
	mr_auto_close int from = open(kept, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	mr_auto_close int to = -1;
	int r;

	if (from < 0)
		return errno == ENOENT ? 0 : mr_err(err, MR_E_SYS, errno, "open %s: %m", kept);
	r = mr_fixture_folder(shared, &to, err);
	if (r == 0)
		r = mr_folder_apply_kept(from, to, err);
	if (r == 0)
		r = remove_path(kept, err);
	return r < 0 ? mr_err_wrap(err, r, "shared workspace after step \"%s\"",
				   run->opts.flow->steps[n].name)
		     : 0;
}

static int begin_shared(struct mr_flow_run *run, struct mr_error *err)
{
	mr_auto_free char *base = mr_str_format("%s/base", run->stage);
	mr_auto_free char *shared = path_in(run, "shared", SIZE_MAX);
	mr_auto_free char *begun = path_in(run, "begun", SIZE_MAX);
	mr_auto_close int fd = -1;
	int r;

	if (access(begun, F_OK) == 0)
		return 0;
	r = remove_path(shared, err);
	if (r == 0)
		r = copy_into(base, shared, err);
	if (r < 0)
		return r;
	fd = open(begun, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return fd < 0 ? mr_err(err, MR_E_SYS, errno, "make %s: %m", begun) : 0;
}

static int show_shared(struct mr_flow_run *run, size_t n, json_t *spec, struct mr_error *err)
{
	struct step *step = &run->steps[n];
	mr_auto_free char *shared = path_in(run, "shared", SIZE_MAX);
	mr_auto_free char *seen = path_in(run, "seen", n);
	mr_auto_free char *files = mr_str_format("%s/%zu/files", run->stage, n);
	const bool own = json_object_size(run->opts.flow->steps[n].files) > 0;
	int r = remove_path(seen, err);

	free(step->new);
	step->new = mr_str_format("%s/new.%zu.%jx", run->folder, n, (uintmax_t)mr_now_ns());
	if (r == 0 && own)
		r = copy_into(shared, seen, err);
	if (r == 0 && own)
		r = copy_into(files, seen, err);
	json_object_set_new(mr_fixture_sandbox(spec), "workspace",
			    json_string(own ? seen : shared));
	json_object_set_new(mr_fixture_sandbox(spec), "keep_changes", json_string(step->new));
	return r;
}

/* Before the row is kept: from then on the changes are brought in, whatever happens. */
static int name_kept(struct step *step, struct mr_error *err)
{
	mr_auto_free char *kept = path_in(step->run, "kept", step->n);
	int r;

	if (!step->new)
		return 0;
	r = remove_path(kept, err); /* of an attempt that did not count */
	if (r == 0 && rename(step->new, kept) < 0 && errno != ENOENT)
		return mr_err(err, MR_E_SYS, errno, "rename %s: %m", step->new);
	return r;
}

static int end_shared(struct mr_flow_run *run, size_t n, struct mr_error *err)
{
	mr_auto_free char *seen = path_in(run, "seen", n);
	int r;

	if (!run->opts.flow->shared || n == run->opts.flow->n_steps)
		return 0;
	r = bring_in(run, n, err);
	return r < 0 ? r : remove_path(seen, err);
}

/* --- steps ----------------------------------------------------------------- */

static void end_step(struct step *step, json_t *row, const json_t *result)
{
	struct mr_flow_run *run = step->run;
	struct mr_error err = MR_ERROR_INIT;
	int r = 0;

	step->state = ENDED;
	step->row = row;
	step->passed = json_is_true(json_object_get(row, "passed"));
	if (result)
		r = name_kept(step, &err);
	if (r == 0 && run->opts.keep)
		r = run->opts.keep(row, result, run->opts.owner, &err);
	if (r == 0 && result)
		r = end_shared(run, step->n, &err);
	if (r < 0)
		fail(run, r, &err);
}

/* Changes that could not be brought out are lost to the steps behind: not a step that is done. */
static int check_kept(const struct step *step, const json_t *result, struct mr_error *err)
{
	const json_t *error = json_object_get(json_object_get(result, "workspace"), "error");
	const char *message = json_string_value(json_object_get(error, "message"));

	if (!step->new || !error || json_is_null(error))
		return 0;
	return mr_err(err, MR_E_SYS, EIO,
		      "its changes of the shared workspace could not be kept: %s",
		      message ? message : "see its run");
}

static void take_result(struct step *step)
{
	struct mr_flow_run *run = step->run;
	struct mr_error err = MR_ERROR_INIT;
	const json_t *result = NULL;
	int r = mr_child_result(step->child, &result, &err);

	if (r == 0)
		r = check_kept(step, result, &err);
	if (r < 0) {
		step->state = WAITING;
		mr_err_wrap(&err, r, "step \"%s\"",
			    step->n < run->opts.flow->n_steps ? run->opts.flow->steps[step->n].name
							      : "combined");
		if (!run->interrupted)
			fail(run, r, &err);
	} else if (run->interrupted) {
		step->state = WAITING; /* how it ended was our doing: it is not done */
	} else {
		end_step(step, mr_metrics_row(run->opts.flow, step->n, result), result);
	}
	step->child = mr_child_free(step->child);
	advance(run);
}

/* Whatever it says, no sandbox comes after it. */
static bool is_last(const struct step *step)
{
	const struct mr_flow_run *run = step->run;

	for (size_t i = 0; i < run->n_steps; i++)
		if (i != step->n && run->steps[i].state != ENDED)
			return false;
	return true;
}

static void on_child_end(struct mr_child *child, void *owner)
{
	struct step *step = owner;

	step->run->busy--;
	if (step->run->held == child)
		step->run->held = NULL;
	if (step->run->opts.settles && is_last(step))
		step->run->unsettled = step;
	else
		take_result(step);
}

static void on_child_ready(struct mr_child *child, void *owner)
{
	struct mr_flow_run *run = ((struct step *)owner)->run;

	run->held = child;
	run->opts.on_ready(run, run->opts.owner);
}

static int build_spec(struct mr_flow_run *run, size_t n, json_t **ret, char **ret_why,
		      struct mr_error *err)
{
	const struct mr_flow *flow = run->opts.flow;

	if (n == flow->n_steps)
		return mr_flow_combine(flow, run->stage, ret, ret_why, err);
	*ret = json_deep_copy(flow->steps[n].spec);
	mr_fixture_show(flow, n, run->stage, *ret);
	return flow->shared ? show_shared(run, n, *ret, err) : 0;
}

static int start_step(struct step *step, struct mr_error *err)
{
	struct mr_flow_run *run = step->run;
	mr_auto_json json_t *spec = NULL;
	mr_auto_free char *why = NULL;
	struct mr_child_opts opts = {
		.loop = run->opts.loop,
		.runners = run->opts.runners,
		.program = run->program,
		.store = run->store,
		.on_end = on_child_end,
		.owner = step,
	};
	int r = build_spec(run, step->n, &spec, &why, err);

	if (r > 0) {
		end_step(step, mr_metrics_skipped(run->opts.flow, step->n, why), NULL);
		return 0;
	}
	if (r == 0 && run->opts.alter)
		run->opts.alter(spec, step->n, run->opts.owner);
	opts.spec = spec;
	if (run->opts.held_runners && !run->begun) {
		opts.runners = run->opts.held_runners;
		opts.on_ready = on_child_ready;
	}
	if (r == 0)
		r = mr_child_start(&opts, &step->child, err);
	if (r < 0)
		return r;
	step->state = RUNNING;
	run->begun = true;
	run->busy++;
	return 0;
}

/* May it begin?  Skipped at once when something that it needs did not end well. */
static bool is_ready(struct step *step)
{
	struct mr_flow_run *run = step->run;
	const struct mr_flow_step *of = &run->opts.flow->steps[step->n];

	if (step->state != WAITING)
		return false;
	if (step->n == run->opts.flow->n_steps) {
		for (size_t i = 0; i < step->n; i++)
			if (run->steps[i].state != ENDED)
				return false;
		return true;
	}
	for (size_t i = 0; i < of->n_needs; i++) {
		const struct step *other = &run->steps[of->needs[i]];
		mr_auto_free char *why = NULL;

		if (other->state != ENDED)
			return false;
		if (other->passed)
			continue;
		why = mr_str_format("step \"%s\" did not end well",
				    run->opts.flow->steps[other->n].name);
		end_step(step, mr_metrics_skipped(run->opts.flow, step->n, why), NULL);
		return false;
	}
	return true;
}

/* --- the run --------------------------------------------------------------- */

static void collect_rows(struct mr_flow_run *run)
{
	json_array_clear(run->rows);
	for (size_t i = 0; i < run->n_steps; i++)
		if (run->steps[i].row)
			json_array_append(run->rows, run->steps[i].row);
}

static void advance(struct mr_flow_run *run)
{
	const struct mr_flow *flow = run->opts.flow;
	struct mr_error err = MR_ERROR_INIT;

	for (size_t i = 0; i < run->n_steps && !run->interrupted; i++) {
		struct step *step = &run->steps[i < flow->n_steps ? flow->order[i] : i];
		int r;

		if (run->busy >= run->jobs || !is_ready(step))
			continue;
		r = start_step(step, &err);
		if (r < 0)
			fail(run, r, &err);
	}
	if (run->busy > 0 || run->ended)
		return;
	run->ended = true;
	collect_rows(run);
	run->opts.on_end(run, run->opts.owner);
}

/* What was done before, and of it what is to be finished. */
static int take_done(struct mr_flow_run *run, const json_t *done, struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(done); i++) {
		json_t *row = json_array_get(done, i);
		const size_t n = (size_t)json_integer_value(json_object_get(row, "n"));

		if (n >= run->n_steps || run->steps[n].row)
			continue;
		run->steps[n].row = json_incref(row);
		run->steps[n].state = ENDED;
		run->steps[n].passed = json_is_true(json_object_get(row, "passed"));
		r = end_shared(run, n, err);
	}
	return r;
}

int mr_flow_run_start(const struct mr_flow_run_opts *opts, struct mr_flow_run **ret,
		      struct mr_error *err)
{
	struct mr_flow_run *run = mr_str_alloc(sizeof(*run));
	int r = 0;

	run->opts = *opts;
	run->program = mr_str_dup(opts->program);
	run->store = opts->store ? mr_str_dup(opts->store) : NULL;
	run->stage = mr_str_dup(opts->stage);
	run->folder = mr_str_dup(opts->folder);
	run->jobs = opts->flow->shared ? 1 : opts->jobs;
	run->n_steps = opts->flow->n_steps + opts->combined;
	run->steps = mr_str_alloc(run->n_steps * sizeof(*run->steps));
	run->rows = json_array();
	for (size_t i = 0; i < run->n_steps; i++) {
		run->steps[i].run = run;
		run->steps[i].n = i;
	}
	if (opts->flow->shared)
		r = begin_shared(run, err);
	if (r == 0)
		r = take_done(run, opts->done, err);
	if (r < 0) {
		mr_flow_run_free(run);
		return r;
	}
	*ret = run;
	advance(run);
	return 0;
}

void mr_flow_run_let_go(struct mr_flow_run *run)
{
	if (run->held)
		mr_child_let_go(mr_take_ptr(run->held));
}

void mr_flow_run_interrupt(struct mr_flow_run *run)
{
	run->interrupted = true;
	for (size_t i = 0; i < run->n_steps; i++)
		if (run->steps[i].child)
			mr_child_interrupt(run->steps[i].child);
}

bool mr_flow_run_is_unsettled(const struct mr_flow_run *run)
{
	return run->unsettled != NULL;
}

void mr_flow_run_settle(struct mr_flow_run *run)
{
	if (run->unsettled)
		take_result(mr_take_ptr(run->unsettled));
}

int mr_flow_run_outcome(const struct mr_flow_run *run, struct mr_error *err)
{
	if (run->failed < 0 && err)
		*err = run->error;
	return run->failed < 0 ? run->failed : run->interrupted;
}

const json_t *mr_flow_run_rows(const struct mr_flow_run *run)
{
	return run->rows;
}

size_t mr_flow_run_busy(const struct mr_flow_run *run)
{
	return run->busy;
}

struct mr_flow_run *mr_flow_run_free(struct mr_flow_run *run)
{
	if (!run)
		return NULL;
	for (size_t i = 0; i < run->n_steps; i++) {
		mr_child_free(run->steps[i].child);
		json_decref(run->steps[i].row);
		free(run->steps[i].new);
	}
	free(run->steps);
	free(run->program);
	free(run->store);
	free(run->stage);
	free(run->folder);
	json_decref(run->rows);
	free(run);
	return NULL;
}

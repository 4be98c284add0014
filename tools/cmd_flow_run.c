/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace flow run: the steps of a workflow, each in a sandbox
 *
 *   run
 *     mr_flow_session_find / _resume     which workflow
 *     mr_flow_session_prepare            its files stand ready
 *     run_steps                          the loop; keep_step puts each row into the store
 *     print_outcome
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/backend/child.h"
#include "runtime/backend/document.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/loop.h"
#include "runtime/base/rand.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/flow/metrics.h"
#include "runtime/flow/run.h"
#include "runtime/flow/workflow.h"
#include "runtime/scenario/condition.h"
#include "runtime/store/query.h"
#include "tools/cmd_flow.h"
#include "tools/flow_session.h"
#include "tools/interrupts.h"
#include "tools/progress.h"
#include "tools/stubs.h"
#include "tools/term.h"

#define JOBS_MAX 64
#define STATUS_BROKEN 125 /* a sandbox could not be made */

struct flow_run {
	struct mr_cmd_common common;
	const char *resume, *strategy;
	int64_t jobs, seed;
	bool no_combined;
	/* while it runs */
	struct mr_flow_session session;
	struct mr_stubs stubs;
	struct mr_loop *loop;
	struct mr_interrupts interrupts;
	struct mr_progress progress;
	struct mr_flow_run *run;
	json_t *done; /* rows that were kept before */
	size_t n_kept;
	bool ended;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("resume", 0, "ID", TEXT, flow_run, resume,
		   "go on with a run that was ended before all steps were done"),
	MR_CMD_ROW("jobs", 'j', "N", COUNT, flow_run, jobs,
		   "steps at once, where none waits for the other; 1 if not given, at most 64"),
	MR_CMD_ROW("no-combined", 0, NULL, FLAG, flow_run, no_combined,
		   "leave out the run of all steps in one sandbox that comes last"),
	MR_CMD_ROW("stub-strategy", 0, "NAME|plugin:FILE", TEXT, flow_run, strategy,
		   "how the values of stubs are made up, see menace-flow(5); "
		   "SANDBOX_STUB_STRATEGY "
		   "if not given"),
	MR_CMD_ROW("seed", 's', "SEED", COUNT, flow_run, seed,
		   "decides the values of stubs; SANDBOX_STUB_SEED, or one is drawn, which is "
		   "told"),
	MR_CMD_COMMON_ROWS(flow_run),
};

/* --- keeping --------------------------------------------------------------- */

static int begin_in_store(struct flow_run *f, struct mr_error *err)
{
	mr_auto_free char *text = NULL;

	if (!f->session.store || f->session.row)
		return 0;
	text = json_dumps(f->session.flow->document, JSON_COMPACT);
	mr_assert(text);
	return mr_query_run(f->session.store, "flow_run.begin",
			    json_pack("{s:s, s:s, s:s, s:s, s:I, s:I}", "flow_run", f->session.id,
				      "name", f->session.flow->name, "folder", f->session.base,
				      "document", text, "jobs", (json_int_t)f->jobs, "started_us",
				      (json_int_t)mr_flow_session_now_us()),
			    err);
}

/* A fifo or a device does not get into the shared workspace. */
static void warn_of_left_out(const json_t *row)
{
	const json_t *kept = json_object_get(row, "kept");
	const json_t *first = json_array_get(json_object_get(kept, "notes"), 0);
	char quoted[MR_STR_QUOTE_SIZE];

	if (!kept || !json_is_false(json_object_get(kept, "complete")))
		return;
	mr_str_quote(quoted, sizeof(quoted),
		     first ? json_string_value(json_object_get(first, "path")) : "");
	mr_log_warn("step \"%s\": not all that it changed is in the shared workspace; first left "
		    "out: %s",
		    json_string_value(json_object_get(row, "name")), quoted);
}

static int keep_step(const json_t *row, const json_t *result, void *owner, struct mr_error *err)
{
	struct flow_run *f = owner;
	mr_auto_free char *text = NULL;
	int r;

	(void)result;
	f->n_kept++;
	warn_of_left_out(row);
	mr_progress_tell(&f->progress, f->n_kept, f->session.flow->n_steps + !f->no_combined);
	if (!f->session.store)
		return 0;
	r = mr_stubs_keep(&f->stubs, f->session.flow->document, row, NULL, err);
	if (r < 0)
		return r;
	text = json_dumps(row, JSON_COMPACT);
	mr_assert(text);
	return mr_query_run(f->session.store, "flow_run.step",
			    json_pack("{s:s, s:O, s:O, s:O, s:O, s:O?, s:s}", "flow_run",
				      f->session.id, "n", json_object_get(row, "n"), "name",
				      json_object_get(row, "name"), "state",
				      json_object_get(row, "state"), "passed",
				      json_object_get(row, "passed"), "run",
				      json_object_get(row, "run_id"), "detail", text),
			    err);
}

static int end_in_store(struct flow_run *f, bool passed, struct mr_error *err)
{
	if (!f->session.store ||
	    (f->session.row && json_is_integer(json_object_get(f->session.row, "ended_us"))))
		return 0;
	return mr_query_run(f->session.store, "flow_run.end",
			    json_pack("{s:s, s:I, s:b}", "flow_run", f->session.id, "ended_us",
				      (json_int_t)mr_flow_session_now_us(), "passed", passed),
			    err);
}

static int add_done(const json_t *row, void *owner, struct mr_error *err)
{
	struct flow_run *f = owner;
	const char *text = json_string_value(json_object_get(row, "detail"));
	json_t *detail = NULL;
	int r = mr_json_parse(text, strlen(text), "step in the store", &detail, err);

	if (r < 0)
		return r;
	f->n_kept++;
	json_array_append_new(f->done, detail);
	return 0;
}

/* --- running --------------------------------------------------------------- */

static void on_signal(void *owner)
{
	struct flow_run *f = owner;

	f->stubs.plugin.stopped = true;
	if (f->run)
		mr_flow_run_interrupt(f->run);
}

static void on_end(struct mr_flow_run *run, void *owner)
{
	struct flow_run *f = owner;

	(void)run;
	f->ended = true;
}

static int run_steps(struct flow_run *f, const char *program, struct mr_error *err)
{
	const struct mr_flow_run_opts opts = {
		.loop = f->loop,
		.flow = f->session.flow,
		.program = program,
		.store = f->common.store,
		.stage = f->session.stage,
		.folder = f->session.own,
		.jobs = (size_t)f->jobs,
		.combined = f->session.flow->combined && !f->no_combined,
		.done = f->done,
		.keep = keep_step,
		.on_end = on_end,
		.owner = f,
	};
	int r = mr_flow_run_start(&opts, &f->run, err);

	while (r >= 0 && !f->ended)
		r = mr_loop_run_once(f->loop, -1, err);
	return r < 0 ? r : mr_flow_run_outcome(f->run, err);
}

static int run_in_loop(struct flow_run *f, const char *program, struct mr_error *err)
{
	int r;

	f->interrupts =
		(struct mr_interrupts){ .loop = f->loop, .on_signal = on_signal, .owner = f };
	r = mr_interrupts_begin(&f->interrupts, err);
	mr_progress_begin(&f->progress, f->session.flow->name);
	if (r == 0)
		r = run_steps(f, program, err);
	mr_progress_end(&f->progress);
	mr_interrupts_end(&f->interrupts);
	return r;
}

/* --- telling --------------------------------------------------------------- */

static void print_row(const json_t *row)
{
	const json_t *metrics = json_object_get(row, "metrics");
	const char *why = json_string_value(json_object_get(row, "why"));
	const char *exception = json_string_value(json_object_get(metrics, "exception"));
	const bool passed = json_is_true(json_object_get(row, "passed"));
	char wall[MR_UNITS_SIZE] = "-", cpu[MR_UNITS_SIZE] = "-", peak[MR_UNITS_SIZE] = "-";
	const char *reason = json_string_value(json_object_get(row, "reason"));
	const bool broken = mr_document_not_begun(reason);
	const char *state = why ? "skipped" : broken ? "error" : passed ? "passed" : "failed";
	const json_t *value = json_object_get(metrics, "duration");

	if (json_is_number(value))
		mr_units_human_time(wall, (uint64_t)(json_number_value(value) * 1e9));
	value = json_object_get(metrics, "cpu_delta");
	if (json_is_number(value))
		mr_units_human_time(cpu, (uint64_t)(json_number_value(value) * 1e9));
	value = json_object_get(metrics, "memory_peak");
	if (json_is_integer(value))
		mr_units_human_size(peak, (uint64_t)json_integer_value(value));
	mr_term_cell(passed ? MR_TERM_PLAIN : MR_TERM_RED, state, 8);
	putchar(' ');
	mr_term_cell(MR_TERM_PLAIN, json_string_value(json_object_get(row, "name")), 20);
	printf(" %12s %12s %12s  ", wall, cpu, peak);
	if (why || exception)
		mr_term_put(MR_TERM_PLAIN, why ? why : exception);
	putchar('\n');
}

static void print_outcome(const struct flow_run *f, const json_t *all)
{
	mr_auto_json json_t *document = mr_metrics_document(f->session.flow, all);

	json_object_set_new(document, "flow_run", json_string(f->session.id));
	if (f->common.json) {
		mr_cmd_print_json(document);
		return;
	}
	mr_term_cell(MR_TERM_BOLD, "STATE", 8);
	putchar(' ');
	mr_term_cell(MR_TERM_BOLD, "STEP", 20);
	printf(" %12s %12s %12s\n", "WALL", "CPU", "PEAK");
	for (size_t i = 0; i < json_array_size(all); i++)
		print_row(json_array_get(all, i));
	printf("%s: %s (flow run %s)\n", f->session.flow->name,
	       json_string_value(json_object_get(document, "status")), f->session.id);
}

static int tell_interrupted(const struct flow_run *f)
{
	if (f->session.store)
		mr_log_error("interrupted: menace flow run --resume %s goes on", f->session.id);
	else
		mr_log_error("interrupted; without a store it cannot be resumed");
	return 128 + f->interrupts.signal;
}

static int tell_nothing_run(const struct flow_run *f)
{
	mr_log_error("interrupted: no step was run");
	return 128 + f->interrupts.signal;
}

/* --- the command ----------------------------------------------------------- */

static int find_flow(struct flow_run *f, const char *word, struct mr_error *err)
{
	const json_t *jobs;
	int r;

	if (!f->resume)
		return mr_flow_session_find(&f->session, word, err);
	r = mr_flow_session_resume(&f->session, "flow_run.get", "flow_run", f->resume, err);
	jobs = json_object_get(f->session.row, "jobs");
	if (f->jobs == MR_CMD_NOT_GIVEN && json_is_integer(jobs))
		f->jobs = json_integer_value(jobs);
	if (r == 0)
		r = mr_query_each(f->session.store, "flow_run.steps",
				  json_pack("{s:s}", "flow_run", f->resume), add_done, f, err);
	return r;
}

static int choose_seed(struct flow_run *f, struct mr_error *err)
{
	uint64_t seed = f->stubs.seed;
	int r = seed == MR_STUBS_NO_SEED ? mr_rand_fresh_seed(&seed, err) : 0;

	return r < 0 ? r
		     : mr_cmd_check_count("seed", &f->seed, (int64_t)seed, 0,
					  (int64_t)MR_RAND_SEED_MAX, err);
}

/* A run that is resumed has its values. */
static int make_values(struct flow_run *f, const char *program, struct mr_error *err)
{
	mr_cleanup(mr_condition_inputs_deinit) struct mr_condition_inputs inputs = { 0 };
	struct mr_stubs_opts opts = { .inputs = &inputs };
	struct mr_flow *flow = NULL;
	size_t edge_cases;
	int r = mr_stubs_take_environment(&inputs, err);

	if (r == 0)
		r = mr_stubs_init(&f->stubs, &f->session, f->strategy, program, f->common.store,
				  err);
	if (r == 0)
		r = choose_seed(f, err);
	if (r < 0 || f->session.row || !mr_stubs_change(&f->stubs, &inputs))
		return r;
	if (f->strategy) { /* an option wins over the environment */
		mr_freep(&inputs.strategy);
		inputs.strategy = NULL;
	}
	opts.seed = (uint64_t)f->seed;
	f->stubs.plugin.loop = f->loop;
	r = mr_stubs_make(&f->stubs, &opts, &flow, &edge_cases, err);
	if (r < 0)
		return r;
	mr_flow_free(f->session.flow);
	f->session.flow = flow;
	return 0;
}

/* Plugins may take their time.  Positive: a signal came. */
static int give_values(struct flow_run *f, const char *program, struct mr_error *err)
{
	int r;

	f->interrupts =
		(struct mr_interrupts){ .loop = f->loop, .on_signal = on_signal, .owner = f };
	r = mr_interrupts_begin(&f->interrupts, err);
	if (r == 0)
		r = make_values(f, program, err);
	mr_interrupts_end(&f->interrupts);
	return f->interrupts.signal ? 1 : r;
}

static int run_all(struct flow_run *f, struct mr_error *err)
{
	char program[PATH_MAX];
	const char *status;
	int r = mr_child_find_program(program, err);

	if (r == 0)
		r = give_values(f, program, err);
	if (r > 0)
		return tell_nothing_run(f);
	if (r == 0)
		r = mr_flow_session_prepare(&f->session, err);
	if (r == 0)
		r = begin_in_store(f, err);
	if (r == 0)
		r = run_in_loop(f, program, err);
	if (r > 0)
		return tell_interrupted(f);
	if (r < 0)
		return mr_flow_session_tell(&f->session, "flow", r, err);
	status = mr_metrics_status(mr_flow_run_rows(f->run));
	r = end_in_store(f, strcmp(status, "passed") == 0, err);
	if (r < 0)
		return r;
	mr_flow_session_finish(&f->session);
	print_outcome(f, mr_flow_run_rows(f->run));
	if (strcmp(status, "error") == 0)
		return STATUS_BROKEN;
	return strcmp(status, "passed") == 0 ? 0 : 1;
}

static int check_words(const struct flow_run *f, char **words, struct mr_error *err)
{
	if (f->resume && words[0])
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--resume: what was begun is known; leave out \"%.60s\"", words[0]);
	if (f->resume && (f->strategy || f->seed != MR_CMD_NOT_GIVEN))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--resume: its stubs have their values; leave out --stub-strategy "
			      "and "
			      "--seed");
	if (!f->resume && !words[0])
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "a workflow is missing: FILE.json, or the number of one in the "
			      "store");
	return 0;
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct flow_run *f = values;
	int r = check_words(f, words, err);

	if (r < 0)
		return r;
	f->session = (struct mr_flow_session)MR_FLOW_SESSION_INIT;
	f->done = json_array();
	r = mr_flow_session_open(&f->session, &f->common, err);
	if (r == 0)
		r = find_flow(f, words[0], err);
	if (f->jobs == MR_CMD_NOT_GIVEN)
		f->jobs = 1;
	if (r == 0 && (f->jobs < 1 || f->jobs > JOBS_MAX))
		r = mr_err(err, MR_E_USAGE, ERANGE,
			   "--jobs: %jd is out of range; accepted: 1 to %d", (intmax_t)f->jobs,
			   JOBS_MAX);
	if (r == 0)
		r = mr_loop_new(&f->loop, err);
	if (r == 0)
		r = run_all(f, err);
	f->run = mr_flow_run_free(f->run);
	f->loop = mr_loop_free(f->loop);
	mr_stubs_deinit(&f->stubs);
	json_decref(f->done);
	mr_flow_session_close(&f->session);
	return r;
}

const struct mr_cmd mr_cmd_flow_run = {
	.name = "flow run",
	.synopsis = "FILE.json|ID",
	.summary = "Run a workflow: each step in a sandbox, then all of them in one",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct flow_run),
	.max_words = 1,
	.heeds_environment = true,
	.run = run,
};

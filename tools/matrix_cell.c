/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cell of a matrix
 *
 * Each copy is a run of the workflow.  All of them begin together: each is held when its first
 * sandbox is ready, until all are.  How many of them were really running at one time
 * is taken from what their sandboxes say of begin and end.
 */
#include "tools/matrix_cell.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/backend/document.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/rand.h"
#include "runtime/base/str.h"
#include "runtime/flow/fixture.h"
#include "runtime/flow/folder.h"
#include "runtime/flow/inputs.h"
#include "runtime/flow/run.h"
#include "runtime/flow/workflow.h"
#include "runtime/scenario/condition.h"
#include "runtime/scenario/thresholds.h"
#include "runtime/stub/place.h"
#include "tools/flow_session.h"
#include "tools/matrix_group.h"
#include "tools/stubs.h"

#define SAID_MAX 200
#define MI (1ULL << 20)

struct copy {
	struct mr_matrix_cell *cell;
	size_t n;
	struct mr_flow *flow; /* with values for its stubs; NULL: the session's, that takes none */
	char *stage; /* of that flow, or NULL: the session's */
	struct mr_flow_run *run;
	char *folder;
	bool ready; /* its first sandbox is, or was */
	bool ended;
	bool kept_stdin; /* of the step that runs: hostile_input was left out of it */
	double wall_ms, cpu_ms, peak;
	int64_t begin_us, end_us; /* of its sandboxes; 0: it had none */
	json_t *runs; /* ids */
	json_t *inputs; /* records of all stubs */
};

struct mr_matrix_cell {
	struct mr_matrix_cell_opts opts;
	struct mr_condition condition;
	struct mr_condition_proof proof;
	struct mr_load one, load; /* of a copy, of all of them */
	struct copy *copies;
	size_t n_copies, n_ended, n_passed;
	uint64_t begin_ns, end_ns;
	bool let_go; /* all its copies are */
	bool is_over, interrupted, no_edge_cases;
	char *broken; /* what of ours failed, or NULL */
	char *because; /* the first failure of a step, in words, or NULL */
	char *said; /* the last line that this step wrote to its error output, or NULL */
	char *ended_by; /* what is not its own ended a sandbox, in words, or NULL */
};

/* --- before ---------------------------------------------------------------- */

static void max_into(uint64_t *a, uint64_t b)
{
	if (b > *a)
		*a = b;
}

/* The widest step: they run one after the other. */
static int find_load(struct mr_matrix_cell *cell, struct mr_error *err)
{
	const struct mr_flow *flow = cell->opts.session->flow;

	for (size_t i = 0; i < flow->n_steps; i++) {
		mr_auto_json json_t *spec = json_deep_copy(flow->steps[i].spec);
		struct mr_load load = { 0 };
		int r;

		mr_condition_apply(&cell->condition, spec);
		r = mr_admission_load(spec, cell->opts.cap, &load, err);
		if (r < 0)
			return mr_err_wrap(err, r, "scenario \"%s\", step \"%s\"",
					   json_string_value(
						   json_object_get(cell->opts.scenario, "name")),
					   flow->steps[i].name);
		max_into(&cell->one.cpus, load.cpus);
		max_into(&cell->one.memory, load.memory);
		max_into(&cell->one.pids, load.pids);
	}
	return 0;
}

static int find_condition(struct mr_matrix_cell *cell, struct mr_error *err)
{
	const struct mr_matrix_cell_opts *opts = &cell->opts;
	int r;

	if (opts->like) {
		mr_condition_init_like(&opts->like->condition, opts->cell.seed, &cell->condition);
		cell->one = opts->like->one;
		return 0;
	}
	r = mr_condition_init(json_object_get(opts->scenario, "preset"), opts->cell.seed,
			      opts->cell.on, &cell->condition, err);
	return r < 0 ? r : find_load(cell, err);
}

int mr_matrix_cell_new(const struct mr_matrix_cell_opts *opts, struct mr_matrix_cell **ret,
		       struct mr_error *err)
{
	struct mr_matrix_cell *cell = mr_str_alloc(sizeof(*cell));
	uint64_t fit;
	int r;

	cell->opts = *opts;
	mr_condition_proof_init(&cell->proof);
	r = find_condition(cell, err);
	cell->opts.like = NULL;
	if (r < 0) {
		mr_matrix_cell_free(cell);
		return r;
	}
	fit = mr_admission_fit(&cell->one, opts->cap);
	cell->n_copies = cell->condition.copies < fit ? cell->condition.copies : fit;
	cell->load = mr_admission_times(&cell->one, cell->n_copies);
	cell->copies = mr_str_alloc(cell->n_copies * sizeof(*cell->copies));
	for (size_t i = 0; i < cell->n_copies; i++) {
		cell->copies[i].cell = cell;
		cell->copies[i].n = i;
		cell->copies[i].runs = json_array();
		cell->copies[i].inputs = json_array();
		cell->copies[i].folder =
			mr_str_format("%s/%zu.%zu", opts->session->own, opts->cell.n, i);
	}
	*ret = cell;
	return 0;
}

const struct mr_load *mr_matrix_cell_load(const struct mr_matrix_cell *cell)
{
	return &cell->load;
}

const struct mr_load *mr_matrix_cell_copy_load(const struct mr_matrix_cell *cell,
					       size_t *ret_copies)
{
	*ret_copies = cell->n_copies;
	return &cell->one;
}

/* --- while it runs --------------------------------------------------------- */

static const struct mr_flow *flow_of(const struct copy *copy)
{
	return copy->flow ? copy->flow : copy->cell->opts.session->flow;
}

/* Is it made of stubs, by the workflow as it was written? */
static bool has_stub_stdin(const struct mr_flow *flow, size_t n)
{
	const json_t *content = n < flow->n_steps ? flow->steps[n].stdin_content : NULL;

	return mr_flow_takes_inputs(flow->document) &&
	       (json_object_get(content, "stub") ||
		(json_is_string(content) &&
		 mr_place_is_in(json_string_value(content), json_string_length(content))));
}

/* The first copy has the seed of its cell.  With the same for all, what happens to one would happen to all
 * of them at once, and to none by another seed. */
static uint64_t seed_of(const struct copy *copy)
{
	const uint64_t seed = copy->cell->opts.cell.seed;
	struct mr_rand rand;

	if (copy->n == 0)
		return seed;
	mr_rand_init(&rand, (seed + copy->n) % (MR_RAND_SEED_MAX + 1));
	return mr_rand_below(&rand, MR_RAND_SEED_MAX + 1);
}

/* Of this copy alone: the preset is that of all. */
static void set_seed(json_t *spec, uint64_t seed)
{
	json_t *preset = json_copy(json_object_get(spec, "preset"));

	json_object_set_new(preset, "PRESET_SEED", json_integer((json_int_t)seed));
	json_object_set_new(spec, "preset", preset);
}

static void alter(json_t *spec, size_t n, void *owner)
{
	struct copy *copy = owner;
	const struct mr_condition *condition = &copy->cell->condition;

	mr_condition_apply(condition, spec);
	if (copy->n > 0)
		set_seed(spec, seed_of(copy));
	copy->kept_stdin = mr_condition_feeds(condition) &&
			   has_stub_stdin(copy->cell->opts.session->flow, n) &&
			   mr_condition_keep_stdin(spec);
}

static int64_t parse_time_us(const char *text)
{
	struct tm tm = { 0 };
	const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	int64_t us = 0;

	if (!rest)
		return 0;
	for (int i = 1; i <= 6 && *rest == '.' && rest[i] >= '0' && rest[i] <= '9'; i++)
		us = us * 10 + (rest[i] - '0');
	return (int64_t)timegm(&tm) * 1000000 + us;
}

static void take_span(struct copy *copy, const json_t *result)
{
	const json_t *wall = json_object_get(json_object_get(result, "usage"), "wall_us");
	const json_t *timings = json_object_get(result, "timings");
	int64_t begin = parse_time_us(json_string_value(json_object_get(result, "started_at")));
	int64_t end;

	if (begin == 0 || !json_is_integer(wall))
		return;
	/* From the first instruction on. */
	begin += json_integer_value(json_object_get(timings, "setup_us")) +
		 json_integer_value(json_object_get(timings, "held_us"));
	end = begin + json_integer_value(wall);
	if (copy->begin_us == 0 || begin < copy->begin_us)
		copy->begin_us = begin;
	if (end > copy->end_us)
		copy->end_us = end;
}

static void take_numbers(struct copy *copy, const json_t *row)
{
	const json_t *metrics = json_object_get(row, "metrics");
	double peak = json_number_value(json_object_get(metrics, "memory_peak"));

	copy->wall_ms += json_number_value(json_object_get(metrics, "duration")) * 1000;
	copy->cpu_ms += json_number_value(json_object_get(metrics, "cpu_delta")) * 1000;
	if (peak > copy->peak)
		copy->peak = peak;
	if (json_object_get(row, "run_id"))
		json_array_append(copy->runs, json_object_get(row, "run_id"));
}

static char *describe(const json_t *row)
{
	const json_t *metrics = json_object_get(row, "metrics");
	const char *exception = json_string_value(json_object_get(metrics, "exception"));

	return mr_str_format("step \"%s\": %s", json_string_value(json_object_get(row, "name")),
			     exception ? exception : "failed");
}

/* What a person looks for first; how a cell is judged never depends on it. */
static char *last_line(const char *text)
{
	size_t n = text ? strlen(text) : 0, begin;

	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r' || text[n - 1] == ' '))
		n--;
	begin = n;
	while (begin > 0 && text[begin - 1] != '\n' && n - begin < SAID_MAX)
		begin--;
	while (begin < n && ((unsigned char)text[begin] & 0xc0) == 0x80)
		begin++; /* a character that was cut */
	return n > 0 ? mr_str_ndup(text + begin, n - begin) : NULL;
}

/* Each record once: what is of all steps is in the first row, and elsewhere referred to. */
static void take_inputs(struct copy *copy, const json_t *inputs)
{
	for (size_t i = 0; i < json_array_size(inputs); i++) {
		json_t *record = json_array_get(inputs, i);

		if (!json_is_true(json_object_get(record, "again")))
			json_array_append(copy->inputs, record);
	}
}

static void take_end(struct mr_matrix_cell *cell, const json_t *result)
{
	char *why = mr_matrix_group_judge(cell->opts.group, result);

	if (cell->ended_by)
		free(why);
	else
		cell->ended_by = why;
}

static int take_step(const json_t *row, const json_t *result, void *owner, struct mr_error *err)
{
	struct copy *copy = owner;
	struct mr_matrix_cell *cell = copy->cell;
	const json_t *inputs = json_object_get(row, "inputs");
	const char *reason = json_string_value(json_object_get(result, "reason"));
	const char *scenario = json_string_value(json_object_get(cell->opts.scenario, "name"));

	if (!result)
		return 0; /* skipped: what it needed has failed */
	take_end(cell, result);
	take_span(copy, result);
	take_numbers(copy, row);
	take_inputs(copy, inputs);
	mr_condition_judge(&cell->condition, result, inputs, &cell->proof);
	if (copy->kept_stdin)
		mr_condition_judge_kept_stdin(&cell->condition, mr_json_text_or_empty(row, "name"),
					      &cell->proof);
	if (mr_document_not_begun(reason) && !cell->broken)
		cell->broken = describe(row);
	if (!cell->because && !json_is_true(json_object_get(row, "passed")) &&
	    !json_is_true(json_object_get(row, "refused"))) {
		cell->because = describe(row);
		cell->said = last_line(json_string_value(json_object_get(row, "stderr")));
	}
	return mr_stubs_keep(cell->opts.stubs, flow_of(copy)->document, row,
			     cell->opts.cell.on ? scenario : NULL, err);
}

static bool any_refused(const json_t *rows)
{
	for (size_t i = 0; i < json_array_size(rows); i++)
		if (json_is_true(json_object_get(json_array_get(rows, i), "refused")))
			return true;
	return false;
}

/* Whoever refuses wrong use has passed, and what needed it is rightly left out. */
static bool all_passed(const json_t *rows)
{
	const bool refused = any_refused(rows);

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const bool skipped = strcmp(mr_json_text_or_empty(row, "state"), "skipped") == 0;

		if (!json_is_true(json_object_get(row, "passed")) &&
		    !json_is_true(json_object_get(row, "refused")) && !(skipped && refused))
			return false;
	}
	return json_array_size(rows) > 0;
}

static void note_end(struct mr_matrix_cell *cell)
{
	if (!cell->is_over)
		cell->end_ns = mr_now_ns();
	cell->is_over = true;
}

static void on_end(struct mr_flow_run *run, void *owner)
{
	struct copy *copy = owner;
	struct mr_matrix_cell *cell = copy->cell;
	struct mr_error err = MR_ERROR_INIT;
	int r = mr_flow_run_outcome(run, &err);

	copy->ended = true;
	cell->n_ended++;
	cell->n_passed += r == 0 && all_passed(mr_flow_run_rows(run));
	if (r > 0)
		cell->interrupted = true;
	if (r < 0 && !cell->broken)
		cell->broken = mr_str_dup(err.msg);
	if (cell->n_ended == cell->n_copies)
		note_end(cell);
}

static void on_ready(struct mr_flow_run *run, void *owner)
{
	struct copy *copy = owner;

	(void)run;
	copy->ready = true;
}

/* The workflow that this copy runs, if its stubs make it one of its own. */
static int make_flow(struct copy *copy, struct mr_error *err)
{
	struct mr_matrix_cell *cell = copy->cell;
	const struct mr_condition *condition = &cell->condition;
	const struct mr_stubs_opts opts = {
		.seed = cell->opts.seed,
		.index = cell->opts.cell.replicate + copy->n,
		.inputs = &condition->inputs,
		.answers = condition->net && strcmp(condition->net, "stub") == 0,
	};
	mr_auto_close int fd = -1;
	size_t edge_cases = 0;
	int r;

	if (!mr_stubs_change(cell->opts.stubs, &condition->inputs))
		return 0;
	r = mr_stubs_make(cell->opts.stubs, &opts, &copy->flow, &edge_cases, err);
	if (r < 0)
		return r;
	cell->no_edge_cases = condition->inputs.edge_cases && edge_cases == 0;
	if (condition->inputs.edge_cases)
		json_object_set_new(cell->proof.in_force, "edge_cases",
				    json_integer((json_int_t)edge_cases));
	copy->stage = mr_str_format("%s.stage", copy->folder);
	r = mr_folder_remove(AT_FDCWD, copy->stage, err); /* of an earlier start */
	if (r == 0)
		r = mr_fixture_folder(copy->stage, &fd, err);
	return r < 0 ? r : mr_fixture_stage(copy->flow, copy->stage, err);
}

static int start_run(struct copy *copy, struct mr_error *err)
{
	struct mr_matrix_cell *cell = copy->cell;
	const struct mr_flow *flow = flow_of(copy);
	mr_auto_close int fd = -1;
	const struct mr_flow_run_opts opts = {
		.loop = cell->opts.loop,
		.flow = flow,
		.runners = cell->opts.runners,
		.held_runners = cell->n_copies > 1 ? cell->opts.held_runners : NULL,
		.program = cell->opts.program,
		.store = cell->opts.store,
		.stage = copy->stage ? copy->stage : cell->opts.session->stage,
		.folder = copy->folder,
		.jobs = 1,
		.settles = true,
		.alter = alter,
		.keep = take_step,
		.on_ready = on_ready,
		.on_end = on_end,
		.owner = copy,
	};
	int r = 0;

	if (flow->shared) {
		r = mr_folder_remove(AT_FDCWD, copy->folder, err);
		if (r == 0)
			r = mr_fixture_folder(copy->folder, &fd, err);
	}
	return r < 0 ? r : mr_flow_run_start(&opts, &copy->run, err);
}

/* What is wrong with values is told of the cell: others can be run.  What was interrupted says nothing. */
static bool make_copy(struct copy *copy)
{
	struct mr_matrix_cell *cell = copy->cell;
	struct mr_error err = MR_ERROR_INIT;

	if (make_flow(copy, &err) == 0)
		return true;
	copy->ended = true;
	if (cell->opts.stubs->plugin.stopped)
		cell->interrupted = true;
	else if (!cell->broken)
		cell->broken = mr_str_dup(err.msg);
	return false;
}

/* All values are there before any copy begins: a plugin's time is no part of theirs.  Until then no copy
 * counts as ended, since a cell whose copies all have is taken away while a plugin is waited for. */
int mr_matrix_cell_start(struct mr_matrix_cell *cell, struct mr_error *err)
{
	size_t n_broken = 0;
	int r = 0;

	for (size_t i = 0; i < cell->n_copies; i++)
		n_broken += !make_copy(&cell->copies[i]);
	cell->begin_ns = cell->end_ns = mr_now_ns();
	cell->n_ended = cell->interrupted ? cell->n_copies : n_broken;
	for (size_t i = 0; r == 0 && !cell->interrupted && i < cell->n_copies; i++)
		if (!cell->copies[i].ended)
			r = start_run(&cell->copies[i], err);
	return r;
}

static bool is_on_its_way(const struct copy *copy)
{
	return !copy->ready && !copy->ended && copy->run && !mr_flow_run_is_unsettled(copy->run);
}

void mr_matrix_cell_let_go(struct mr_matrix_cell *cell)
{
	if (cell->let_go)
		return;
	for (size_t i = 0; i < cell->n_copies; i++)
		if (is_on_its_way(&cell->copies[i]))
			return;
	cell->let_go = true;
	for (size_t i = 0; i < cell->n_copies; i++)
		if (cell->copies[i].run && !cell->copies[i].ended)
			mr_flow_run_let_go(cell->copies[i].run);
}

bool mr_matrix_cell_is_over(struct mr_matrix_cell *cell)
{
	size_t n = cell->n_ended;

	for (size_t i = 0; n < cell->n_copies && i < cell->n_copies; i++) {
		const struct copy *copy = &cell->copies[i];

		n += !copy->ended && copy->run && mr_flow_run_is_unsettled(copy->run);
	}
	if (n == cell->n_copies)
		note_end(cell);
	return cell->is_over;
}

void mr_matrix_cell_settle(struct mr_matrix_cell *cell)
{
	for (size_t i = 0; i < cell->n_copies; i++)
		if (cell->copies[i].run && !cell->copies[i].ended)
			mr_flow_run_settle(cell->copies[i].run);
}

bool mr_matrix_cell_ended(const struct mr_matrix_cell *cell)
{
	return cell->n_ended == cell->n_copies;
}

void mr_matrix_cell_interrupt(struct mr_matrix_cell *cell)
{
	cell->interrupted = true;
	for (size_t i = 0; i < cell->n_copies; i++)
		if (cell->copies[i].run && !cell->copies[i].ended)
			mr_flow_run_interrupt(cell->copies[i].run);
}

/* --- after ----------------------------------------------------------------- */

struct edge {
	int64_t us;
	int step; /* +1 a copy begins, -1 it ends */
};

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->us != y->us)
		return (x->us > y->us) - (x->us < y->us);
	return x->step - y->step; /* who ends now does not meet who begins now */
}

static size_t count_at_once(const struct mr_matrix_cell *cell)
{
	mr_auto_free struct edge *edges = mr_str_alloc(2 * cell->n_copies * sizeof(*edges));
	size_t n = 0;
	int now = 0, most = 0;

	for (size_t i = 0; i < cell->n_copies; i++) {
		if (cell->copies[i].begin_us == 0)
			continue;
		edges[n++] = (struct edge){ cell->copies[i].begin_us, 1 };
		edges[n++] = (struct edge){ cell->copies[i].end_us, -1 };
	}
	qsort(edges, n, sizeof(*edges), compare_edges);
	for (size_t i = 0; i < n; i++) {
		now += edges[i].step;
		most = now > most ? now : most;
	}
	return (size_t)most;
}

/* A cap is a limit: whoever raises it reserves nothing. */
static json_t *tell_cap(const struct mr_matrix_cell *cell)
{
	const struct mr_load need = mr_admission_times(&cell->one, cell->condition.copies);
	const struct mr_load *cap = cell->opts.cap;
	mr_auto_free char *memory =
		need.memory > cap->memory ? mr_str_format(" --max-memory %juMi",
							  (uintmax_t)((need.memory + MI - 1) / MI))
					  : mr_str_dup("");
	mr_auto_free char *pids = need.pids > cap->pids
					  ? mr_str_format(" --max-pids %ju", (uintmax_t)need.pids)
					  : mr_str_dup("");

	return json_sprintf("CONCURRENCY_LEVEL: %zu of %ju copies fit under the cap at once; "
			    "all would by%s%s",
			    cell->n_copies, (uintmax_t)cell->condition.copies, memory, pids);
}

/* Copies are a condition, too: half of them at once are the least that is called so. */
static void judge_copies(const struct mr_matrix_cell *cell, size_t at_once, json_t *why)
{
	if (cell->n_copies < cell->condition.copies)
		json_array_append_new(why, tell_cap(cell));
	if (at_once * 2 < cell->n_copies)
		json_array_append_new(why,
				      json_sprintf("CONCURRENCY_LEVEL: at most %zu of %zu copies "
						   "ran at the same time",
						   at_once, cell->n_copies));
}

static json_t *copies_json(const struct mr_matrix_cell *cell, struct copy *sums)
{
	json_t *list = json_array();

	for (size_t i = 0; i < cell->n_copies; i++) {
		const struct copy *copy = &cell->copies[i];
		const bool passed = copy->run && mr_flow_run_outcome(copy->run, NULL) == 0 &&
				    all_passed(mr_flow_run_rows(copy->run));

		json_array_append_new(list,
				      json_pack("{s:b, s:I, s:f, s:f, s:f, s:O, s:O}", "passed",
						passed, "seed", (json_int_t)seed_of(copy),
						"wall_ms", copy->wall_ms, "cpu_ms", copy->cpu_ms,
						"memory_peak_bytes", copy->peak, "runs", copy->runs,
						"inputs", copy->inputs));
		sums->wall_ms += copy->wall_ms;
		sums->cpu_ms += copy->cpu_ms;
		sums->peak += copy->peak;
	}
	return list;
}

/* What is no condition of a scenario, and not the program's doing either. */
static void judge_cap(const struct mr_matrix_cell *cell, json_t *why)
{
	mr_auto_free char *pids = NULL;

	if (cell->n_passed == cell->n_copies)
		return;
	if (cell->ended_by)
		json_array_append_new(why, json_string(cell->ended_by));
	pids = mr_matrix_group_judge_pids(cell->opts.group, cell->one.pids);
	if (pids)
		json_array_append_new(why, json_string(pids));
}

static const char *judge(const struct mr_matrix_cell *cell, const json_t *why)
{
	if (cell->broken)
		return "error";
	if (json_array_size(why) > 0)
		return "inconclusive";
	return cell->n_passed == cell->n_copies ? "passed" : "failed";
}

static json_t *detail_of(const struct mr_matrix_cell *cell)
{
	const struct mr_cell *at = &cell->opts.cell;
	const size_t at_once = count_at_once(cell);
	const double n = (double)cell->n_copies;
	struct copy sums = { 0 };
	json_t *copies = copies_json(cell, &sums);
	json_t *why = mr_condition_why(&cell->proof);
	const char *verdict;

	if (at->on && !cell->broken)
		judge_copies(cell, at_once, why);
	if (cell->no_edge_cases)
		json_array_append_new(why, json_string("INJECT_EDGE_CASES: none was added: all are "
						       "switched off, or there already"));
	judge_cap(cell, why);
	verdict = judge(cell, why);
	if (cell->broken)
		json_array_append_new(why, json_string(cell->broken));
	return json_pack("{s:I, s:O, s:O, s:I, s:s, s:I, s:s, s:o, s:s?, s:I, s:I, s:I, s:I, s:f, "
			 "s:f, s:f, "
			 "s:I, s:{s:f, s:f, s:f}, s:O, s:o, s:o, s:s?}",
			 "n", (json_int_t)at->n, "scenario",
			 json_object_get(cell->opts.scenario, "name"), "level",
			 json_object_get(cell->opts.scenario, "level"), "replicate",
			 (json_int_t)at->replicate, "arm", at->on ? "on" : "off", "seed",
			 (json_int_t)at->seed, "verdict", verdict, "why", why, "failed_because",
			 cell->because, "copies_asked", (json_int_t)cell->condition.copies,
			 "copies", (json_int_t)cell->n_copies, "copies_passed",
			 (json_int_t)cell->n_passed, "at_once", (json_int_t)at_once, "wall_ms",
			 sums.wall_ms / n, "cpu_ms", sums.cpu_ms / n, "memory_peak_bytes",
			 sums.peak / n, "failures", (json_int_t)(cell->n_copies - cell->n_passed),
			 "aggregate", "elapsed_ms", (double)(cell->end_ns - cell->begin_ns) / 1e6,
			 "cpu_ms", sums.cpu_ms, "memory_peak_bytes", sums.peak, "in_force",
			 cell->proof.in_force, "metrics",
			 mr_thresholds_metrics(cell->opts.thresholds, cell->proof.in_force),
			 "per_copy", copies, "said", cell->said);
}

int mr_matrix_cell_detail(struct mr_matrix_cell *cell, json_t **ret)
{
	if (cell->interrupted && !cell->broken)
		return 1;
	*ret = detail_of(cell);
	mr_assert(*ret);
	return 0;
}

struct mr_matrix_cell *mr_matrix_cell_free(struct mr_matrix_cell *cell)
{
	struct mr_error err = MR_ERROR_INIT;

	if (!cell)
		return NULL;
	for (size_t i = 0; i < cell->n_copies; i++) {
		struct copy *copy = &cell->copies[i];

		mr_flow_run_free(copy->run);
		if (cell->opts.session->flow->shared &&
		    mr_folder_remove(AT_FDCWD, copy->folder, &err) < 0)
			mr_log_warn("%s is left: %s", copy->folder, err.msg);
		free(copy->folder);
		if (copy->stage && mr_folder_remove(AT_FDCWD, copy->stage, &err) < 0)
			mr_log_warn("%s is left: %s", copy->stage, err.msg);
		mr_flow_free(copy->flow);
		free(copy->stage);
		json_decref(copy->runs);
		json_decref(copy->inputs);
	}
	free(cell->copies);
	free(cell->broken);
	free(cell->because);
	free(cell->said);
	free(cell->ended_by);
	mr_condition_deinit(&cell->condition);
	mr_condition_proof_deinit(&cell->proof);
	free(cell);
	return NULL;
}

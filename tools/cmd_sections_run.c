/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace sections run: sections of a Python repository, each in a sandbox
 *
 *   run
 *     mr_sections_scan, mr_section_choose   which
 *     drive                                 the loop: at most --jobs at once, a row for each
 *     print_document
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/child.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/loop.h"
#include "runtime/base/patience.h"
#include "runtime/base/rand.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/flow/box.h"
#include "runtime/section/choose.h"
#include "runtime/section/embedded.h"
#include "runtime/section/judge.h"
#include "runtime/section/request.h"
#include "tools/cmd_sections.h"
#include "tools/interrupts.h"
#include "tools/progress.h"
#include "tools/stubs.h"
#include "tools/term.h"

#define JOBS_MAX 64
#define WALL_MS_MAX 3600000
#define MEMORY (512u << 20)
#define SAID_MAX (1u << 20)
#define STATUS_BROKEN 125 /* a sandbox could not be made */

/* One that runs. */
struct slot {
	struct mr_box box;
	size_t n; /* which of the chosen */
	json_t *inputs; /* NULL: the slot is free */
};

struct sections_run {
	struct mr_cmd_common common;
	struct mr_cmd_list match;
	const char *strategy;
	int64_t jobs, seed, wall_ms;
	/* while it runs */
	char program[PATH_MAX];
	struct mr_stubs stubs;
	struct mr_input_opts input;
	json_t *plugins, *scan, *not_looked_at, *chosen, *passed_by, *rows;
	struct mr_loop *loop;
	struct mr_interrupts interrupts;
	struct mr_progress progress;
	struct slot *slots;
	size_t next, n_done, n_running;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("match", 'm', "GLOB", LIST, sections_run, match,
		   "sections whose name matches, as \"pkg/*.py:load_*\"; may be given again"),
	MR_CMD_ROW("jobs", 'j', "N", COUNT, sections_run, jobs,
		   "sections at once; 1 if not given, at most 64"),
	MR_CMD_ROW("timeout", 't', "TIME", TIMESPAN, sections_run, wall_ms,
		   "time that each section has; 10s if not given, at most 1h"),
	MR_CMD_ROW("stub-strategy", 0, "NAME|plugin:FILE", TEXT, sections_run, strategy,
		   "how the values of parameters are made up, see menace-flow(5); "
		   "SANDBOX_STUB_STRATEGY if not given"),
	MR_CMD_ROW("seed", 's', "SEED", COUNT, sections_run, seed,
		   "decides these values; SANDBOX_STUB_SEED, or one is drawn, which is told"),
	MR_CMD_COMMON_ROWS(sections_run),
};

/* --- one section ------------------------------------------------------------ */

static void set_row(struct sections_run *s, size_t n, json_t *row)
{
	json_array_set_new(s->rows, n, row);
	s->n_done++;
	mr_progress_tell(&s->progress, s->n_done, json_array_size(s->chosen));
}

static int start_box(struct sections_run *s, struct slot *slot, const json_t *chosen,
		     const json_t *request, struct mr_error *err)
{
	mr_auto_free char *text = json_dumps(request, JSON_COMPACT | JSON_ENSURE_ASCII);
	mr_auto_free char *name =
		mr_str_format("section %.200s", mr_json_text_or_empty(chosen, "id"));
	const struct mr_box_opts opts = {
		.loop = s->loop,
		.program = s->program,
		.store = s->common.store,
		.name = mr_str_utf8_valid(name, strlen(name)) ? name : "section",
		.code = mr_section_driver_py,
		.code_size = strlen(mr_section_driver_py),
		.input = text,
		.input_size = text ? strlen(text) : 0,
		.workspace = mr_json_text_or_empty(s->scan, "folder"),
		.wall_ms = (uint64_t)s->wall_ms,
		.memory_bytes = MEMORY,
		.output_bytes = SAID_MAX,
	};

	mr_assert(text);
	return mr_box_start(&slot->box, &opts, err);
}

/* What keeps it from being run is its own row, and keeps nothing else. */
static void start(struct sections_run *s, struct slot *slot, size_t n)
{
	const json_t *chosen = json_array_get(s->chosen, n);
	mr_auto_json json_t *request = NULL;
	json_t *inputs = NULL;
	struct mr_error why = MR_ERROR_INIT;
	int r = mr_section_request(chosen, &s->input, &request, &inputs, &why);

	if (r == 0)
		r = start_box(s, slot, chosen, request, &why);
	if (r < 0) {
		mr_box_deinit(&slot->box);
		set_row(s, n, mr_section_broken(chosen, why.msg, inputs ? inputs : json_array()));
		return;
	}
	slot->n = n;
	slot->inputs = inputs;
	s->n_running++;
}

static void finish(struct sections_run *s, struct slot *slot)
{
	const json_t *chosen = json_array_get(s->chosen, slot->n);
	json_t *inputs = mr_take_ptr(slot->inputs);
	struct mr_error why = MR_ERROR_INIT;
	const json_t *result = NULL;

	if (mr_box_result(&slot->box, &result, &why) < 0)
		set_row(s, slot->n, mr_section_broken(chosen, why.msg, inputs));
	else
		set_row(s, slot->n, mr_section_judge(chosen, result, inputs));
	mr_box_deinit(&slot->box);
	s->n_running--;
}

/* --- all of them ------------------------------------------------------------ */

static void on_signal(void *owner)
{
	struct sections_run *s = owner;

	for (int64_t i = 0; i < s->jobs; i++)
		mr_box_interrupt(&s->slots[i].box);
	s->stubs.plugin.stopped = true;
}

static void fill_slots(struct sections_run *s)
{
	for (int64_t i = 0; i < s->jobs; i++)
		while (!s->slots[i].inputs && s->next < json_array_size(s->chosen) &&
		       !s->interrupts.signal)
			start(s, &s->slots[i], s->next++);
}

static int drive(struct sections_run *s, struct mr_error *err)
{
	int r = 0;

	fill_slots(s);
	while (r >= 0 && s->n_running > 0) {
		r = mr_loop_run_once(s->loop, -1, err);
		for (int64_t i = 0; r >= 0 && i < s->jobs; i++)
			if (s->slots[i].inputs && s->slots[i].box.ended)
				finish(s, &s->slots[i]);
		if (r >= 0)
			fill_slots(s);
	}
	return r < 0 ? r : 0;
}

static int run_in_loop(struct sections_run *s, struct mr_error *err)
{
	int r = mr_loop_new(&s->loop, err);

	if (r < 0)
		return r;
	s->stubs.plugin.loop = s->loop;
	s->slots = mr_str_alloc((size_t)s->jobs * sizeof(*s->slots));
	for (size_t i = 0; i < json_array_size(s->chosen); i++)
		json_array_append_new(s->rows, json_null());
	s->interrupts =
		(struct mr_interrupts){ .loop = s->loop, .on_signal = on_signal, .owner = s };
	r = mr_interrupts_begin(&s->interrupts, err);
	mr_progress_begin(&s->progress, "sections");
	if (r == 0)
		r = drive(s, err);
	mr_progress_end(&s->progress);
	for (int64_t i = 0; i < s->jobs; i++) {
		mr_box_deinit(&s->slots[i].box);
		json_decref(s->slots[i].inputs);
	}
	mr_interrupts_end(&s->interrupts);
	return r;
}

/* --- telling ---------------------------------------------------------------- */

static size_t count_rows(const struct sections_run *s, const char *state)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(s->rows); i++) {
		const json_t *row = json_array_get(s->rows, i);

		n += state ? strcmp(mr_json_text_or_empty(row, "state"), state) == 0
			   : json_array_size(json_object_get(row, "undeclared")) > 0;
	}
	return n;
}

static void print_undeclared(const json_t *row)
{
	const json_t *undeclared = json_object_get(row, "undeclared");

	for (size_t i = 0; i < json_array_size(undeclared); i++) {
		const json_t *one = json_array_get(undeclared, i);
		const json_t *what = json_array_get(json_object_get(one, "what"), 0);

		printf("          undeclared %s: ", mr_json_text_or_empty(one, "kind"));
		mr_term_put(MR_TERM_RED, what ? json_string_value(what) : "");
		putchar('\n');
	}
}

static void print_row(const json_t *row)
{
	const char *state = mr_json_text_or_empty(row, "state");
	const json_t *outcome = json_object_get(row, "outcome");
	const json_t *wall = json_object_get(row, "wall_us");
	const char *reason = mr_json_text_or_empty(row, "reason");
	char time[MR_UNITS_SIZE] = "-";

	if (json_is_integer(wall))
		mr_units_human_time(time, (uint64_t)json_integer_value(wall) * 1000);
	mr_term_cell(strcmp(state, "returned") == 0 ? MR_TERM_PLAIN : MR_TERM_RED, state, 12);
	printf(" %10s ", time);
	mr_term_put(MR_TERM_PLAIN, mr_json_text_or_empty(row, "section"));
	if (strcmp(state, "raised") == 0 || strcmp(state, "not_imported") == 0) {
		fputs("  ", stdout);
		mr_term_put(MR_TERM_PLAIN, mr_json_text_or_empty(outcome, "type"));
		fputs(": ", stdout);
		mr_term_put(MR_TERM_PLAIN, mr_json_text_or_empty(outcome, "message"));
	} else if (strcmp(state, "ended") == 0 || strcmp(state, "error") == 0) {
		fputs("  ", stdout);
		mr_term_put(MR_TERM_PLAIN, reason[0] ? reason : mr_json_text_or_empty(row, "why"));
	}
	putchar('\n');
	print_undeclared(row);
}

static void print_document(const struct sections_run *s)
{
	mr_auto_json json_t *document =
		json_pack("{s:s, s:O, s:I, s:O, s:O, s:O}", "schema", "menace.sections-run/1",
			  "folder", json_object_get(s->scan, "folder"), "seed", (json_int_t)s->seed,
			  "sections", s->rows, "passed_by", s->passed_by, "not_looked_at",
			  s->not_looked_at);

	mr_assert(document);
	if (s->common.json) {
		mr_cmd_print_json(document);
		return;
	}
	for (size_t i = 0; i < json_array_size(s->rows); i++)
		print_row(json_array_get(s->rows, i));
	mr_sections_print_not_looked_at(s->not_looked_at);
	printf("%zu sections, %zu returned, %zu did what nothing hints at, %zu passed by, %lld "
	       "files not looked at (seed %jd)\n",
	       json_array_size(s->rows), count_rows(s, "returned"), count_rows(s, NULL),
	       json_array_size(s->passed_by),
	       (long long)json_integer_value(json_object_get(s->not_looked_at, "count")),
	       (intmax_t)s->seed);
}

/* --- the command ------------------------------------------------------------ */

static int take_options(struct sections_run *s, struct mr_error *err)
{
	uint64_t seed = 0;
	int r = mr_cmd_check_count("jobs", &s->jobs, 1, 1, JOBS_MAX, err);

	if (r == 0)
		r = mr_cmd_check_count("timeout", &s->wall_ms, MR_PATIENCE_MS(SCAN_COMMAND), 1,
				       WALL_MS_MAX, err);
	if (r == 0)
		r = mr_stubs_begin(&s->stubs, s->strategy, s->program, s->common.store, err);
	if (r < 0)
		return r;
	seed = s->stubs.seed;
	if (seed == MR_STUBS_NO_SEED)
		r = mr_rand_fresh_seed(&seed, err);
	if (r == 0)
		r = mr_cmd_check_count("seed", &s->seed, (int64_t)seed, 0,
				       (int64_t)MR_RAND_SEED_MAX, err);
	if (r == 0)
		r = mr_stubs_input(&s->stubs, NULL, &s->input, &s->plugins, err);
	s->input.seed = (uint64_t)s->seed;
	return r;
}

/* Was all that was asked for run, and did all of it return?  Whoever names sections has got them, whatever
 * else is in the folder. */
static bool is_good(const struct sections_run *s, const struct mr_section_choice *choice)
{
	const bool by_name = choice->names[0] && choice->n_match == 0;

	return count_rows(s, "returned") == json_array_size(s->rows) && count_rows(s, NULL) == 0 &&
	       (by_name || json_integer_value(json_object_get(s->not_looked_at, "missed")) == 0);
}

static int run_all(struct sections_run *s, char **words, struct mr_error *err)
{
	const struct mr_section_choice choice = { .names = words + 1,
						  .match = s->match.v,
						  .n_match = s->match.n };
	int r = mr_child_find_program(s->program, err);

	if (r == 0)
		r = take_options(s, err);
	if (r == 0)
		r = mr_sections_scan(&s->common, words[0], s->program, &s->scan, err);
	if (r == 0)
		s->not_looked_at = mr_sections_not_looked_at(s->scan);
	if (r == 0)
		r = mr_section_choose(s->scan, &choice, &s->chosen, &s->passed_by, err);
	if (r == 0)
		r = run_in_loop(s, err);
	if (r < 0)
		return r;
	if (s->interrupts.signal) {
		mr_log_error("interrupted: %zu of %zu sections were run", s->n_done,
			     json_array_size(s->chosen));
		return 128 + s->interrupts.signal;
	}
	print_document(s);
	if (count_rows(s, "error") > 0)
		return STATUS_BROKEN;
	return is_good(s, &choice) ? 0 : 1;
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct sections_run *s = values;
	int r;

	s->rows = json_array();
	r = run_all(s, words, err);
	json_decref(s->plugins);
	json_decref(s->scan);
	json_decref(s->not_looked_at);
	json_decref(s->chosen);
	json_decref(s->passed_by);
	json_decref(s->rows);
	free(s->slots);
	s->loop = mr_loop_free(s->loop);
	return r;
}

const struct mr_cmd mr_cmd_sections_run = {
	.name = "sections run",
	.synopsis = "DIR [SECTION...]",
	.summary = "Call functions and methods of Python files with made-up values, each in a "
		   "sandbox",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct sections_run),
	.min_words = 1,
	.max_words = SIZE_MAX,
	.heeds_environment = true,
	.run = run,
};

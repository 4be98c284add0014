/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace scenario run: a workflow or a command under many conditions
 *
 * Exit status: 0 every conclusive cell passed and there is one; 1 a cell failed, or a
 * canonical profile is missing that had to be there; 7 nothing failed, and something
 * is inconclusive; 125 a sandbox could not be made.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/backend/child.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/rand.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/flow/workflow.h"
#include "runtime/scenario/cells.h"
#include "runtime/scenario/scenario.h"
#include "runtime/scenario/summary.h"
#include "runtime/store/query.h"
#include "tools/cmd_preset.h"
#include "tools/flow_session.h"
#include "tools/matrix_report.h"
#include "tools/matrix_run.h"
#include "tools/stubs.h"

#define JOBS_MAX 64
#define REPLICATES_MAX 10000
#define STATUS_INCONCLUSIVE 7

struct scenario {
	struct mr_cmd_common common;
	struct mr_cmd_list scenarios, presets;
	const char *resume, *junit, *html, *levels, *max_memory;
	int64_t replicates, jobs, seed, slo_ms, max_cpus, max_pids;
	bool all, fail_on_missing;
	/* while it runs */
	struct mr_flow_session session;
	struct mr_stubs stubs;
	json_t *list, *done; /* scenarios; details of cells that were kept before */
	size_t n_presets;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("scenarios", 0, "NAME[,NAME...]", LIST, scenario, scenarios,
		   "scenarios, PROFILE:LEVEL, default, all or canonical, see menace-flow(5); may "
		   "be "
		   "repeated"),
	MR_CMD_ROW("all", 'a', NULL, FLAG, scenario, all,
		   "all eight scenarios instead of the five that are tried by default"),
	MR_CMD_ROW("levels", 0, "LEVEL[,LEVEL]", TEXT, scenario, levels,
		   "the names of --scenarios are canonical profiles, at these levels: low, high"),
	MR_CMD_ROW("presets", 'p', "FILE|NAME|JSON", LIST, scenario, presets,
		   "presets, each a scenario of its own; may be repeated"),
	MR_CMD_ROW("replicates", 'r', "N", COUNT, scenario, replicates,
		   "pairs of each scenario; 1 if not given"),
	MR_CMD_ROW("jobs", 'j', "N", COUNT, scenario, jobs,
		   "cells at once, under the cap; 1 if not given, at most 64"),
	MR_CMD_ROW("max-cpus", 0, "N", COUNT, scenario, max_cpus,
		   "cap of all cells at once; the host's processors, or as many as jobs"),
	MR_CMD_ROW("max-memory", 0, "SIZE", TEXT, scenario, max_memory,
		   "the same of memory limits; four fifths of what is available"),
	MR_CMD_ROW("max-pids", 0, "N", COUNT, scenario, max_pids,
		   "the same of limits of processes; half of the host's process ids"),
	MR_CMD_ROW("seed", 's', "SEED", COUNT, scenario, seed,
		   "decides what is random; without it one is drawn, which is told"),
	MR_CMD_ROW("slo", 0, "TIME", TIMESPAN, scenario, slo_ms,
		   "time that a copy may take; without it twice the median without conditions"),
	MR_CMD_ROW("junit", 0, "FILE", PATH, scenario, junit, "write JUnit XML there, too"),
	MR_CMD_ROW("html", 0, "FILE", PATH, scenario, html, "write a page with charts there, too"),
	MR_CMD_ROW("fail-on-missing-scenarios", 0, NULL, FLAG, scenario, fail_on_missing,
		   "fail when a canonical profile came to no verdict"),
	MR_CMD_ROW("resume", 0, "ID", TEXT, scenario, resume,
		   "go on with a matrix that was ended before all cells were there"),
	MR_CMD_COMMON_ROWS(scenario),
};

/* --- what to try ----------------------------------------------------------- */

static int add_word(struct scenario *s, const char *word, struct mr_error *err)
{
	mr_auto_free char *levels = s->levels ? mr_str_dup(s->levels) : NULL;
	char *rest = levels, *level;
	int r = 0;

	if (!levels)
		return mr_scenario_add(s->list, word, err);
	while (r == 0 && (level = strsep(&rest, ",")))
		r = mr_scenario_add_profile(s->list, word, level, err);
	return r;
}

static int add_words(struct scenario *s, const char *words, struct mr_error *err)
{
	mr_auto_free char *copy = mr_str_dup(words);
	char *rest = copy, *word;
	int r = 0;

	while (r == 0 && (word = strsep(&rest, ",")))
		r = add_word(s, word, err);
	return r < 0 ? mr_err_wrap(err, r, "--scenarios") : 0;
}

static int add_preset(const struct mr_json *preset, void *owner, struct mr_error *err)
{
	struct scenario *s = owner;
	const char *name = json_string_value(json_object_get(preset->value, "SCENARIO_NAME"));
	mr_auto_free char *own = mr_str_format("preset_%zu", s->n_presets++);
	int r = mr_cmd_preset_refuse_malformed(preset, err);

	if (r == 0)
		r = mr_scenario_add_preset(s->list, name ? name : own, preset->value, err);
	return r < 0 ? mr_err_wrap(err, r, "--presets") : 0;
}

static int choose_scenarios(struct scenario *s, struct mr_error *err)
{
	int r = s->all ? mr_scenario_add(s->list, "all", err) : 0;

	if (s->levels && s->scenarios.n == 0)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--levels is of the profiles that "
			      "--scenarios names");
	for (size_t i = 0; r == 0 && i < s->scenarios.n; i++)
		r = add_words(s, s->scenarios.v[i], err);
	for (size_t i = 0; r == 0 && i < s->presets.n; i++)
		r = mr_cmd_preset_each(s->presets.v[i], NULL, add_preset, s, err);
	if (r == 0 && json_array_size(s->list) == 0)
		r = mr_scenario_add(s->list, "default", err);
	return r;
}

static int check_numbers(struct scenario *s, struct mr_error *err)
{
	uint64_t seed = 0;
	int r = mr_cmd_check_count("replicates", &s->replicates, 1, 1, REPLICATES_MAX, err);

	if (r == 0)
		r = mr_cmd_check_count("jobs", &s->jobs, 1, 1, JOBS_MAX, err);
	if (r == 0 && s->seed == MR_CMD_NOT_GIVEN)
		r = mr_rand_fresh_seed(&seed, err);
	if (r == 0)
		r = mr_cmd_check_count("seed", &s->seed, (int64_t)seed, 0,
				       (int64_t)MR_RAND_SEED_MAX, err);
	if (s->slo_ms == MR_CMD_NOT_GIVEN)
		s->slo_ms = 0;
	if (r == 0 &&
	    mr_cells_count(json_array_size(s->list), (size_t)s->replicates) > MR_CELLS_MAX)
		r = mr_err(err, MR_E_USAGE, ERANGE,
			   "%zu scenarios, %jd times, in two arms are more than %d cells",
			   json_array_size(s->list), (intmax_t)s->replicates, MR_CELLS_MAX);
	return r;
}

static int choose_cap(const struct scenario *s, struct mr_load *cap, struct mr_error *err)
{
	int r = mr_admission_host_cap((size_t)s->jobs, cap, err);

	if (r == 0 && s->max_memory) {
		r = mr_units_parse_size(s->max_memory, &cap->memory, err);
		if (r < 0)
			return mr_err_wrap(err, r, "--max-memory");
	}
	if (s->max_cpus != MR_CMD_NOT_GIVEN)
		cap->cpus = (uint64_t)s->max_cpus * 1000;
	if (s->max_pids != MR_CMD_NOT_GIVEN)
		cap->pids = (uint64_t)s->max_pids;
	return r;
}

static int choose_target(struct scenario *s, char **words, struct mr_error *err)
{
	if (words[0] && strcmp(words[0], "--") == 0 && words[1]) {
		s->session.base = mr_str_dup("/");
		return mr_flow_of_command(words + 1, &s->session.flow, err);
	}
	for (size_t i = 0; words[i]; i++)
		if (words[i][0] == '-' && words[i][1])
			return mr_err(err, MR_E_USAGE, EINVAL,
				      "unknown option \"%.60s\"; see menace scenario run --help",
				      words[i]);
	if (!words[0] || words[1])
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "one target is what is tried: FILE.json, the number of a workflow in "
			      "the store, or -- PROGRAM [ARG...]");
	return mr_flow_session_find(&s->session, words[0], err);
}

/* --- the store ------------------------------------------------------------- */

static int add_done(const json_t *row, void *owner, struct mr_error *err)
{
	struct scenario *s = owner;
	const char *text = json_string_value(json_object_get(row, "detail"));
	json_t *detail = NULL;
	int r = mr_json_parse(text, strlen(text), "cell in the store", &detail, err);

	if (r == 0)
		json_array_append_new(s->done, detail);
	return r;
}

static int resume(struct scenario *s, struct mr_error *err)
{
	mr_auto_json json_t *options = NULL;
	const char *text;
	int r = mr_flow_session_resume(&s->session, "matrix.get", "matrix", s->resume, err);

	if (r < 0)
		return r;
	text = json_string_value(json_object_get(s->session.row, "options"));
	r = mr_json_parse(text, strlen(text), "options in the store", &options, err);
	if (r < 0)
		return r;
	json_array_extend(s->list, json_object_get(options, "scenarios"));
	s->replicates = json_integer_value(json_object_get(options, "replicates"));
	s->seed = json_integer_value(json_object_get(options, "seed"));
	s->slo_ms = json_integer_value(json_object_get(options, "slo_ms"));
	return mr_query_each(s->session.store, "matrix.cells",
			     json_pack("{s:s}", "matrix", s->resume), add_done, s, err);
}

static int begin_in_store(const struct scenario *s, struct mr_error *err)
{
	const struct mr_flow_session *session = &s->session;
	mr_auto_json json_t *options =
		json_pack("{s:O, s:I, s:I, s:I}", "scenarios", s->list, "replicates",
			  (json_int_t)s->replicates, "seed", (json_int_t)s->seed, "slo_ms",
			  (json_int_t)s->slo_ms);
	mr_auto_free char *text = json_dumps(options, JSON_COMPACT);
	mr_auto_free char *document = json_dumps(session->flow->document, JSON_COMPACT);

	if (!session->store || session->row)
		return 0;
	return mr_query_run(session->store, "matrix.begin",
			    json_pack("{s:s, s:s, s:s, s:s, s:s, s:I}", "matrix", session->id,
				      "name", session->flow->name, "folder", session->base,
				      "document", document, "options", text, "started_us",
				      (json_int_t)mr_flow_session_now_us()),
			    err);
}

static int end_in_store(const struct scenario *s, struct mr_error *err)
{
	if (!s->session.store)
		return 0;
	return mr_query_run(s->session.store, "matrix.end",
			    json_pack("{s:s, s:I}", "matrix", s->session.id, "ended_us",
				      (json_int_t)mr_flow_session_now_us()),
			    err);
}

/* --- telling --------------------------------------------------------------- */

static json_t *make_report(const struct scenario *s, json_t *cells)
{
	json_t *report = mr_summary_make(s->list, cells, (double)s->slo_ms);

	json_object_set_new(report, "schema", json_string("menace.matrix/1"));
	json_object_set_new(report, "matrix", json_string(s->session.id));
	json_object_set_new(report, "name", json_string(s->session.flow->name));
	json_object_set_new(report, "seed", json_integer(s->seed));
	json_object_set_new(report, "replicates", json_integer(s->replicates));
	json_object_set(report, "cells", cells);
	return report;
}

static int judge(const struct scenario *s, const json_t *report)
{
	const json_t *counts = json_object_get(report, "counts");
	const json_t *missing = json_object_get(json_object_get(report, "coverage"), "missing");

	if (json_integer_value(json_object_get(counts, "error")) > 0)
		return 125;
	if (json_integer_value(json_object_get(counts, "failed")) > 0)
		return 1;
	if (s->fail_on_missing && json_array_size(missing) > 0) {
		mr_log_error("%zu canonical profiles came to no verdict, the first is %s",
			     json_array_size(missing),
			     json_string_value(json_array_get(missing, 0)));
		return 1;
	}
	return json_integer_value(json_object_get(counts, "inconclusive")) > 0 ? STATUS_INCONCLUSIVE
									       : 0;
}

static int tell(const struct scenario *s, const json_t *report, struct mr_error *err)
{
	int r = 0;

	if (s->junit)
		r = mr_matrix_junit(report, s->junit, err);
	if (r == 0 && s->html)
		r = mr_matrix_html(report, s->html, err);
	if (r < 0)
		return r;
	if (s->common.json)
		mr_cmd_print_json(report);
	else
		mr_matrix_table(report);
	return judge(s, report);
}

/* --- the command ----------------------------------------------------------- */

static int tell_interrupted(const struct scenario *s, int signal)
{
	if (s->session.store)
		mr_log_error("interrupted: menace scenario run --resume %s goes on", s->session.id);
	else
		mr_log_error("interrupted; without a store it cannot be resumed");
	return 128 + signal;
}

static int run_matrix(struct scenario *s, struct mr_error *err)
{
	mr_auto_json json_t *cells = NULL;
	mr_auto_json json_t *report = NULL;
	char program[PATH_MAX];
	struct mr_matrix_opts opts = {
		.session = &s->session,
		.program = program,
		.store = s->common.store,
		.stubs = &s->stubs,
		.scenarios = s->list,
		.replicates = (size_t)s->replicates,
		.jobs = (size_t)s->jobs,
		.seed = (uint64_t)s->seed,
		.done = s->done,
	};
	int signal = 0;
	int r = choose_cap(s, &opts.cap, err);

	if (r == 0)
		r = mr_child_find_program(program, err);
	if (r == 0)
		r = mr_stubs_init(&s->stubs, &s->session, NULL, program, s->common.store, err);
	if (r == 0)
		r = mr_flow_session_prepare(&s->session, err);
	if (r == 0)
		r = begin_in_store(s, err);
	if (r == 0)
		r = mr_matrix_run(&opts, &cells, &signal, err);
	if (r > 0)
		return tell_interrupted(s, signal);
	if (r == 0)
		r = end_in_store(s, err);
	if (r < 0)
		return mr_flow_session_tell(&s->session, "scenario", r, err);
	mr_flow_session_finish(&s->session);
	report = make_report(s, cells);
	return tell(s, report, err);
}

static int check_resume(const struct scenario *s, char **words, struct mr_error *err)
{
	if (words[0] || s->scenarios.n > 0 || s->presets.n > 0 || s->all || s->levels ||
	    s->replicates != MR_CMD_NOT_GIVEN || s->seed != MR_CMD_NOT_GIVEN ||
	    s->slo_ms != MR_CMD_NOT_GIVEN)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--resume: what was begun is known; leave out what decides it");
	return 0;
}

/* Each copy of a cell takes four. What there are not enough of for fails with its own message. */
static void allow_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		mr_log_warn("more open files than now: %m");
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct scenario *s = values;
	int r = 0;

	/* A preset of the environment would be in both arms. */
	unsetenv("SANDBOX_ENV_PRESETS");
	allow_descriptors();
	s->session = (struct mr_flow_session)MR_FLOW_SESSION_INIT;
	s->list = json_array();
	s->done = json_array();
	if (s->resume)
		r = check_resume(s, words, err);
	if (r == 0)
		r = mr_flow_session_open(&s->session, &s->common, err);
	if (r == 0)
		r = s->resume ? resume(s, err) : choose_target(s, words, err);
	if (r == 0 && !s->resume)
		r = choose_scenarios(s, err);
	if (r == 0)
		r = check_numbers(s, err);
	if (r == 0)
		r = run_matrix(s, err);
	mr_stubs_deinit(&s->stubs);
	json_decref(s->list);
	json_decref(s->done);
	mr_flow_session_close(&s->session);
	return r;
}

static const struct mr_cmd scenario_run = {
	.name = "scenario run",
	.synopsis = "FILE.json|ID|-- PROGRAM [ARG...]",
	.summary = "Run a workflow or a program under many conditions, and find the worst",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct scenario),
	.max_words = SIZE_MAX,
	.passes_on = true,
	.run = run,
};

static const struct mr_cmd *const verbs[] = { &scenario_run, NULL };

const struct mr_cmd mr_cmd_scenario = {
	.name = "scenario",
	.synopsis = "VERB",
	.summary = "Try a workflow or a program under hostile conditions",
	.verbs = verbs,
};

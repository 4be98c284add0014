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
#include <unistd.h>

#include "runtime/backend/child.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/open_files.h"
#include "runtime/base/rand.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/flow/workflow.h"
#include "runtime/scenario/cells.h"
#include "runtime/scenario/outcome.h"
#include "runtime/scenario/scenario.h"
#include "runtime/scenario/summary.h"
#include "runtime/scenario/thresholds.h"
#include "runtime/scenario/trajectory.h"
#include "runtime/store/query.h"
#include "tools/cmd_preset.h"
#include "tools/flow_session.h"
#include "tools/matrix_details.h"
#include "tools/matrix_report.h"
#include "tools/matrix_run.h"
#include "runtime/base/outfile.h"
#include "tools/stubs.h"

#define JOBS_MAX 64
#define REPLICATES_MAX 10000
#define STATUS_INCONCLUSIVE 7

struct scenario {
	struct mr_cmd_common common;
	struct mr_cmd_list scenarios, presets;
	const char *resume, *junit, *html, *levels, *max_memory;
	int64_t replicates, jobs, seed, slo_ms, max_cpus, max_pids;
	bool all, fail_on_missing, trajectory;
	/* while it runs */
	struct mr_flow_session session;
	struct mr_stubs stubs;
	struct mr_thresholds thresholds;
	json_t *list; /* scenarios */
	struct mr_outcomes outcomes; /* of its cells */
	struct mr_matrix_details *details;
	struct mr_outfile junit_file, html_file; /* open if they are asked for */
	json_t *programs; /* of plugins, that it was begun with; NULL: it begins now */
	size_t n_presets;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("scenarios", 0, "NAME[,NAME...]", LIST, scenario, scenarios,
		   "scenarios, PROFILE:LEVEL, default, all or canonical, see menace-flow(5); may "
		   "be "
		   "repeated"),
	MR_CMD_ROW("all", 'a', NULL, FLAG, scenario, all,
		   "all eight scenarios instead of the five that are tried by default"),
	MR_CMD_ROW("trajectory", 0, NULL, FLAG, scenario, trajectory,
		   "the five stages of menace-flow(5), one after the other, each harder than the "
		   "one "
		   "before"),
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
		   "fail when a canonical profile came to no verdict; "
		   "SANDBOX_FAIL_ON_MISSING_SCENARIOS=1 says the same"),
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

static int choose_stages(struct scenario *s, struct mr_error *err)
{
	if (s->all || s->levels || s->scenarios.n > 0 || s->presets.n > 0)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--trajectory has stages of its own: leave out --scenarios, --all, "
			      "--levels and --presets");
	mr_trajectory_add(s->list);
	return 0;
}

static int choose_scenarios(struct scenario *s, struct mr_error *err)
{
	int r = s->all ? mr_scenario_add(s->list, "all", err) : 0;

	if (s->trajectory)
		return choose_stages(s, err);
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
	if (r == 0 && s->trajectory && s->jobs > 1)
		r = mr_err(err, MR_E_USAGE, EINVAL,
			   "--jobs: the stages of a trajectory come one after the other; accepted: "
			   "1");
	if (r == 0 && s->seed == MR_CMD_NOT_GIVEN)
		r = mr_stubs_default_seed(&seed, err);
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

static int add_kept(const json_t *row, void *owner, struct mr_error *err)
{
	struct scenario *s = owner;
	const char *text = json_string_value(json_object_get(row, "detail"));
	mr_auto_json json_t *detail = NULL;
	int r = mr_json_parse(text, strlen(text), "cell in the store", &detail, err);

	if (r == 0)
		r = mr_outcomes_add(&s->outcomes, detail, err);
	return r < 0 ? r : 0;
}

/* Which cells there are, and of one that is resumed how those ended that were kept. */
static int take_kept(struct scenario *s, struct mr_error *err)
{
	mr_outcomes_init(&s->outcomes, json_array_size(s->list), (size_t)s->replicates,
			 (uint64_t)s->seed);
	if (!s->resume)
		return 0;
	return mr_query_each(s->session.store, "matrix.cells",
			     json_pack("{s:s}", "matrix", s->resume), add_kept, s, err);
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
	s->trajectory = json_is_true(json_object_get(options, "trajectory"));
	s->replicates = json_integer_value(json_object_get(options, "replicates"));
	s->seed = json_integer_value(json_object_get(options, "seed"));
	s->slo_ms = json_integer_value(json_object_get(options, "slo_ms"));
	s->programs = json_incref(json_object_get(options, "programs"));
	if (json_object_get(options, "environment"))
		r = mr_stubs_restore_environment(json_object_get(options, "environment"), err);
	else
		mr_log_warn("--resume: an older version began this and kept no environment: "
			    "strategies and plugins of stubs are as they are now");
	return r;
}

static int begin_in_store(const struct scenario *s, struct mr_error *err)
{
	const struct mr_flow_session *session = &s->session;
	mr_auto_json json_t *options =
		json_pack("{s:O, s:I, s:I, s:I, s:b, s:o, s:O}", "scenarios", s->list, "replicates",
			  (json_int_t)s->replicates, "seed", (json_int_t)s->seed, "slo_ms",
			  (json_int_t)s->slo_ms, "trajectory", s->trajectory, "environment",
			  mr_stubs_environment(), "programs", s->stubs.programs);
	mr_auto_free char *text = json_dumps(options, JSON_COMPACT);
	mr_auto_free char *document = json_dumps(session->flow->document, JSON_COMPACT);
	int r;

	mr_assert(text && document);
	if (!session->store)
		return 0;
	/* A cell is kept as a run is: what a crash of the host takes is made again by --resume. */
	r = mr_store_set_durable(session->store, false, err);
	if (r == 0)
		r = mr_store_spare_memory(session->store, err);
	if (r < 0 || session->row)
		return r;
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

static json_t *make_head(const struct scenario *s, json_t *cap)
{
	json_t *head = mr_summary_make(s->list, &s->outcomes, (double)s->slo_ms);

	json_object_set_new(head, "schema", json_string("menace.matrix/1"));
	json_object_set_new(head, "matrix", json_string(s->session.id));
	json_object_set_new(head, "name", json_string(s->session.flow->name));
	json_object_set_new(head, "seed", json_integer(s->seed));
	json_object_set_new(head, "replicates", json_integer(s->replicates));
	json_object_set(head, "cap", cap);
	if (s->trajectory)
		json_object_set_new(head, "trajectory",
				    mr_trajectory_make(json_object_get(head, "scenarios"),
						       &s->outcomes));
	return head;
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

/* Before anything runs: a folder that is not there costs no hours. */
static int open_files(struct scenario *s, struct mr_error *err)
{
	int r = s->junit ? mr_outfile_open(s->junit, 0644, &s->junit_file, err) : 0;

	if (r < 0)
		return mr_err_wrap(err, r, "--junit");
	r = s->html ? mr_outfile_open(s->html, 0644, &s->html_file, err) : 0;
	return r < 0 ? mr_err_wrap(err, r, "--html") : 0;
}

typedef int (*writer)(const struct mr_matrix_report *report, FILE *out, struct mr_error *err);

/* option: its name, for messages.  Of a file that is not open nobody asked. */
static int write_file(const struct mr_matrix_report *report, const char *option, writer write,
		      struct mr_outfile *file, struct mr_error *err)
{
	int r = file->stream ? write(report, file->stream, err) : 0;

	if (r == 0 && file->stream)
		r = mr_outfile_commit(file, err);
	return r < 0 ? mr_err_wrap(err, r, "%s", option) : 0;
}

/* What goes wrong with one report keeps nobody from the others; the first error of theirs is
 * returned, and what is not is said. */
static int tell_all(struct scenario *s, const struct mr_matrix_report *report, struct mr_error *err)
{
	struct mr_error own[2] = { MR_ERROR_INIT, MR_ERROR_INIT };
	int r = s->common.json ? mr_matrix_json(report, err) : mr_matrix_table(report, err);
	const int of_files[] = {
		write_file(report, "--junit", mr_matrix_junit, &s->junit_file, &own[0]),
		write_file(report, "--html", mr_matrix_html, &s->html_file, &own[1]),
	};

	for (size_t i = 0; i < N_ELEMENTS(own); i++) {
		if (of_files[i] < 0 && r < 0)
			mr_log_error("%s", own[i].msg);
		if (of_files[i] == 0 || r < 0)
			continue;
		*err = own[i];
		r = of_files[i];
	}
	return r;
}

static int tell(struct scenario *s, json_t *cap, struct mr_error *err)
{
	mr_auto_json json_t *head = make_head(s, cap);
	const struct mr_matrix_report report = {
		.head = head,
		.outcomes = &s->outcomes,
		.details = s->details,
	};
	int r = tell_all(s, &report, err);

	return r < 0 ? r : judge(s, head);
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
	mr_auto_json json_t *cap = NULL;
	char program[PATH_MAX];
	struct mr_matrix_opts opts = {
		.session = &s->session,
		.program = program,
		.store = s->common.store,
		.stubs = &s->stubs,
		.thresholds = &s->thresholds,
		.scenarios = s->list,
		.jobs = (size_t)s->jobs,
		.seed = (uint64_t)s->seed,
		.outcomes = &s->outcomes,
	};
	int signal = 0;
	int r = choose_cap(s, &opts.cap, err);

	if (r == 0)
		r = mr_thresholds_parse(getenv("SCENARIO_METRIC_THRESHOLDS"), &s->thresholds, err);
	if (r == 0)
		r = mr_child_find_program(program, err);
	if (r == 0)
		r = mr_stubs_init(&s->stubs, &s->session, NULL, program, s->common.store, err);
	if (r == 0 && s->programs)
		s->stubs.programs = json_incref(s->programs);
	else if (r == 0)
		r = mr_stubs_hold_programs(&s->stubs, s->list, err);
	if (r == 0)
		r = mr_flow_session_prepare(&s->session, err);
	if (r == 0)
		r = mr_stubs_hold_history(&s->stubs, err);
	if (r == 0)
		r = begin_in_store(s, err);
	if (r == 0)
		r = mr_matrix_details_new(&s->session, s->outcomes.n_cells, &s->details, err);
	opts.details = s->details;
	if (r == 0)
		r = mr_matrix_run(&opts, &cap, &signal, err);
	if (r > 0)
		return tell_interrupted(s, signal);
	if (r == 0)
		r = end_in_store(s, err);
	if (r < 0)
		return mr_flow_session_tell(&s->session, "scenario", r, err);
	r = tell(s, cap, err);
	if (r < 0) /* what was found is kept, and can be told again */
		return mr_flow_session_tell(&s->session, "scenario", r, err);
	mr_flow_session_finish(&s->session);
	return r;
}

static int check_resume(const struct scenario *s, char **words, struct mr_error *err)
{
	if (words[0] || s->scenarios.n > 0 || s->presets.n > 0 || s->all || s->levels ||
	    s->trajectory || s->replicates != MR_CMD_NOT_GIVEN || s->seed != MR_CMD_NOT_GIVEN ||
	    s->slo_ms != MR_CMD_NOT_GIVEN)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "--resume: what was begun is known; leave out what decides it");
	return 0;
}

/* Each copy of a cell takes four. What there are not enough of for fails with its own message. */
static void allow_descriptors(void)
{
	struct mr_error err = MR_ERROR_INIT;
	uint64_t allowed;

	if (mr_open_files_allow(UINT64_MAX, &allowed, &err) < 0)
		mr_log_warn("more open files than now: %s", err.msg);
}

/* A preset of the environment would be in both arms. */
static void leave_out_presets(void)
{
	const char *presets = getenv("SANDBOX_ENV_PRESETS");

	if (presets && presets[0])
		mr_log_warn("SANDBOX_ENV_PRESETS is not taken, for it would be in both arms: give "
			    "it as a scenario by --preset");
	unsetenv("SANDBOX_ENV_PRESETS");
}

/* What the option says, the variable may say for all. */
static int read_gate(struct scenario *s, struct mr_error *err)
{
	static const char name[] = "SANDBOX_FAIL_ON_MISSING_SCENARIOS";
	const char *text = getenv(name);
	int r = 0;

	if (!s->fail_on_missing && text && text[0])
		r = mr_units_parse_flag(text, &s->fail_on_missing, err);
	return r < 0 ? mr_err_wrap(err, r, "%s", name) : 0;
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct scenario *s = values;
	int r = read_gate(s, err);

	leave_out_presets();
	allow_descriptors();
	s->session = (struct mr_flow_session)MR_FLOW_SESSION_INIT;
	s->junit_file = s->html_file = (struct mr_outfile)MR_OUTFILE_INIT;
	s->list = json_array();
	if (r == 0 && s->resume)
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
		r = open_files(s, err);
	if (r == 0)
		r = take_kept(s, err);
	if (r == 0)
		r = run_matrix(s, err);
	mr_outfile_deinit(&s->junit_file);
	mr_outfile_deinit(&s->html_file);
	mr_stubs_deinit(&s->stubs);
	json_decref(s->list);
	mr_outcomes_deinit(&s->outcomes);
	mr_matrix_details_free(s->details);
	json_decref(s->programs);
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
	.heeds_environment = true,
	.run = run,
};

static const struct mr_cmd *const verbs[] = { &scenario_run, NULL };

const struct mr_cmd mr_cmd_scenario = {
	.name = "scenario",
	.synopsis = "VERB",
	.summary = "Try a workflow or a program under hostile conditions",
	.verbs = verbs,
};

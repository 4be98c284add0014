/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace preset adapt: presets after what the runs under them told
 *
 * Results come from files of menace-run --json and --batch and from the store,
 * metrics from a file.  The store's rows are put into the form of a result, so that
 * one reader judges both.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/scenario/adapt.h"
#include "runtime/scenario/draws.h"
#include "runtime/scenario/evidence.h"
#include "runtime/store/query.h"
#include "tools/cmd_preset.h"

#define RESULT_MAX (256 << 20)

struct adapt {
	struct mr_cmd_common common;
	struct mr_cmd_list results, runs, metrics, history;
	const char *loss_unit, *output, *policy_path;
	bool unsafe, explain;
	json_t *policy;
	struct mr_evidence evidence;
	json_t *presets, *documents; /* arrays: what was made, and how */
	bool is_list;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("result", 'r', "FILE", LIST, adapt, results,
		   "a result of menace-run --json, or several, one a line; in the order of time"),
	MR_CMD_ROW("run", 0, "RUN", LIST, adapt, runs, "a run of the store"),
	MR_CMD_ROW("metrics", 'm', "FILE", LIST, adapt, metrics,
		   "metrics: a JSON object of names and numbers, or lists of numbers with the "
		   "newest last; its member predicted holds predictions"),
	MR_CMD_ROW("history", 0, "FILE", LIST, adapt, history, "the same"),
	MR_CMD_ROW("policy", 0, "FILE", PATH, adapt, policy_path,
		   "follow this learned policy where it knows the state, instead of the rules over "
		   "metrics"),
	MR_CMD_ROW("explain", 0, NULL, FLAG, adapt, explain,
		   "with --policy: say the state, and what the policy knows of it"),
	MR_CMD_ROW("unsafe", 0, NULL, FLAG, adapt, unsafe,
		   "let SECURITY_LEVEL go down to 1, which menace-run takes only with --unsafe"),
	MR_CMD_ROW("loss-unit", 0, "UNIT", TEXT, adapt, loss_unit,
		   "how a bare number of PACKET_LOSS and PACKET_DUPLICATION is meant: percent (if "
		   "not given) or fraction"),
	MR_CMD_ROW("output", 'o', "FILE", PATH, adapt, output,
		   "write the preset there; without it on standard output"),
	MR_CMD_ROW("store", 0, "PATH", PATH, adapt, common.store,
		   "the store; by default the one that menace-run keeps its runs in"),
	MR_CMD_ROW("json", 0, NULL, FLAG, adapt, common.json,
		   "print an object with the preset and what was changed and held, and why"),
	MR_CMD_HELP_ROW(adapt),
};

/* --- evidence -------------------------------------------------------------- */

static int add_document(struct mr_evidence *evidence, json_t *document, const char *source,
			struct mr_error *err)
{
	const struct mr_json root = mr_json_root(document, source);

	return mr_evidence_add(evidence, &root, err);
}

/* What menace-run --batch writes: a document a line. */
static int add_lines(struct mr_evidence *evidence, const char *text, const char *path,
		     struct mr_error *err)
{
	int r = 0;

	for (size_t line = 1; r == 0 && *text; line++) {
		const size_t n = strcspn(text, "\n");
		mr_auto_free char *source = mr_str_format("%s: line %zu", path, line);
		mr_auto_json json_t *document = NULL;

		if (strspn(text, " \t\r") < n) {
			r = mr_json_parse(text, n, source, &document, err);
			if (r == 0)
				r = add_document(evidence, document, source, err);
		}
		text += n + (text[n] == '\n');
	}
	return r;
}

int mr_cmd_preset_add_evidence(struct mr_evidence *evidence, const char *path, struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	mr_auto_json json_t *document = NULL;
	mr_auto_json json_t *first = NULL;
	size_t size = 0, line;
	int r = mr_read_whole_file(path, RESULT_MAX, &text, &size, err);

	if (r < 0) {
		err->code = MR_E_USAGE;
		return r;
	}
	r = mr_json_parse(text, size, path, &document, err);
	if (r == 0)
		return add_document(evidence, document, path, err);
	line = strcspn(text, "\n");
	if (line == size || mr_json_parse(text, line, path, &first, NULL) < 0)
		return r;
	return add_lines(evidence, text, path, err);
}

/* A run of the store as its result was. */
static int result_of_run(struct mr_store *store, const char *run_id, json_t **ret,
			 struct mr_error *err)
{
	mr_auto_json json_t *run = NULL;
	mr_auto_json json_t *limits = NULL;
	mr_auto_json json_t *hit = NULL;
	json_t *asked = json_object(), *names = json_array();
	int r = mr_query_one(store, "run.get", json_pack("{s:s}", "run_id", run_id), &run, err);

	if (r == 0)
		r = mr_query_all(store, "run.limits", json_pack("{s:s}", "run_id", run_id), &limits,
				 err);
	if (r == 0)
		r = mr_query_all(store, "run.limits_hit", json_pack("{s:s}", "run_id", run_id),
				 &hit, err);
	for (size_t i = 0; i < json_array_size(limits); i++) {
		json_t *row = json_array_get(limits, i);

		json_object_set(asked, json_string_value(json_object_get(row, "name")),
				json_object_get(row, "asked"));
	}
	for (size_t i = 0; i < json_array_size(hit); i++)
		json_array_append(names, json_object_get(json_array_get(hit, i), "name"));
	*ret = json_pack("{s:s, s:O?, s:{s:O?}, s:{s:O?, s:{s:O?}, s:{s:O?}, s:{s:O?}, s:{s:O?}}, "
			 "s:o, s:o}",
			 "schema", "menace.result/1", "reason", json_object_get(run, "reason"),
			 "exit", "status", json_object_get(run, "exit_status"), "usage", "wall_us",
			 json_object_get(run, "wall_us"), "cpu", "usage_us",
			 json_object_get(run, "cpu_us"), "memory", "peak_bytes",
			 json_object_get(run, "memory_peak_bytes"), "disk", "used_bytes",
			 json_object_get(run, "disk_used_bytes"), "pids", "peak",
			 json_object_get(run, "pids_peak"), "limits", asked, "limits_hit", names);
	mr_assert(*ret);
	return r;
}

static int add_runs(struct adapt *adapt, struct mr_error *err)
{
	mr_auto_store struct mr_store *store = NULL;
	int r = adapt->runs.n ? mr_cmd_open(&adapt->common, MR_STORE_READ, &store, err) : 0;

	for (size_t i = 0; r == 0 && i < adapt->runs.n; i++) {
		mr_auto_json json_t *result = NULL;
		mr_auto_free char *run_id = NULL;

		r = mr_cmd_find_run(store, adapt->runs.v[i], &run_id, err);
		if (r == 0)
			r = result_of_run(store, run_id, &result, err);
		if (r == 0)
			r = add_document(&adapt->evidence, result, run_id, err);
	}
	return r;
}

static int add_files(struct adapt *adapt, const struct mr_cmd_list *list, struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->n; i++)
		r = mr_cmd_preset_add_evidence(&adapt->evidence, list->v[i], err);
	return r;
}

static int gather(struct adapt *adapt, struct mr_error *err)
{
	int r = add_files(adapt, &adapt->results, err);

	if (r == 0)
		r = add_runs(adapt, err);
	if (r == 0)
		r = add_files(adapt, &adapt->metrics, err);
	if (r == 0)
		r = add_files(adapt, &adapt->history, err);
	return r;
}

/* --- presets --------------------------------------------------------------- */

static const char *string_of(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

void mr_cmd_preset_tell(const char *path, const json_t *adapted)
{
	const json_t *changes = json_object_get(adapted, "changes");
	const json_t *held = json_object_get(adapted, "held");

	for (size_t i = 0; i < json_array_size(changes); i++) {
		const json_t *row = json_array_get(changes, i);
		mr_auto_free char *old = mr_draws_text(json_object_get(row, "old"));
		mr_auto_free char *new = mr_draws_text(json_object_get(row, "new"));

		mr_log_notice("%s%s%s: %s becomes %s (%s)", path, path[0] ? ": " : "",
			      string_of(row, "variable"), old, new, string_of(row, "why"));
	}
	for (size_t i = 0; i < json_array_size(held); i++) {
		const json_t *row = json_array_get(held, i);

		if (json_is_null(json_object_get(row, "value")))
			continue; /* the preset does not speak of it */
		mr_log_notice("%s%s%s stays as it is: %s", path, path[0] ? ": " : "",
			      string_of(row, "variable"), string_of(row, "why"));
	}
}

void mr_cmd_preset_explain_policy(const char *path, const json_t *adapted)
{
	const json_t *policy = json_object_get(adapted, "policy");
	const char *action;
	json_t *value;

	mr_log_notice("%s%spolicy: state %s: %s", path, path[0] ? ": " : "",
		      string_of(policy, "state"), string_of(policy, "why"));
	json_object_foreach (json_object_get(policy, "values"), action, value)
		mr_log_notice("%s%spolicy: %s is worth %.4g%s", path, path[0] ? ": " : "", action,
			      json_number_value(value),
			      strcmp(action, string_of(policy, "action")) == 0 ? ", taken" : "");
}

static int adapt_one(const struct mr_json *preset, void *owner, struct mr_error *err)
{
	struct adapt *adapt = owner;
	const struct mr_adapt_opts opts = { .unsafe = adapt->unsafe, .policy = adapt->policy };
	int r = mr_cmd_preset_refuse_malformed(preset, err);
	json_t *document;
	char path[128];

	if (r < 0)
		return r;
	document = mr_adapt(preset->value, &adapt->evidence, &opts);
	mr_json_path(preset, path, sizeof(path));
	if (!adapt->common.json)
		mr_cmd_preset_tell(path, document);
	if (adapt->explain)
		mr_cmd_preset_explain_policy(path, document);
	adapt->is_list |= preset->parent != NULL;
	json_array_append(adapt->presets, json_object_get(document, "preset"));
	json_array_append_new(adapt->documents, document);
	return 0;
}

/* What is said of all presets alike. */
static void tell_notes(const struct adapt *adapt)
{
	const json_t *notes = json_object_get(json_array_get(adapt->documents, 0), "notes");

	for (size_t i = 0; i < json_array_size(notes); i++)
		mr_log_warn("%s", json_string_value(json_array_get(notes, i)));
}

static int write_presets(const struct adapt *adapt, struct mr_error *err)
{
	mr_auto_json json_t *document = NULL;

	if (adapt->common.json) {
		document = json_pack("{s:s, s:I, s:O}", "schema", "menace.preset-adapt/1",
				     "results", (json_int_t)adapt->evidence.n_results, "presets",
				     adapt->documents);
		return mr_cmd_preset_write(adapt->output, document, err);
	}
	tell_notes(adapt);
	return mr_cmd_preset_write(adapt->output,
				   adapt->is_list ? adapt->presets
						  : json_array_get(adapt->presets, 0),
				   err);
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct adapt *adapt = values;
	mr_auto_json json_t *presets = json_array();
	mr_auto_json json_t *documents = json_array();
	mr_auto_json json_t *policy = NULL;
	int r;

	adapt->presets = presets;
	adapt->documents = documents;
	r = mr_cmd_preset_policy_to_follow(adapt->policy_path, &policy, err);
	if (r < 0)
		return r;
	if (adapt->explain && !policy)
		return mr_err(err, MR_E_USAGE, EINVAL, "--explain needs --policy");
	adapt->policy = policy;
	mr_evidence_init(&adapt->evidence);
	r = gather(adapt, err);
	if (r == 0)
		r = mr_cmd_preset_each(words[0], adapt->loss_unit, adapt_one, adapt, err);
	if (r == 0)
		r = write_presets(adapt, err);
	mr_evidence_deinit(&adapt->evidence);
	return r;
}

const struct mr_cmd mr_cmd_preset_adapt = {
	.name = "preset adapt",
	.synopsis = "PRESET",
	.summary =
		"Make presets harder or easier after what runs and metrics told, with the reasons",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct adapt),
	.min_words = 1,
	.max_words = 1,
	.run = run,
};

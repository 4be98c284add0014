/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stubs
 *
 * The history gets values and nothing else: no preset, no variable.  Of what is secret it gets a marker
 * (runtime/stub/secret.c says what is).
 */
#include "tools/stubs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/document.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/io.h"
#include "runtime/base/log.h"
#include "runtime/base/rand.h"
#include "runtime/base/secret.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/flow/inputs.h"
#include "runtime/flow/workflow.h"
#include "runtime/scenario/condition.h"
#include "runtime/spec/bytes.h"
#include "runtime/store/query.h"
#include "tools/flow_session.h"
#include "runtime/base/outfile.h"

#define HISTORY_ROWS_MAX 10000
#define HISTORY_FILE_MAX (64u << 20)
#define HISTORY_AGE_US (INT64_C(90) * 86400 * 1000000)
#define PAYLOADS "payloads" /* among programs, whose names all have a ':' */
#define PAYLOADS_FILE_MAX (1u << 20)
#define PAYLOADS_MAX 256
#define RAW_MARKER 2 /* of column raw: the value is make_marker() */

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && value[0] ? value : NULL;
}

/* --- history --------------------------------------------------------------- */

static int trim(const struct mr_flow_session *session, struct mr_error *err)
{
	return mr_query_run(session->store, "input.trim",
			    json_pack("{s:I, s:i}", "oldest_us",
				      (json_int_t)(mr_flow_session_now_us() - HISTORY_AGE_US),
				      "max", HISTORY_ROWS_MAX),
			    err);
}

static int add_row(const json_t *row, void *owner, struct mr_error *err)
{
	struct mr_stubs *stubs = owner;
	const char *text = json_string_value(json_object_get(row, "value"));
	json_t *class = json_object_get(row, "class");
	/* Bytes without a class were corrupted, by a version that gave that none. */
	const bool raw = json_integer_value(json_object_get(row, "raw")) != 0;
	json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	(void)err;
	if (!value)
		return 0; /* a newer version's */
	json_array_append_new(stubs->history,
			      json_pack("{s:O, s:o, s:b, s:O, s:O, s:b, s:b}", "stub",
					json_object_get(row, "stub"), "value", value, "raw", raw,
					"class", class, "payload", json_object_get(row, "payload"),
					"ordinary", json_is_null(class) && !raw, "failed",
					json_integer_value(json_object_get(row, "failed")) > 0));
	return 0;
}

static int load_history(struct mr_stubs *stubs, struct mr_error *err)
{
	const struct mr_flow_session *session = stubs->session;
	int r;

	if (!session->store || !mr_flow_takes_inputs(session->flow->document))
		return 0;
	stubs->keeps = true;
	r = trim(session, err);
	return r < 0 ? r
		     : mr_query_each(session->store, "input.recent",
				     json_pack("{s:s}", "flow", session->flow->name), add_row,
				     stubs, err);
}

static int read_history(struct mr_stubs *stubs, const char *path, struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	json_t *history = NULL;
	size_t size = 0;
	int r = mr_read_whole_file(path, HISTORY_FILE_MAX, &text, &size, err);

	if (r == -ENOENT) {
		mr_log_warn("what was known of stubs when this began is not there any more: the "
			    "strategies history and failures take from what is known now");
		return 0;
	}
	if (r == 0)
		r = mr_json_parse(text, size, path, &history, err);
	if (r < 0)
		return r;
	json_decref(stubs->history);
	stubs->history = history;
	return 0;
}

/* Older than what this command adds to the store, before and after it is resumed. */
int mr_stubs_hold_history(struct mr_stubs *stubs, struct mr_error *err)
{
	const struct mr_flow_session *session = stubs->session;
	mr_cleanup(mr_outfile_deinit) struct mr_outfile file = MR_OUTFILE_INIT;
	mr_auto_free char *path = mr_str_format("%s/history.json", session->folder);
	int r;

	if (!stubs->keeps)
		return 0;
	if (session->row)
		return read_history(stubs, path, err);
	r = mr_outfile_open(path, 0600, &file, err);
	if (r == 0 && json_dumpf(stubs->history, file.stream, JSON_COMPACT) < 0)
		r = mr_err(err, MR_E_SYS, EIO, "write %s", path);
	return r < 0 ? r : mr_outfile_commit(&file, err);
}

/* A record leaves out what is secret by the way it was made; what is in it after all is found here.
 * What may be kept of a value; NULL: nothing.  New reference. */
static json_t *without_secrets(const struct mr_stubs *stubs, const json_t *record)
{
	mr_auto_json json_t *value = json_deep_copy(json_object_get(record, "value"));
	mr_auto_free char *bytes = NULL;
	struct mr_json root = mr_json_root(value, "value");
	size_t size = 0;

	if (!value || mr_secret_is_name(mr_json_text_or_empty(record, "stub")))
		return NULL;
	if (json_is_true(json_object_get(record, "raw"))) { /* may be base64 */
		if (mr_spec_get_bytes(&root, &bytes, &size, NULL) < 0)
			return NULL;
	} else {
		mr_input_remove_secrets(value);
	}
	if (mr_input_holds_secret(value, stubs->secrets))
		return NULL;
	for (size_t i = 0; bytes && i < json_array_size(stubs->secrets); i++) {
		const json_t *secret = json_array_get(stubs->secrets, i);

		if (memmem(bytes, size, json_string_value(secret), json_string_length(secret)))
			return NULL;
	}
	return json_incref(value);
}

/* What is kept in place of a value that is secret. */
static json_t *make_marker(const json_t *record)
{
	return json_pack("{s:b, s:O, s:O, s:O}", "secret", true, "class",
			 json_object_get(record, "class"), "strategy",
			 json_object_get(record, "strategy"), "size",
			 json_object_get(record, "size"));
}

static int keep_one(const struct mr_stubs *stubs, const json_t *row, const json_t *record,
		    const char *scenario, struct mr_error *err)
{
	mr_auto_json json_t *value = without_secrets(stubs, record);
	mr_auto_free char *text = NULL;
	char sha256[MR_HASH_HEX_SIZE];
	int raw = json_is_true(json_object_get(record, "raw"));

	if (!value && !json_object_get(record, "value") &&
	    strcmp(mr_json_text_or_empty(record, "secret"), "all") != 0)
		return 0; /* absent, or too large */
	if (!value) {
		value = make_marker(record);
		raw = RAW_MARKER;
	}
	text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
	mr_assert(text);
	mr_hash_hex(text, strlen(text), sha256);
	return mr_query_run(
		stubs->session->store, "input.add",
		json_pack("{s:s, s:O, s:O, s:s?, s:O, s:O, s:O, s:O, s:i, s:s, s:s, s:i, s:I}",
			  "flow", stubs->session->flow->name, "step", json_object_get(row, "name"),
			  "stub", json_object_get(record, "stub"), "scenario", scenario, "strategy",
			  json_object_get(record, "strategy"), "seed",
			  json_object_get(record, "seed"), "class",
			  json_object_get(record, "class"), "payload",
			  json_object_get(record, "id"), "raw", raw, "value", text, "sha256",
			  sha256, "failed", !json_is_true(json_object_get(row, "passed")), "now_us",
			  (json_int_t)mr_flow_session_now_us()),
		err);
}

int mr_stubs_keep(const struct mr_stubs *stubs, const json_t *document, const json_t *row,
		  const char *scenario, struct mr_error *err)
{
	mr_auto_json json_t *records = NULL;
	int r = 0;

	/* Whether a sandbox could be made says nothing of a value; all steps at once nothing of one. */
	if (!stubs->session->store || strcmp(mr_json_text_or_empty(row, "kind"), "step") != 0 ||
	    mr_document_not_begun(mr_json_text_or_empty(row, "reason")))
		return 0;
	records = mr_flow_inputs_of(document, mr_json_text_or_empty(row, "name"));
	for (size_t i = 0; r == 0 && i < json_array_size(records); i++)
		r = keep_one(stubs, row, json_array_get(records, i), scenario, err);
	return r < 0 ? mr_err_wrap(err, r, "history of stubs") : 0;
}

/* --- beginning and end ----------------------------------------------------- */

static int check_order(const char *order, struct mr_error *err)
{
	mr_auto_free char *copy = order ? mr_str_dup(order) : NULL;
	char *rest = copy, *name;
	int r = 0;

	while (r == 0 && copy && (name = strsep(&rest, ",")))
		r = mr_input_check_strategy(name + strspn(name, " "), err);
	return r < 0 ? mr_err_wrap(err, r, "SANDBOX_STUB_STRATEGY_ORDER") : 0;
}

static int read_seed(uint64_t *ret, struct mr_error *err)
{
	const char *text = variable("SANDBOX_STUB_SEED");
	int r = text ? mr_units_parse_count(text, ret, err) : 0;

	if (r == 0 && text && *ret > MR_RAND_SEED_MAX)
		r = mr_err(err, MR_E_USAGE, ERANGE, "%s is over %ju", text,
			   (uintmax_t)MR_RAND_SEED_MAX);
	return r < 0 ? mr_err_wrap(err, r, "SANDBOX_STUB_SEED") : 0;
}

int mr_stubs_default_seed(uint64_t *ret, struct mr_error *err)
{
	int r;

	*ret = MR_STUBS_NO_SEED;
	r = read_seed(ret, err);
	return r == 0 && *ret == MR_STUBS_NO_SEED ? mr_rand_fresh_seed(ret, err) : r;
}

int mr_stubs_begin(struct mr_stubs *stubs, const char *strategy, const char *menace_run,
		   const char *store, struct mr_error *err)
{
	int r = 0;

	*stubs = (struct mr_stubs){ .plugin = { .menace_run = menace_run, .store = store },
				    .strategy = strategy,
				    .seed = MR_STUBS_NO_SEED };
	if (!strategy)
		stubs->strategy = variable("SANDBOX_STUB_STRATEGY");
	if (stubs->strategy)
		r = mr_input_check_strategy(stubs->strategy, err);
	if (r < 0)
		mr_err_wrap(err, r, "%s", strategy ? "--stub-strategy" : "SANDBOX_STUB_STRATEGY");
	if (r == 0)
		r = check_order(variable("SANDBOX_STUB_STRATEGY_ORDER"), err);
	return r < 0 ? r : read_seed(&stubs->seed, err);
}

int mr_stubs_init(struct mr_stubs *stubs, const struct mr_flow_session *session,
		  const char *strategy, const char *menace_run, const char *store,
		  struct mr_error *err)
{
	int r = mr_stubs_begin(stubs, strategy, menace_run, store, err);

	stubs->session = session;
	stubs->history = json_array();
	stubs->secrets = mr_flow_secrets(session->flow->document);
	return r < 0 ? r : load_history(stubs, err);
}

void mr_stubs_deinit(struct mr_stubs *stubs)
{
	struct mr_error err = MR_ERROR_INIT;

	if (stubs->keeps)
		trim(stubs->session, &err); /* the next start does it, too */
	json_decref(stubs->history);
	json_decref(stubs->secrets);
	json_decref(stubs->programs);
	*stubs = (struct mr_stubs){ 0 };
}

/* --- making ---------------------------------------------------------------- */

bool mr_stubs_change(const struct mr_stubs *stubs, const struct mr_condition_inputs *inputs)
{
	return mr_flow_takes_inputs(stubs->session->flow->document) ||
	       (inputs && inputs->edge_cases);
}

/* The program of plugin:FILE, as a content, into programs; nothing where the strategy is no plugin. */
static int read_plugin(const json_t *held, const char *strategy, json_t *programs,
		       struct mr_error *err)
{
	mr_auto_free char *bytes = NULL;
	json_t *program;
	const char *path;
	size_t size = 0;
	int r;

	if (!strategy || !mr_str_starts_with(strategy, MR_INPUT_PLUGIN) ||
	    json_object_get(programs, strategy))
		return 0;
	program = json_object_get(held, strategy);
	if (json_is_null(program))
		return mr_err(err, MR_E_USAGE, ENOENT, "%s: it could not be read when this began",
			      strategy);
	if (program) {
		json_object_set(programs, strategy, program);
		return 0;
	}
	path = strategy + sizeof(MR_INPUT_PLUGIN) - 1;
	r = mr_read_whole_file(path, MR_FLOW_FILE_MAX, &bytes, &size, err);
	if (r < 0)
		return mr_err_wrap(err, r, "%s", strategy);
	json_object_set_new(programs, strategy, mr_spec_bytes_json(bytes, size));
	return 0;
}

static int read_plugins_of(const json_t *held, const char *order, json_t *programs,
			   struct mr_error *err)
{
	mr_auto_free char *copy = order ? mr_str_dup(order) : NULL;
	char *rest = copy, *name;
	int r = 0;

	while (r == 0 && copy && (name = strsep(&rest, ",")))
		r = read_plugin(held, name + strspn(name, " "), programs, err);
	return r < 0 ? mr_err_wrap(err, r, "SANDBOX_STUB_STRATEGY_ORDER") : 0;
}

static int read_plugin_files(const json_t *held, json_t *programs, struct mr_error *err)
{
	const char *files = variable("SANDBOX_STUB_PLUGINS");
	mr_auto_free char *copy = files ? mr_str_dup(files) : NULL;
	char *rest = copy, *file;
	int r = 0;

	if (files && !mr_str_utf8_valid(files, strlen(files)))
		r = mr_err(err, MR_E_USAGE, EINVAL, "its paths are not UTF-8");
	while (r == 0 && copy && (file = strsep(&rest, ":"))) {
		mr_auto_free char *name = mr_str_format(MR_INPUT_PLUGIN "%s", file);

		if (file[0])
			r = read_plugin(held, name, programs, err);
	}
	return r < 0 ? mr_err_wrap(err, r, "SANDBOX_STUB_PLUGINS") : 0;
}

/* A text as it is, other scalars as JSON; its id is its source and what it is. */
static int add_payload(const struct mr_json *item, const char *source, json_t *payloads,
		       struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	char sha256[MR_HASH_HEX_SIZE];
	json_t *value;

	if (json_is_object(item->value) || json_is_array(item->value))
		return mr_json_err(item, err, "a payload is a text, a number, a boolean or null");
	if (json_array_size(payloads) >= PAYLOADS_MAX)
		return mr_json_err(item, err, "there are more than %d payloads", PAYLOADS_MAX);
	if (json_is_string(item->value)) {
		value = json_incref(item->value);
	} else {
		text = json_dumps(item->value, JSON_ENCODE_ANY);
		mr_assert(text);
		value = json_string(text);
	}
	mr_hash_hex(json_string_value(value), json_string_length(value), sha256);
	json_array_append_new(payloads,
			      json_pack("{s:o, s:o}", "id",
					json_sprintf("%s-%.16s", source, sha256), "value", value));
	return 0;
}

static int add_payloads(const char *text, size_t size, const char *where, const char *source,
			json_t *payloads, struct mr_error *err)
{
	mr_auto_json json_t *list = NULL;
	struct mr_json root;
	int r = mr_json_parse(text, size, where, &list, err);

	if (r < 0)
		return r;
	root = mr_json_root(list, where);
	r = mr_json_want_array(&root, err);
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		const struct mr_json item = mr_json_item(&root, i);

		r = add_payload(&item, source, payloads, err);
	}
	return r;
}

static int read_payloads(const json_t *held, json_t *programs, struct mr_error *err)
{
	const char *given = variable("SANDBOX_HOSTILE_PAYLOADS");
	const char *path = variable("SANDBOX_HOSTILE_PAYLOADS_FILE");
	mr_auto_json json_t *payloads = json_incref(json_object_get(held, PAYLOADS));
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r = 0;

	if (!held) {
		payloads = json_array();
		if (given)
			r = add_payloads(given, strlen(given), "SANDBOX_HOSTILE_PAYLOADS",
					 "variable", payloads, err);
		if (r == 0 && path)
			r = mr_read_whole_file(path, PAYLOADS_FILE_MAX, &text, &size, err);
		if (r == 0 && text)
			r = add_payloads(text, size, path, "file", payloads, err);
		if (r < 0)
			return mr_err_wrap(err, r, "payloads of hostile");
	}
	if (json_array_size(payloads) > 0)
		json_object_set(programs, PAYLOADS, payloads);
	return 0;
}

int mr_stubs_input(const struct mr_stubs *stubs, const char *strategy, struct mr_input_opts *ret,
		   json_t **ret_programs, struct mr_error *err)
{
	mr_auto_json json_t *programs = json_object();
	int r;

	*ret = (struct mr_input_opts){
		.strategy = strategy ? strategy : stubs->strategy,
		.order = variable("SANDBOX_STUB_STRATEGY_ORDER"),
		.random_config = variable("SANDBOX_STUB_RANDOM_CONFIG"),
		.model = variable("SANDBOX_STUB_MODEL"),
		.plugins = variable("SANDBOX_STUB_PLUGINS"),
		.plugin = mr_flow_plugin_run,
		.owner = (void *)(uintptr_t)&stubs->plugin,
	};
	r = read_plugin(stubs->programs, ret->strategy, programs, err);
	if (r == 0)
		r = read_plugin(stubs->programs, ret->model, programs, err);
	if (r == 0 && !ret->strategy)
		r = read_plugins_of(stubs->programs, ret->order, programs, err);
	if (r == 0)
		r = read_plugin_files(stubs->programs, programs, err);
	if (r == 0)
		r = read_payloads(stubs->programs, programs, err);
	if (r < 0)
		return r;
	ret->programs = programs;
	ret->payloads = json_object_get(programs, PAYLOADS);
	*ret_programs = mr_take_ptr(programs);
	return 0;
}

int mr_stubs_make(const struct mr_stubs *stubs, const struct mr_stubs_opts *opts,
		  struct mr_flow **ret, size_t *ret_edge_cases, struct mr_error *err)
{
	const struct mr_flow_session *session = stubs->session;
	mr_auto_json json_t *programs = NULL;
	mr_auto_json json_t *document = NULL;
	struct mr_flow_inputs_opts make = { .history = stubs->history, .answers = opts->answers };
	int r = mr_stubs_input(stubs, opts->inputs ? opts->inputs->strategy : NULL, &make.input,
			       &programs, err);

	make.input.seed = opts->seed;
	make.input.index = opts->index;
	if (opts->inputs) {
		make.input.corrupt = opts->inputs->corrupt;
		make.edge_cases = opts->inputs->edge_cases;
	}
	if (r == 0)
		r = mr_flow_make_inputs(session->flow->document, &make, &document, ret_edge_cases,
					err);
	return r < 0 ? r : mr_flow_parse(document, session->base, session->flow->name, ret, err);
}

/* --- the same again --------------------------------------------------------- */

static const char *const deciding[] = {
	"SANDBOX_STUB_STRATEGY",	"SANDBOX_STUB_STRATEGY_ORDER", "SANDBOX_STUB_RANDOM_CONFIG",
	"SANDBOX_STUB_MODEL",		"SANDBOX_STUB_PLUGINS",	       "SANDBOX_HOSTILE_PAYLOADS",
	"SANDBOX_HOSTILE_PAYLOADS_FILE"
};

static const char *deciding_variable(size_t i)
{
	return i < N_ELEMENTS(deciding) ? deciding[i]
					: mr_flow_edge_case_variable(i - N_ELEMENTS(deciding));
}

static void hold_program(struct mr_stubs *stubs, const char *strategy)
{
	struct mr_error err = MR_ERROR_INIT;

	/* Whoever needs it is told, as of any plugin that cannot be read. */
	if (strategy && read_plugin(NULL, strategy, stubs->programs, &err) < 0)
		json_object_set_new(stubs->programs, strategy, json_null());
}

/* All of a list, each with a prefix. */
static void hold_list(struct mr_stubs *stubs, const char *list, const char *separator,
		      const char *prefix)
{
	mr_auto_free char *copy = list ? mr_str_dup(list) : NULL;
	char *rest = copy, *name;

	while (copy && (name = strsep(&rest, separator))) {
		mr_auto_free char *strategy =
			mr_str_format("%s%s", prefix, name + (prefix[0] ? 0 : strspn(name, " ")));

		if (strategy[strlen(prefix)])
			hold_program(stubs, strategy);
	}
}

int mr_stubs_hold_programs(struct mr_stubs *stubs, const json_t *scenarios, struct mr_error *err)
{
	stubs->programs = json_object();
	hold_program(stubs, stubs->strategy);
	hold_program(stubs, variable("SANDBOX_STUB_MODEL"));
	hold_list(stubs, variable("SANDBOX_STUB_STRATEGY_ORDER"), ",", "");
	hold_list(stubs, variable("SANDBOX_STUB_PLUGINS"), ":", MR_INPUT_PLUGIN);
	for (size_t i = 0; i < json_array_size(scenarios); i++)
		hold_program(stubs,
			     json_string_value(mr_json_at(json_array_get(scenarios, i), "preset",
							  "SANDBOX_STUB_STRATEGY", NULL)));
	return read_payloads(NULL, stubs->programs, err);
}

json_t *mr_stubs_environment(void)
{
	json_t *all = json_object();
	const char *name;

	for (size_t i = 0; (name = deciding_variable(i)); i++) {
		const char *value = variable(name);

		json_object_set_new(all, name, value ? json_string(value) : json_null());
	}
	return all;
}

int mr_stubs_restore_environment(const json_t *environment, struct mr_error *err)
{
	const char *name;

	for (size_t i = 0; (name = deciding_variable(i)); i++) {
		const char *was = json_string_value(json_object_get(environment, name));
		const char *is = variable(name);

		if (!is && !was)
			continue;
		if (is && was && strcmp(is, was) == 0)
			continue;
		mr_log_warn("%s is %s, and was %s when this began: what it was counts", name,
			    is ? "another now" : "not set now", was ? "set" : "not set");
		if ((was ? setenv(name, was, 1) : unsetenv(name)) < 0)
			return mr_err(err, MR_E_SYS, errno, "%s: %m", name);
	}
	return 0;
}

/* --- presets of the environment -------------------------------------------- */

static int take_preset(json_t *preset, struct mr_condition_inputs *all, struct mr_error *err)
{
	struct mr_condition_inputs one;
	bool edge_cases = all->edge_cases;
	int r;

	if (!json_is_object(preset))
		return 0; /* menace-run says what is wrong with it */
	r = mr_condition_take_inputs(preset, &one, err);
	edge_cases = edge_cases || one.edge_cases;
	if (one.strategy) { /* the last one wins */
		mr_condition_inputs_deinit(all);
		*all = one;
	}
	all->edge_cases = edge_cases;
	return r;
}

int mr_stubs_take_environment(struct mr_condition_inputs *ret, struct mr_error *err)
{
	const char *text = variable("SANDBOX_ENV_PRESETS");
	mr_auto_json json_t *presets = NULL;
	mr_auto_free char *rest = NULL;
	struct mr_json root;
	int r;

	*ret = (struct mr_condition_inputs){ 0 };
	if (!text)
		return 0;
	r = mr_json_parse(text, strlen(text), "SANDBOX_ENV_PRESETS", &presets, err);
	if (r == 0 && !json_is_object(presets) && !json_is_array(presets)) {
		root = mr_json_root(presets, "SANDBOX_ENV_PRESETS");
		r = mr_json_want_object(&root, err);
	}
	if (r == 0 && json_is_object(presets))
		r = take_preset(presets, ret, err);
	for (size_t i = 0; r == 0 && i < json_array_size(presets); i++)
		r = take_preset(json_array_get(presets, i), ret, err);
	if (r < 0)
		return r;
	rest = json_dumps(presets, JSON_COMPACT);
	mr_assert(rest);
	if (setenv("SANDBOX_ENV_PRESETS", rest, 1) < 0)
		return mr_err(err, MR_E_SYS, errno, "setenv: %m");
	return 0;
}

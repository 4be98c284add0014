/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stubs
 *
 * The history gets values and nothing else: no preset, no variable.  A member that has the name of a
 * secret is left out of a value, and a value in which a variable's content is found is not kept.
 */
#include "tools/stubs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/io.h"
#include "runtime/base/rand.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/flow/inputs.h"
#include "runtime/flow/workflow.h"
#include "runtime/scenario/condition.h"
#include "runtime/spec/bytes.h"
#include "runtime/store/query.h"
#include "runtime/store/redact.h"
#include "tools/flow_session.h"

#define HISTORY_ROWS_MAX 10000
#define HISTORY_AGE_US (INT64_C(90) * 86400 * 1000000)
#define SECRET_MIN 8 /* bytes: shorter contents of variables are found everywhere */
#define KEYS(object) ((json_t *)(uintptr_t)(object))

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
	json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);

	(void)err;
	if (!value)
		return 0; /* a newer version's */
	json_array_append_new(stubs->history,
			      json_pack("{s:O, s:o, s:b, s:b, s:b}", "stub",
					json_object_get(row, "stub"), "value", value, "raw",
					json_integer_value(json_object_get(row, "raw")) != 0,
					"ordinary", json_is_null(json_object_get(row, "class")),
					"failed",
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

static void add_secrets(json_t *secrets, const json_t *env)
{
	const char *name;
	json_t *value;

	json_object_foreach (KEYS(env), name, value)
		if (json_string_length(value) >= SECRET_MIN &&
		    !strstr(json_string_value(value), "{{stub:"))
			json_array_append(secrets, value);
}

/* Contents of all variables of the workflow. */
static json_t *find_secrets(const json_t *document)
{
	const json_t *steps = json_object_get(document, "steps");
	json_t *secrets = json_array();

	add_secrets(secrets, json_object_get(document, "env"));
	for (size_t i = 0; i < json_array_size(steps); i++)
		add_secrets(secrets, json_object_get(json_array_get(steps, i), "env"));
	return secrets;
}

static bool is_secret(const char *name)
{
	static const char *const words[] = { "token", "key", "secret", "pass" };

	for (size_t i = 0; i < N_ELEMENTS(words); i++)
		if (strcasestr(name, words[i]))
			return true;
	return mr_redact_is_secret(name);
}

static void remove_secrets(json_t *value)
{
	const char *name;
	json_t *child;
	void *next;
	size_t i;

	json_object_foreach_safe(value, next, name, child)
	{
		if (is_secret(name))
			json_object_del(value, name);
		else
			remove_secrets(child);
	}
	json_array_foreach (value, i, child)
		remove_secrets(child);
}

/* In a text of it, a name of a member, or its bytes. */
static bool has_secret(const json_t *value, const char *secret, size_t size)
{
	const char *name;
	json_t *child;
	size_t i;

	if (json_is_string(value))
		return memmem(json_string_value(value), json_string_length(value), secret, size);
	json_object_foreach (KEYS(value), name, child)
		if (strstr(name, secret) || has_secret(child, secret, size))
			return true;
	json_array_foreach (value, i, child)
		if (has_secret(child, secret, size))
			return true;
	return false;
}

/* What may be kept of a value; NULL: nothing.  New reference. */
static json_t *without_secrets(const struct mr_stubs *stubs, const json_t *record)
{
	mr_auto_json json_t *value = json_deep_copy(json_object_get(record, "value"));
	mr_auto_free char *bytes = NULL;
	struct mr_json root = mr_json_root(value, "value");
	size_t size = 0;

	if (!value || is_secret(mr_json_text_or_empty(record, "stub")))
		return NULL;
	if (json_is_true(json_object_get(record, "raw"))) { /* may be base64 */
		if (mr_spec_get_bytes(&root, &bytes, &size, NULL) < 0)
			return NULL;
	} else {
		remove_secrets(value);
	}
	for (size_t i = 0; i < json_array_size(stubs->secrets); i++) {
		const json_t *secret = json_array_get(stubs->secrets, i);
		const char *s = json_string_value(secret);

		if (has_secret(value, s, json_string_length(secret)) ||
		    (bytes && memmem(bytes, size, s, json_string_length(secret))))
			return NULL;
	}
	return json_incref(value);
}

static int keep_one(const struct mr_stubs *stubs, const json_t *row, const json_t *record,
		    const char *scenario, struct mr_error *err)
{
	mr_auto_json json_t *value = without_secrets(stubs, record);
	mr_auto_free char *text = NULL;
	char sha256[MR_HASH_HEX_SIZE];

	if (!value)
		return 0;
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
			  json_object_get(record, "id"), "raw",
			  json_is_true(json_object_get(record, "raw")), "value", text, "sha256",
			  sha256, "failed", !json_is_true(json_object_get(row, "passed")), "now_us",
			  (json_int_t)mr_flow_session_now_us()),
		err);
}

int mr_stubs_keep(const struct mr_stubs *stubs, const json_t *row, const char *scenario,
		  struct mr_error *err)
{
	const json_t *records = json_object_get(row, "inputs");
	int r = 0;

	/* Whether a sandbox could be made says nothing of a value; all steps at once nothing of one. */
	if (!stubs->session->store || strcmp(mr_json_text_or_empty(row, "kind"), "step") != 0 ||
	    strcmp(mr_json_text_or_empty(row, "reason"), "setup_error") == 0)
		return 0;
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
	stubs->secrets = find_secrets(session->flow->document);
	return r < 0 ? r : load_history(stubs, err);
}

void mr_stubs_deinit(struct mr_stubs *stubs)
{
	struct mr_error err = MR_ERROR_INIT;

	if (stubs->keeps)
		trim(stubs->session, &err); /* the next start does it, too */
	json_decref(stubs->history);
	json_decref(stubs->secrets);
	*stubs = (struct mr_stubs){ 0 };
}

/* --- making ---------------------------------------------------------------- */

bool mr_stubs_change(const struct mr_stubs *stubs, const struct mr_condition_inputs *inputs)
{
	return mr_flow_takes_inputs(stubs->session->flow->document) ||
	       (inputs && inputs->edge_cases);
}

/* The program of plugin:FILE, as a content; *ret stays NULL where the strategy is no plugin. */
static int read_plugin(const char *strategy, json_t **ret, struct mr_error *err)
{
	mr_auto_free char *bytes = NULL;
	const char *path;
	size_t size = 0;
	int r;

	if (!strategy || !mr_str_starts_with(strategy, MR_INPUT_PLUGIN))
		return 0;
	path = strategy + sizeof(MR_INPUT_PLUGIN) - 1;
	r = mr_read_whole_file(path, MR_FLOW_FILE_MAX, &bytes, &size, err);
	if (r < 0)
		return mr_err_wrap(err, r, "%s", strategy);
	*ret = mr_spec_bytes_json(bytes, size);
	return 0;
}

int mr_stubs_input(const struct mr_stubs *stubs, const char *strategy, struct mr_input_opts *ret,
		   json_t **ret_program, struct mr_error *err)
{
	mr_auto_json json_t *program = NULL;
	int r;

	*ret = (struct mr_input_opts){
		.strategy = strategy ? strategy : stubs->strategy,
		.order = variable("SANDBOX_STUB_STRATEGY_ORDER"),
		.random_config = variable("SANDBOX_STUB_RANDOM_CONFIG"),
		.model = variable("SANDBOX_STUB_MODEL"),
		.plugin = mr_flow_plugin_run,
		.owner = (void *)(uintptr_t)&stubs->plugin,
	};
	r = read_plugin(ret->strategy, &program, err);
	if (r == 0 && !program)
		r = read_plugin(ret->model, &program, err);
	if (r < 0)
		return r;
	ret->program = program;
	*ret_program = mr_take_ptr(program);
	return 0;
}

int mr_stubs_make(const struct mr_stubs *stubs, const struct mr_stubs_opts *opts,
		  struct mr_flow **ret, size_t *ret_edge_cases, struct mr_error *err)
{
	const struct mr_flow_session *session = stubs->session;
	mr_auto_json json_t *program = NULL;
	mr_auto_json json_t *document = NULL;
	struct mr_flow_inputs_opts make = { .history = stubs->history, .answers = opts->answers };
	int r = mr_stubs_input(stubs, opts->inputs ? opts->inputs->strategy : NULL, &make.input,
			       &program, err);

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
	int r;

	*ret = (struct mr_condition_inputs){ 0 };
	if (!text)
		return 0;
	r = mr_json_parse(text, strlen(text), "SANDBOX_ENV_PRESETS", &presets, err);
	if (r == 0 && json_is_object(presets))
		r = take_preset(presets, ret, err);
	for (size_t i = 0; r == 0 && i < json_array_size(presets); i++)
		r = take_preset(json_array_get(presets, i), ret, err);
	if (r < 0)
		return r;
	rest = json_dumps(presets, JSON_COMPACT);
	if (setenv("SANDBOX_ENV_PRESETS", rest, 1) < 0)
		return mr_err(err, MR_E_SYS, errno, "setenv: %m");
	return 0;
}

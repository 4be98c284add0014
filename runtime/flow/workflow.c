/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workflow
 *
 * What the document says for all steps is joined with what each says for itself,
 * the step's word last, into one request a step.  The request is parsed and
 * validated here, so a workflow with a bad step starts nothing.
 */
#include "runtime/flow/workflow.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/flow/confine.h"
#include "runtime/flow/inputs.h"
#include "runtime/spec/spec.h"

#define NAME_MAX_BYTES 64
#define NAME_BYTES "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

static const char *const flow_keys[] = {
	"schema",	 "name",
	"description",	 "steps",
	"workspace",	 "source",
	"test_data",	 "fs_mocks",
	"env",		 "net",
	"limits",	 "sandbox",
	"network_mocks", "inject_edge_cases",
	"telemetry",	 "best_effort",
	"combined",	 "stubs",
	"inputs",	 NULL,
};

static const char *const step_keys[] = {
	"name",	       "program", "snippet",	   "args",   "env",	"files",     "stdin",
	"needs",       "net",	  "network_mocks", "limits", "sandbox", "telemetry", "fs_mocks",
	"best_effort", NULL,
};

/* What a run decides, or what would show the host's files. */
static const char *const reserved_knobs[] = { "workspace", "keep_changes", "root", "stdin_path",
					      "tty" };

/* --- joining --------------------------------------------------------------- */

/* Members of one object, then those of the other: its own come last and win. */
static json_t *join(const json_t *all, const json_t *own)
{
	json_t *joined = all ? json_copy((json_t *)(uintptr_t)all) : json_object();

	if (own)
		json_object_update(joined, (json_t *)(uintptr_t)own);
	return joined;
}

static void take(json_t *spec, const char *key, json_t *value)
{
	if (json_object_size(value) > 0)
		json_object_set(spec, key, value);
	json_decref(value);
}

static json_t *member(const struct mr_json *object, const char *key)
{
	return json_object_get(object->value, key);
}

static int check_object(const struct mr_json *object, const char *key, struct mr_error *err)
{
	struct mr_json json;

	return mr_json_member(object, key, &json) ? mr_json_want_object(&json, err) : 0;
}

static int check_objects(const struct mr_json *object, struct mr_error *err)
{
	static const char *const keys[] = { "env",	 "limits",    "sandbox",
					    "net",	 "telemetry", "network_mocks",
					    "test_data", "files",     "fs_mocks" };
	struct mr_json sandbox, knob;
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(keys); i++)
		r = check_object(object, keys[i], err);
	if (r < 0 || !mr_json_member(object, "sandbox", &sandbox))
		return r;
	for (size_t i = 0; i < N_ELEMENTS(reserved_knobs); i++)
		if (mr_json_member(&sandbox, reserved_knobs[i], &knob))
			return mr_json_err(&knob, err, "a workflow does not choose this");
	return 0;
}

/* --- files and mocks ------------------------------------------------------- */

static bool is_url(const char *key)
{
	return mr_str_starts_with(key, "http://") || mr_str_starts_with(key, "https://");
}

/* Contents by path into files; those by URL become answers. */
static int divide_data(const struct mr_json *data, json_t *files, json_t *mocks,
		       struct mr_error *err)
{
	const char *key;
	json_t *value;

	json_object_foreach (data->value, key, value) {
		struct mr_json json = {
			.value = value, .parent = data, .key = key, .source = data->source
		};

		if (is_url(key)) {
			json_object_set_new(mocks, key,
					    json_pack("{s:o}", "body",
						      json_is_null(value) ||
								      json_object_get(value, "stub")
							      ? json_string("")
							      : json_incref(value)));
			continue;
		}
		if (mr_confine_check(key, err) < 0)
			return mr_json_wrap(data, -EINVAL, err);
		if (json_object_get(value, "hide"))
			return mr_json_err(&json, err, "only what fs_mocks name can be hidden");
		json_object_set(files, key, value);
	}
	return 0;
}

static int check_fs_mocks(const struct mr_json *object, struct mr_error *err)
{
	struct mr_json mocks;
	const char *path;
	json_t *value;

	if (!mr_json_member(object, "fs_mocks", &mocks))
		return 0;
	json_object_foreach (mocks.value, path, value) {
		if (path[0] != '/' || path[1] == '\0')
			return mr_json_err(&mocks, err,
					   "\"%s\": the path of a mock is absolute, as the program "
					   "sees it",
					   path);
		if (mr_confine_check(path + 1, err) < 0)
			return mr_json_wrap(&mocks, -EINVAL, err);
	}
	return 0;
}

static int take_files(struct mr_flow_step *step, const struct mr_json *flow,
		      const struct mr_json *own, json_t *mocks, struct mr_error *err)
{
	struct mr_json data;
	bool edge = json_is_true(member(flow, "inject_edge_cases"));
	int r = 0;

	step->data = json_object();
	step->files = json_object();
	if (mr_json_member(flow, "test_data", &data))
		r = divide_data(&data, step->data, mocks, err);
	if (r == 0 && edge)
		r = mr_flow_add_edge_cases(step->data, mocks, err);
	if (r == 0 && mr_json_member(own, "files", &data))
		r = divide_data(&data, step->files, mocks, err);
	if (r == 0)
		r = check_fs_mocks(flow, err);
	if (r == 0)
		r = check_fs_mocks(own, err);
	step->fs_mocks = join(member(flow, "fs_mocks"), member(own, "fs_mocks"));
	step->stdin_content = json_incref(member(own, "stdin"));
	return r;
}

static json_t *names_of(const json_t *object)
{
	json_t *names = json_array();
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)object, name, value)
		json_array_append_new(names, json_string(name));
	return names;
}

/* --- steps ----------------------------------------------------------------- */

void mr_flow_step_name(const json_t *step, size_t at, char ret[65])
{
	const char *name = json_string_value(json_object_get(step, "name"));

	if (name)
		snprintf(ret, 65, "%s", name);
	else
		snprintf(ret, 65, "step-%zu", at + 1);
}

static int take_name(struct mr_flow_step *step, size_t at, const struct mr_json *json,
		     struct mr_error *err)
{
	struct mr_json name;
	const char *text = NULL;
	int r;

	if (!mr_json_member(json, "name", &name)) {
		step->name = mr_str_alloc(NAME_MAX_BYTES + 1);
		mr_flow_step_name(json->value, at, step->name);
		return 0;
	}
	r = mr_json_get_string(&name, &text, err);
	if (r < 0)
		return r;
	if (!text[0] || strlen(text) > NAME_MAX_BYTES || strspn(text, NAME_BYTES) != strlen(text))
		return mr_json_err(&name, err,
				   "the name of a step is 1 to %d letters, digits, \"_\", \".\" "
				   "and \"-\"",
				   NAME_MAX_BYTES);
	step->name = mr_str_dup(text);
	return 0;
}

static void build_spec(const struct mr_flow *flow, struct mr_flow_step *step,
		       const struct mr_json *all, const struct mr_json *own,
		       const json_t *data_mocks)
{
	static const char *const joined[] = { "env", "limits", "sandbox", "net", "telemetry" };
	static const char *const copied[] = { "program", "snippet", "args" };
	json_t *spec =
		json_pack("{s:s, s:o, s:{s:b}}", "schema", MR_SPEC_SCHEMA, "name",
			  json_sprintf("%s/%s", flow->name, step->name), "output", "forward", 0);
	json_t *mocks = join(data_mocks, member(all, "network_mocks"));
	json_t *list;

	for (size_t i = 0; i < N_ELEMENTS(joined); i++)
		take(spec, joined[i], join(member(all, joined[i]), member(own, joined[i])));
	for (size_t i = 0; i < N_ELEMENTS(copied); i++)
		if (member(own, copied[i]))
			json_object_set(spec, copied[i], member(own, copied[i]));
	list = member(own, "best_effort") ? member(own, "best_effort") : member(all, "best_effort");
	if (list)
		json_object_set(spec, "best_effort", list);
	if (member(own, "network_mocks"))
		json_object_update(mocks, member(own, "network_mocks"));
	if (json_object_size(mocks) > 0 && !json_object_get(json_object_get(spec, "net"), "mode")) {
		json_t *net = join(json_object_get(spec, "net"), NULL);

		json_object_set_new(net, "mode", json_string("stub"));
		json_object_set_new(spec, "net", net);
	}
	take(spec, "network_mocks", mocks);
	step->spec = spec;
}

/* As menace-run will. */
static int judge_spec(const struct mr_flow_step *step, const struct mr_json *json,
		      struct mr_error *err)
{
	mr_auto_free char *text = json_dumps(step->spec, JSON_COMPACT);
	mr_auto_free char *source = NULL;
	char path[64];
	struct mr_spec spec;
	int r;

	mr_assert(text);
	source = mr_str_format("%s: %s (%s)", json->source, mr_json_path(json, path, sizeof(path)),
			       step->name);
	mr_spec_init(&spec);
	r = mr_spec_parse_json(&spec, text, strlen(text), source, err);
	if (r == 0) {
		r = mr_spec_validate(&spec, err);
		if (r < 0)
			mr_err_wrap(err, r, "%s", source);
	}
	for (size_t i = 0; r == 0 && i < spec.mocks.n; i++)
		if (spec.mocks.v[i].file) /* however it was written: it is not the workflow's */
			r = mr_json_err(json, err, "an answer is from a file of the host");
	mr_spec_deinit(&spec);
	return r;
}

static int take_step(struct mr_flow *flow, size_t at, const struct mr_json *all,
		     const struct mr_json *own, struct mr_error *err)
{
	struct mr_flow_step *step = &flow->steps[at];
	mr_auto_json json_t *mocks = json_object();
	int r = mr_json_want_object(own, err);

	if (r == 0)
		r = mr_json_check_keys(own, step_keys, err);
	if (r == 0)
		r = check_objects(own, err);
	if (r == 0)
		r = take_name(step, at, own, err);
	if (r == 0)
		r = take_files(step, all, own, mocks, err);
	if (r < 0)
		return r;
	step->fixtures = json_pack("{s:o, s:o}", "files", names_of(member(own, "files")), "env",
				   names_of(member(own, "env")));
	build_spec(flow, step, all, own, mocks);
	return judge_spec(step, own, err);
}

/* --- the whole ------------------------------------------------------------- */

static int take_words(struct mr_flow *flow, const struct mr_json *root, const char *source,
		      struct mr_error *err)
{
	struct mr_json json;
	const char *text = NULL;
	int r = 0;

	if (!mr_json_member(root, "schema", &json))
		return mr_json_err(root, err, "schema is missing; it is \"%s\"", MR_FLOW_SCHEMA);
	r = mr_json_get_string(&json, &text, err);
	if (r == 0 && strcmp(text, MR_FLOW_SCHEMA) != 0)
		return mr_json_err(&json, err, "\"%s\" is another schema than \"%s\"", text,
				   MR_FLOW_SCHEMA);
	text = strrchr(source, '/') ? strrchr(source, '/') + 1 : source;
	if (r == 0 && mr_json_member(root, "name", &json))
		r = mr_json_get_string(&json, &text, err);
	if (r < 0)
		return r;
	if (!text[0] || strlen(text) > NAME_MAX_BYTES)
		return mr_json_err(root, err, "the name of a workflow is 1 to %d bytes",
				   NAME_MAX_BYTES);
	flow->name = mr_str_dup(text);
	return 0;
}

static int take_workspace(struct mr_flow *flow, const struct mr_json *root, const char *folder,
			  int folder_fd, struct mr_error *err)
{
	mr_auto_close int fd = -1;
	struct mr_json json;
	const char *text = NULL;
	int r = 0;

	if (mr_json_member(root, "workspace", &json)) {
		r = mr_json_get_string(&json, &text, err);
		if (r == 0 && strcmp(text, "own") != 0 && strcmp(text, "shared") != 0)
			return mr_json_err(&json, err, "\"%s\" is neither \"own\" nor \"shared\"",
					   text);
		flow->shared = r == 0 && strcmp(text, "shared") == 0;
	}
	if (r < 0 || !mr_json_member(root, "source", &json))
		return r;
	r = mr_json_get_string(&json, &text, err);
	if (r < 0)
		return r;
	if (strcmp(text, ".") != 0)
		r = mr_confine_open_folder(folder_fd, text, &fd, err);
	if (r < 0)
		return mr_json_wrap(&json, r, err);
	flow->source =
		strcmp(text, ".") == 0 ? mr_str_dup(folder) : mr_str_format("%s/%s", folder, text);
	return 0;
}

static int take_flags(struct mr_flow *flow, const struct mr_json *root, struct mr_error *err)
{
	struct mr_json json;
	bool edge = false;
	int r = 0;

	flow->combined = true;
	if (mr_json_member(root, "combined", &json))
		r = mr_json_get_bool(&json, &flow->combined, err);
	if (r == 0 && mr_json_member(root, "inject_edge_cases", &json))
		r = mr_json_get_bool(&json, &edge, err);
	return r;
}

static int take_steps(struct mr_flow *flow, const struct mr_json *root, struct mr_error *err)
{
	struct mr_json steps;
	size_t n;
	int r;

	if (!mr_json_member(root, "steps", &steps))
		return mr_json_err(root, err, "workflow \"%s\" is empty: steps is missing",
				   flow->name);
	r = mr_json_want_array(&steps, err);
	if (r < 0)
		return r;
	n = json_array_size(steps.value);
	if (n == 0)
		return mr_json_err(&steps, err, "workflow \"%s\" is empty", flow->name);
	if (n > MR_FLOW_STEPS_MAX)
		return mr_json_err(&steps, err, "%zu steps are more than %d", n, MR_FLOW_STEPS_MAX);
	flow->steps = mr_str_alloc(n * sizeof(*flow->steps));
	flow->n_steps = n;
	for (size_t i = 0; r == 0 && i < n; i++) {
		struct mr_json step = mr_json_item(&steps, i);

		r = take_step(flow, i, root, &step, err);
	}
	return r < 0 ? r : mr_flow_plan(flow, &steps, err);
}

int mr_flow_parse(json_t *document, const char *folder, const char *source, struct mr_flow **ret,
		  struct mr_error *err)
{
	mr_auto_flow struct mr_flow *flow = mr_str_alloc(sizeof(*flow));
	mr_auto_close int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct mr_json root;
	int r;

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "folder %s of %s: %m", folder, source);
	flow->document = json_deep_copy(document);
	root = mr_json_root(flow->document, source);
	r = mr_json_want_object(&root, err);
	if (r == 0)
		r = mr_json_check_keys(&root, flow_keys, err);
	if (r == 0)
		r = take_words(flow, &root, source, err);
	if (r == 0)
		r = check_objects(&root, err);
	if (r == 0)
		r = take_flags(flow, &root, err);
	if (r == 0)
		r = mr_flow_resolve(flow->document, fd, source, err);
	if (r == 0)
		r = mr_flow_check_inputs(&root, err);
	if (r == 0)
		r = take_workspace(flow, &root, folder, fd, err);
	if (r == 0)
		r = take_steps(flow, &root, err);
	if (r < 0)
		return r;
	json_object_set_new(flow->document, "name", json_string(flow->name));
	*ret = mr_take_ptr(flow);
	return 0;
}

static char *folder_of(const char *path)
{
	mr_auto_free char *copy = mr_str_dup(path);
	char *slash = strrchr(copy, '/');

	if (slash)
		slash[slash == copy] = '\0';
	return realpath(slash ? copy : ".", NULL);
}

/* A record of ours is nobody else's to write. */
static int refuse_made(json_t *document, const char *source, struct mr_error *err)
{
	struct mr_json root = mr_json_root(document, source), inputs;

	if (!json_is_object(document) || !mr_json_member(&root, "inputs", &inputs))
		return 0;
	return mr_json_err(&inputs, err, "this is written when stubs are given values");
}

int mr_flow_read(const char *path, struct mr_flow **ret, char **ret_folder, struct mr_error *err)
{
	mr_auto_json json_t *document = NULL;
	mr_auto_free char *folder = folder_of(path);
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r = mr_read_whole_file(path, MR_FLOW_DOCUMENT_MAX, &text, &size, err);

	if (r == 0 && !folder)
		return mr_err(err, MR_E_SYS, errno, "folder of %s: %m", path);
	if (r == 0)
		r = mr_json_parse(text, size, path, &document, err);
	if (r == 0)
		r = refuse_made(document, path, err);
	if (r == 0)
		r = mr_flow_parse(document, folder, path, ret, err);
	if (r == 0 && ret_folder)
		*ret_folder = mr_take_ptr(folder);
	return r;
}

int mr_flow_of_command(char *const *argv, struct mr_flow **ret, struct mr_error *err)
{
	mr_auto_json json_t *document = NULL;
	const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	mr_auto_free char *label = mr_str_ndup(name, NAME_MAX_BYTES);
	json_t *program = json_array();
	int r;

	for (size_t i = 0; argv[i]; i++) {
		if (!mr_str_utf8_valid(argv[i], strlen(argv[i]))) {
			json_decref(program);
			return mr_err(err, MR_E_USAGE, EILSEQ,
				      "word %zu of the command is not UTF-8", i + 1);
		}
		json_array_append_new(program, json_string(argv[i]));
	}
	document =
		json_pack("{s:s, s:s, s:b, s:[{s:s, s:o}]}", "schema", MR_FLOW_SCHEMA, "name",
			  mr_str_utf8_valid(label, strlen(label)) && label[0] ? label : "command",
			  "combined", 0, "steps", "name", "run", "program", program);
	r = mr_flow_declare_words(document, argv, err);
	return r < 0 ? r : mr_flow_parse(document, "/", "command", ret, err);
}

struct mr_flow *mr_flow_free(struct mr_flow *flow)
{
	if (!flow)
		return NULL;
	for (size_t i = 0; i < flow->n_steps; i++) {
		struct mr_flow_step *step = &flow->steps[i];

		free(step->name);
		free(step->needs);
		json_decref(step->spec);
		json_decref(step->data);
		json_decref(step->files);
		json_decref(step->fs_mocks);
		json_decref(step->stdin_content);
		json_decref(step->fixtures);
	}
	free(flow->steps);
	free(flow->order);
	free(flow->name);
	free(flow->source);
	json_decref(flow->document);
	free(flow);
	return NULL;
}

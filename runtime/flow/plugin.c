/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugin
 *
 * It is run as a step of a workflow is: by menace-run, from files of ours that are shown to it
 * read-only.  Whatever keeps it from giving a value is an error; nothing takes the value's place.
 */
#include "runtime/flow/plugin.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/backend/child.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/loop.h"
#include "runtime/base/str.h"
#include "runtime/flow/confine.h"
#include "runtime/flow/fixture.h"
#include "runtime/flow/folder.h"
#include "runtime/flow/workflow.h"
#include "runtime/spec/spec.h"
#include "runtime/stub/input.h"
#include "runtime/stub/plugin.h"

#define SEEN_AS "/opt/menace-plugin"

struct asked {
	char *folder; /* temporary, with all that it sees; NULL: not made */
	struct mr_loop *loop;
	struct mr_child *child;
	bool ended;
};

static void free_asked(struct asked *a)
{
	struct mr_error err = MR_ERROR_INIT;

	mr_child_free(a->child);
	mr_loop_free(a->loop);
	if (a->folder && mr_folder_remove(AT_FDCWD, a->folder, &err) < 0)
		mr_log_warn("%s is left: %s", a->folder, err.msg);
	free(a->folder);
}

static int write_files(const struct asked *a, const json_t *program, const json_t *request,
		       struct mr_error *err)
{
	mr_auto_free char *text = json_dumps(request, JSON_COMPACT | JSON_SORT_KEYS);
	mr_auto_free char *bytes = NULL;
	mr_auto_close int fd = -1;
	size_t size = 0;
	int r = mr_fixture_folder(a->folder, &fd, err);

	if (r == 0)
		r = mr_flow_content(program, &bytes, &size, err);
	if (r == 0)
		r = mr_confine_write(fd, "program", bytes, size, 0755, err);
	if (r == 0)
		r = mr_confine_write(fd, "request", text, strlen(text), 0644, err);
	return r;
}

static json_t *make_spec(const struct asked *a)
{
	mr_auto_free char *program = mr_str_format("%s/program", a->folder);
	json_t *spec =
		json_pack("{s:s, s:s, s:[s], s:{s:b, s:I}, s:{s:I, s:I, s:I, s:I}, s:{s:s}}",
			  "schema", MR_SPEC_SCHEMA, "name", "plugin", "program", SEEN_AS, "output",
			  "forward", 0, "head_bytes", (json_int_t)MR_INPUT_REPLY_MAX + 1, "limits",
			  "wall_ms", (json_int_t)MR_FLOW_PLUGIN_WALL_MS, "memory_max_bytes",
			  (json_int_t)MR_FLOW_PLUGIN_MEMORY, "output_bytes",
			  (json_int_t)MR_INPUT_REPLY_MAX, "pids_max", (json_int_t)64, "net", "mode",
			  "none");

	mr_assert(spec);
	json_object_set_new(mr_fixture_sandbox(spec), "stdin_path",
			    json_sprintf("%s/request", a->folder));
	mr_fixture_mount(spec, program, SEEN_AS);
	return spec;
}

static void on_end(struct mr_child *child, void *owner)
{
	struct asked *a = owner;

	(void)child;
	a->ended = true;
}

static int run(struct asked *a, const struct mr_flow_plugin *plugin, const json_t **ret,
	       struct mr_error *err)
{
	mr_auto_json json_t *spec = make_spec(a);
	struct mr_child_opts opts = { .program = plugin->menace_run,
				      .store = plugin->store,
				      .spec = spec,
				      .on_end = on_end,
				      .owner = a };
	int r = mr_loop_new(&a->loop, err);

	opts.loop = a->loop;
	if (r == 0)
		r = mr_child_start(&opts, &a->child, err);
	while (r >= 0 && !a->ended)
		r = mr_loop_run_once(a->loop, -1, err);
	return r < 0 ? r : mr_child_result(a->child, ret, err);
}

/* How it ended, and what it said of that. */
static int judge(const json_t *result, struct mr_error *err)
{
	const char *reason = mr_json_text_or_empty(result, "reason");
	const char *said = mr_json_text_or_empty(json_object_get(result, "stderr"), "text");
	const char *message = mr_json_text_or_empty(json_object_get(result, "error"), "message");
	const json_int_t status = json_integer_value(mr_json_at(result, "exit", "status", NULL));
	char quoted[MR_STR_QUOTE_SIZE];

	if (message[0])
		return mr_err(err, MR_E_SYS, EIO, "its sandbox could not be made: %.200s", message);
	if (strcmp(reason, "exited") != 0)
		return mr_err(err, MR_E_SYS, EIO, "it was ended: %s", reason);
	if (status != 0)
		return mr_err(err, MR_E_SYS, EIO, "it exited with status %lld: %s",
			      (long long)status, mr_str_quote(quoted, sizeof(quoted), said));
	return 0;
}

int mr_flow_plugin_run(const json_t *program, const json_t *request, json_t **ret_value,
		       void *owner, struct mr_error *err)
{
	mr_cleanup(free_asked) struct asked a = { 0 };
	const json_t *result = NULL;
	const json_t *text;
	int r = mr_folder_temporary("plugin", &a.folder, err);

	if (r == 0)
		r = write_files(&a, program, request, err);
	if (r == 0)
		r = run(&a, owner, &result, err);
	if (r == 0)
		r = judge(result, err);
	if (r < 0)
		return r;
	text = json_object_get(json_object_get(result, "stdout"), "text");
	if (!json_is_string(text))
		return mr_err(err, MR_E_PROTO, EILSEQ, "its reply is not UTF-8");
	r = mr_input_parse_reply(json_string_value(text), json_string_length(text), ret_value, err);
	if (r < 0)
		err->code = MR_E_PROTO; /* nobody's wrong use of this command */
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugin
 *
 * It is run as a step of a workflow is: by menace-run, in a box of its own.  Whatever keeps it from giving
 * a value is an error; nothing takes the value's place.
 */
#include "runtime/flow/plugin.h"

#include <errno.h>
#include <string.h>

#include "runtime/backend/child.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/loop.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/flow/box.h"
#include "runtime/flow/workflow.h"
#include "runtime/stub/input.h"
#include "runtime/stub/plugin.h"

struct asked {
	struct mr_box box;
};

static void free_asked(struct asked *a)
{
	mr_box_deinit(&a->box);
}

/* menace-run ends it in time; menace-run itself is not waited for without end. */
static int wait_in_loop(struct asked *a, struct mr_flow_plugin *plugin, struct mr_error *err)
{
	const uint64_t end_ns =
		mr_now_ns() + MR_PATIENCE_NS(PLUGIN_WALL) + MR_PATIENCE_NS(PLUGIN_GRACE);

	while (!a->box.ended) {
		const uint64_t now_ns = mr_now_ns();
		int r;

		if (plugin->stopped)
			return mr_err(err, MR_E_SYS, EINTR, "it was ended: interrupted");
		if (now_ns >= end_ns) {
			mr_child_kill(a->box.child);
			return mr_err(err, MR_E_SYS, ETIMEDOUT,
				      "menace-run, which gives it %ju ms, did not end it in %ju "
				      "more",
				      (uintmax_t)MR_PATIENCE_MS(PLUGIN_WALL),
				      (uintmax_t)MR_PATIENCE_MS(PLUGIN_GRACE));
		}
		r = mr_loop_run_once(plugin->loop, (int)((end_ns - now_ns) / 1000000) + 1, err);
		if (r < 0)
			return r;
		if (plugin->on_turn)
			plugin->on_turn(plugin->owner);
	}
	return 0;
}

static int run(struct asked *a, struct mr_flow_plugin *plugin, const json_t *program,
	       const json_t *request, const json_t **ret, struct mr_error *err)
{
	mr_auto_free char *text = json_dumps(request, JSON_COMPACT | JSON_SORT_KEYS);
	mr_auto_free char *code = NULL;
	struct mr_box_opts opts = {
		.loop = plugin->loop,
		.program = plugin->menace_run,
		.store = plugin->store,
		.name = "plugin",
		.input = text,
		.input_size = text ? strlen(text) : 0,
		.wall_ms = MR_PATIENCE_MS(PLUGIN_WALL),
		.memory_bytes = MR_FLOW_PLUGIN_MEMORY,
		.output_bytes = MR_INPUT_REPLY_MAX,
	};
	int r;

	mr_assert(text);
	if (plugin->stopped)
		return mr_err(err, MR_E_SYS, EINTR, "it was not started: interrupted");
	r = mr_flow_content(program, &code, &opts.code_size, err);
	opts.code = code;
	if (r == 0)
		r = mr_box_start(&a->box, &opts, err);
	if (r == 0)
		r = wait_in_loop(a, plugin, err);
	return r < 0 ? r : mr_box_result(&a->box, ret, err);
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
	if (strcmp(reason, "wall_timeout") == 0)
		return mr_err(err, MR_E_SYS, ETIMEDOUT, "it was ended: %s: it has %ju ms", reason,
			      (uintmax_t)MR_PATIENCE_MS(PLUGIN_WALL));
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
	int r = run(&a, owner, program, request, &result, err);

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

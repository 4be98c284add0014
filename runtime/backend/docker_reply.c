/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, replies
 */
#include "runtime/backend/docker_reply.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"

static int expect(struct mr_error *err, const char *what)
{
	return mr_err(err, MR_E_PROTO, EPROTO, "the engine's answer has no %s", what);
}

int mr_docker_reply_parse(const char *body, size_t size, const char *what, json_t **ret,
			  struct mr_error *err)
{
	int r = mr_json_parse(body ? body : "", size, "the engine's answer", ret, err);

	if (r < 0 && err)
		err->code = MR_E_PROTO;
	return r < 0 ? mr_err_wrap(err, r, "%s", what) : 0;
}

/* What other programs wrote, for one line of ours. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f)
			*text = '?';
}

void mr_docker_reply_message(const char *body, size_t size, char *ret, size_t ret_size)
{
	mr_auto_json json_t *reply = NULL;
	struct mr_error ignored;
	const char *message = NULL;

	if (body && mr_json_parse(body, size, "answer", &reply, &ignored) == 0)
		message = json_string_value(json_object_get(reply, "message"));
	if (message)
		snprintf(ret, ret_size, "%s", message);
	else
		snprintf(ret, ret_size, "%.*s", (int)(size < 200 ? size : 200), body ? body : "");
	make_printable(ret);
}

/* "1.44".  An API 2 would be another one. */
static bool read_api(const json_t *reply, const char *name, unsigned int *ret)
{
	const char *text = mr_json_text_or_empty(reply, name);
	uint64_t minor = 0;

	if (!mr_str_starts_with(text, "1.") ||
	    mr_units_parse_count(text + strlen("1."), &minor, NULL) < 0 || minor > 9999)
		return false;
	*ret = (unsigned int)minor;
	return true;
}

int mr_docker_reply_apis(const json_t *reply, struct mr_docker_apis *ret, struct mr_error *err)
{
	struct mr_docker_apis apis = { 0 };

	if (!read_api(reply, "ApiVersion", &apis.newest))
		return expect(err, "ApiVersion such as 1.41");
	/* Some that are no Docker do not tell it. */
	if (json_object_get(reply, "MinAPIVersion") &&
	    !read_api(reply, "MinAPIVersion", &apis.oldest))
		return expect(err, "MinAPIVersion such as 1.24");
	*ret = apis;
	return 0;
}

static bool is_id(const char *id)
{
	return id && strlen(id) == MR_DOCKER_ID_SIZE - 1 &&
	       id[strspn(id, "0123456789abcdef")] == '\0';
}

int mr_docker_reply_created(const json_t *reply, char ret_id[MR_DOCKER_ID_SIZE], char *ret_warnings,
			    size_t warnings_size, struct mr_error *err)
{
	const char *id = json_string_value(json_object_get(reply, "Id"));
	const json_t *warnings = json_object_get(reply, "Warnings");
	struct mr_str text;

	if (!is_id(id))
		return expect(err, "Id of 64 hexadecimal digits");
	mr_str_init(&text, ret_warnings, warnings_size);
	for (size_t i = 0; i < json_array_size(warnings); i++) {
		const char *warning = json_string_value(json_array_get(warnings, i));

		mr_str_printf(&text, "%s%s", i ? "; " : "", warning ? warning : "?");
	}
	make_printable(ret_warnings);
	memcpy(ret_id, id, MR_DOCKER_ID_SIZE);
	return 0;
}

int mr_docker_reply_waited(const json_t *reply, int *ret_status, struct mr_error *err)
{
	const json_t *status = json_object_get(reply, "StatusCode");

	if (!json_is_integer(status) || json_integer_value(status) < 0 ||
	    json_integer_value(status) > 255)
		return expect(err, "StatusCode from 0 to 255");
	*ret_status = (int)json_integer_value(status);
	return 0;
}

int mr_docker_reply_state(const json_t *reply, struct mr_docker_state *ret, struct mr_error *err)
{
	const json_t *state = json_object_get(reply, "State");
	const json_t *code = json_object_get(state, "ExitCode");
	const char *error = json_string_value(json_object_get(state, "Error"));

	if (!json_is_object(state) || !json_is_boolean(json_object_get(state, "Running")))
		return expect(err, "State.Running");
	if (!json_is_integer(code) || json_integer_value(code) < -1 ||
	    json_integer_value(code) > 255)
		return expect(err, "State.ExitCode from 0 to 255");
	*ret = (struct mr_docker_state){
		.running = json_is_true(json_object_get(state, "Running")),
		.oom_killed = json_is_true(json_object_get(state, "OOMKilled")),
		.exit_code = (int)json_integer_value(code),
	};
	snprintf(ret->error, sizeof(ret->error), "%s", error ? error : "");
	make_printable(ret->error);
	return 0;
}

static uint64_t number_at(const json_t *json, const char *first, const char *second,
			  const char *third)
{
	const json_t *value = json_object_get(json_object_get(json, first), second);

	if (third)
		value = json_object_get(value, third);
	return json_is_integer(value) && json_integer_value(value) >= 0
		       ? (uint64_t)json_integer_value(value)
		       : UINT64_MAX;
}

int mr_docker_reply_stats(const json_t *reply, struct mr_docker_stats *ret, struct mr_error *err)
{
	if (!json_is_object(reply))
		return expect(err, "statistics");
	*ret = (struct mr_docker_stats){
		.cpu_ns = number_at(reply, "cpu_stats", "cpu_usage", "total_usage"),
		.cpu_user_ns = number_at(reply, "cpu_stats", "cpu_usage", "usage_in_usermode"),
		.cpu_system_ns = number_at(reply, "cpu_stats", "cpu_usage", "usage_in_kernelmode"),
		.memory_peak_bytes = number_at(reply, "memory_stats", "max_usage", NULL),
		.pids = number_at(reply, "pids_stats", "current", NULL),
	};
	return 0;
}

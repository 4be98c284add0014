/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command spec
 *
 * The words are the caller's alone, the request is input and environment alone.  What a run's own
 * sandbox may go without (best_effort) this one may too, for it is made by the same host.
 */
#include "runtime/supervise/command_spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netns/mock.h"
#include "netns/stub.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/spec/spec.h"

static void add_env(struct mr_spec *spec, const char *name, const char *value, size_t n)
{
	mr_auto_free char *assignment = mr_str_format("%s=%.*s", name, (int)n, value);
	struct mr_error err;

	mr_assert(mr_spec_add_env(spec, assignment, &err) == 0);
}

static void add_env_number(struct mr_spec *spec, const char *name, uint32_t value)
{
	char text[16];

	add_env(spec, name, text, (size_t)snprintf(text, sizeof(text), "%u", value));
}

static void describe_request(struct mr_spec *spec, const struct mr_mock *mock,
			     const struct mr_command_request *request)
{
	const struct mr_stub_ask_head *head = &request->head;
	const char *query = memchr(request->target, '?', head->target_size);
	const size_t path = query ? (size_t)(query - request->target) : head->target_size;
	char port[8] = "";
	mr_auto_free char *url = NULL;

	if (head->port != (head->https ? 443 : 80))
		snprintf(port, sizeof(port), ":%u", head->port);
	url = mr_str_format("http%s://%s%s%.*s", head->https ? "s" : "", mock->host, port,
			    (int)head->target_size, request->target);
	add_env(spec, "MENACE_MOCK", mock->target, strlen(mock->target));
	add_env(spec, "MENACE_METHOD", request->method, head->method_size);
	add_env(spec, "MENACE_URL", url, strlen(url));
	add_env(spec, "MENACE_HOST", mock->host, strlen(mock->host));
	add_env(spec, "MENACE_PATH", request->target, path);
	add_env(spec, "MENACE_QUERY", query ? query + 1 : "",
		query ? head->target_size - path - 1 : 0);
	add_env_number(spec, "MENACE_PORT", head->port);
	add_env_number(spec, "MENACE_BODY_BYTES", head->body_size);
}

/* In every sandbox, or to be shown? */
static bool is_shown(const char *path)
{
	static const char *const shown[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64" };

	for (size_t i = 0; i < N_ELEMENTS(shown); i++)
		if (mr_str_is_under(path, shown[i]))
			return true;
	return false;
}

/* A program that is named by its path is the caller's file, wherever it lies; a name alone is looked for
 * in the sandbox.  What is not there is told when it is started. */
int mr_command_find(const struct mr_spec *outer, const struct mr_mock *mock, char **ret,
		    struct mr_error *err)
{
	mr_auto_free char *path =
		strchr(mock->words[0], '/') ? realpath(mock->words[0], NULL) : NULL;

	for (size_t i = 0; path && i < outer->n_mounts; i++) {
		mr_auto_free char *source = outer->mounts[i].kind == MR_MOUNT_RW
						    ? realpath(outer->mounts[i].source, NULL)
						    : NULL;

		if (source && mr_str_is_under(path, source))
			return mr_err(err, MR_E_USAGE, EPERM,
				      "mock %s: the payload could change %s, for %s is shown "
				      "writable",
				      mock->target, path, source);
	}
	*ret = path ? mr_take_ptr(path) : mr_str_dup(mock->words[0]);
	return 0;
}

static int take_words(struct mr_spec *spec, const struct mr_mock *mock, const char *program,
		      struct mr_error *err)
{
	mr_strv_add(&spec->argv, program);
	for (size_t i = 1; i < mock->n_words; i++)
		mr_strv_add(&spec->argv, mock->words[i]);
	if (program[0] != '/' || is_shown(program) || access(program, F_OK) < 0)
		return 0;
	return mr_spec_add_mount_parts(spec, MR_MOUNT_RO, program, NULL, 0, err);
}

int mr_command_spec(const struct mr_spec *outer, const struct mr_mock *mock, const char *program,
		    const struct mr_command_request *request, json_t **ret, struct mr_error *err)
{
	const struct {
		enum mr_field_id id;
		uint64_t value;
	} knobs[] = {
		{ MR_FIELD_sandbox_backend, MR_BACKEND_NATIVE },
		{ MR_FIELD_net_mode, MR_NET_NONE },
		{ MR_FIELD_telemetry_level, MR_TELEMETRY_OFF },
		{ MR_FIELD_limits_wall_ms,
		  mock->within_ms ? mock->within_ms : MR_PATIENCE_MS(MOCK_COMMAND) },
		{ MR_FIELD_limits_grace_ms, 0 },
		{ MR_FIELD_limits_memory_max_bytes, MR_COMMAND_MEMORY },
		{ MR_FIELD_limits_pids_max, MR_COMMAND_PIDS },
		{ MR_FIELD_limits_cpus, 1000 },
		{ MR_FIELD_limits_disk_bytes, MR_COMMAND_DISK },
		{ MR_FIELD_limits_output_bytes, MR_STUB_OUTPUT_MAX },
		{ MR_FIELD_output_head_bytes, MR_COMMAND_SAID_MAX },
		{ MR_FIELD_output_tail_bytes, MR_COMMAND_SAID_MAX },
	};
	struct mr_spec spec;
	int r;

	mr_spec_init(&spec);
	for (size_t i = 0; i < N_ELEMENTS(knobs); i++)
		mr_spec_set_number(&spec, knobs[i].id, knobs[i].value, MR_ORIGIN_SPEC);
	for (size_t i = 0; i < outer->best_effort.n; i++)
		mr_strv_add(&spec.best_effort, outer->best_effort.v[i]);
	r = take_words(&spec, mock, program, err);
	if (r == 0) {
		describe_request(&spec, mock, request);
		*ret = mr_spec_to_json(&spec);
	}
	mr_spec_deinit(&spec);
	return r;
}

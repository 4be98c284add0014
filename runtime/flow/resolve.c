/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolve: a document that refers to files becomes one that contains them
 *
 * A content is a text, {"base64": "..."}, {"json": ...}, {"file": "path"} or null,
 * which is empty; afterwards it is one of text, base64 and null.  What a document may
 * refer to is below its own folder: it can be somebody else's.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/flow/confine.h"
#include "runtime/flow/workflow.h"
#include "runtime/spec/bytes.h"
#include "runtime/spec/lang.h"
#include "runtime/stub/input.h"

struct resolve {
	int folder_fd;
	size_t bytes_left;
};

typedef int value_fn(struct resolve *resolve, const struct mr_json *value, json_t **ret,
		     struct mr_error *err);

static int read_file(struct resolve *resolve, const struct mr_json *json, const char *path,
		     json_t **ret, struct mr_error *err)
{
	mr_auto_free char *data = NULL;
	size_t size = 0;
	int r = mr_confine_read(resolve->folder_fd, path, MR_FLOW_FILE_MAX, &data, &size, err);

	if (r < 0)
		return mr_json_wrap(json, r, err);
	if (size > resolve->bytes_left)
		return mr_json_err(json, err, "the files of a workflow are more than %u bytes",
				   MR_FLOW_FILES_MAX);
	resolve->bytes_left -= size;
	*ret = mr_spec_bytes_json(data, size);
	return 0;
}

static int get_path(const struct mr_json *json, const char *key, const char **ret,
		    struct mr_error *err)
{
	struct mr_json member;

	*ret = NULL;
	return mr_json_member(json, key, &member) ? mr_json_get_string(&member, ret, err) : 0;
}

/* New reference in *ret, or NULL: it may stay as it is. */
static int resolve_content(struct resolve *resolve, const struct mr_json *json, json_t **ret,
			   struct mr_error *err)
{
	static const char *const keys[] = { "file", "json", "base64", "hide", "stub", NULL };
	mr_auto_free char *data = NULL;
	const char *path = NULL;
	size_t size = 0;
	int r;

	if (json_is_string(json->value) || json_is_null(json->value))
		return 0;
	r = mr_json_want_object(json, err);
	if (r == 0)
		r = mr_json_check_keys(json, keys, err);
	if (r == 0 && json_object_size(json->value) != 1)
		return mr_json_err(json, err,
				   "one of file, json, base64 and stub is what a content "
				   "is");
	if (r == 0)
		r = get_path(json, "file", &path, err);
	if (r < 0)
		return r;
	if (path)
		return read_file(resolve, json, path, ret, err);
	if (json_object_get(json->value, "json")) {
		data = json_dumps(json_object_get(json->value, "json"), JSON_ENCODE_ANY);
		mr_assert(data);
		*ret = json_string(data);
		return 0;
	}
	if (json_object_get(json->value, "stub"))
		return get_path(json, "stub", &path, err);
	if (json_object_get(json->value, "hide"))
		return json_is_true(json_object_get(json->value, "hide"))
			       ? 0
			       : mr_json_err(json, err, "hide can only be true");
	return mr_spec_get_bytes(json, &data, &size, err);
}

/* A program by its path would be a file of the host: it is one of the system's, by its name.  A text is
 * split elsewhere, so it is not judged here but refused. */
static int check_command(const struct mr_json *json, struct mr_error *err)
{
	const char *text = json_string_value(json->value);
	const json_t *exec = json_object_get(json->value, "exec");
	const char *program = json_string_value(json_array_get(exec, 0));

	for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		if (mr_str_starts_with(at, "body:"))
			break;
		if (mr_str_starts_with(at, "exec:"))
			return mr_json_err(json, err,
					   "exec:COMMAND is not taken in a workflow: say "
					   "{\"exec\": [\"program\", ...]}");
	}
	if (exec && (!program || strchr(program, '/')))
		return mr_json_err(json, err,
				   "in a workflow exec is a list of words, of which the first is "
				   "the "
				   "name of a program of the system, without a path");
	return 0;
}

static int resolve_mock(struct resolve *resolve, const struct mr_json *json, json_t **ret,
			struct mr_error *err)
{
	const char *path = NULL, *text = json_string_value(json->value);
	json_t *body = NULL;
	int r = check_command(json, err);

	if (r < 0)
		return r;
	if (text && strchr(text, '@'))
		for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
			if (*at == '@')
				return mr_json_err(json, err,
						   "@FILE is not taken in a workflow: say "
						   "{\"file\": \"path\"}, below its folder");
	if (!json_is_object(json->value))
		return 0;
	r = get_path(json, "file", &path, err);
	if (r < 0 || !path)
		return r;
	r = read_file(resolve, json, path, &body, err);
	if (r < 0)
		return r;
	*ret = json_copy(json->value);
	json_object_del(*ret, "file");
	json_object_set_new(*ret, "body", body);
	return 0;
}

static int resolve_snippet(struct resolve *resolve, const struct mr_json *json, json_t **ret,
			   struct mr_error *err)
{
	const char *path = NULL;
	json_t *code = NULL;
	int r;

	if (!json_is_object(json->value))
		return 0;
	r = get_path(json, "path", &path, err);
	if (r < 0 || !path)
		return r;
	r = read_file(resolve, json, path, &code, err);
	if (r < 0)
		return r;
	*ret = json_copy(json->value);
	json_object_del(*ret, "path");
	json_object_set_new(*ret, "code", code);
	if (!json_object_get(*ret, "lang") && mr_lang_of_path(path))
		json_object_set_new(*ret, "lang", json_string(mr_lang_of_path(path)->name));
	return 0;
}

/* The program of a plugin, below the folder as all else. */
static int resolve_stub(struct resolve *resolve, const struct mr_json *json, json_t **ret,
			struct mr_error *err)
{
	const char *text = NULL;
	json_t *program = NULL;
	struct mr_json strategy;
	int r;

	if (!json_is_object(json->value) || json_object_get(json->value, "program") ||
	    !mr_json_member(json, "strategy", &strategy))
		return 0;
	r = mr_json_get_string(&strategy, &text, err);
	if (r < 0 || !mr_str_starts_with(text, MR_INPUT_PLUGIN))
		return r;
	r = read_file(resolve, &strategy, text + sizeof(MR_INPUT_PLUGIN) - 1, &program, err);
	if (r < 0)
		return r;
	*ret = json_copy(json->value);
	json_object_set_new(*ret, "program", program);
	return 0;
}

/* One member, in place. */
static int resolve_member(struct resolve *resolve, const struct mr_json *object, const char *key,
			  value_fn *fn, struct mr_error *err)
{
	struct mr_json member;
	json_t *value = NULL;
	int r;

	if (!mr_json_member(object, key, &member))
		return 0;
	r = fn(resolve, &member, &value, err);
	if (r == 0 && value)
		json_object_set_new(object->value, key, value);
	return r;
}

/* All members of a member. */
static int resolve_each(struct resolve *resolve, const struct mr_json *object, const char *key,
			value_fn *fn, struct mr_error *err)
{
	mr_auto_json json_t *names = json_array();
	struct mr_json member;
	const char *name;
	json_t *value;
	int r;

	if (!mr_json_member(object, key, &member))
		return 0;
	r = mr_json_want_object(&member, err);
	if (r < 0)
		return r;
	json_object_foreach (member.value, name, value)
		json_array_append_new(names, json_string(name));
	for (size_t i = 0; r == 0 && i < json_array_size(names); i++)
		r = resolve_member(resolve, &member, json_string_value(json_array_get(names, i)),
				   fn, err);
	return r;
}

static int resolve_common(struct resolve *resolve, const struct mr_json *object, const char *files,
			  struct mr_error *err)
{
	int r = resolve_each(resolve, object, files, resolve_content, err);

	if (r == 0)
		r = resolve_each(resolve, object, "fs_mocks", resolve_content, err);
	if (r == 0)
		r = resolve_each(resolve, object, "network_mocks", resolve_mock, err);
	return r;
}

int mr_flow_resolve(json_t *document, int folder_fd, const char *source, struct mr_error *err)
{
	struct resolve resolve = { folder_fd, MR_FLOW_FILES_MAX };
	struct mr_json root = mr_json_root(document, source), steps;
	int r = mr_json_want_object(&root, err);

	if (r == 0)
		r = resolve_common(&resolve, &root, "test_data", err);
	if (r == 0)
		r = resolve_each(&resolve, &root, "stubs", resolve_stub, err);
	if (r < 0 || !mr_json_member(&root, "steps", &steps))
		return r;
	r = mr_json_want_array(&steps, err);
	for (size_t i = 0; r == 0 && i < json_array_size(steps.value); i++) {
		struct mr_json step = mr_json_item(&steps, i);

		r = mr_json_want_object(&step, err);
		if (r == 0)
			r = resolve_common(&resolve, &step, "files", err);
		if (r == 0)
			r = resolve_member(&resolve, &step, "stdin", resolve_content, err);
		if (r == 0)
			r = resolve_member(&resolve, &step, "snippet", resolve_snippet, err);
	}
	return r;
}

int mr_flow_content(const json_t *content, char **ret, size_t *ret_size, struct mr_error *err)
{
	mr_auto_json json_t *copy = json_deep_copy(content);
	struct mr_json root = mr_json_root(copy, "content of a file");

	if (json_is_null(content)) {
		*ret = mr_str_dup("");
		*ret_size = 0;
		return 0;
	}
	return mr_spec_get_bytes(&root, ret, ret_size, err);
}

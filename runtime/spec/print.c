/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: printing
 *
 * The canonical document holds every knob with its value and is read back by
 * mr_spec_parse_json() to the same spec; equal requests have equal text, so its
 * hash names the request.  Paths and arguments may be any bytes but JSON is
 * UTF-8: what is not becomes {"base64": ...}, which keeps the hash exact.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/spec/internal.h"
#include "runtime/spec/policy.h"
#include "runtime/spec/spec.h"

json_t *mr_spec_bytes_json(const char *data, size_t size)
{
	if (mr_str_utf8_valid(data, size))
		return json_stringn(data, size);
	mr_auto_free char *text = mr_str_base64(data, size);

	return json_pack("{s:s}", "base64", text);
}

static json_t *text_json(const char *text)
{
	return text ? mr_spec_bytes_json(text, strlen(text)) : json_null();
}

static void set(json_t *object, const char *key, json_t *value)
{
	mr_assert(json_object_set_new(object, key, value) == 0);
}

static void append(json_t *array, json_t *value)
{
	mr_assert(json_array_append_new(array, value) == 0);
}

static json_t *strv_json(const struct mr_strv *strv, size_t first)
{
	json_t *array = json_array();

	for (size_t i = first; i < strv->n; i++)
		append(array, text_json(strv->v[i]));
	return array;
}

/* A member name must be UTF-8 too: otherwise '=' and base64, for no variable has '=' in its name. */
static void set_env(json_t *object, const char *name, json_t *value)
{
	mr_auto_free char *encoded = NULL;
	mr_auto_free char *key = NULL;

	if (mr_str_utf8_valid(name, strlen(name))) {
		set(object, name, value);
		return;
	}
	encoded = mr_str_base64(name, strlen(name));
	key = mr_str_format("=%s", encoded);
	set(object, key, value);
}

static json_t *env_json(const struct mr_strv *env)
{
	json_t *object = json_object();

	for (size_t i = 0; i < env->n; i++) {
		size_t n = strcspn(env->v[i], "=");
		mr_auto_free char *name = mr_str_ndup(env->v[i], n);

		set_env(object, name, text_json(env->v[i] + n + 1));
	}
	return object;
}

static json_t *mounts_json(const struct mr_spec *spec)
{
	json_t *array = json_array();

	for (size_t i = 0; i < spec->n_mounts; i++) {
		const struct mr_spec_mount *mount = &spec->mounts[i];
		json_t *object = json_object();

		set(object, "type", json_string(mr_spec_mount_kind_name(mount->kind)));
		set(object, "dest", text_json(mount->dest));
		if (mount->source)
			set(object, "source", text_json(mount->source));
		if (mount->size_bytes)
			set(object, "size_bytes", json_integer((json_int_t)mount->size_bytes));
		append(array, object);
	}
	return array;
}

static void set_program(json_t *document, const struct mr_spec *spec)
{
	json_t *snippet;

	if (!spec->snippet_path && !spec->snippet_code) {
		if (spec->argv.n > 0)
			set(document, "program", strv_json(&spec->argv, 0));
		return;
	}
	snippet = json_object();
	if (spec->snippet_path)
		set(snippet, "path", text_json(spec->snippet_path));
	else
		set(snippet, "code",
		    mr_spec_bytes_json(spec->snippet_code, spec->snippet_code_size));
	if (spec->lang)
		set(snippet, "lang", text_json(spec->lang));
	set(document, "snippet", snippet);
	set(document, "args", strv_json(&spec->argv, 0));
}

static void set_lists(json_t *document, const struct mr_spec *spec)
{
	set(document, "schema", json_string(MR_SPEC_SCHEMA));
	if (spec->name)
		set(document, "name", text_json(spec->name));
	set_program(document, spec);
	set(document, "env", env_json(&spec->env));
	set(document, "env_pass", strv_json(&spec->env_pass, 0));
	set(document, "mounts", mounts_json(spec));
	if (spec->mocks.n > 0)
		set(document, "network_mocks", mr_spec_mocks_json(spec));
	set(document, "best_effort", strv_json(&spec->best_effort, 0));
	if (spec->unenforced.n > 0)
		set(document, "unenforced", strv_json(&spec->unenforced, 0));
	if (spec->policy)
		set(document, "policy", mr_policy_to_json(spec->policy));
}

static json_t *knob_json(const struct mr_spec *spec, size_t id)
{
	const struct mr_field *field = &mr_spec_fields()[id];
	char buf[MR_SPEC_TEXT_SIZE];
	uint64_t value;

	if (field->type == MR_FIELD_STR)
		return text_json(
			*(char *const *)(const void *)((const char *)spec + field->offset));
	value = mr_spec_get(spec, (enum mr_field_id)id);
	if (value == MR_UNSET)
		return json_null();
	if (field->type == MR_FIELD_BOOL)
		return json_boolean(value);
	if (value == MR_UNLIMITED || field->type == MR_FIELD_ENUM ||
	    field->type == MR_FIELD_MILLI || field->type == MR_FIELD_PERCENT)
		return json_string(mr_spec_value_text(field, value, buf));
	return json_integer((json_int_t)value);
}

static json_t *section_of(json_t *document, const char *section)
{
	json_t *object = json_object_get(document, section);

	if (!object) {
		object = json_object();
		set(document, section, object);
	}
	return object;
}

struct json_t *mr_spec_to_json(const struct mr_spec *spec)
{
	const struct mr_field *fields = mr_spec_fields();
	json_t *document = json_object();

	set_lists(document, spec);
	for (size_t i = 0; i < MR_FIELD_COUNT_; i++)
		set(section_of(document, fields[i].section), fields[i].name, knob_json(spec, i));
	if (spec->net_mode == MR_NET_ALLOWLIST)
		set(section_of(document, "net"), "allow", strv_json(&spec->net_allow, 0));
	if (spec->net_faults.n > 0)
		set(section_of(document, "net"), "faults", mr_spec_faults_json(spec));
	return document;
}

char *mr_spec_print_canonical(const struct mr_spec *spec)
{
	mr_auto_json json_t *document = mr_spec_to_json(spec);
	char *text = json_dumps(document, JSON_SORT_KEYS | JSON_COMPACT);

	mr_assert(text != NULL);
	return text;
}

void mr_spec_hash(const struct mr_spec *spec, char ret_hex[65])
{
	mr_auto_free char *text = mr_spec_print_canonical(spec);

	mr_hash_hex(text, strlen(text), ret_hex);
}

/* {"text": "30s", "unit": "ms", "origin": "default"} */
static json_t *explained_knob_json(const struct mr_spec *spec, size_t id)
{
	const struct mr_field *field = &mr_spec_fields()[id];
	json_t *object = json_object();
	char buf[MR_SPEC_TEXT_SIZE];

	if (field->type != MR_FIELD_STR && mr_spec_get(spec, (enum mr_field_id)id) != MR_UNSET)
		set(object, "text",
		    json_string(mr_spec_value_text(field, mr_spec_get(spec, (enum mr_field_id)id),
						   buf)));
	if (field->unit[0] != '\0')
		set(object, "unit", json_string(field->unit));
	set(object, "origin", json_string(mr_spec_origin_name(spec->origin[id])));
	return object;
}

struct json_t *mr_spec_explain_json(const struct mr_spec *spec)
{
	const struct mr_field *fields = mr_spec_fields();
	json_t *knobs = json_object();

	for (size_t i = 0; i < MR_FIELD_COUNT_; i++)
		set(knobs, fields[i].key, explained_knob_json(spec, i));
	return knobs;
}

json_t *mr_spec_limits_to_json(const struct mr_spec *spec)
{
	const struct mr_field *fields = mr_spec_fields();
	json_t *limits = json_object();

	for (int i = 0; i < MR_FIELD_COUNT_; i++) {
		uint64_t value;

		if (strcmp(fields[i].section, "limits") != 0)
			continue;
		value = mr_spec_get(spec, (enum mr_field_id)i);
		json_object_set_new(limits, fields[i].name,
				    value == MR_UNLIMITED ? json_string("unlimited")
				    : fields[i].type == MR_FIELD_MILLI
					    ? json_real((double)value / 1000)
					    : json_integer((json_int_t)value));
	}
	return limits;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: the document, schema "menace.spec/1"
 *
 * One row of members[] is one member of the document, in the order in which they
 * are applied: best_effort before preset and unenforced, because it decides which
 * preset variables are tolerated; the sections of fields.def come after, because they
 * win over a preset.  The order in the text does not matter.
 */
#include <errno.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/spec/internal.h"
#include "runtime/spec/lang.h"
#include "runtime/spec/policy.h"
#include "runtime/spec/spec.h"

static int check_json_type(const struct mr_field *field, const struct mr_json *json,
			   struct mr_error *err)
{
	bool wrong;

	if (field->type == MR_FIELD_STR || field->type == MR_FIELD_ENUM)
		wrong = !json_is_string(json->value);
	else
		wrong = json_is_boolean(json->value) && field->type != MR_FIELD_BOOL;
	if (field->type == MR_FIELD_STR && json_object_get(json->value, "base64"))
		wrong = false;
	if (!wrong)
		return 0;
	return mr_json_err(json, err, "%s where %s is expected", mr_json_type_name(json->value),
			   field->type == MR_FIELD_STR || field->type == MR_FIELD_ENUM
				   ? "a string"
				   : "a string or a number");
}

int mr_spec_set_json(struct mr_spec *spec, enum mr_field_id id, const struct mr_json *json,
		     bool bare_seconds, enum mr_origin origin, struct mr_error *err)
{
	const struct mr_field *field = &mr_spec_fields()[id];
	mr_auto_free char *text = NULL;
	int r;

	if (json_is_null(json->value) && field->default_value == MR_UNSET)
		return 0;
	r = check_json_type(field, json, err);
	if (r < 0)
		return r;
	r = field->type == MR_FIELD_STR ? mr_spec_get_text(json, &text, err)
					: mr_json_get_text(json, &text, err);
	if (r < 0)
		return r;
	r = mr_spec_set_labelled(spec, id, text, bare_seconds, origin, NULL, err);
	return r < 0 ? mr_json_wrap(json, r, err) : 0;
}

static int take_schema(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	const char *schema = NULL;
	int r = mr_json_get_string(json, &schema, err);

	(void)spec;
	if (r < 0)
		return r;
	if (strcmp(schema, MR_SPEC_SCHEMA) == 0)
		return 0;
	return mr_json_err(json, err, "unknown schema %s; accepted: \"%s\"",
			   mr_str_quote(quoted, sizeof(quoted), schema), MR_SPEC_SCHEMA);
}

static int take_name(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	const char *name = NULL;
	int r = mr_json_get_string(json, &name, err);

	if (r < 0)
		return r;
	mr_freep(&spec->name);
	spec->name = mr_str_dup(name);
	return 0;
}

/* A list of texts, each for take(). */
static int take_strings(struct mr_spec *spec, const struct mr_json *json,
			int (*take)(struct mr_spec *spec, const char *text, struct mr_error *err),
			struct mr_error *err)
{
	int r = mr_json_want_array(json, err);

	for (size_t i = 0; r == 0 && i < json_array_size(json->value); i++) {
		struct mr_json item = mr_json_item(json, i);
		const char *text = NULL;

		r = mr_json_get_string(&item, &text, err);
		if (r < 0)
			return r;
		r = take(spec, text, err);
		if (r < 0)
			return mr_json_wrap(&item, r, err);
	}
	return r;
}

static int take_best_effort(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	return take_strings(spec, json, mr_spec_add_best_effort, err);
}

/* What a preset asked for in vain, in the document of a request that was resolved already. */
static int take_unenforced(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	int r = mr_json_want_array(json, err);

	for (size_t i = 0; r == 0 && i < json_array_size(json->value); i++) {
		struct mr_json item = mr_json_item(json, i);

		r = mr_preset_record_unenforced(spec, &item, err);
	}
	return r;
}

/* Variables, or the name of a built-in preset: a document never makes us read another file. */
static int take_preset(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	const char *name = NULL;
	int r;

	if (!json_is_string(json->value))
		return mr_preset_apply_object(spec, json, MR_ORIGIN_PRESET, err);
	r = mr_json_get_string(json, &name, err);
	if (r < 0)
		return r;
	r = mr_preset_apply_builtin(spec, name, MR_ORIGIN_PRESET, err);
	return r < 0 ? mr_json_wrap(json, r, err) : 0;
}

static int add_strings(struct mr_strv *strv, const struct mr_json *json, struct mr_error *err)
{
	int r = mr_json_want_array(json, err);

	for (size_t i = 0; r == 0 && i < json_array_size(json->value); i++) {
		struct mr_json item = mr_json_item(json, i);
		mr_auto_free char *text = NULL;

		r = mr_spec_get_text(&item, &text, err);
		if (r == 0)
			mr_strv_add(strv, text);
	}
	return r;
}

static int take_program(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	int r;

	mr_spec_clear_program(spec);
	r = add_strings(&spec->argv, json, err);
	if (r < 0)
		return r;
	if (spec->argv.n == 0 || spec->argv.v[0][0] == '\0')
		return mr_json_err(json, err, "the program is empty");
	return 0;
}

static int take_snippet_path(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	mr_auto_free char *path = NULL;
	int r = mr_spec_get_text(json, &path, err);

	if (r < 0)
		return r;
	if (path[0] == '\0')
		return mr_json_err(json, err, "the path is empty");
	spec->snippet_path = mr_take_ptr(path);
	return 0;
}

static int take_snippet_code(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	return mr_spec_get_bytes(json, &spec->snippet_code, &spec->snippet_code_size, err);
}

static int take_snippet_lang(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	const char *name = NULL;
	int r = mr_json_get_string(json, &name, err);

	if (r < 0)
		return r;
	r = mr_lang_check(name, err);
	if (r < 0)
		return mr_json_wrap(json, r, err);
	spec->lang = mr_str_dup(name);
	return 0;
}

typedef int take_fn(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err);

static int take_snippet(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	static const char *const keys[] = { "path", "code", "lang", NULL };
	static take_fn *const take[] = { take_snippet_path, take_snippet_code, take_snippet_lang };
	struct mr_json member;
	int r = mr_json_want_object(json, err);

	if (r < 0)
		return r;
	r = mr_json_check_keys(json, keys, err);
	if (r < 0)
		return r;
	if (!json_object_get(json->value, "path") == !json_object_get(json->value, "code"))
		return mr_json_err(json, err, "accepted: either \"path\" or \"code\"");
	mr_spec_clear_program(spec);
	for (size_t i = 0; i < N_ELEMENTS(take); i++) {
		if (!mr_json_member(json, keys[i], &member))
			continue;
		r = take[i](spec, &member, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_args(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	return add_strings(&spec->argv, json, err);
}

/* No variable has '=' in its name: "=" and base64 is a name that is no UTF-8. */
static int get_env_name(const struct mr_json *json, char **ret, struct mr_error *err)
{
	const char *key = json->key;
	size_t size = 0;

	if (key[0] == '=')
		return mr_spec_decode_base64(json, key + 1, strlen(key + 1), ret, &size, err);
	*ret = mr_str_dup(key);
	return 0;
}

static int take_env_member(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	mr_auto_free char *assignment = NULL;
	mr_auto_free char *value = NULL;
	mr_auto_free char *name = NULL;
	int r = mr_spec_get_text(json, &value, err);

	if (r == 0)
		r = get_env_name(json, &name, err);
	if (r < 0)
		return r;
	mr_assert(name);
	if (name[0] == '\0' || strchr(name, '='))
		return mr_json_err(json, err, "not the name of a variable");
	assignment = mr_str_format("%s=%s", name, value);
	r = mr_spec_add_env(spec, assignment, err);
	return r < 0 ? mr_json_wrap(json, r, err) : 0;
}

/* Calls fn for each member of an object. */
static int for_each_member(struct mr_spec *spec, const struct mr_json *json, take_fn *fn,
			   struct mr_error *err)
{
	const char *key;
	json_t *value;
	int r = mr_json_want_object(json, err);

	if (r < 0)
		return r;
	json_object_foreach (json->value, key, value) {
		struct mr_json member = {
			.value = value, .parent = json, .key = key, .source = json->source
		};

		r = fn(spec, &member, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int take_env(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	return for_each_member(spec, json, take_env_member, err);
}

static int take_env_pass(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	int r = mr_json_want_array(json, err);

	for (size_t i = 0; r == 0 && i < json_array_size(json->value); i++) {
		struct mr_json item = mr_json_item(json, i);
		mr_auto_free char *name = NULL;

		r = mr_spec_get_text(&item, &name, err);
		if (r < 0)
			return r;
		r = mr_spec_add_env_pass(spec, name, err);
		if (r < 0)
			return mr_json_wrap(&item, r, err);
	}
	return r;
}

static int get_mount_kind(const struct mr_json *mount, enum mr_mount_kind *ret,
			  struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	struct mr_json member;
	const char *type = NULL;
	int r;

	if (!mr_json_member(mount, "type", &member))
		return mr_json_err(mount, err,
				   "\"type\" is missing; accepted: ro, rw, tmpfs, hide");
	r = mr_json_get_string(&member, &type, err);
	if (r < 0)
		return r;
	for (int kind = MR_MOUNT_RO; kind <= MR_MOUNT_HIDE; kind++) {
		if (strcmp(type, mr_spec_mount_kind_name((enum mr_mount_kind)kind)) == 0) {
			*ret = (enum mr_mount_kind)kind;
			return 0;
		}
	}
	return mr_json_err(&member, err, "unknown type %s; accepted: ro, rw, tmpfs, hide",
			   mr_str_quote(quoted, sizeof(quoted), type));
}

/* Is a member that this kind needs there, and one that it has no use for absent? */
static int check_mount_member(const struct mr_json *mount, const char *key, bool needed,
			      bool allowed, enum mr_mount_kind kind, struct mr_error *err)
{
	bool there = json_object_get(mount->value, key) != NULL;

	if (needed && !there)
		return mr_json_err(mount, err, "a mount of type %s needs \"%s\"",
				   mr_spec_mount_kind_name(kind), key);
	if (there && !allowed)
		return mr_json_err(mount, err, "a mount of type %s has no \"%s\"",
				   mr_spec_mount_kind_name(kind), key);
	return 0;
}

static int get_mount_size(const struct mr_json *mount, uint64_t *ret, struct mr_error *err)
{
	struct mr_json member;

	*ret = 0;
	if (!mr_json_member(mount, "size_bytes", &member))
		return 0;
	return mr_json_get_uint(&member, 0, INT64_MAX, ret, err);
}

static int take_mount(struct mr_spec *spec, const struct mr_json *mount, struct mr_error *err)
{
	static const char *const keys[] = { "type", "source", "dest", "size_bytes", NULL };
	enum mr_mount_kind kind = MR_MOUNT_RO;
	struct mr_json member;
	mr_auto_free char *source = NULL;
	mr_auto_free char *dest = NULL;
	uint64_t size = 0;
	bool is_bind;
	int r;

	r = mr_json_want_object(mount, err);
	if (r == 0)
		r = mr_json_check_keys(mount, keys, err);
	if (r == 0)
		r = get_mount_kind(mount, &kind, err);
	is_bind = kind == MR_MOUNT_RO || kind == MR_MOUNT_RW;
	if (r == 0)
		r = check_mount_member(mount, "source", is_bind, is_bind, kind, err);
	if (r == 0)
		r = check_mount_member(mount, "dest", !is_bind, true, kind, err);
	if (r == 0)
		r = check_mount_member(mount, "size_bytes", false, kind == MR_MOUNT_TMPFS, kind,
				       err);
	if (r == 0)
		r = get_mount_size(mount, &size, err);
	if (r == 0 && mr_json_member(mount, "source", &member))
		r = mr_spec_get_text(&member, &source, err);
	if (r == 0 && mr_json_member(mount, "dest", &member))
		r = mr_spec_get_text(&member, &dest, err);
	if (r < 0)
		return r;
	r = mr_spec_add_mount_parts(spec, kind, source, dest, size, err);
	return r < 0 ? mr_json_wrap(mount, r, err) : 0;
}

static int take_mounts(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	int r = mr_json_want_array(json, err);

	for (size_t i = 0; r == 0 && i < json_array_size(json->value); i++) {
		struct mr_json item = mr_json_item(json, i);

		r = take_mount(spec, &item, err);
	}
	return r;
}

static int add_rule(struct mr_spec *spec, const char *text, struct mr_error *err)
{
	if (strchr(text, ','))
		return mr_err(err, MR_E_USAGE, EINVAL, "one rule an item: no comma is accepted");
	return mr_spec_add_allow(spec, text, err);
}

/* An empty list allows nothing, as no list does. */
static int take_allow(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	return take_strings(spec, json, add_rule, err);
}

/* Beside its knobs. */
static const struct {
	const char *key;
	int (*take)(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err);
} net_lists[] = {
	{ "allow", take_allow },
	{ "faults", mr_spec_take_faults },
};

/* The knobs of a section, as a list for hints. */
static int check_section_keys(const struct mr_json *section, struct mr_error *err)
{
	const struct mr_field *fields = mr_spec_fields();
	const char *known[MR_FIELD_COUNT_ + N_ELEMENTS(net_lists) + 1];
	size_t n = 0;

	for (size_t i = 0; strcmp(section->key, "net") == 0 && i < N_ELEMENTS(net_lists); i++)
		known[n++] = net_lists[i].key;
	for (size_t i = 0; i < MR_FIELD_COUNT_; i++)
		if (strcmp(fields[i].section, section->key) == 0)
			known[n++] = fields[i].name;
	known[n] = NULL;
	return mr_json_check_keys(section, known, err);
}

static int take_section(struct mr_spec *spec, const struct mr_json *section, struct mr_error *err)
{
	const struct mr_field *fields = mr_spec_fields();
	struct mr_json member;
	int r = mr_json_want_object(section, err);

	if (r == 0)
		r = check_section_keys(section, err);
	for (size_t i = 0; r == 0 && i < MR_FIELD_COUNT_; i++)
		if (strcmp(fields[i].section, section->key) == 0 &&
		    mr_json_member(section, fields[i].name, &member))
			r = mr_spec_set_json(spec, (enum mr_field_id)i, &member, false,
					     MR_ORIGIN_SPEC, err);
	for (size_t i = 0; strcmp(section->key, "net") == 0 && i < N_ELEMENTS(net_lists); i++)
		if (r == 0 && mr_json_member(section, net_lists[i].key, &member))
			r = net_lists[i].take(spec, &member, err);
	return r;
}

/* The document itself: no member makes us read another file. */
static int take_policy(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	mr_auto_policy struct mr_policy *policy = NULL;
	int r = mr_policy_parse_json(json, &policy, err);

	if (r < 0)
		return r;
	r = mr_spec_set_policy(spec, policy, err);
	return r < 0 ? mr_json_wrap(json, r, err) : 0;
}

static int take_mocks(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	return for_each_member(spec, json, mr_spec_take_mock, err);
}

static const struct {
	const char *key;
	take_fn *take;
} members[] = {
	{ "schema", take_schema },
	{ "name", take_name },
	{ "best_effort", take_best_effort },
	{ "unenforced", take_unenforced },
	{ "preset", take_preset },
	{ "limits", take_section },
	{ "sandbox", take_section },
	{ "net", take_section },
	{ "failure", take_section },
	{ "output", take_section },
	{ "telemetry", take_section },
	{ "program", take_program },
	{ "snippet", take_snippet },
	{ "args", take_args },
	{ "env", take_env },
	{ "env_pass", take_env_pass },
	{ "mounts", take_mounts },
	{ "network_mocks", take_mocks },
	{ "policy", take_policy },
};

static int check_document(const struct mr_json *document, struct mr_error *err)
{
	const char *keys[N_ELEMENTS(members) + 1];
	int r = mr_json_want_object(document, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < N_ELEMENTS(members); i++)
		keys[i] = members[i].key;
	keys[N_ELEMENTS(members)] = NULL;
	r = mr_json_check_keys(document, keys, err);
	if (r < 0)
		return r;
	if (!json_object_get(document->value, "schema"))
		return mr_json_err(document, err, "\"schema\" is missing; accepted: \"%s\"",
				   MR_SPEC_SCHEMA);
	if (json_object_get(document->value, "program") &&
	    json_object_get(document->value, "snippet"))
		return mr_json_err(document, err, "accepted: either \"program\" or \"snippet\"");
	if (json_object_get(document->value, "args") &&
	    !json_object_get(document->value, "program") &&
	    !json_object_get(document->value, "snippet"))
		return mr_json_err(document, err, "\"args\" without \"program\" or \"snippet\"");
	return 0;
}

int mr_spec_parse_json(struct mr_spec *spec, const char *text, size_t size, const char *source,
		       struct mr_error *err)
{
	mr_auto_json json_t *value = NULL;
	struct mr_json document;
	struct mr_json member;
	int r;

	r = mr_json_parse(text, size, source, &value, err);
	if (r < 0)
		return r;
	document = mr_json_root(value, source);
	r = check_document(&document, err);
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(members); i++)
		if (mr_json_member(&document, members[i].key, &member))
			r = members[i].take(spec, &member, err);
	return r;
}

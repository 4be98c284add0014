/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Presets: variables that set knobs
 *
 * A preset is one object of variables in capitals.  A variable is an alias of a
 * knob (fields.def), or known but not enforced by this version (preset_vars.def),
 * or unknown.  The second kind is checked, and then refused when it asks for
 * something, because a result would be attributed to a condition that never
 * was; best_effort lets it pass and it is recorded in spec->unenforced.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/spec/failures.h"
#include "runtime/spec/internal.h"
#include "runtime/spec/spec.h"

#define PRESET_FILE_MAX (1 << 20)
#define NEVER UINT64_MAX

enum kind {
	KIND_NUMBER,
	KIND_INT,
	KIND_FLAG,
	KIND_TEXT,
	KIND_NAME,
	KIND_RECORD,
};

/* The rules of a public row, kept beside it: both are indexed alike. */
static const struct rule {
	enum kind kind;
	uint64_t min, max;
	uint64_t nothing;
} rules[] = {
#define VAR(name_, kind_, min_, max_, nothing_, help_) { KIND_##kind_, min_, max_, nothing_ },
#include "runtime/spec/preset_vars.def"
#undef VAR
};

#define ACCEPTED_NUMBER "a number"
#define ACCEPTED_INT "a whole number"
#define ACCEPTED_FLAG "true or false"
#define ACCEPTED_TEXT "a text"
#define ACCEPTED_NAME "a text"
#define ACCEPTED_RECORD "a whole number; it asks for nothing"

static const struct mr_preset_var vars[] = {
#define VAR(name_, kind_, min_, max_, nothing_, help_) \
	{ .name = #name_, .accepted = ACCEPTED_##kind_, .help = (help_) },
#include "runtime/spec/preset_vars.def"
#undef VAR
};

const struct mr_preset_var *mr_preset_vars(size_t *ret_n)
{
	*ret_n = N_ELEMENTS(vars);
	return vars;
}

const struct mr_spec_item *mr_preset_builtins(size_t *ret_n)
{
	static const struct mr_spec_item builtins[] = {
#define PRESET(name_, json_, help_) { .name = (name_), .text = (json_), .help = (help_) },
#include "runtime/spec/presets.def"
#undef PRESET
	};

	*ret_n = N_ELEMENTS(builtins);
	return builtins;
}

/* The value as a number in the unit of its kind, for the range and for "nothing". */
static int parse_value(const struct rule *rule, const char *text, uint64_t *ret,
		       struct mr_error *err)
{
	bool flag = false;
	int r;

	switch (rule->kind) {
	case KIND_NUMBER:
		return mr_units_parse_milli(text, ret, err);
	case KIND_INT:
	case KIND_RECORD:
		return mr_units_parse_count(text, ret, err);
	case KIND_FLAG:
		r = mr_units_parse_flag(text, &flag, err);
		*ret = flag ? 1 : 0;
		return r;
	case KIND_TEXT:
	case KIND_NAME:
		*ret = strlen(text);
		return 0;
	}
	return mr_err(err, MR_E_BUG, EINVAL, "no scalar grammar for kind %d", (int)rule->kind);
}

static int refuse_range(const struct rule *rule, const struct mr_json *json, const char *text,
			struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	char low[MR_UNITS_SIZE];
	char high[MR_UNITS_SIZE];
	uint64_t scale = rule->kind == KIND_NUMBER ? 1 : 1000;

	return mr_json_err(json, err, "%s is out of range; accepted: %s to %s",
			   mr_str_quote(quoted, sizeof(quoted), text),
			   mr_units_print_milli(low, rule->min * scale),
			   mr_units_print_milli(high, rule->max * scale));
}

/* 1: the value asks for nothing. */
static int check_scalar(const struct rule *rule, const struct mr_json *json, struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	uint64_t value = 0;
	int r;

	if (json_is_boolean(json->value) && rule->kind != KIND_FLAG)
		return mr_json_err(json, err, "a boolean where a string or a number is expected");
	r = mr_json_get_text(json, &text, err);
	if (r < 0)
		return r;
	r = parse_value(rule, text, &value, err);
	if (r < 0)
		return mr_json_wrap(json, r, err);
	if (value < rule->min || value > rule->max)
		return refuse_range(rule, json, text, err);
	return rule->nothing != NEVER && value == rule->nothing ? 1 : 0;
}

static int refuse_name(const struct mr_json *json, const char *what, const char *word,
		       const char *hint, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];

	mr_str_quote(quoted, sizeof(quoted), word);
	if (hint)
		return mr_json_err(json, err, "unknown %s %s; did you mean \"%s\"?", what, quoted,
				   hint);
	return mr_json_err(json, err, "unknown %s %s", what, quoted);
}

static int take_label(struct mr_spec *spec, const struct mr_json *json, struct mr_error *err)
{
	const char *name = NULL;
	int r = mr_json_get_string(json, &name, err);

	if (r < 0)
		return r;
	if (!spec->name && name[0] != '\0') /* a name given outright wins */
		spec->name = mr_str_dup(name);
	return 1;
}

/* Grammar and range; 1: asks for nothing, 0: asks for something. */
static int check_value(struct mr_spec *spec, const struct rule *rule, const struct mr_json *json,
		       struct mr_error *err)
{
	int r;

	switch (rule->kind) {
	case KIND_NUMBER:
	case KIND_INT:
	case KIND_FLAG:
	case KIND_TEXT:
		return check_scalar(rule, json, err);
	case KIND_NAME:
		r = check_scalar(rule, json, err);
		return r < 0 ? r : take_label(spec, json, err);
	case KIND_RECORD:
		r = check_scalar(rule, json, err);
		return r < 0 ? r : 1;
	}
	return mr_json_err(json, err, "no grammar");
}

void mr_preset_note_unenforced(struct mr_spec *spec, const char *name)
{
	for (size_t i = 0; i < spec->unenforced.n; i++)
		if (strcmp(spec->unenforced.v[i], name) == 0)
			return;
	mr_strv_add(&spec->unenforced, name);
}

int mr_preset_record_unenforced(struct mr_spec *spec, const struct mr_json *json,
				struct mr_error *err)
{
	struct mr_str_nearest nearest;
	const char *name = NULL;
	int r = mr_json_get_string(json, &name, err);

	if (r < 0)
		return r;
	mr_str_nearest_init(&nearest, name);
	mr_str_nearest_offer(&nearest, MR_PRESET_FAILURES);
	for (size_t i = 0; i < N_ELEMENTS(vars); i++)
		mr_str_nearest_offer(&nearest, vars[i].name);
	if (!nearest.best || strcmp(nearest.best, name) != 0)
		return refuse_name(json, "preset variable", name, nearest.best, err);
	if (!mr_spec_tolerates(spec, name))
		return mr_json_err(json, err, "%s is not among the items of best_effort", name);
	mr_preset_note_unenforced(spec, name);
	return 0;
}

static int apply_known(struct mr_spec *spec, size_t index, const struct mr_json *json,
		       struct mr_error *err)
{
	int r = check_value(spec, &rules[index], json, err);

	if (r < 0)
		return r;
	if (r == 1)
		return 0;
	if (!mr_spec_tolerates(spec, vars[index].name))
		return mr_json_err(json, err,
				   "not enforced by this version (%s); leave it out, or accept "
				   "that with best_effort (--best-effort %s)",
				   vars[index].help, vars[index].name);
	mr_preset_note_unenforced(spec, vars[index].name);
	return 0;
}

static const struct control {
	const char *name;
	enum { READ, UNREAD } use;
} controls[] = {
#define CONTROL(name, use) { name, use },
#include "runtime/spec/control_vars.def"
#undef CONTROL
};

static bool is_family(const struct control *control)
{
	return mr_str_ends_with(control->name, "_");
}

/* NULL: there is none of this name. */
static const struct control *find_control(const char *name)
{
	for (size_t i = 0; i < N_ELEMENTS(controls); i++)
		if (strcmp(controls[i].name, name) == 0 ||
		    (is_family(&controls[i]) && mr_str_starts_with(name, controls[i].name)))
			return &controls[i];
	return NULL;
}

static int refuse_variable(const struct mr_json *object, const char *name, struct mr_error *err)
{
	const struct mr_field *fields = mr_spec_fields();
	struct mr_str_nearest nearest;
	char quoted[MR_STR_QUOTE_SIZE];

	if (find_control(name))
		return mr_json_err(object, err,
				   "%s is a variable of the environment, not of a preset", name);
	mr_str_nearest_init(&nearest, name);
	for (size_t i = 0; i < MR_FIELD_COUNT_; i++)
		if (fields[i].preset_alias)
			mr_str_nearest_offer(&nearest, fields[i].preset_alias);
	for (size_t i = 0; i < N_ELEMENTS(vars); i++)
		mr_str_nearest_offer(&nearest, vars[i].name);
	if (nearest.best)
		return refuse_name(object, "preset variable", name, nearest.best, err);
	return mr_json_err(object, err, "unknown preset variable %s; menace-spec(5) lists them all",
			   mr_str_quote(quoted, sizeof(quoted), name));
}

static int apply_variable(struct mr_spec *spec, const struct mr_json *object, const char *name,
			  enum mr_origin origin, struct mr_error *err)
{
	const struct mr_field *fields = mr_spec_fields();
	struct mr_json json;

	if (!mr_json_member(object, name, &json))
		return 0;
	if (strcmp(name, MR_PRESET_FAILURES) == 0)
		return mr_preset_take_failures(spec, &json, origin, err);
	if (strcmp(name, MR_PRESET_VM) == 0)
		return mr_preset_take_vm(spec, &json, origin, err);
	for (size_t i = 0; i < MR_FIELD_COUNT_; i++)
		if (fields[i].preset_alias && strcmp(fields[i].preset_alias, name) == 0)
			return mr_spec_set_json(spec, (enum mr_field_id)i, &json, true, origin,
						err);
	for (size_t i = 0; i < N_ELEMENTS(vars); i++)
		if (strcmp(vars[i].name, name) == 0)
			return apply_known(spec, i, &json, err);
	return refuse_variable(object, name, err);
}

int mr_preset_apply_object(struct mr_spec *spec, const struct mr_json *object,
			   enum mr_origin origin, struct mr_error *err)
{
	const char *name;
	json_t *value;
	int r = mr_json_want_object(object, err);

	if (r < 0)
		return r;
	json_object_foreach (object->value, name, value) {
		if (strcmp(name, MR_PRESET_VM) != 0)
			r = apply_variable(spec, object, name, origin, err);
		if (r < 0)
			return r;
	}
	r = apply_variable(spec, object, MR_PRESET_VM, origin, err);
	if (r == 0)
		mr_preset_allow_for_boot(spec);
	return r;
}

int mr_preset_apply_json(struct mr_spec *spec, const char *text, size_t size, const char *source,
			 enum mr_origin origin, struct mr_error *err)
{
	mr_auto_json json_t *value = NULL;
	struct mr_json root;
	struct mr_json first;
	int r;

	r = mr_json_parse(text, size, source, &value, err);
	if (r < 0)
		return r;
	root = mr_json_root(value, source);
	if (!json_is_array(value))
		return mr_preset_apply_object(spec, &root, origin, err);
	/* In the environment it is what "none" looks like. */
	if (json_array_size(value) == 0 && origin == MR_ORIGIN_ENVIRONMENT)
		return 0;
	if (json_array_size(value) == 0)
		return mr_json_err(&root, err, "an empty list where an object is expected");
	if (json_array_size(value) > 1)
		return mr_json_err(&root, err, "%zu presets; menace-run runs one preset at a time",
				   json_array_size(value));
	first = mr_json_item(&root, 0);
	return mr_preset_apply_object(spec, &first, origin, err);
}

int mr_preset_apply_builtin(struct mr_spec *spec, const char *name, enum mr_origin origin,
			    struct mr_error *err)
{
	size_t n;
	const struct mr_spec_item *builtins = mr_preset_builtins(&n);
	struct mr_str_nearest nearest;
	char quoted[MR_STR_QUOTE_SIZE];
	char names[128];
	struct mr_str list;

	mr_str_nearest_init(&nearest, name);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(builtins[i].name, name) == 0)
			return mr_preset_apply_json(spec, builtins[i].text,
						    strlen(builtins[i].text), name, origin, err);
		mr_str_nearest_offer(&nearest, builtins[i].name);
	}
	mr_str_quote(quoted, sizeof(quoted), name);
	if (nearest.best)
		return mr_err(err, MR_E_USAGE, EINVAL, "no preset %s; did you mean \"%s\"?", quoted,
			      nearest.best);
	mr_str_init(&list, names, sizeof(names));
	for (size_t i = 0; i < n; i++)
		mr_str_printf(&list, "%s%s", i > 0 ? ", " : "", builtins[i].name);
	return mr_err(err, MR_E_USAGE, EINVAL,
		      "no preset %s: neither a built-in one (%s) nor a file", quoted, names);
}

static bool is_builtin(const char *name)
{
	size_t n;
	const struct mr_spec_item *builtins = mr_preset_builtins(&n);

	for (size_t i = 0; i < n; i++)
		if (strcmp(builtins[i].name, name) == 0)
			return true;
	return false;
}

/* Text that begins like a preset or a string is one, well-formed or not; a bare word or number is
 * JSON only if it is nothing else. */
static bool is_json(const char *arg)
{
	const char *first = arg + strspn(arg, " \t\r\n");

	return *first != '\0' && strchr("{[\"", *first);
}

static bool is_json_value(const char *arg)
{
	mr_auto_json json_t *value = NULL;

	return mr_json_parse(arg, strlen(arg), "", &value, NULL) == 0;
}

int mr_preset_apply_arg(struct mr_spec *spec, const char *arg, const char *label,
			struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r;

	bool is_name = is_builtin(arg) || (!strchr(arg, '/') && access(arg, F_OK) < 0);

	if (is_json(arg) || (is_name && is_json_value(arg)))
		return mr_preset_apply_json(spec, arg, strlen(arg), label, MR_ORIGIN_PRESET, err);
	if (is_name) {
		r = mr_preset_apply_builtin(spec, arg, MR_ORIGIN_PRESET, err);
		return r < 0 ? mr_err_wrap(err, r, "%s", label) : 0;
	}
	r = mr_read_whole_file(arg, PRESET_FILE_MAX, &text, &size, err);
	if (r == 0)
		r = mr_preset_apply_json(spec, text, size, arg, MR_ORIGIN_PRESET, err);
	if (r == 0)
		return 0;
	if (err)
		err->code = MR_E_USAGE;
	return mr_err_wrap(err, r, "%s", label);
}

static const char *find_variable(char *const *environment, const char *name)
{
	size_t n = strlen(name);

	for (; environment && *environment; environment++)
		if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
			return *environment + n + 1;
	return NULL;
}

int mr_preset_apply_environment(struct mr_spec *spec, char *const *environment,
				struct mr_error *err)
{
	static const struct {
		const char *name;
		enum mr_field_id id;
	} scalars[] = {
		{ "SANDBOX_TIMEOUT", MR_FIELD_limits_wall_ms },
		{ "SANDBOX_MEMORY_LIMIT", MR_FIELD_limits_memory_max_bytes },
	};
	const char *value;
	int r;

	for (size_t i = 0; i < N_ELEMENTS(scalars); i++) {
		value = find_variable(environment, scalars[i].name);
		if (!value || value[0] == '\0')
			continue;
		r = mr_spec_set_labelled(spec, scalars[i].id, value, true, MR_ORIGIN_ENVIRONMENT,
					 scalars[i].name, err);
		if (r < 0)
			return r;
	}
	value = find_variable(environment, "SANDBOX_ENV_PRESETS");
	if (!value || value[0] == '\0')
		return 0;
	return mr_preset_apply_json(spec, value, strlen(value), "SANDBOX_ENV_PRESETS",
				    MR_ORIGIN_ENVIRONMENT, err);
}

static void warn_unknown(const char *name, struct mr_strv *warnings)
{
	struct mr_str_nearest nearest;
	char quoted[MR_STR_QUOTE_SIZE];
	char line[256];
	struct mr_str text;

	mr_str_nearest_init(&nearest, name);
	for (size_t i = 0; i < N_ELEMENTS(controls); i++)
		if (!is_family(&controls[i]))
			mr_str_nearest_offer(&nearest, controls[i].name);
	mr_str_init(&text, line, sizeof(line));
	mr_str_printf(&text, "unknown variable %s in the environment",
		      mr_str_quote(quoted, sizeof(quoted), name));
	if (nearest.best)
		mr_str_printf(&text, "; did you mean %s?", nearest.best);
	mr_strv_add(warnings, line);
}

/* What is set to nothing asks for nothing. */
static void warn_unread(const char *name, const char *value, struct mr_strv *warnings)
{
	char quoted[MR_STR_QUOTE_SIZE];
	mr_auto_free char *line = NULL;

	if (value[0] == '\0')
		return;
	line = mr_str_format("nothing of this version acts on the variable %s of the environment",
			     mr_str_quote(quoted, sizeof(quoted), name));
	mr_strv_add(warnings, line);
}

void mr_preset_warn_environment(char *const *environment, struct mr_strv *warnings)
{
	for (; environment && *environment; environment++) {
		const char *value = strchr(*environment, '=');
		const struct control *control;
		mr_auto_free char *name = NULL;

		if (!value || !mr_str_starts_with(*environment, "SANDBOX_"))
			continue;
		name = mr_str_ndup(*environment, (size_t)(value - *environment));
		control = find_control(name);
		if (!control)
			warn_unknown(name, warnings);
		else if (control->use == UNREAD)
			warn_unread(name, value + 1, warnings);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: the knobs
 *
 * fields.def is included three times: for the words of enumerations, for the
 * table of knobs and (in spec.h) for the struct.  Everything about a scalar knob
 * (default, bounds, parsing, hints) is driven by that table; to add a knob, add a
 * row there and nothing here.
 */
#include "runtime/spec/spec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/spec/internal.h"
#include "runtime/spec/policy.h"

static const char *const words_userns[] = { MR_WORDS_userns, NULL };
static const char *const words_net[] = { MR_WORDS_net, NULL };
static const char *const words_engine[] = { MR_WORDS_engine, NULL };
static const char *const words_telemetry[] = { MR_WORDS_telemetry, NULL };
static const char *const words_backend[] = { MR_WORDS_backend, NULL };
static const char *const words_os[] = { MR_WORDS_os, NULL };

/* The type of a row says which of the optional members it fills. */
#define ROW_SIZE(d) .type = MR_FIELD_SIZE, .default_value = (d)
#define ROW_COUNT(d) .type = MR_FIELD_COUNT, .default_value = (d)
#define ROW_MS(d) .type = MR_FIELD_MS, .default_value = (d)
#define ROW_MILLI(d) .type = MR_FIELD_MILLI, .default_value = (d)
#define ROW_PERCENT(d) .type = MR_FIELD_PERCENT, .default_value = (d)
#define ROW_BANDWIDTH(d) .type = MR_FIELD_BANDWIDTH, .default_value = (d)
#define ROW_BOOL(d) .type = MR_FIELD_BOOL, .default_value = (d)
#define ROW_ENUM_userns(d) .type = MR_FIELD_ENUM, .default_value = (d), .words = words_userns
#define ROW_ENUM_net(d) .type = MR_FIELD_ENUM, .default_value = (d), .words = words_net
#define ROW_ENUM_engine(d) .type = MR_FIELD_ENUM, .default_value = (d), .words = words_engine
#define ROW_ENUM_telemetry(d) .type = MR_FIELD_ENUM, .default_value = (d), .words = words_telemetry
#define ROW_ENUM_backend(d) .type = MR_FIELD_ENUM, .default_value = (d), .words = words_backend
#define ROW_ENUM_os(d) .type = MR_FIELD_ENUM, .default_value = (d), .words = words_os
#define ROW_STR(d) .type = MR_FIELD_STR, .default_str = (d)

/* U(max) becomes two arguments, which sets the flag behind the value. */
#define U(max) max, true
#define ROW_MAX(...) ROW_MAX_(__VA_ARGS__, false, )
#define ROW_MAX_(value, unlimited, ...) .max = (value), .may_be_unlimited = (unlimited)

static const struct mr_field fields[MR_FIELD_COUNT_] = {
#define FIELD(section_, name_, type_, default_, min_, max_, unit_, alias_, help_) \
	[MR_FIELD_##section_##_##name_] = {                                       \
		.section = #section_,                                             \
		.name = #name_,                                                   \
		.key = #section_ "." #name_,                                      \
		ROW_##type_(default_),                                            \
		.min = (min_),                                                    \
		ROW_MAX(max_),                                                    \
		.unit = (unit_),                                                  \
		.preset_alias = (alias_),                                         \
		.help = (help_),                                                  \
		.offset = offsetof(struct mr_spec, section_##_##name_),           \
	},
#include "runtime/spec/fields.def"
#undef FIELD
};

static uint64_t *number_of(struct mr_spec *spec, const struct mr_field *field)
{
	return (uint64_t *)(void *)((char *)spec + field->offset);
}

static char **string_of(struct mr_spec *spec, const struct mr_field *field)
{
	return (char **)(void *)((char *)spec + field->offset);
}

static char *dup_or_null(const char *text)
{
	return text ? mr_str_dup(text) : NULL;
}

void mr_spec_init(struct mr_spec *spec)
{
	*spec = (struct mr_spec){ 0 };
	for (size_t i = 0; i < MR_FIELD_COUNT_; i++) {
		if (fields[i].type == MR_FIELD_STR)
			*string_of(spec, &fields[i]) = mr_str_dup(fields[i].default_str);
		else
			*number_of(spec, &fields[i]) = fields[i].default_value;
	}
}

void mr_spec_deinit(struct mr_spec *spec)
{
	for (size_t i = 0; i < MR_FIELD_COUNT_; i++)
		if (fields[i].type == MR_FIELD_STR)
			mr_freep(string_of(spec, &fields[i]));
	for (size_t i = 0; i < spec->n_mounts; i++) {
		mr_freep(&spec->mounts[i].source);
		mr_freep(&spec->mounts[i].dest);
	}
	mr_freep(&spec->mounts);
	mr_spec_clear_program(spec);
	mr_strv_clear(&spec->env);
	mr_strv_clear(&spec->env_pass);
	mr_strv_clear(&spec->net_allow);
	mr_strv_clear(&spec->net_faults);
	mr_mocks_deinit(&spec->mocks);
	mr_strv_clear(&spec->best_effort);
	mr_strv_clear(&spec->unenforced);
	mr_freep(&spec->name);
	spec->policy = mr_policy_unref(spec->policy);
	*spec = (struct mr_spec){ 0 };
}

static void copy_strv(struct mr_strv *to, const struct mr_strv *from)
{
	*to = (struct mr_strv){ 0 };
	for (size_t i = 0; i < from->n; i++)
		mr_strv_add(to, from->v[i]);
}

static void copy_mounts(struct mr_spec *to, const struct mr_spec *from)
{
	to->mounts = NULL;
	if (from->n_mounts == 0)
		return;
	to->mounts = mr_str_alloc(from->n_mounts * sizeof(*to->mounts));
	for (size_t i = 0; i < from->n_mounts; i++) {
		to->mounts[i] = from->mounts[i];
		to->mounts[i].source = dup_or_null(from->mounts[i].source);
		to->mounts[i].dest = dup_or_null(from->mounts[i].dest);
	}
}

void mr_spec_copy(struct mr_spec *to, const struct mr_spec *from)
{
	*to = *from;
	for (size_t i = 0; i < MR_FIELD_COUNT_; i++)
		if (fields[i].type == MR_FIELD_STR)
			*string_of(to, &fields[i]) = mr_str_dup(*string_of(to, &fields[i]));
	copy_mounts(to, from);
	copy_strv(&to->argv, &from->argv);
	copy_strv(&to->env, &from->env);
	copy_strv(&to->env_pass, &from->env_pass);
	copy_strv(&to->net_allow, &from->net_allow);
	copy_strv(&to->net_faults, &from->net_faults);
	mr_mocks_copy(&to->mocks, &from->mocks);
	copy_strv(&to->best_effort, &from->best_effort);
	copy_strv(&to->unenforced, &from->unenforced);
	to->snippet_path = dup_or_null(from->snippet_path);
	to->lang = dup_or_null(from->lang);
	to->name = dup_or_null(from->name);
	to->policy = mr_policy_ref(from->policy);
	if (from->snippet_code) {
		to->snippet_code = mr_str_alloc(from->snippet_code_size + 1);
		memcpy(to->snippet_code, from->snippet_code, from->snippet_code_size);
	}
}

const struct mr_field *mr_spec_fields(void)
{
	return fields;
}

const struct mr_field *mr_spec_field_find(const char *key)
{
	for (size_t i = 0; i < MR_FIELD_COUNT_; i++)
		if (strcmp(fields[i].key, key) == 0)
			return &fields[i];
	return NULL;
}

const char *mr_spec_field_suggest(const char *key)
{
	struct mr_str_nearest nearest;

	mr_str_nearest_init(&nearest, key);
	for (size_t i = 0; i < MR_FIELD_COUNT_; i++)
		mr_str_nearest_offer(&nearest, fields[i].key);
	if (nearest.best || strchr(key, '.'))
		return nearest.best;
	/* A name without its section. */
	for (size_t i = 0; i < MR_FIELD_COUNT_; i++)
		mr_str_nearest_offer(&nearest, fields[i].name);
	for (size_t i = 0; i < MR_FIELD_COUNT_; i++)
		if (nearest.best == fields[i].name)
			return fields[i].key;
	return NULL;
}

uint64_t mr_spec_get(const struct mr_spec *spec, enum mr_field_id id)
{
	mr_assert(id < MR_FIELD_COUNT_ && fields[id].type != MR_FIELD_STR);
	return *(const uint64_t *)(const void *)((const char *)spec + fields[id].offset);
}

void mr_spec_set_number(struct mr_spec *spec, enum mr_field_id id, uint64_t value,
			enum mr_origin origin)
{
	mr_assert(id < MR_FIELD_COUNT_ && fields[id].type != MR_FIELD_STR);
	*number_of(spec, &fields[id]) = value;
	spec->origin[id] = (uint8_t)origin;
}

int mr_spec_set_policy(struct mr_spec *spec, struct mr_policy *policy, struct mr_error *err)
{
	if (spec->policy)
		return mr_err(err, MR_E_USAGE, EEXIST,
			      "there is a policy already; accepted: one, which may be written to "
			      "allow less");
	spec->policy = mr_policy_ref(policy);
	return 0;
}

const char *mr_spec_origin_name(enum mr_origin origin)
{
	static const char *const names[] = {
		[MR_ORIGIN_DEFAULT] = "default", [MR_ORIGIN_ENVIRONMENT] = "environment",
		[MR_ORIGIN_PRESET] = "preset",	 [MR_ORIGIN_SPEC] = "spec",
		[MR_ORIGIN_SET] = "set",	 [MR_ORIGIN_FLAG] = "flag",
		[MR_ORIGIN_POLICY] = "policy",
	};

	return names[origin];
}

const char *mr_spec_value_text(const struct mr_field *field, uint64_t value, char *buf)
{
	if (value == MR_UNLIMITED)
		return "unlimited";
	if (value == MR_UNSET)
		return "";
	switch (field->type) {
	case MR_FIELD_SIZE:
		return mr_units_print_size(buf, value);
	case MR_FIELD_MS:
		return mr_units_print_timespan(buf, value);
	case MR_FIELD_MILLI:
		return mr_units_print_milli(buf, value);
	case MR_FIELD_PERCENT:
		return mr_units_print_percent(buf, value);
	case MR_FIELD_BANDWIDTH:
		return mr_units_print_bandwidth(buf, value);
	case MR_FIELD_BOOL:
		return value ? "true" : "false";
	case MR_FIELD_ENUM:
		return field->words[value];
	case MR_FIELD_COUNT:
	case MR_FIELD_STR:
		break;
	}
	snprintf(buf, MR_SPEC_TEXT_SIZE, "%" PRIu64, value);
	return buf;
}

static int parse_word(const struct mr_field *field, const char *text, uint64_t *ret,
		      struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	char words[128];
	struct mr_str list;

	mr_str_init(&list, words, sizeof(words));
	for (size_t i = 0; field->words[i]; i++) {
		if (mr_str_equal_nocase(field->words[i], text)) {
			*ret = i;
			return 0;
		}
		mr_str_printf(&list, "%s%s", i > 0 ? ", " : "", field->words[i]);
	}
	return mr_err(err, MR_E_USAGE, EINVAL, "unknown word %s; accepted: %s",
		      mr_str_quote(quoted, sizeof(quoted), text), words);
}

static int parse_bool(const char *text, uint64_t *ret, struct mr_error *err)
{
	bool flag = false;
	int r = mr_units_parse_flag(text, &flag, err);

	if (r < 0)
		return r;
	*ret = flag ? 1 : 0;
	return 0;
}

static int parse_by_type(const struct mr_field *field, const char *text, bool bare_seconds,
			 uint64_t *ret, struct mr_error *err)
{
	switch (field->type) {
	case MR_FIELD_SIZE:
		return mr_units_parse_size(text, ret, err);
	case MR_FIELD_MS:
		return mr_units_parse_timespan(text, bare_seconds, ret, err);
	case MR_FIELD_MILLI:
		return mr_units_parse_milli(text, ret, err);
	case MR_FIELD_PERCENT:
		return mr_units_parse_percent(text, ret, err);
	case MR_FIELD_BANDWIDTH:
		return mr_units_parse_bandwidth(text, ret, err);
	case MR_FIELD_BOOL:
		return parse_bool(text, ret, err);
	case MR_FIELD_ENUM:
		return parse_word(field, text, ret, err);
	case MR_FIELD_COUNT:
		/* User and group ids, which end below the one that means none. */
		if (field->default_value == MR_UNSET && field->max < UINT32_MAX)
			return mr_units_parse_id(text, ret, err);
		return mr_units_parse_count(text, ret, err);
	case MR_FIELD_STR:
		break;
	}
	mr_assert(field->type != MR_FIELD_STR);
	return -EINVAL;
}

static int parse_number(const struct mr_field *field, const char *text, bool bare_seconds,
			uint64_t *ret, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	char low[MR_SPEC_TEXT_SIZE];
	char high[MR_SPEC_TEXT_SIZE];
	uint64_t value = 0;
	int r;

	if (field->may_be_unlimited && mr_str_equal_nocase(text, "unlimited")) {
		*ret = MR_UNLIMITED;
		return 0;
	}
	r = parse_by_type(field, text, bare_seconds, &value, err);
	if (r < 0)
		return r;
	if (field->type != MR_FIELD_ENUM && (value < field->min || value > field->max))
		return mr_err(err, MR_E_USAGE, EINVAL, "%s is out of range; accepted: %s to %s%s",
			      mr_str_quote(quoted, sizeof(quoted), text),
			      mr_spec_value_text(field, field->min, low),
			      mr_spec_value_text(field, field->max, high),
			      field->may_be_unlimited ? ", or unlimited" : "");
	*ret = value;
	return 0;
}

static int check_string(const struct mr_field *field, const char *text, struct mr_error *err)
{
	size_t n = strlen(text);

	if (n < field->min)
		return mr_err(err, MR_E_USAGE, EINVAL, "an empty text is not accepted");
	if (n > field->max)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "the text has %zu bytes; accepted: at most %" PRIu64, n, field->max);
	return mr_spec_check_text((enum mr_field_id)(field - fields), text, err);
}

int mr_spec_set_labelled(struct mr_spec *spec, enum mr_field_id id, const char *text,
			 bool bare_seconds, enum mr_origin origin, const char *label,
			 struct mr_error *err)
{
	const struct mr_field *field = &fields[id];
	uint64_t value = 0;
	int r;

	if (field->type == MR_FIELD_STR)
		r = check_string(field, text, err);
	else
		r = parse_number(field, text, bare_seconds, &value, err);
	if (r < 0)
		return label ? mr_err_wrap(err, r, "%s", label) : r;
	if (origin < (enum mr_origin)spec->origin[id])
		return 0;
	spec->origin[id] = (uint8_t)origin;
	if (field->type == MR_FIELD_STR) {
		char *copy = mr_str_dup(text); /* text may be the present value */

		mr_freep(string_of(spec, field));
		*string_of(spec, field) = copy;
	} else {
		*number_of(spec, field) = value;
	}
	return 0;
}

int mr_spec_set_text(struct mr_spec *spec, enum mr_field_id id, const char *text, bool bare_seconds,
		     enum mr_origin origin, struct mr_error *err)
{
	return mr_spec_set_labelled(spec, id, text, bare_seconds, origin, fields[id].key, err);
}

int mr_spec_set_assignment(struct mr_spec *spec, const char *assignment, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];
	const char *equals = strchr(assignment, '=');
	const struct mr_field *field;
	mr_auto_free char *key = NULL;
	const char *hint;

	if (!equals)
		return mr_err(err, MR_E_USAGE, EINVAL, "%s is not SECTION.KEY=VALUE",
			      mr_str_quote(quoted, sizeof(quoted), assignment));
	key = mr_str_ndup(assignment, (size_t)(equals - assignment));
	field = mr_spec_field_find(key);
	if (field)
		return mr_spec_set_text(spec, (enum mr_field_id)(field - fields), equals + 1, false,
					MR_ORIGIN_SET, err);
	hint = mr_spec_field_suggest(key);
	mr_str_quote(quoted, sizeof(quoted), key);
	if (hint)
		return mr_err(err, MR_E_USAGE, EINVAL, "unknown key %s; did you mean \"%s\"?",
			      quoted, hint);
	return mr_err(err, MR_E_USAGE, EINVAL, "unknown key %s; menace-spec(5) lists them all",
		      quoted);
}

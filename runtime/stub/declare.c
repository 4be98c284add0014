/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations of stubs
 *
 * What only templates tell has the shape of the first one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/stub/internal.h"

#define PARAMETERS_MAX 256
#define TEMPLATES_MAX 1000

static const struct {
	const char *name;
	enum mr_input_type type;
} types[] = {
	{ "str", MR_INPUT_STR },	   { "int", MR_INPUT_INT },
	{ "float", MR_INPUT_FLOAT },	   { "bool", MR_INPUT_BOOL },
	{ "list", MR_INPUT_LIST },	   { "dict", MR_INPUT_DICT },
	{ "string", MR_INPUT_STR },	   { "integer", MR_INPUT_INT },
	{ "number", MR_INPUT_FLOAT },	   { "boolean", MR_INPUT_BOOL },
	{ "array", MR_INPUT_LIST },	   { "object", MR_INPUT_DICT },
	{ "datetime", MR_INPUT_DATETIME }, { "any", MR_INPUT_ANY },
};

static int find_type(const struct mr_json *json, enum mr_input_type *ret, struct mr_error *err)
{
	struct mr_str_nearest nearest;
	const char *text = NULL;
	char quoted[MR_STR_QUOTE_SIZE];
	int r = mr_json_get_string(json, &text, err);

	if (r < 0)
		return r;
	mr_str_nearest_init(&nearest, text);
	for (size_t i = 0; i < N_ELEMENTS(types); i++) {
		if (strcmp(types[i].name, text) == 0) {
			*ret = types[i].type;
			return 0;
		}
		mr_str_nearest_offer(&nearest, types[i].name);
	}
	mr_str_quote(quoted, sizeof(quoted), text);
	return mr_json_err(json, err,
			   "%s is no type of a parameter; did you mean \"%s\"? accepted: str, int, "
			   "float, bool, list, dict, datetime, any",
			   quoted, nearest.best ? nearest.best : "str");
}

/* --- checking -------------------------------------------------------------- */

/* "int" or {"type": "int", "default": 3}. */
static int check_parameter(const struct mr_json *json, struct mr_error *err)
{
	static const char *const keys[] = { "type", "default", NULL };
	enum mr_input_type type;
	struct mr_json member;
	int r;

	if (json_is_string(json->value))
		return find_type(json, &type, err);
	r = mr_json_want_object(json, err);
	if (r == 0)
		r = mr_json_check_keys(json, keys, err);
	if (r == 0 && mr_json_member(json, "type", &member))
		r = find_type(&member, &type, err);
	return r;
}

static int check_parameters(const struct mr_json *json, struct mr_error *err)
{
	const char *name;
	json_t *value;
	int r = mr_json_want_object(json, err);

	if (r == 0 &&
	    (json_object_size(json->value) == 0 || json_object_size(json->value) > PARAMETERS_MAX))
		return mr_json_err(json, err, "1 to %d parameters are accepted", PARAMETERS_MAX);
	if (r < 0)
		return r;
	json_object_foreach (json->value, name, value) {
		struct mr_json one = {
			.value = value, .parent = json, .key = name, .source = json->source
		};

		r = check_parameter(&one, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int check_strategy(const struct mr_json *json, struct mr_error *err)
{
	const char *text = NULL;
	int r = mr_json_get_string(json, &text, err);

	if (r == 0)
		r = mr_input_check_strategy(text, err);
	return r < 0 ? mr_json_wrap(json, r, err) : 0;
}

int mr_input_check_declaration(const struct mr_json *declaration, struct mr_error *err)
{
	static const char *const keys[] = { "type",	"parameters", "templates", "default",
					    "strategy", "program",    NULL };
	enum mr_input_type type;
	struct mr_json member;
	int r = mr_json_want_object(declaration, err);

	if (r == 0)
		r = mr_json_check_keys(declaration, keys, err);
	if (r == 0 && json_object_get(declaration->value, "type") &&
	    json_object_get(declaration->value, "parameters"))
		return mr_json_err(declaration, err, "accepted: either \"type\" or \"parameters\"");
	if (r == 0 && mr_json_member(declaration, "type", &member))
		r = find_type(&member, &type, err);
	if (r == 0 && mr_json_member(declaration, "parameters", &member))
		r = check_parameters(&member, err);
	if (r == 0 && mr_json_member(declaration, "templates", &member)) {
		r = mr_json_want_array(&member, err);
		if (r == 0 && (json_array_size(member.value) == 0 ||
			       json_array_size(member.value) > TEMPLATES_MAX))
			return mr_json_err(&member, err, "1 to %d templates are accepted",
					   TEMPLATES_MAX);
	}
	if (r == 0 && mr_json_member(declaration, "strategy", &member))
		r = check_strategy(&member, err);
	return r;
}

/* --- shapes ---------------------------------------------------------------- */

static enum mr_input_type type_of_name(const char *name)
{
	for (size_t i = 0; name && i < N_ELEMENTS(types); i++)
		if (strcmp(types[i].name, name) == 0)
			return types[i].type;
	return MR_INPUT_ANY;
}

static enum mr_input_type type_of_value(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return MR_INPUT_STR;
	case JSON_INTEGER:
		return MR_INPUT_INT;
	case JSON_REAL:
		return MR_INPUT_FLOAT;
	case JSON_TRUE:
	case JSON_FALSE:
		return MR_INPUT_BOOL;
	case JSON_ARRAY:
		return MR_INPUT_LIST;
	case JSON_OBJECT:
		return MR_INPUT_DICT;
	case JSON_NULL:
		break;
	}
	return MR_INPUT_ANY;
}

/* Of a parameter's own declaration. */
static struct mr_input_param declared(const char *name, const json_t *value)
{
	struct mr_input_param param = { .name = name, .type = MR_INPUT_ANY };

	if (json_is_string(value)) {
		param.type = type_of_name(json_string_value(value));
		return param;
	}
	param.fallback = json_object_get(value, "default");
	if (json_object_get(value, "type"))
		param.type = type_of_name(json_string_value(json_object_get(value, "type")));
	else if (param.fallback)
		param.type = type_of_value(param.fallback);
	return param;
}

static int compare_params(const void *a, const void *b)
{
	const struct mr_input_param *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static void add_all(struct mr_input_shape *shape, const json_t *object, bool of_template)
{
	const char *name;
	json_t *value;

	shape->params = mr_str_alloc((json_object_size(object) + 1) * sizeof(*shape->params));
	json_object_foreach ((json_t *)(uintptr_t)object, name, value)
		shape->params[shape->n++] =
			of_template ? (struct mr_input_param){ name, type_of_value(value), value }
				    : declared(name, value);
	qsort(shape->params, shape->n, sizeof(*shape->params), compare_params);
}

void mr_input_shape_init(const json_t *declaration, struct mr_input_shape *ret)
{
	const json_t *parameters = json_object_get(declaration, "parameters");
	json_t *first;

	*ret = (struct mr_input_shape){ .templates = json_object_get(declaration, "templates") };
	first = json_array_get(ret->templates, 0);
	if (parameters || (json_object_size(first) > 0 && !json_object_get(declaration, "type"))) {
		add_all(ret, parameters ? parameters : first, !parameters);
		return;
	}
	ret->scalar = true;
	ret->undeclared = !first && !json_object_get(declaration, "type");
	ret->n = 1;
	ret->params = mr_str_alloc(sizeof(*ret->params));
	ret->params[0] = declared("", declaration);
	if (first && !json_object_get(declaration, "type"))
		ret->params[0].type = type_of_value(first);
	else if (!first && ret->params[0].type == MR_INPUT_ANY &&
		 !json_object_get(declaration, "type"))
		ret->params[0].type = MR_INPUT_STR;
}

void mr_input_shape_deinit(struct mr_input_shape *shape)
{
	free(shape->params);
	*shape = (struct mr_input_shape){ 0 };
}

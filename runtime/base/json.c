/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON
 *
 * A thin layer over jansson: strict parsing and a cursor with the way from the
 * root.  NULs are allowed by the parser and refused by the getters, because only
 * here is it known where they stand; text of snippets may hold them.
 */
#include "runtime/base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

#define PATH_SIZE 256

/* jansson quotes the document in its messages: keep that printable. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || (unsigned char)*text >= 0x7f)
			*text = '?';
}

int mr_json_parse(const char *text, size_t size, const char *source, json_t **ret,
		  struct mr_error *err)
{
	json_error_t error;
	json_t *value;

	value = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL,
			   &error);
	if (!value) {
		make_printable(error.text);
		return mr_err(err, MR_E_USAGE, EINVAL, "%s:%d:%d: %s", source,
			      error.line < 1 ? 1 : error.line, error.column < 0 ? 0 : error.column,
			      error.text);
	}
	*ret = value;
	return 0;
}

struct mr_json mr_json_root(json_t *value, const char *source)
{
	return (struct mr_json){ .value = value, .source = source };
}

bool mr_json_member(const struct mr_json *object, const char *key, struct mr_json *ret)
{
	json_t *value = json_object_get(object->value, key);

	if (!value)
		return false;
	*ret = (struct mr_json){
		.value = value, .parent = object, .key = key, .source = object->source
	};
	return true;
}

struct mr_json mr_json_item(const struct mr_json *array, size_t index)
{
	return (struct mr_json){ .value = json_array_get(array->value, index),
				 .parent = array,
				 .index = index,
				 .source = array->source };
}

static void add_path(struct mr_str *path, const struct mr_json *json)
{
	char quoted[MR_STR_QUOTE_SIZE];

	if (!json->parent)
		return;
	add_path(path, json->parent);
	if (!json->key) {
		mr_str_printf(path, "[%zu]", json->index);
		return;
	}
	if (path->len > 0)
		mr_str_add(path, ".");
	/* Member names come from the document: quote what is not a plain name. */
	mr_str_quote(quoted, sizeof(quoted), json->key);
	if (strlen(quoted) == strlen(json->key) + 2)
		mr_str_add(path, json->key);
	else
		mr_str_add(path, quoted);
}

const char *mr_json_path(const struct mr_json *json, char *buf, size_t size)
{
	struct mr_str path;

	mr_str_init(&path, buf, size);
	add_path(&path, json);
	return buf;
}

int mr_json_wrap(const struct mr_json *json, int r, struct mr_error *err)
{
	char path[PATH_SIZE];

	mr_json_path(json, path, sizeof(path));
	if (path[0] == '\0')
		return mr_err_wrap(err, r, "%s", json->source);
	return mr_err_wrap(err, r, "%s: %s", json->source, path);
}

int mr_json_err(const struct mr_json *json, struct mr_error *err, const char *fmt, ...)
{
	char message[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	return mr_json_wrap(json, mr_err(err, MR_E_USAGE, EINVAL, "%s", message), err);
}

const char *mr_json_type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "a list";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		return "null";
	}
	return "nothing";
}

static int refuse_type(const struct mr_json *json, const char *wanted, struct mr_error *err)
{
	return mr_json_err(json, err, "%s where %s is expected", mr_json_type_name(json->value),
			   wanted);
}

int mr_json_want_object(const struct mr_json *json, struct mr_error *err)
{
	return json_is_object(json->value) ? 0 : refuse_type(json, "an object", err);
}

int mr_json_want_array(const struct mr_json *json, struct mr_error *err)
{
	return json_is_array(json->value) ? 0 : refuse_type(json, "a list", err);
}

int mr_json_get_bytes(const struct mr_json *json, const char **ret, size_t *ret_size,
		      struct mr_error *err)
{
	if (!json_is_string(json->value))
		return refuse_type(json, "a string", err);
	*ret = json_string_value(json->value);
	*ret_size = json_string_length(json->value);
	return 0;
}

int mr_json_get_string(const struct mr_json *json, const char **ret, struct mr_error *err)
{
	const char *text = NULL;
	size_t size = 0;
	int r = mr_json_get_bytes(json, &text, &size, err);

	if (r < 0)
		return r;
	if (strlen(text) != size)
		return mr_json_err(json, err, "holds a NUL byte");
	*ret = text;
	return 0;
}

int mr_json_get_bool(const struct mr_json *json, bool *ret, struct mr_error *err)
{
	if (!json_is_boolean(json->value))
		return refuse_type(json, "true or false", err);
	*ret = json_is_true(json->value);
	return 0;
}

int mr_json_get_uint(const struct mr_json *json, uint64_t min, uint64_t max, uint64_t *ret,
		     struct mr_error *err)
{
	json_int_t value;

	if (!json_is_integer(json->value))
		return refuse_type(json, "a whole number", err);
	value = json_integer_value(json->value);
	if (value < 0 || (uint64_t)value < min || (uint64_t)value > max)
		return mr_json_err(json, err,
				   "%" JSON_INTEGER_FORMAT " is out of range; accepted: %" PRIu64
				   " to %" PRIu64,
				   value, min, max);
	*ret = (uint64_t)value;
	return 0;
}

/* printf writes the decimal point of the locale, so the digits are made here: nine of them,
 * rounded, which is finer than any knob.  The unit grammars refuse the minus sign. */
static void print_real(char *buf, size_t size, double value)
{
	double magnitude = fabs(value);
	uint64_t whole = (uint64_t)magnitude;
	uint64_t nano = (uint64_t)((magnitude - (double)whole) * 1e9 + 0.5);

	if (nano >= 1000000000) {
		whole++;
		nano = 0;
	}
	snprintf(buf, size, "%s%" PRIu64 ".%09" PRIu64, value < 0 ? "-" : "", whole, nano);
	for (size_t n = strlen(buf); buf[n - 1] == '0' && buf[n - 2] != '.'; n--)
		buf[n - 1] = '\0';
}

int mr_json_get_text(const struct mr_json *json, char **ret, struct mr_error *err)
{
	const char *text = NULL;
	char buf[48];
	double real;
	int r;

	switch (json_typeof(json->value)) {
	case JSON_STRING:
		r = mr_json_get_string(json, &text, err);
		if (r < 0)
			return r;
		break;
	case JSON_INTEGER:
		snprintf(buf, sizeof(buf), "%" JSON_INTEGER_FORMAT,
			 json_integer_value(json->value));
		break;
	case JSON_REAL:
		real = json_real_value(json->value);
		if (fabs(real) >= 9e18)
			return mr_json_err(json, err, "the number is too large");
		print_real(buf, sizeof(buf), real);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		snprintf(buf, sizeof(buf), "%d", json_is_true(json->value) ? 1 : 0);
		break;
	case JSON_OBJECT:
	case JSON_ARRAY:
	case JSON_NULL:
		return refuse_type(json, "a string or a number", err);
	}
	*ret = mr_str_dup(text ? text : buf);
	return 0;
}

static int refuse_key(const struct mr_json *object, const char *key, const char *const *known,
		      struct mr_error *err)
{
	struct mr_str_nearest nearest;
	char quoted[MR_STR_QUOTE_SIZE];

	mr_str_nearest_init(&nearest, key);
	for (; *known; known++)
		mr_str_nearest_offer(&nearest, *known);
	mr_str_quote(quoted, sizeof(quoted), key);
	if (nearest.best)
		return mr_json_err(object, err, "unknown key %s; did you mean \"%s\"?", quoted,
				   nearest.best);
	return mr_json_err(object, err, "unknown key %s", quoted);
}

int mr_json_check_keys(const struct mr_json *object, const char *const *known, struct mr_error *err)
{
	const char *key;
	json_t *value;

	json_object_foreach (object->value, key, value) {
		size_t i = 0;

		while (known[i] && strcmp(known[i], key) != 0)
			i++;
		if (!known[i])
			return refuse_key(object, key, known, err);
	}
	return 0;
}

json_t *mr_json_at(const json_t *json, const char *a, const char *b, const char *c)
{
	json_t *value = json_object_get(json, a);

	if (b)
		value = json_object_get(value, b);
	return c ? json_object_get(value, c) : value;
}

const char *mr_json_text_or_empty(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "";
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen-docs: the JSON Schema of menace.spec/1
 *
 * Knobs and variables come from the tables, the other members stand here as text.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/spec/spec.h"
#include "tools/gen-docs.h"

static void set(json_t *object, const char *key, json_t *value)
{
	mr_assert(json_object_set_new(object, key, value) == 0);
}

/* How many of what is kept are one of what is written. */
static double scale_of(const struct mr_field *field)
{
	return field->type == MR_FIELD_MILLI ? 1000 : field->type == MR_FIELD_PERCENT ? 10000 : 1;
}

static json_t *bounded_number(const struct mr_field *field)
{
	json_t *number = json_object();

	if (scale_of(field) > 1) {
		set(number, "type", json_string("number"));
		set(number, "minimum", json_real((double)field->min / scale_of(field)));
		set(number, "maximum", json_real((double)field->max / scale_of(field)));
		return number;
	}
	set(number, "type", json_string("integer"));
	set(number, "minimum", json_integer((json_int_t)field->min));
	set(number, "maximum", json_integer((json_int_t)field->max));
	return number;
}

/* A number, or a string in the grammar of the unit. */
static void set_number(json_t *knob, const struct mr_field *field)
{
	json_t *forms = json_array();

	json_array_append_new(forms, field->type == MR_FIELD_BOOL
					     ? json_pack("{s:s}", "type", "boolean")
					     : bounded_number(field));
	json_array_append_new(forms, json_pack("{s:s}", "type", "string"));
	if (field->default_value == MR_UNSET)
		json_array_append_new(forms, json_pack("{s:s}", "type", "null"));
	set(knob, "anyOf", forms);
}

static json_t *default_value(const struct mr_field *field)
{
	char buf[MR_SPEC_TEXT_SIZE];

	if (field->type == MR_FIELD_STR)
		return json_string(field->default_str);
	if (field->default_value == MR_UNSET)
		return json_null();
	if (field->type == MR_FIELD_BOOL)
		return json_boolean(field->default_value);
	if (field->default_value == MR_UNLIMITED || field->type == MR_FIELD_ENUM)
		return json_string(mr_spec_value_text(field, field->default_value, buf));
	if (scale_of(field) > 1)
		return json_real((double)field->default_value / scale_of(field));
	return json_integer((json_int_t)field->default_value);
}

static json_t *knob_schema(const struct mr_field *field)
{
	json_t *knob = json_object();

	set(knob, "description", json_string(field->help));
	set(knob, "default", default_value(field));
	if (field->type == MR_FIELD_STR) {
		set(knob, "anyOf",
		    json_pack("[{s:s, s:I, s:I}, {s:s}]", "type", "string", "minLength",
			      (json_int_t)field->min, "maxLength", (json_int_t)field->max, "$ref",
			      "#/$defs/bytes"));
	} else if (field->type == MR_FIELD_ENUM) {
		json_t *words = json_array();

		for (size_t i = 0; field->words[i]; i++)
			json_array_append_new(words, json_string(field->words[i]));
		set(knob, "enum", words);
	} else {
		set_number(knob, field);
	}
	return knob;
}

static void add_knobs(json_t *properties)
{
	const struct mr_field *fields = mr_spec_fields();

	for (size_t i = 0; i < MR_FIELD_COUNT_; i++) {
		json_t *section = json_object_get(properties, fields[i].section);

		if (!section) {
			section = json_pack("{s:s, s:b, s:{}}", "type", "object",
					    "additionalProperties", 0, "properties");
			set(properties, fields[i].section, section);
		}
		set(json_object_get(section, "properties"), fields[i].name,
		    knob_schema(&fields[i]));
	}
}

static const char net_lists[] = /* of "net", and no knobs */
	"{\"allow\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}, \"faults\": "
	"{\"type\":"
	" \"array\", \"maxItems\": 32, \"items\": {\"type\": [\"string\", \"object\"], "
	"\"required\":"
	" [\"kind\", \"from_ms\"], \"additionalProperties\": false, \"properties\": {\"kind\": {},"
	" \"from_ms\": {\"type\": \"integer\"}, \"to_ms\": {}, \"hosts\": {}}}}}";

static json_t *preset_schema(void)
{
	const struct mr_field *fields = mr_spec_fields();
	size_t n;
	const struct mr_preset_var *vars = mr_preset_vars(&n);
	json_t *variables = json_object();
	json_t *names = json_array();

	for (size_t i = 0; i < MR_FIELD_COUNT_; i++)
		if (fields[i].preset_alias)
			set(variables, fields[i].preset_alias,
			    json_pack("{s:s}", "description", fields[i].help));
	for (size_t i = 0; i < n; i++)
		set(variables, vars[i].name, json_pack("{s:s}", "description", vars[i].help));
	const struct mr_spec_item *builtins = mr_preset_builtins(&n);

	for (size_t i = 0; i < n; i++)
		json_array_append_new(names, json_string(builtins[i].name));
	return json_pack("{s:[{s:s, s:b, s:o}, {s:o}]}", "anyOf", "type", "object",
			 "additionalProperties", 0, "properties", variables, "enum", names);
}

#define TEXT "{\"anyOf\": [{\"type\": \"string\"}, {\"$ref\": \"#/$defs/bytes\"}]}"

/* What is no UTF-8. */
static const char bytes_schema[] =
	"{\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"base64\"],"
	" \"properties\": {\"base64\": {\"type\": \"string\", \"contentEncoding\": \"base64\"}}}";

/* The members that are not knobs.  Text, because it reads as what it is. */
static const char fixed_members[] =
	"{\"schema\": {\"const\": \"" MR_SPEC_SCHEMA "\"},"
	" \"name\": {\"type\": \"string\", \"maxLength\": 256},"
	" \"program\": {\"type\": \"array\", \"minItems\": 1, \"items\": " TEXT "},"
	" \"snippet\": {\"type\": \"object\", \"additionalProperties\": false,"
	"  \"properties\": {\"path\": " TEXT ","
	"   \"code\": " TEXT ", \"lang\": {\"type\": \"string\"}},"
	"  \"oneOf\": [{\"required\": [\"path\"]}, {\"required\": [\"code\"]}]},"
	" \"args\": {\"type\": \"array\", \"items\": " TEXT "},"
	" \"env\": {\"type\": \"object\", \"additionalProperties\": " TEXT "},"
	" \"env_pass\": {\"type\": \"array\", \"items\": " TEXT "},"
	" \"network_mocks\": {\"type\": \"object\", \"maxProperties\": 256,"
	"  \"additionalProperties\": {\"oneOf\": [{\"type\": \"string\"}, {\"type\": \"object\","
	"   \"additionalProperties\": false, \"properties\": {"
	"    \"status\": {\"type\": \"integer\", \"minimum\": 200, \"maximum\": 599},"
	"    \"headers\": {\"type\": \"object\", \"additionalProperties\": {\"type\": \"string\"}},"
	"    \"type\": {\"type\": \"string\"}, \"body\": " TEXT ", \"file\": " TEXT ","
	"    \"exec\": {\"oneOf\": [{\"type\": \"string\"}, {\"type\": \"array\","
	"     \"minItems\": 1, \"maxItems\": 64, \"items\": " TEXT "}]},"
	"    \"within\": {\"type\": [\"string\", \"integer\"]},"
	"    \"delay\": {\"type\": [\"string\", \"integer\"]},"
	"    \"fail\": {\"type\": [\"string\", \"integer\"]}}}]}},"
	" \"best_effort\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}},"
	" \"policy\": {\"type\": \"object\"},"
	" \"unenforced\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}},"
	" \"mounts\": {\"type\": \"array\", \"items\": {\"type\": \"object\","
	"  \"additionalProperties\": false, \"required\": [\"type\"],"
	"  \"properties\": {\"type\": {\"enum\": [\"ro\", \"rw\", \"tmpfs\", \"hide\"]},"
	"   \"source\": " TEXT ", \"dest\": " TEXT ","
	"   \"size_bytes\": {\"type\": \"integer\", \"minimum\": 0}}}}}";

int mr_docs_put_schema(void)
{
	mr_auto_json json_t *schema = NULL, *lists = NULL;
	json_t *properties = NULL;
	json_t *bytes = NULL;
	struct mr_error err = MR_ERROR_INIT;

	if (mr_json_parse(fixed_members, strlen(fixed_members), "members", &properties, &err) < 0 ||
	    mr_json_parse(bytes_schema, strlen(bytes_schema), "bytes", &bytes, &err) < 0 ||
	    mr_json_parse(net_lists, strlen(net_lists), "net", &lists, &err) < 0) {
		fprintf(stderr, "gen-docs: %s\n", err.msg);
		return 1;
	}
	add_knobs(properties);
	mr_assert(json_object_update(json_object_get(json_object_get(properties, "net"),
						     "properties"),
				     lists) == 0);
	set(properties, "preset", preset_schema());
	schema = json_pack("{s:s, s:s, s:s, s:[s], s:b, s:o, s:{s:o}}", "$schema",
			   "https://json-schema.org/draft/2020-12/schema", "title", MR_SPEC_SCHEMA,
			   "type", "object", "required", "schema", "additionalProperties", 0,
			   "properties", properties, "$defs", "bytes", bytes);
	mr_assert(schema != NULL);
	if (json_dumpf(schema, stdout, JSON_INDENT(2) | JSON_SORT_KEYS) < 0)
		return 1;
	putchar('\n');
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request
 *
 * Each parameter that has to be given gets a stub of its own, which is called what it is called, so that
 * adding a parameter changes the value of no other.
 */
#include "runtime/section/request.h"

#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/section/choose.h"

static json_t *make_argument(const json_t *parameter, const struct mr_input *input)
{
	const bool keyword =
		strcmp(mr_json_text_or_empty(parameter, "kind"), "positional_only") != 0;
	json_t *argument =
		json_pack("{s:O, s:b, s:O}", "name", json_object_get(parameter, "name"), "keyword",
			  keyword, "type", json_object_get(parameter, "stub"));

	if (input->bytes) {
		mr_auto_free char *text = mr_str_base64(input->bytes, input->size);

		json_object_set_new(argument, "base64", json_string(text));
	} else {
		json_object_set(argument, "value", input->value);
	}
	return argument;
}

static int add_argument(const json_t *parameter, const struct mr_input_opts *opts,
			json_t *arguments, json_t *inputs, struct mr_error *err)
{
	mr_cleanup(mr_input_deinit) struct mr_input input = { 0 };
	mr_auto_json json_t *declaration =
		json_pack("{s:O}", "type", json_object_get(parameter, "stub"));
	struct mr_input_opts one = *opts;
	int r;

	one.stub = mr_json_text_or_empty(parameter, "name");
	r = mr_input_make(declaration, &one, &input, err);
	if (r < 0)
		return r;
	json_array_append_new(inputs, mr_input_record(&input, &one));
	if (!input.absent)
		json_array_append_new(arguments, make_argument(parameter, &input));
	return 0;
}

/* first: parameters before it are given by Python itself. */
static int add_arguments(const json_t *section, size_t first, const struct mr_input_opts *opts,
			 json_t *arguments, json_t *inputs, struct mr_error *err)
{
	const json_t *parameters = json_object_get(section, "parameters");
	int r = 0;

	for (size_t i = first; r == 0 && i < json_array_size(parameters); i++) {
		const json_t *parameter = json_array_get(parameters, i);

		if (json_is_true(json_object_get(parameter, "required")))
			r = add_argument(parameter, opts, arguments, inputs, err);
	}
	return r;
}

/* A module has none.  New reference. */
static json_t *decorators_of(const json_t *section)
{
	json_t *decorators = json_object_get(section, "decorators");

	return decorators ? json_incref(decorators) : json_array();
}

int mr_section_request(const json_t *chosen, const struct mr_input_opts *opts, json_t **ret,
		       json_t **ret_inputs, struct mr_error *err)
{
	const json_t *section = json_object_get(chosen, "section");
	const json_t *init = json_object_get(chosen, "construct");
	const char *kind = mr_json_text_or_empty(section, "kind");
	const bool is_method = strcmp(kind, "method") == 0;
	mr_auto_free char *name = mr_str_dup(mr_json_text_or_empty(section, "name"));
	mr_auto_json json_t *arguments = json_array();
	mr_auto_json json_t *construct = json_array();
	mr_auto_json json_t *inputs = json_array();
	struct mr_input_opts all = *opts;
	int r = 0;

	all.step = mr_json_text_or_empty(chosen, "id");
	name[strcspn(name, "#")] = '\0';
	if (strcmp(kind, "class") == 0)
		r = add_arguments(init, 1, &all, arguments, inputs, err);
	else
		r = add_arguments(section, is_method && !mr_section_has_no_self(section), &all,
				  arguments, inputs, err);
	if (r == 0 && is_method && !mr_section_is_static(section))
		r = add_arguments(init, 1, &all, construct, inputs, err);
	if (r < 0)
		return r;
	*ret = json_pack("{s:O, s:s, s:s, s:o, s:O, s:O}", "path", json_object_get(chosen, "path"),
			 "name", name, "kind", kind, "decorators", decorators_of(section),
			 "arguments", arguments, "construct", construct);
	mr_assert(*ret);
	*ret_inputs = json_incref(inputs);
	return 0;
}

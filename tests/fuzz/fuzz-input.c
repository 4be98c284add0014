/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: declarations of stubs, places in texts, replies of plugins, workflows with stubs
 *
 * The first byte chooses the reader, the second a strategy.  Holds: a refusal has a message;
 * the same declaration and seed make the same value; one for an argument has no NUL, is short and UTF-8;
 * of a workflow that was accepted a workflow without stubs is made.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/flow/inputs.h"
#include "runtime/flow/workflow.h"
#include "runtime/stub/input.h"
#include "runtime/stub/place.h"
#include "runtime/stub/plugin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct mr_error *err)
{
	mr_assert(err->msg[0] != '\0');
	for (const char *p = err->msg; *p; p++)
		mr_assert((unsigned char)*p >= 0x20 && *p != 0x7f);
}

static char *make(const json_t *declaration, const struct mr_input_opts *opts, size_t *ret_size)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_input input;
	mr_auto_json json_t *record = NULL;
	char *value;

	if (mr_input_make(declaration, opts, &input, &err) < 0) {
		check_refusal(&err);
		return NULL;
	}
	record = mr_input_record(&input, opts);
	mr_assert(record != NULL);
	value = mr_input_render(&input, false, ret_size);
	mr_input_deinit(&input);
	return value;
}

static void check_values(const json_t *declaration, const struct mr_input_opts *opts)
{
	size_t size = 0, again_size = 0;
	mr_auto_free char *value = make(declaration, opts, &size);
	mr_auto_free char *again = make(declaration, opts, &again_size);

	mr_assert(!value == !again && size == again_size);
	mr_assert(!value || memcmp(value, again, size) == 0);
	if (value && opts->plain)
		mr_assert(strlen(value) == size && mr_str_utf8_valid(value, size));
}

static void read_declaration(const char *text, size_t size, const char *strategy)
{
	struct mr_input_opts opts = { .seed = 3, .step = "s", .stub = "x", .strategy = strategy };
	mr_auto_json json_t *declaration = NULL;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_json root;

	if (mr_json_parse(text, size, "declaration", &declaration, &err) < 0) {
		check_refusal(&err);
		return;
	}
	root = mr_json_root(declaration, "declaration");
	if (mr_input_check_declaration(&root, &err) < 0) {
		check_refusal(&err);
		return;
	}
	for (opts.index = 0; opts.index < 6; opts.index++) {
		opts.plain = opts.index % 2;
		opts.corrupt = opts.index >= 3;
		check_values(declaration, &opts);
	}
}

static const struct mr_input *find(const char *name, size_t n, void *owner)
{
	mr_assert(n >= 1 && n <= MR_INPUT_NAME_MAX && name[0] != '\0');
	return name[0] == 'a' ? owner : NULL;
}

static void read_places(const char *text, size_t size)
{
	struct mr_input input = { .bytes = mr_str_alloc(4), .size = 3 }; /* with a NUL */
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_free char *filled = NULL;
	size_t filled_size = 0;
	bool absent = false;

	memcpy(input.bytes, "v\0w", input.size);
	if (mr_place_fill(text, size, find, &input, &filled, &filled_size, &absent, &err) < 0)
		check_refusal(&err);
	else
		mr_assert(filled[filled_size] == '\0' && !absent);
	mr_input_deinit(&input);
}

static void read_reply(const char *text, size_t size)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_json json_t *value = NULL;

	if (mr_input_parse_reply(text, size, &value, &err) < 0)
		check_refusal(&err);
	else
		mr_assert(value != NULL);
}

static void read_flow(const char *text, size_t size, const char *strategy)
{
	struct mr_flow_inputs_opts opts = { .input = { .seed = 1, .strategy = strategy } };
	mr_auto_json json_t *document = NULL;
	mr_auto_json json_t *made = NULL;
	mr_auto_flow struct mr_flow *flow = NULL;
	struct mr_error err = MR_ERROR_INIT;
	size_t n = 0;
	int r = mr_json_parse(text, size, "flow", &document, &err);

	if (r == 0)
		r = mr_flow_parse(document, "/", "flow", &flow, &err);
	if (r == 0)
		r = mr_flow_make_inputs(flow->document, &opts, &made, &n, &err);
	if (r < 0) { /* keys of the document may be in it as they are */
		mr_assert(err.msg[0] != '\0');
		return;
	}
	mr_assert(!mr_flow_takes_inputs(made));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 2;
	const char *strategy;

	if (size < 2)
		return 0;
	size -= 2;
	strategy = mr_input_rows()[data[1] % MR_INPUT_STRATEGIES].name;
	switch (data[0] % 4) {
	case 0:
		read_declaration(text, size, strategy);
		break;
	case 1:
		read_places(text, size);
		break;
	case 2:
		read_reply(text, size);
		break;
	default:
		read_flow(text, size, strategy);
	}
	return 0;
}

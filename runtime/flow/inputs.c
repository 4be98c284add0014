/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs
 *
 * The document is walked twice: to see which step takes which stub and whether it has to go through an
 * argument or a variable, and to put the values in.  What all steps have in common is a step without
 * a name.
 */
#include "runtime/flow/inputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/flow/workflow.h"
#include "runtime/spec/bytes.h"
#include "runtime/stub/place.h"

struct use {
	char *step, *stub;
	bool plain;
	struct mr_input input;
	bool made;
};

struct walk {
	const json_t *stubs; /* declarations */
	const char *step;
	struct use *uses;
	size_t n, cap;
	bool filling;
};

static void free_walk(struct walk *w)
{
	for (size_t i = 0; i < w->n; i++) {
		free(w->uses[i].step);
		free(w->uses[i].stub);
		mr_input_deinit(&w->uses[i].input);
	}
	free(w->uses);
}

static struct use *find_use(const struct walk *w, const char *stub, size_t n)
{
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(w->uses[i].step, w->step) == 0 && strlen(w->uses[i].stub) == n &&
		    memcmp(w->uses[i].stub, stub, n) == 0)
			return &w->uses[i];
	return NULL;
}

/* --- seeing ---------------------------------------------------------------- */

static int note(struct walk *w, const char *stub, size_t n, bool plain, struct mr_error *err)
{
	mr_auto_free char *name = mr_str_ndup(stub, n);
	struct use *use = find_use(w, stub, n);
	struct mr_str_nearest nearest;
	const char *known;
	json_t *value;

	if (!json_object_get(w->stubs, name)) {
		mr_str_nearest_init(&nearest, name);
		json_object_foreach ((json_t *)(uintptr_t)w->stubs, known, value)
			mr_str_nearest_offer(&nearest, known);
		if (nearest.best)
			return mr_err(err, MR_E_USAGE, ENOENT,
				      "stub \"%s\" is not declared in stubs; did you mean \"%s\"?",
				      name, nearest.best);
		return mr_err(err, MR_E_USAGE, ENOENT, "stub \"%s\" is not declared in stubs",
			      name);
	}
	if (!use) {
		w->uses = mr_str_grow(w->uses, w->n, &w->cap, sizeof(*w->uses));
		use = &w->uses[w->n++];
		*use = (struct use){ .step = mr_str_dup(w->step), .stub = mr_take_ptr(name) };
	}
	use->plain = use->plain || plain;
	return 0;
}

static int note_plain(const char *name, size_t n, void *owner, struct mr_error *err)
{
	return note(owner, name, n, true, err);
}

static int note_bytes(const char *name, size_t n, void *owner, struct mr_error *err)
{
	return note(owner, name, n, false, err);
}

/* --- putting in ------------------------------------------------------------ */

static const struct mr_input *find_input(const char *name, size_t n, void *owner)
{
	const struct use *use = find_use(owner, name, n);

	return use && use->made ? &use->input : NULL;
}

/* A place: its new value in *ret (NULL: it stays), *ret_absent: it goes. */
static int fill(struct walk *w, const json_t *value, bool plain, json_t **ret, bool *ret_absent,
		struct mr_error *err)
{
	const char *stub = json_string_value(json_object_get(value, "stub"));
	const struct mr_input *input = stub ? find_input(stub, strlen(stub), w) : NULL;
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r = 0;

	if (input) {
		text = mr_input_render(input, true, &size);
		*ret = mr_spec_bytes_json(text, size);
		return 0;
	}
	if (!json_is_string(value) || !strstr(json_string_value(value), "{{stub:"))
		return 0;
	r = mr_place_fill(json_string_value(value), json_string_length(value), find_input, w, &text,
			  &size, ret_absent, err);
	if (r < 0)
		return r;
	if (plain && (strlen(text) != size || !mr_str_utf8_valid(text, size) ||
		      size >= 4 * MR_INPUT_PLAIN_MAX))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "a value does not go into an argument or a variable");
	*ret = plain ? json_stringn(text, size) : mr_spec_bytes_json(text, size);
	return 0;
}

/* --- walking --------------------------------------------------------------- */

static int look(struct walk *w, const json_t *value, bool plain, json_t **ret, bool *ret_absent,
		struct mr_error *err)
{
	const char *stub = json_string_value(json_object_get(value, "stub"));

	*ret = NULL;
	*ret_absent = false;
	if (w->filling)
		return fill(w, value, plain, ret, ret_absent, err);
	if (stub && plain)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "{\"stub\": \"%.64s\"} is a content; here {{stub:%.64s}} is its "
			      "place",
			      stub, stub);
	if (stub)
		return note(w, stub, strlen(stub), false, err);
	if (!json_is_string(value))
		return 0;
	return mr_place_each(json_string_value(value), json_string_length(value),
			     plain ? note_plain : note_bytes, w, err);
}

static int walk_object(struct walk *w, json_t *object, bool plain, struct mr_error *err)
{
	const char *key;
	json_t *value, *filled;
	void *next;
	bool absent;
	int r;

	json_object_foreach_safe(object, next, key, value)
	{
		r = look(w, value, plain, &filled, &absent, err);
		if (r < 0)
			return mr_err_wrap(err, r, "%.64s", key);
		if (absent && plain)
			json_object_del(object, key);
		else if (filled)
			json_object_set(object, key, filled);
		json_decref(filled);
	}
	return 0;
}

static int walk_array(struct walk *w, json_t *array, struct mr_error *err)
{
	json_t *filled;
	bool absent;
	int r;

	for (size_t i = 0; i < json_array_size(array); i++) {
		r = look(w, json_array_get(array, i), true, &filled, &absent, err);
		if (r < 0)
			return r;
		if (absent)
			json_array_remove(array, i--);
		else if (filled)
			json_array_set(array, i, filled);
		json_decref(filled);
	}
	return 0;
}

static int walk_members(struct walk *w, json_t *object, struct mr_error *err)
{
	static const struct {
		const char *name;
		bool plain;
	} members[] = { { "program", true },	{ "args", true },   { "env", true },
			{ "test_data", false }, { "files", false }, { "fs_mocks", false } };
	json_t *filled = NULL;
	bool absent;
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(members); i++) {
		json_t *member = json_object_get(object, members[i].name);

		r = json_is_array(member) ? walk_array(w, member, err)
					  : walk_object(w, member, members[i].plain, err);
		if (r < 0)
			return mr_err_wrap(err, r, "%s", members[i].name);
	}
	r = look(w, json_object_get(object, "stdin"), false, &filled, &absent, err);
	if (r == 0 && filled)
		json_object_set(object, "stdin", filled);
	json_decref(filled);
	return r < 0 ? mr_err_wrap(err, r, "stdin") : 0;
}

static int walk_document(struct walk *w, json_t *document, struct mr_error *err)
{
	const json_t *steps = json_object_get(document, "steps");
	int r;

	w->step = "";
	r = walk_members(w, document, err);
	for (size_t i = 0; r == 0 && i < json_array_size(steps); i++) {
		json_t *step = json_array_get(steps, i);
		char name[MR_INPUT_NAME_MAX + 1];

		mr_flow_step_name(step, i, name);
		w->step = name;
		r = walk_members(w, step, err);
		if (r < 0)
			mr_err_wrap(err, r, "step \"%s\"", name);
	}
	return r;
}

/* --- checking -------------------------------------------------------------- */

static int check_declarations(const struct mr_json *stubs, struct mr_error *err)
{
	const char *name;
	json_t *value;
	int r = mr_json_want_object(stubs, err);

	if (r < 0)
		return r;
	json_object_foreach (stubs->value, name, value) {
		struct mr_json one = {
			.value = value, .parent = stubs, .key = name, .source = stubs->source
		};

		if (!name[0] || strlen(name) > MR_INPUT_NAME_MAX ||
		    strspn(name, MR_INPUT_NAME_BYTES) != strlen(name))
			return mr_json_err(&one, err,
					   "the name of a stub is 1 to %d letters, digits, \"_\", "
					   "\".\" and \"-\"",
					   MR_INPUT_NAME_MAX);
		r = mr_input_check_declaration(&one, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_used(const struct walk *w, const char *stub)
{
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(w->uses[i].stub, stub) == 0)
			return true;
	return false;
}

int mr_flow_check_inputs(const struct mr_json *document, struct mr_error *err)
{
	mr_cleanup(free_walk) struct walk w = { 0 };
	struct mr_json stubs;
	const char *name;
	json_t *value;
	int r = 0;

	if (json_object_get(document->value, "inputs"))
		return 0; /* they have their values; what looks like a place is one of these */
	if (mr_json_member(document, "stubs", &stubs)) {
		r = check_declarations(&stubs, err);
		w.stubs = stubs.value;
	}
	if (r < 0)
		return r;
	r = walk_document(&w, document->value, err);
	if (r < 0)
		return mr_json_wrap(document, r, err);
	json_object_foreach ((json_t *)(uintptr_t)w.stubs, name, value)
		if (!is_used(&w, name))
			return mr_json_err(&stubs, err,
					   "stub \"%s\" is not used: {{stub:%s}} in a text, or the "
					   "content {\"stub\": \"%s\"}, is where it goes",
					   name, name, name);
	return 0;
}

bool mr_flow_takes_inputs(const json_t *document)
{
	return json_object_size(json_object_get(document, "stubs")) > 0;
}

static int declare(const char *name, size_t n, void *owner, struct mr_error *err)
{
	mr_auto_free char *stub = mr_str_ndup(name, n);

	(void)err;
	json_object_set_new(owner, stub, json_pack("{s:s}", "type", "str"));
	return 0;
}

int mr_flow_declare_words(json_t *document, char *const *argv, struct mr_error *err)
{
	mr_auto_json json_t *stubs = json_object();
	int r = 0;

	for (size_t i = 0; r == 0 && argv[i]; i++)
		r = mr_place_each(argv[i], strlen(argv[i]), declare, stubs, err);
	if (r == 0 && json_object_size(stubs) > 0)
		json_object_set(document, "stubs", stubs);
	return r;
}

/* --- making ---------------------------------------------------------------- */

static json_t *history_of(const json_t *history, const char *stub)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < json_array_size(history); i++) {
		json_t *row = json_array_get(history, i);

		if (strcmp(mr_json_text_or_empty(row, "stub"), stub) == 0)
			json_array_append(rows, row);
	}
	return rows;
}

static int make_all(struct walk *w, const struct mr_flow_inputs_opts *opts, json_t *records,
		    struct mr_error *err)
{
	struct mr_input_opts input = opts->input;
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->n; i++) {
		struct use *use = &w->uses[i];
		mr_auto_json json_t *history = history_of(opts->history, use->stub);

		input.step = use->step;
		input.stub = use->stub;
		input.plain = use->plain;
		input.history = history;
		r = mr_input_make(json_object_get(w->stubs, use->stub), &input, &use->input, err);
		if (r < 0)
			return r;
		use->made = true;
		json_array_append_new(records, mr_input_record(&use->input, &input));
	}
	return r;
}

static json_t *object_in(json_t *document, const char *name)
{
	json_t *object = json_object_get(document, name);

	if (!object) {
		object = json_object();
		json_object_set_new(document, name, object);
	}
	return object;
}

static int add_edge_cases(json_t *document, bool answers, size_t *ret_n, struct mr_error *err)
{
	mr_auto_json json_t *aside = json_object();
	json_t *files = object_in(document, "test_data");
	const char *mode = mr_json_text_or_empty(json_object_get(document, "net"), "mode");
	const size_t before = json_object_size(files);
	int r;

	answers = answers || strcmp(mode, "stub") == 0 ||
		  json_object_size(json_object_get(document, "network_mocks")) > 0;
	r = mr_flow_add_edge_cases(files, answers ? object_in(document, "network_mocks") : aside,
				   err);
	*ret_n = json_object_size(files) - before;
	return r;
}

int mr_flow_make_inputs(const json_t *document, const struct mr_flow_inputs_opts *opts,
			json_t **ret, size_t *ret_edge_cases, struct mr_error *err)
{
	mr_auto_json json_t *made = json_deep_copy(document);
	mr_auto_json json_t *records = json_array();
	mr_cleanup(free_walk) struct walk w = { .stubs = json_object_get(document, "stubs") };
	int r = 0;

	*ret_edge_cases = 0;
	if (mr_flow_takes_inputs(document)) {
		r = walk_document(&w, made, err);
		if (r == 0)
			r = make_all(&w, opts, records, err);
		w.filling = true;
		if (r == 0)
			r = walk_document(&w, made, err);
		json_object_del(made, "stubs");
		json_object_set(made, "inputs", records);
	}
	if (r == 0 && opts->edge_cases)
		r = add_edge_cases(made, opts->answers, ret_edge_cases, err);
	if (r == 0)
		*ret = json_incref(made);
	return r;
}

json_t *mr_flow_inputs_of(const json_t *document, const char *step)
{
	const json_t *records = json_object_get(document, "inputs");
	json_t *own = json_array();

	for (size_t i = 0; i < json_array_size(records); i++) {
		json_t *record = json_array_get(records, i);
		const char *of = mr_json_text_or_empty(record, "step");

		if (!of[0] || strcmp(of, step) == 0)
			json_array_append(own, record);
	}
	return own;
}

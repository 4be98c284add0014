/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inputs
 *
 * The document is walked twice: to see which step takes which stub and whether it has to go through an
 * argument or a variable, and to put the values in.  What all steps have in common is a step without
 * a name.  Uses stand in the order of steps, so what a step takes is found among its own.
 */
#include "runtime/flow/inputs.h"

#include <errno.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/secret.h"
#include "runtime/base/str.h"
#include "runtime/flow/workflow.h"
#include "runtime/spec/bytes.h"
#include "runtime/stub/place.h"

#define VALUES_MAX 10000
#define WORD_MAX 131072 /* of execve(2), with its NUL */

struct use {
	size_t at; /* 0: of all steps; else the place of the step, from 1 */
	char *step, *stub;
	bool plain, secret; /* somewhere it goes into a word; somewhere that is named as a secret */
	struct mr_input input;
	bool made;
};

struct walk {
	const json_t *stubs; /* declarations */
	const char *step;
	size_t at, first; /* of this step; the first use of it */
	struct use *uses;
	size_t n, cap;
	bool secret; /* where it goes has the name of a secret */
	bool filling;
	size_t filled; /* bytes of all texts so far */
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
	for (size_t i = w->first; i < w->n && w->uses[i].at == w->at; i++)
		if (strlen(w->uses[i].stub) == n && memcmp(w->uses[i].stub, stub, n) == 0)
			return &w->uses[i];
	return NULL;
}

static void enter(struct walk *w, size_t at, const char *step)
{
	w->at = at;
	w->step = step;
	if (at == 0)
		w->first = 0;
	while (w->first < w->n && w->uses[w->first].at < at)
		w->first++;
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
	if (!use && w->n == VALUES_MAX)
		return mr_err(err, MR_E_USAGE, E2BIG,
			      "stub \"%s\" is value %zu of this workflow, one for each stub in "
			      "each "
			      "step; at most %d are accepted",
			      name, w->n + 1, VALUES_MAX);
	if (!use) {
		w->uses = mr_str_grow(w->uses, w->n, &w->cap, sizeof(*w->uses));
		use = &w->uses[w->n++];
		*use = (struct use){ .at = w->at,
				     .step = mr_str_dup(w->step),
				     .stub = mr_take_ptr(name) };
	}
	use->plain = use->plain || plain;
	use->secret = use->secret || w->secret;
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

/* All texts together are as much as files of a workflow may be. */
static int count_filled(struct walk *w, size_t size, struct mr_error *err)
{
	w->filled += size;
	if (w->filled > MR_FLOW_FILES_MAX)
		return mr_err(err, MR_E_USAGE, E2BIG,
			      "with this one, of %zu bytes, the texts with values of stubs have "
			      "%zu "
			      "bytes; at most %u are accepted",
			      size, w->filled, MR_FLOW_FILES_MAX);
	return 0;
}

static int fill_text(struct walk *w, const json_t *value, bool plain, json_t **ret,
		     bool *ret_absent, struct mr_error *err)
{
	mr_auto_free char *text = NULL;
	size_t size = 0;
	int r = mr_place_fill(json_string_value(value), json_string_length(value), find_input, w,
			      &text, &size, ret_absent, err);

	if (r == 0)
		r = count_filled(w, size, err);
	if (r < 0)
		return r;
	if (plain && size >= WORD_MAX)
		return mr_err(err, MR_E_USAGE, E2BIG,
			      "with the values of its stubs the text has %zu bytes; an argument or "
			      "a variable has less than %d",
			      size, WORD_MAX);
	if (plain && (memchr(text, '\0', size) || !mr_str_utf8_valid(text, size)))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "with the values of its stubs the text of %zu bytes %s, and goes "
			      "into "
			      "no argument or variable",
			      size, memchr(text, '\0', size) ? "has a NUL byte" : "is not UTF-8");
	*ret = plain ? json_stringn(text, size) : mr_spec_bytes_json(text, size);
	return 0;
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
		r = count_filled(w, size, err);
		if (r == 0)
			*ret = mr_spec_bytes_json(text, size);
		return r < 0 ? mr_err_wrap(err, r, "stub \"%s\"", stub) : 0;
	}
	if (json_is_string(value) &&
	    mr_place_is_in(json_string_value(value), json_string_length(value)))
		r = fill_text(w, value, plain, ret, ret_absent, err);
	return r;
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
		w->secret = mr_secret_is_name(key);
		r = look(w, value, plain, &filled, &absent, err);
		if (r < 0)
			return mr_err_wrap(err, r, "%.64s", key);
		if (absent && plain)
			json_object_del(object, key);
		else if (filled)
			json_object_set(object, key, filled);
		json_decref(filled);
	}
	w->secret = false;
	return 0;
}

/* "--password={{stub:x}}", or "--password" and then it. */
static bool word_is_secret(const json_t *word, const json_t *before)
{
	const char *text = json_string_value(word), *option = json_string_value(before);
	const size_t n = text ? strcspn(text, "=:{") : 0;
	mr_auto_free char *name = mr_str_ndup(text ? text : "", n);

	if (n > 0 && text[n] != '{' && mr_secret_is_name(name))
		return true;
	return option && option[0] == '-' && !strpbrk(option, "=:{") && mr_secret_is_name(option);
}

static int walk_array(struct walk *w, json_t *array, struct mr_error *err)
{
	const size_t n = json_array_size(array);
	size_t kept = 0;
	json_t *filled;
	bool absent;
	int r;

	for (size_t i = 0; i < n; i++) {
		w->secret = word_is_secret(json_array_get(array, kept),
					   kept > 0 ? json_array_get(array, kept - 1) : NULL);
		r = look(w, json_array_get(array, kept), true, &filled, &absent, err);
		if (r < 0)
			return mr_err_wrap(err, r, "word %zu", i + 1);
		if (absent)
			json_array_remove(array, kept);
		else if (filled)
			json_array_set(array, kept, filled);
		kept += !absent;
		json_decref(filled);
	}
	w->secret = false;
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

	enter(w, 0, "");
	r = walk_members(w, document, err);
	for (size_t i = 0; r == 0 && i < json_array_size(steps); i++) {
		json_t *step = json_array_get(steps, i);
		char name[MR_INPUT_NAME_MAX + 1];

		mr_flow_step_name(step, i, name);
		enter(w, i + 1, name);
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
	if (json_object_size(stubs->value) > MR_FLOW_STUBS_MAX)
		return mr_json_err(stubs, err, "%zu stubs are declared; at most %d are accepted",
				   json_object_size(stubs->value), MR_FLOW_STUBS_MAX);
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

static void add_secrets(json_t *secrets, const json_t *env)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)env, name, value)
		if (json_string_length(value) >= MR_INPUT_SECRET_MIN &&
		    !mr_place_is_in(json_string_value(value), json_string_length(value)))
			json_array_append(secrets, value);
}

json_t *mr_flow_secrets(const json_t *document)
{
	const json_t *steps = json_object_get(document, "steps");
	json_t *secrets = json_array();

	add_secrets(secrets, json_object_get(document, "env"));
	for (size_t i = 0; i < json_array_size(steps); i++)
		add_secrets(secrets, json_object_get(json_array_get(steps, i), "env"));
	return secrets;
}

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

static int make_all(struct walk *w, const json_t *document, const struct mr_flow_inputs_opts *opts,
		    json_t *records, struct mr_error *err)
{
	mr_auto_json json_t *secrets = mr_flow_secrets(document);
	struct mr_input_opts input = opts->input;
	int r = 0;

	input.secrets = secrets;

	for (size_t i = 0; r == 0 && i < w->n; i++) {
		struct use *use = &w->uses[i];
		mr_auto_json json_t *history = history_of(opts->history, use->stub);

		input.step = use->step;
		input.stub = use->stub;
		input.plain = use->plain;
		input.secret = use->secret;
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
			r = make_all(&w, document, opts, records, err);
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

static bool is_of(const json_t *record, const char *step)
{
	const char *of = mr_json_text_or_empty(record, "step");

	return !of[0] || strcmp(of, step) == 0;
}

json_t *mr_flow_inputs_of(const json_t *document, const char *step)
{
	const json_t *records = json_object_get(document, "inputs");
	json_t *own = json_array();

	for (size_t i = 0; i < json_array_size(records); i++)
		if (is_of(json_array_get(records, i), step))
			json_array_append(own, json_array_get(records, i));
	return own;
}

/* A record without what another row has of it. */
static json_t *refer(const json_t *record)
{
	static const char *const names[] = { "stub",  "step",  "strategy", "seed",
					     "index", "class", "id" };
	json_t *reference = json_object();

	for (size_t i = 0; i < N_ELEMENTS(names); i++)
		json_object_set(reference, names[i], json_object_get(record, names[i]));
	json_object_set_new(reference, "again", json_true());
	return reference;
}

json_t *mr_flow_inputs_told(const json_t *document, const char *step, bool first)
{
	const json_t *records = json_object_get(document, "inputs");
	json_t *told = json_array();

	for (size_t i = 0; i < json_array_size(records); i++) {
		json_t *record = json_array_get(records, i);
		const bool shared = !mr_json_text_or_empty(record, "step")[0];

		if (step && !is_of(record, step))
			continue;
		if (!step || (shared && !first))
			json_array_append_new(told, refer(record));
		else
			json_array_append(told, record);
	}
	return told;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choose
 *
 * Whoever names a section wants that one or wants to know why not; a pattern, or all, takes what can be
 * called.
 */
#include "runtime/section/choose.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/section/scan.h"

struct choosing {
	const struct mr_section_choice *choice;
	bool *met; /* by name */
	json_t *inits; /* of the file at hand: by class, its live __init__, borrowed from the scan */
	json_t *chosen, *passed_by;
};

static bool is_kind(const json_t *section, const char *kind)
{
	return strcmp(mr_json_text_or_empty(section, "kind"), kind) == 0;
}

/* The first parameter that has to be given and that no stub is made for; NULL: there is none. */
static const char *find_unmade(const json_t *section)
{
	const json_t *parameters = json_object_get(section, "parameters");

	for (size_t i = 0; i < json_array_size(parameters); i++) {
		const json_t *p = json_array_get(parameters, i);

		if (json_is_true(json_object_get(p, "required")) &&
		    !json_is_string(json_object_get(p, "stub")))
			return mr_json_text_or_empty(p, "name");
	}
	return NULL;
}

/* The class of a method, before "#" of a definition that is not the first; NULL: none. */
static char *class_of(const json_t *section)
{
	const char *name = mr_json_text_or_empty(section, "name");
	const size_t n = strcspn(name, "#");
	size_t dot = n;

	if (is_kind(section, "class"))
		return mr_str_ndup(name, n);
	while (dot > 0 && name[dot - 1] != '.')
		dot--;
	return is_kind(section, "method") && dot > 0 ? mr_str_ndup(name, dot - 1) : NULL;
}

static bool is_init(const json_t *section)
{
	const char *name = mr_json_text_or_empty(section, "name");
	const size_t n = strcspn(name, "#");
	static const char init[] = ".__init__";

	return is_kind(section, "method") && n > strlen(init) &&
	       strncmp(name + n - strlen(init), init, strlen(init)) == 0 &&
	       !json_is_true(json_object_get(section, "shadowed"));
}

static void find_inits(struct choosing *c, const json_t *sections)
{
	json_object_clear(c->inits);
	for (size_t i = 0; i < json_array_size(sections); i++) {
		json_t *section = json_array_get(sections, i);
		mr_auto_free char *class = is_init(section) ? class_of(section) : NULL;

		if (class)
			json_object_set(c->inits, class, section);
	}
}

/* The live __init__ of what it is or belongs to, borrowed or NULL. */
static json_t *init_of(const struct choosing *c, const json_t *section)
{
	mr_auto_free char *class = class_of(section);

	return class ? json_object_get(c->inits, class) : NULL;
}

/* Has it this decorator? */
static bool has_decorator(const json_t *section, const char *name)
{
	const json_t *decorators = json_object_get(section, "decorators");

	for (size_t i = 0; i < json_array_size(decorators); i++) {
		const char *its = json_string_value(json_array_get(decorators, i));

		if (its && strcmp(its, name) == 0)
			return true;
	}
	return false;
}

bool mr_section_is_static(const json_t *section)
{
	return mr_section_has_no_self(section) || has_decorator(section, "classmethod");
}

bool mr_section_has_no_self(const json_t *section)
{
	return has_decorator(section, "staticmethod");
}

/* Why it cannot be called, malloc'd; NULL: it can. */
static char *why_not(const json_t *section, const json_t *init)
{
	const char *unmade = find_unmade(section);

	if (is_kind(section, "nested"))
		return mr_str_dup("it is within a function: only that one can call it");
	if (json_is_true(json_object_get(section, "shadowed")))
		return mr_str_dup("another definition of the same name takes its place");
	if (unmade)
		return mr_str_format("no stub is made for its parameter %s", unmade);
	unmade = init && !mr_section_is_static(section) ? find_unmade(init) : NULL;
	if (unmade)
		return mr_str_format("no stub is made for the parameter %s of its class", unmade);
	return NULL;
}

/* Of those that nobody named. */
static bool is_ordinary(const json_t *section)
{
	const char *name = mr_json_text_or_empty(section, "name");
	const char *dot = strrchr(name, '.');

	return (is_kind(section, "function") || is_kind(section, "method")) &&
	       !mr_str_starts_with(dot ? dot + 1 : name, "__");
}

/* 2: by its name, 1: by a pattern or as one of all, 0: not. */
static int is_wanted(struct choosing *c, const char *id, const json_t *section)
{
	char **names = c->choice->names;
	int wanted = 0;

	for (size_t i = 0; names[i]; i++) {
		if (strcmp(names[i], id) == 0) {
			c->met[i] = true;
			wanted = 2;
		}
	}
	if (wanted > 0)
		return wanted;
	for (size_t i = 0; i < c->choice->n_match; i++)
		if (fnmatch(c->choice->match[i], id, 0) == 0)
			return 1;
	return !names[0] && c->choice->n_match == 0 && is_ordinary(section);
}

static int take_section(struct choosing *c, const json_t *file, json_t *section,
			struct mr_error *err)
{
	const json_t *sections = json_object_get(file, "sections");
	const char *path = mr_json_text_or_empty(file, "path");
	mr_auto_free char *id = mr_section_id(path, mr_json_text_or_empty(section, "name"));
	mr_auto_free char *why = NULL;
	const int wanted = is_wanted(c, id, section);
	json_t *init;

	if (wanted == 0)
		return 0;
	init = init_of(c, section);
	why = why_not(section, init);
	if (why && wanted == 2)
		return mr_err(err, MR_E_USAGE, EINVAL, "section %.200s cannot be run: %s", id, why);
	if (why) {
		json_array_append_new(c->passed_by,
				      json_pack("{s:s, s:s}", "section", id, "why", why));
		return 0;
	}
	json_array_append_new(c->chosen, json_pack("{s:s, s:s, s:O, s:O, s:O?}", "id", id, "path",
						   path, "section", section, "module",
						   json_array_get(sections, 0), "construct", init));
	return 0;
}

/* --- refusals --------------------------------------------------------------- */

typedef void section_fn(const char *id, void *owner);

static void for_each_id(const json_t *scan, section_fn *fn, void *owner)
{
	const json_t *files = json_object_get(scan, "files");

	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *file = json_array_get(files, i);
		const json_t *sections = json_object_get(file, "sections");

		for (size_t k = 0; k < json_array_size(sections); k++) {
			mr_auto_free char *id =
				mr_section_id(mr_json_text_or_empty(file, "path"),
					      mr_json_text_or_empty(json_array_get(sections, k),
								    "name"));

			fn(id, owner);
		}
	}
}

struct near {
	struct mr_str_nearest nearest;
	char *best; /* a copy of what it points to */
};

static void offer(const char *id, void *owner)
{
	struct near *near = owner;
	const char *before = near->nearest.best;

	mr_str_nearest_offer(&near->nearest, id);
	if (near->nearest.best == before)
		return;
	free(near->best);
	near->nearest.best = near->best = mr_str_dup(id);
}

static int refuse_name(const json_t *scan, const char *name, struct mr_error *err)
{
	struct near near = { 0 };
	char quoted[MR_STR_QUOTE_SIZE];
	int r;

	mr_str_nearest_init(&near.nearest, name);
	for_each_id(scan, offer, &near);
	mr_str_quote(quoted, sizeof(quoted), name);
	if (near.best)
		r = mr_err(err, MR_E_USAGE, ENOENT, "there is no section %s; did you mean %.200s?",
			   quoted, near.best);
	else
		r = mr_err(err, MR_E_USAGE, ENOENT,
			   "there is no section %s; menace sections scan %.200s lists them", quoted,
			   mr_json_text_or_empty(scan, "folder"));
	free(near.best);
	return r;
}

/* Nothing is left to run: were some meant, or none at all? */
static int refuse_none(const struct choosing *c, const json_t *scan, struct mr_error *err)
{
	const json_t *first = json_array_get(c->passed_by, 0);
	const char *folder = mr_json_text_or_empty(scan, "folder");
	char quoted[MR_STR_QUOTE_SIZE];

	if (first)
		return mr_err(err, MR_E_USAGE, ENOENT,
			      "none of the %zu sections that are meant can be run; the first is "
			      "%.200s: %.200s",
			      json_array_size(c->passed_by),
			      mr_json_text_or_empty(first, "section"),
			      mr_json_text_or_empty(first, "why"));
	if (c->choice->n_match > 0)
		return mr_err(err, MR_E_USAGE, ENOENT,
			      "no section matches %s%s; menace sections scan %.200s lists them",
			      mr_str_quote(quoted, sizeof(quoted), c->choice->match[0]),
			      c->choice->n_match > 1 ? " or another pattern" : "", folder);
	return mr_err(err, MR_E_USAGE, ENOENT,
		      "no function or method is found in the Python files of %.200s; menace "
		      "sections scan lists what is",
		      folder);
}

static int refuse_unmet(const struct choosing *c, const json_t *scan, struct mr_error *err)
{
	const size_t n = json_array_size(c->chosen);

	for (size_t i = 0; c->choice->names[i]; i++)
		if (!c->met[i])
			return refuse_name(scan, c->choice->names[i], err);
	if (n > MR_SECTION_RUNS_MAX)
		return mr_err(err, MR_E_USAGE, E2BIG,
			      "%zu sections are chosen, over %d; choose fewer with --match or by "
			      "their names",
			      n, MR_SECTION_RUNS_MAX);
	return n > 0 ? 0 : refuse_none(c, scan, err);
}

/* --- all of them ------------------------------------------------------------ */

static int take_all(struct choosing *c, const json_t *scan, struct mr_error *err)
{
	const json_t *files = json_object_get(scan, "files");
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(files); i++) {
		const json_t *file = json_array_get(files, i);
		const json_t *sections = json_object_get(file, "sections");

		find_inits(c, sections);
		for (size_t k = 0; r == 0 && k < json_array_size(sections); k++)
			r = take_section(c, file, json_array_get(sections, k), err);
	}
	return r < 0 ? r : refuse_unmet(c, scan, err);
}

int mr_section_choose(const json_t *scan, const struct mr_section_choice *choice, json_t **ret,
		      json_t **ret_passed_by, struct mr_error *err)
{
	struct choosing c = { .choice = choice,
			      .inits = json_object(),
			      .chosen = json_array(),
			      .passed_by = json_array() };
	size_t n = 0;
	int r;

	while (choice->names[n])
		n++;
	c.met = mr_str_alloc((n + 1) * sizeof(*c.met));
	r = take_all(&c, scan, err);
	if (r == 0) {
		*ret = json_incref(c.chosen);
		*ret_passed_by = json_incref(c.passed_by);
	}
	json_decref(c.inits);
	json_decref(c.chosen);
	json_decref(c.passed_by);
	free(c.met);
	return r;
}

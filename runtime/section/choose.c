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
	struct mr_str_nearest *nearest; /* by name */
	json_t *ids; /* that nearest borrows from */
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

/* The live __init__ of a class, borrowed or NULL. */
static json_t *find_init(const json_t *sections, const char *class, size_t n)
{
	mr_auto_free char *name = mr_str_format("%.*s.__init__", (int)n, class);
	size_t i;
	json_t *section;

	json_array_foreach (sections, i, section) {
		const char *its = mr_json_text_or_empty(section, "name");

		if (strncmp(its, name, strlen(name)) == 0 && strcspn(its, "#") == strlen(name) &&
		    !json_is_true(json_object_get(section, "shadowed")))
			return section;
	}
	return NULL;
}

static json_t *init_of(const json_t *sections, const json_t *section)
{
	const char *name = mr_json_text_or_empty(section, "name");
	const char *dot = strrchr(name, '.');

	if (is_kind(section, "class"))
		return find_init(sections, name, strcspn(name, "#"));
	return is_kind(section, "method") && dot ? find_init(sections, name, (size_t)(dot - name))
						 : NULL;
}

bool mr_section_is_static(const json_t *section)
{
	const json_t *decorators = json_object_get(section, "decorators");

	for (size_t i = 0; i < json_array_size(decorators); i++) {
		const char *name = json_string_value(json_array_get(decorators, i));

		if (strcmp(name, "staticmethod") == 0 || strcmp(name, "classmethod") == 0)
			return true;
	}
	return false;
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
		mr_str_nearest_offer(&c->nearest[i], id);
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
	json_t *kept = json_string(id), *init;
	int wanted;

	json_array_append_new(c->ids, kept);
	wanted = is_wanted(c, json_string_value(kept), section);
	if (wanted == 0)
		return 0;
	init = init_of(sections, section);
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

static int refuse_unmet(const struct choosing *c, const json_t *scan, struct mr_error *err)
{
	char **names = c->choice->names;
	char quoted[MR_STR_QUOTE_SIZE];

	for (size_t i = 0; names[i]; i++) {
		const char *best = c->nearest[i].best;

		if (c->met[i])
			continue;
		mr_str_quote(quoted, sizeof(quoted), names[i]);
		if (best)
			return mr_err(err, MR_E_USAGE, ENOENT,
				      "there is no section %s; did you mean %.200s?", quoted, best);
		return mr_err(err, MR_E_USAGE, ENOENT,
			      "there is no section %s; menace sections scan %.200s lists them",
			      quoted, mr_json_text_or_empty(scan, "folder"));
	}
	if (json_array_size(c->chosen) > 0)
		return 0;
	return mr_err(err, MR_E_USAGE, ENOENT,
		      c->choice->n_match > 0 ? "no section that can be called matches"
					     : "there is no function that can be called with "
					       "stubs; name a section");
}

static int take_all(struct choosing *c, const json_t *scan, struct mr_error *err)
{
	const json_t *files = json_object_get(scan, "files");
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(files); i++) {
		const json_t *file = json_array_get(files, i);
		const json_t *sections = json_object_get(file, "sections");

		for (size_t k = 0; r == 0 && k < json_array_size(sections); k++)
			r = take_section(c, file, json_array_get(sections, k), err);
	}
	return r < 0 ? r : refuse_unmet(c, scan, err);
}

int mr_section_choose(const json_t *scan, const struct mr_section_choice *choice, json_t **ret,
		      json_t **ret_passed_by, struct mr_error *err)
{
	struct choosing c = { .choice = choice,
			      .ids = json_array(),
			      .chosen = json_array(),
			      .passed_by = json_array() };
	size_t n = 0;
	int r;

	while (choice->names[n])
		n++;
	c.met = mr_str_alloc((n + 1) * sizeof(*c.met));
	c.nearest = mr_str_alloc((n + 1) * sizeof(*c.nearest));
	for (size_t i = 0; i < n; i++)
		mr_str_nearest_init(&c.nearest[i], choice->names[i]);
	r = take_all(&c, scan, err);
	if (r == 0) {
		*ret = json_incref(c.chosen);
		*ret_passed_by = json_incref(c.passed_by);
	}
	json_decref(c.ids);
	json_decref(c.chosen);
	json_decref(c.passed_by);
	free(c.met);
	free(c.nearest);
	return r;
}

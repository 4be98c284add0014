/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace sections: functions, methods and classes of a Python repository
 *
 *   scan   mr_section_scan(), told
 */
#include "tools/cmd_sections.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/backend/child.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/section/scan.h"
#include "runtime/store/place.h"
#include "tools/term.h"

struct sections {
	struct mr_cmd_common common;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_COMMON_ROWS(sections),
};

int mr_sections_scan(const struct mr_cmd_common *common, const char *folder, const char *program,
		     json_t **ret, struct mr_error *err)
{
	struct mr_section_scan_opts opts = { .folder = folder,
					     .program = program,
					     .store = common->store };
	struct mr_place place = { 0 };
	mr_auto_free char *cache = NULL;
	int r = mr_place_find(common->store, &place, err);

	if (r == 0)
		r = mr_place_make_folder(&place, err);
	else if (r > 0)
		r = 0; /* none is wanted */
	if (r == 0 && place.db)
		opts.cache = cache = mr_str_format("%s.sections", place.db);
	if (r == 0)
		r = mr_section_scan(&opts, ret, err);
	mr_place_deinit(&place);
	return r;
}

/* --- telling --------------------------------------------------------------- */

static void print_parameters(const json_t *section)
{
	const json_t *parameters = json_object_get(section, "parameters");
	size_t i;
	json_t *p;

	if (!parameters)
		return;
	putchar('(');
	json_array_foreach (parameters, i, p) {
		const char *kind = mr_json_text_or_empty(p, "kind");

		if (i > 0)
			fputs(", ", stdout);
		if (mr_str_starts_with(kind, "var_"))
			fputs(strcmp(kind, "var_keyword") == 0 ? "**" : "*", stdout);
		mr_term_put(MR_TERM_PLAIN, mr_json_text_or_empty(p, "name"));
		if (!json_is_null(json_object_get(p, "default")))
			fputs("=", stdout);
	}
	putchar(')');
}

static void print_section(const char *path, const json_t *section)
{
	mr_auto_free char *id = mr_section_id(path, mr_json_text_or_empty(section, "name"));
	const json_t *hints = json_object_get(section, "hints");
	const char *last = "";
	size_t i;
	json_t *hint;

	printf("%5lld-%-5lld ", (long long)json_integer_value(json_object_get(section, "first")),
	       (long long)json_integer_value(json_object_get(section, "last")));
	mr_term_cell(MR_TERM_PLAIN, mr_json_text_or_empty(section, "kind"), 9);
	putchar(' ');
	if (json_is_true(json_object_get(section, "async")))
		fputs("async ", stdout);
	mr_term_put(MR_TERM_PLAIN, id);
	print_parameters(section);
	json_array_foreach (hints, i, hint) {
		const char *kind = mr_json_text_or_empty(hint, "kind");

		if (strcmp(kind, last) != 0)
			printf("%s%s", last[0] ? "," : "  ", kind);
		last = kind;
	}
	putchar('\n');
}

static void print_file(const json_t *file)
{
	const char *path = mr_json_text_or_empty(file, "path");
	const json_t *sections = json_object_get(file, "sections");
	const json_t *error = json_object_get(file, "error");

	for (size_t i = 0; i < json_array_size(sections); i++)
		print_section(path, json_array_get(sections, i));
	if (!error)
		return;
	mr_term_put(MR_TERM_RED, path);
	printf(":%lld: ", (long long)json_integer_value(json_object_get(error, "line")));
	mr_term_put(MR_TERM_PLAIN, mr_json_text_or_empty(error, "message"));
	putchar('\n');
}

static void print_document(const json_t *document)
{
	const json_t *files = json_object_get(document, "files");
	const json_t *counts = json_object_get(document, "counts");
	const json_t *first = mr_json_at(document, "left_out", "first", NULL);

	for (size_t i = 0; i < json_array_size(files); i++)
		print_file(json_array_get(files, i));
	for (size_t i = 0; i < json_array_size(first); i++) {
		mr_term_put(MR_TERM_RED, mr_json_text_or_empty(json_array_get(first, i), "path"));
		printf(": left out: %s\n", mr_json_text_or_empty(json_array_get(first, i), "why"));
	}
	printf("%lld sections in %lld files; %lld files cannot be parsed, %lld are left out\n",
	       (long long)json_integer_value(json_object_get(counts, "sections")),
	       (long long)json_integer_value(json_object_get(counts, "files")),
	       (long long)json_integer_value(json_object_get(counts, "errors")),
	       (long long)json_integer_value(mr_json_at(document, "left_out", "count", NULL)));
}

static int run_scan(void *values, char **words, struct mr_error *err)
{
	struct sections *s = values;
	mr_auto_json json_t *document = NULL;
	char program[PATH_MAX];
	int r = mr_child_find_program(program, err);

	if (r == 0)
		r = mr_sections_scan(&s->common, words[0], program, &document, err);
	if (r < 0)
		return r;
	if (s->common.json)
		mr_cmd_print_json(document);
	else
		print_document(document);
	return 0;
}

static const struct mr_cmd scan = {
	.name = "sections scan",
	.synopsis = "DIR",
	.summary = "Find the modules, classes, functions and methods of the Python files below a "
		   "folder",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct sections),
	.min_words = 1,
	.max_words = 1,
	.run = run_scan,
};

static const struct mr_cmd *const verbs[] = { &scan, &mr_cmd_sections_run, NULL };

const struct mr_cmd mr_cmd_sections = {
	.name = "sections",
	.synopsis = "VERB",
	.summary = "Look at the functions of a Python repository, and run each in a sandbox",
	.verbs = verbs,
};

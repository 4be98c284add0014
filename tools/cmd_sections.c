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
		r = mr_place_prepare(&place, err);
	else if (r > 0)
		r = 0; /* none is wanted */
	if (r == 0 && place.db)
		opts.cache = cache = mr_str_format("%s.sections", place.db);
	if (r == 0)
		r = mr_section_scan(&opts, ret, err);
	mr_place_deinit(&place);
	return r;
}

/* --- what was not looked at -------------------------------------------------- */

static json_t *make_row(const json_t *path, const json_t *line, const json_t *why)
{
	const bool has_line = json_integer_value(line) > 0;

	return json_pack("{s:O, s:o, s:O}", "path", path, "line",
			 has_line ? json_incref((json_t *)(uintptr_t)line) : json_null(), "why",
			 why);
}

json_t *mr_sections_not_looked_at(const json_t *scan)
{
	const json_t *files = json_object_get(scan, "files");
	const json_t *left_out = json_object_get(scan, "left_out");
	const json_t *first = json_object_get(left_out, "first");
	const json_int_t n_errors = json_integer_value(mr_json_at(scan, "counts", "errors", NULL));
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *file = json_array_get(files, i);
		const json_t *error = json_object_get(file, "error");

		if (error)
			json_array_append_new(list, make_row(json_object_get(file, "path"),
							     json_object_get(error, "line"),
							     json_object_get(error, "message")));
	}
	for (size_t i = 0; i < json_array_size(first); i++) {
		const json_t *row = json_array_get(first, i);

		json_array_append_new(list, make_row(json_object_get(row, "path"), NULL,
						     json_object_get(row, "why")));
	}
	return json_pack("{s:I, s:I, s:o}", "count",
			 n_errors + json_integer_value(json_object_get(left_out, "count")),
			 "missed",
			 n_errors + json_integer_value(json_object_get(left_out, "missed")),
			 "first", list);
}

void mr_sections_print_not_looked_at(const json_t *not_looked_at)
{
	const json_t *first = json_object_get(not_looked_at, "first");

	for (size_t i = 0; i < json_array_size(first); i++) {
		const json_t *row = json_array_get(first, i);
		const json_t *line = json_object_get(row, "line");

		mr_term_put(MR_TERM_RED, mr_json_text_or_empty(row, "path"));
		if (json_is_integer(line))
			printf(":%lld", (long long)json_integer_value(line));
		fputs(": ", stdout);
		mr_term_put(MR_TERM_PLAIN, mr_json_text_or_empty(row, "why"));
		putchar('\n');
	}
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
			printf("%s%s", last[0] ? "," : "  ", kind); /* one of ours: reply.h */
		last = kind;
	}
	putchar('\n');
}

static void print_document(const json_t *document, const json_t *not_looked_at)
{
	const json_t *files = json_object_get(document, "files");
	const json_t *counts = json_object_get(document, "counts");

	for (size_t i = 0; i < json_array_size(files); i++) {
		const json_t *file = json_array_get(files, i);
		const json_t *sections = json_object_get(file, "sections");

		for (size_t k = 0; k < json_array_size(sections); k++)
			print_section(mr_json_text_or_empty(file, "path"),
				      json_array_get(sections, k));
	}
	mr_sections_print_not_looked_at(not_looked_at);
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
	mr_auto_json json_t *not_looked_at = NULL;
	char program[PATH_MAX];
	int r = mr_child_find_program(program, err);

	if (r == 0)
		r = mr_sections_scan(&s->common, words[0], program, &document, err);
	if (r < 0)
		return r;
	not_looked_at = mr_sections_not_looked_at(document);
	mr_assert(not_looked_at);
	if (s->common.json)
		mr_cmd_print_json(document);
	else
		print_document(document, not_looked_at);
	return json_integer_value(json_object_get(not_looked_at, "missed")) > 0;
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

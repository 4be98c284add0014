/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen-docs: the parts of the documentation that are tables
 *
 *   gen-docs SECTION   one section in scdoc markup (options, fields, presets, variables,
 *                      best-effort, languages, exit-status, failure-modes, commands, tables, profiles ...)
 *   gen-docs man FILE  a manual page: FILE with each line @SECTION@ replaced by the section
 *   gen-docs roff      copies scdoc's output without the paragraph breaks that mandoc warns of
 *   gen-docs schema    the JSON Schema of menace.spec/1
 *
 * Everything comes from the .def files, option tables and schema.sql that the program itself is built from, so
 * the manual cannot say anything else than the code.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/spec/lang.h"
#include "runtime/spec/failures.h"
#include "runtime/spec/hostile.h"
#include "runtime/spec/spec.h"
#include "runtime/store/sections.h"
#include "tools/cli.h"
#include "tools/cmd.h"
#include "tools/gen-docs.h"

static void put_underlined(const char *text)
{
	putchar('_');
	put(text);
	putchar('_');
}

/* A definition: the term on a line, what it means indented below. */
static void put_row(const char *term, const char *meaning)
{
	put_strong(term);
	printf("\n\t");
	put(meaning);
	printf(".\n\n");
}

static void put_default(const struct mr_field *field)
{
	char buf[MR_SPEC_TEXT_SIZE];

	if (field->type == MR_FIELD_STR ? field->default_str[0] == '\0'
					: field->default_value == MR_UNSET)
		return;
	printf(" Default: ");
	put_strong(field->type == MR_FIELD_STR
			   ? field->default_str
			   : mr_spec_value_text(field, field->default_value, buf));
	printf(".");
}

static void put_words(const struct mr_field *field)
{
	printf(" Accepted: ");
	for (size_t i = 0; field->words[i]; i++) {
		printf("%s", i > 0 ? ", " : "");
		put_strong(field->words[i]);
	}
	printf(".");
}

static void put_accepted(const struct mr_field *field)
{
	char low[MR_SPEC_TEXT_SIZE];
	char high[MR_SPEC_TEXT_SIZE];

	switch (field->type) {
	case MR_FIELD_ENUM:
		put_words(field);
		return;
	case MR_FIELD_BOOL:
		printf(" Accepted: *true*, *false*.");
		return;
	case MR_FIELD_STR:
		printf(" Accepted: %" PRIu64 " to %" PRIu64 " bytes of text.", field->min,
		       field->max);
		return;
	case MR_FIELD_SIZE:
	case MR_FIELD_COUNT:
	case MR_FIELD_MS:
	case MR_FIELD_MILLI:
	case MR_FIELD_PERCENT:
	case MR_FIELD_BANDWIDTH:
		break;
	}
	printf(" Accepted: %s to %s%s.", mr_spec_value_text(field, field->min, low),
	       mr_spec_value_text(field, field->max, high),
	       field->may_be_unlimited ? ", or *unlimited*" : "");
}

/* The terms of a definition: "-t, --timeout TIME". */
static void put_option_term(const struct mr_cli_option *option)
{
	char name[64];

	if (option->short_name)
		printf("*-%c*, ", option->short_name);
	snprintf(name, sizeof(name), "--%s", option->name);
	put_strong(name);
	if (option->arg) {
		putchar(' ');
		put_underlined(option->arg);
	}
	printf("\n\t");
	put(option->help);
	printf(".");
}

static void put_options(void)
{
	for (size_t i = 0; mr_cli_option(i); i++) {
		const struct mr_cli_option *option = mr_cli_option(i);

		if (!option->name) {
			printf("## ");
			put(option->group);
			printf("\n\n");
			continue;
		}
		put_option_term(option);
		if (option->field >= 0) {
			const struct mr_field *field = &mr_spec_fields()[option->field];

			if (option->arg)
				put_default(field);
			printf(" Knob: ");
			put_underlined(field->key);
			printf(".");
		}
		printf("\n\n");
	}
}

static bool is_common(const struct mr_cmd_row *row)
{
	return row->offset < sizeof(struct mr_cmd_common);
}

/* Those that the manual explains once. */
static void put_common_options(const struct mr_cmd *cmd)
{
	const char *separator = "Common options: ";

	for (size_t i = 0; i < cmd->options.n; i++) {
		const struct mr_cmd_row *row = (const void *)mr_optable_row(&cmd->options, i);

		if (!is_common(row))
			continue;
		printf("%s*--%s*", separator, row->option.name);
		separator = ", ";
	}
	printf(".\n\n");
}

/* The subcommands of menace, each with its options. */
static void put_command(const struct mr_cmd *cmd)
{
	/* A heading knows no escapes. */
	printf("## menace %s%s%s\n\n", cmd->name, cmd->synopsis[0] ? " " : "", cmd->synopsis);
	put(cmd->summary);
	printf(".\n\n");
	for (size_t i = 0; i < cmd->options.n; i++) {
		const struct mr_cmd_row *row = (const void *)mr_optable_row(&cmd->options, i);

		if (is_common(row))
			continue;
		put_option_term(&row->option);
		printf("\n\n");
	}
	put_common_options(cmd);
}

static void put_commands(void)
{
	for (size_t i = 0; mr_cmd_get(i); i++) {
		const struct mr_cmd *const *verbs = mr_cmd_get(i)->verbs;

		if (!verbs)
			put_command(mr_cmd_get(i));
		for (size_t k = 0; verbs && verbs[k]; k++)
			put_command(verbs[k]);
	}
}

/* A line of a table in schema.sql: the column's name, its type and what is said behind it. */
static void put_column(const char *line)
{
	const char *comment = strstr(line, "-- ");
	size_t name = strcspn(line, " ");
	mr_auto_free char *term = mr_str_ndup(line, name);
	mr_auto_free char *type = mr_str_ndup(line + name + 1, strcspn(line + name + 1, " ,;"));

	if (!comment)
		return; /* a key of the table */
	put_strong(term);
	printf(" (%s)\n\t", strcmp(type, "ANY") == 0 ? "number or text" : type);
	put(comment + 3);
	printf("\n\n");
}

/* Those that a later section gave a table. */
static void put_added_columns(const char *table)
{
	mr_auto_free char *text = mr_str_dup(mr_sql_schema);
	mr_auto_free char *begin = mr_str_format("ALTER TABLE %s ADD COLUMN ", table);
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (mr_str_starts_with(line, begin))
			put_column(line + strlen(begin));
}

static void put_tables(void)
{
	mr_auto_free char *text = mr_str_dup(mr_sql_schema);
	mr_auto_free char *about = NULL, *name = NULL;
	bool inside = false;
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (mr_str_starts_with(line, "--- ")) {
			free(about);
			about = mr_str_dup(line + 4);
		} else if (mr_str_starts_with(line, "CREATE TABLE ")) {
			free(name);
			name = mr_str_ndup(line + 13, strcspn(line + 13, " "));
			printf("## %s\n\n", name);
			put(about ? about : "");
			printf(".\n\n");
			inside = true;
		} else if (line[0] == ')') {
			if (inside)
				put_added_columns(name);
			inside = false;
		} else if (inside && line[0] == '\t') {
			put_column(line + 1);
		}
	}
}

static const char *type_word(const struct mr_field *field)
{
	switch (field->type) {
	case MR_FIELD_SIZE:
		return "size";
	case MR_FIELD_COUNT:
		return "whole number";
	case MR_FIELD_MS:
		return "time";
	case MR_FIELD_MILLI:
		return "number";
	case MR_FIELD_PERCENT:
		return "percentage";
	case MR_FIELD_BANDWIDTH:
		return "bandwidth";
	case MR_FIELD_BOOL:
		return "flag";
	case MR_FIELD_ENUM:
		return "word";
	case MR_FIELD_STR:
		return "text";
	}
	return "";
}

static void put_fields(void)
{
	const struct mr_field *fields = mr_spec_fields();

	for (size_t i = 0; i < MR_FIELD_COUNT_; i++) {
		const struct mr_field *field = &fields[i];

		if (i == 0 || strcmp(fields[i - 1].section, field->section) != 0)
			printf("## Section %s\n\n", field->section);
		put_strong(field->key);
		printf(" (%s)\n\t", type_word(field));
		put(field->help);
		printf(".");
		put_default(field);
		put_accepted(field);
		if (field->preset_alias) {
			printf(" Preset variable: ");
			put_strong(field->preset_alias);
			printf(".");
		}
		printf("\n\n");
	}
}

static void put_presets(void)
{
	size_t n;
	const struct mr_spec_item *builtins = mr_preset_builtins(&n);

	for (size_t i = 0; i < n; i++) {
		put_strong(builtins[i].name);
		printf("\n\t");
		put(builtins[i].help);
		printf(": ");
		put(builtins[i].text);
		printf("\n\n");
	}
}

static void put_variables(void)
{
	const struct mr_field *fields = mr_spec_fields();
	size_t n;
	const struct mr_preset_var *vars = mr_preset_vars(&n);

	printf("These act:\n\n");
	for (size_t i = 0; i < MR_FIELD_COUNT_; i++) {
		if (!fields[i].preset_alias)
			continue;
		put_strong(fields[i].preset_alias);
		if (strcmp(fields[i].preset_alias, "VM_SETTINGS") == 0) {
			printf("\n\tan object; sets _sandbox.vm\\_image_ and others: VIRTUAL "
			       "MACHINES "
			       "in *menace-run*(1).\n\n");
			continue;
		}
		printf("\n\t%s; sets ", type_word(&fields[i]));
		put_underlined(fields[i].key);
		printf(".");
		put_accepted(&fields[i]);
		printf("%s\n\n", fields[i].type == MR_FIELD_MS ? " A bare number is seconds." : "");
	}
	printf("These are known but not enforced by this version. A value that asks for nothing "
	       "(0, "
	       "false, linux) passes; any other is checked and then refused, unless "
	       "*best\\_effort* "
	       "names the variable:\n\n");
	for (size_t i = 0; i < n; i++) {
		put_strong(vars[i].name);
		printf("\n\t");
		put(vars[i].help);
		printf("; ");
		put(vars[i].accepted);
		printf(".\n\n");
	}
}

static void put_best_effort(void)
{
	size_t n;
	const struct mr_spec_item *items = mr_spec_best_effort_items(&n);

	for (size_t i = 0; i < n; i++)
		put_row(items[i].name, items[i].help);
}

static void put_languages(void)
{
	size_t n;
	const struct mr_lang *langs = mr_lang_rows(&n);

	for (size_t i = 0; i < n; i++) {
		put_strong(langs[i].name);
		if (langs[i].aliases[0] != '\0') {
			printf(" (also ");
			put(langs[i].aliases);
			printf(")");
		}
		printf("\n\textension ");
		put(langs[i].extensions);
		printf(", run by");
		for (size_t k = 0; langs[i].argv[k]; k++) {
			putchar(' ');
			put_strong(langs[i].argv[k]);
		}
		printf("\n\n");
	}
}

static void put_exit_status(void)
{
	static const struct {
		int status;
		const char *doc;
	} rows[] = {
#define ERRC(name, exit_status, http_status, doc) { exit_status, doc },
#include "runtime/base/errc.def"
#undef ERRC
	};

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		char status[16];

		if (rows[i].status == 0)
			continue;
		snprintf(status, sizeof(status), "%d", rows[i].status);
		put_row(status, rows[i].doc);
	}
}

struct call {
	const char *name, *set;
};

static int by_set(const void *a, const void *b)
{
	const struct call *x = a, *y = b;
	int r = strcmp(x->set, y->set);

	return r ? r : strcmp(x->name, y->name);
}

/* The sets of system calls, and what is in them. */
static void put_syscall_sets(void)
{
	struct call calls[] = {
#define SYSCALL(name_, nr, set_, allowed_up_to, errno_value, reason) { #name_, #set_ },
#include "runtime/spec/syscalls.def"
	};

	qsort(calls, N_ELEMENTS(calls), sizeof(calls[0]), by_set);
	for (size_t i = 0; i < N_ELEMENTS(calls); i++) {
		const bool is_first = i == 0 || strcmp(calls[i - 1].set, calls[i].set) != 0;

		if (is_first) {
			mr_auto_free char *name = mr_str_format("@%s", calls[i].set);

			printf("%s", i > 0 ? "\n\n" : "");
			put_strong(name);
			printf("\n\t");
		}
		printf("%s", is_first ? "" : ", ");
		put(calls[i].name);
	}
	printf("\n\n");
}

static void put_failure_modes(void)
{
	for (unsigned int i = 0; i < MR_FAILURE_COUNT_; i++) {
		const struct mr_failure_row *row = mr_failure_row((enum mr_failure_mode)i);

		put_strong(row->name);
		printf("\n\t");
		put(row->help);
		printf(". ");
		put(mr_failure_needs_text(row->needs));
		printf("\n\n");
	}
}

static void put_hostile(void)
{
	size_t n;
	const struct mr_hostile *rows = mr_hostile_rows(&n);

	for (size_t i = 0; i < n; i++) {
		const bool is_first = i == 0 || strcmp(rows[i - 1].class, rows[i].class) != 0;

		if (is_first) {
			put_strong(rows[i].class);
			printf("\n\t");
		}
		put(rows[i].id);
		printf("%s",
		       i + 1 < n && strcmp(rows[i + 1].class, rows[i].class) == 0 ? ", " : ".\n\n");
	}
}

static void put_version(void)
{
	printf("menace %s\n\n", MENACE_VERSION);
}

/* Each fact once, with its level. */
static void put_probes(void)
{
	static const struct {
		const char *name, *level, *help;
	} probes[] = {
#define PROBE(name, object, program, kind, target, level, needs, help) { #name, #level, help },
#include "bpf/probes.def"
#undef PROBE
	};

	for (size_t i = 0; i < N_ELEMENTS(probes); i++) {
		mr_auto_free char *level = mr_str_dup(probes[i].level);

		if (i > 0 && strcmp(probes[i].name, probes[i - 1].name) == 0)
			continue;
		for (char *c = level; *c; c++)
			*c = (char)tolower((unsigned char)*c);
		put_strong(probes[i].name);
		printf(" (%s)\n\t", level);
		put(probes[i].help);
		printf("\n\n");
	}
}

static const struct section {
	const char *name;
	const char *marker;
	void (*put)(void);
} sections[] = {
	{ "options", "@OPTIONS@", put_options },
	{ "fields", "@FIELDS@", put_fields },
	{ "presets", "@PRESETS@", put_presets },
	{ "variables", "@VARIABLES@", put_variables },
	{ "best-effort", "@BEST_EFFORT@", put_best_effort },
	{ "languages", "@LANGUAGES@", put_languages },
	{ "backends", "@BACKENDS@", mr_docs_put_backends },
	{ "exit-status", "@EXIT_STATUS@", put_exit_status },
	{ "commands", "@COMMANDS@", put_commands },
	{ "probes", "@PROBES@", put_probes },
	{ "tables", "@TABLES@", put_tables },
	{ "syscall-sets", "@SYSCALL_SETS@", put_syscall_sets },
	{ "failure-modes", "@FAILURE_MODES@", put_failure_modes },
	{ "hostile", "@HOSTILE@", put_hostile },
	{ "profiles", "@PROFILES@", mr_docs_put_profiles },
	{ "draws", "@DRAWS@", mr_docs_put_draws },
	{ "keywords", "@KEYWORDS@", mr_docs_put_keywords },
	{ "combine-rules", "@COMBINE_RULES@", mr_docs_put_combine_rules },
	{ "adapt-rules", "@ADAPT_RULES@", mr_docs_put_adapt_rules },
	{ "scenarios", "@SCENARIOS@", mr_docs_put_scenarios },
	{ "edge-cases", "@EDGE_CASES@", mr_docs_put_edge_cases },
	{ "strategies", "@STRATEGIES@", mr_docs_put_strategies },
	{ "version", "@VERSION@", put_version },
};

static const struct section *find_section(const char *word, bool by_marker)
{
	for (size_t i = 0; i < N_ELEMENTS(sections); i++)
		if (strcmp(by_marker ? sections[i].marker : sections[i].name, word) == 0)
			return &sections[i];
	return NULL;
}

static int put_man(const char *path)
{
	mr_auto_fclose FILE *file = fopen(path, "re");
	mr_auto_free char *line = NULL;
	size_t size = 0;

	if (!file) {
		fprintf(stderr, "gen-docs: open %s: %s\n", path, strerror(errno));
		return 1;
	}
	while (getline(&line, &size, file) > 0) {
		const struct section *section;

		line[strcspn(line, "\n")] = '\0';
		section = find_section(line, true);
		if (section) {
			section->put();
		} else if (line[0] == '@') {
			fprintf(stderr, "gen-docs: %s: unknown marker %s\n", path, line);
			return 1;
		} else {
			puts(line);
		}
	}
	return ferror(file) ? 1 : 0;
}

static bool is_heading(const char *line)
{
	return mr_str_starts_with(line, ".SH") || mr_str_starts_with(line, ".SS");
}

/* scdoc puts a paragraph break around every block; one after a heading or at a block's end
 * says nothing. */
static int filter_roff(void)
{
	mr_auto_free char *line = NULL;
	bool pending = false;
	bool after_heading = true;
	size_t size = 0;

	while (getline(&line, &size, stdin) > 0) {
		if (strcmp(line, ".P\n") == 0 || strcmp(line, ".PP\n") == 0) {
			pending = !after_heading;
			continue;
		}
		if (mr_str_starts_with(line, ".RE")) {
			fputs(line, stdout); /* the break belongs behind the block */
			continue;
		}
		if (pending && !is_heading(line))
			fputs(".P\n", stdout);
		pending = false;
		after_heading = is_heading(line);
		fputs(line, stdout);
	}
	return ferror(stdin) ? 1 : 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: gen-docs SECTION | man FILE | roff | schema; sections:");
	for (size_t i = 0; i < N_ELEMENTS(sections); i++)
		fprintf(stderr, " %s", sections[i].name);
	fprintf(stderr, "\n");
	return 2;
}

int main(int argc, char **argv)
{
	const struct section *section;
	int r = 0;

	if (argc == 3 && strcmp(argv[1], "man") == 0) {
		r = put_man(argv[2]);
	} else if (argc == 2 && strcmp(argv[1], "roff") == 0) {
		r = filter_roff();
	} else if (argc == 2 && strcmp(argv[1], "schema") == 0) {
		r = mr_docs_put_schema();
	} else {
		section = argc == 2 ? find_section(argv[1], false) : NULL;
		if (!section)
			return usage();
		section->put();
	}
	if (fflush(stdout) != 0) {
		fprintf(stderr, "gen-docs: write: %s\n", strerror(errno));
		return 1;
	}
	return r;
}

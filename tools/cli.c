/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of menace-run
 *
 * getopt_long() only collects: every option becomes a row and an argument.  Then
 * the rows are applied stage by stage, so that -p after -m means the same as
 * before it, and best-effort items are known when a preset asks about them.
 * Last it is decided what the remaining words are: a program or a snippet.
 */
#include "tools/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"
#include "runtime/spec/lang.h"
#include "tools/options.h"

#define LONG_BASE 1000 /* getopt value of row i: beyond any short option */

static int refuse(struct mr_error *err, const char *message)
{
	return mr_err(err, MR_E_USAGE, EINVAL, "%s", message);
}

static int refuse_option(const char *word, struct mr_error *err)
{
	const struct mr_cli_row *rows = mr_options_rows();
	struct mr_str_nearest nearest;
	mr_auto_free char *name = mr_str_ndup(word, strcspn(word, "="));
	char quoted[MR_STR_QUOTE_SIZE];

	if (optopt != 0 && optopt < LONG_BASE) {
		const char letter[] = { (char)optopt, '\0' };

		mr_str_quote(quoted, sizeof(quoted), letter);
		return mr_err(err, MR_E_USAGE, EINVAL, "unknown option -%.*s; see --help",
			      (int)strlen(quoted) - 2, quoted + 1);
	}
	mr_str_nearest_init(&nearest, name + 2);
	for (size_t i = 0; i < MR_OPTIONS_COUNT; i++)
		if (rows[i].option.name)
			mr_str_nearest_offer(&nearest, rows[i].option.name);
	mr_str_quote(quoted, sizeof(quoted), name);
	quoted[strlen(quoted) - 1] = '\0'; /* the quotes would only be in the way */
	if (!nearest.best)
		return mr_err(err, MR_E_USAGE, EINVAL, "unknown option %s; see --help", quoted + 1);
	if (strcmp(nearest.best, name + 2) == 0) /* known, so it was "--name=value" of a switch */
		return mr_err(err, MR_E_USAGE, EINVAL, "--%s takes no value", nearest.best);
	return mr_err(err, MR_E_USAGE, EINVAL, "unknown option %s; did you mean --%s?", quoted + 1,
		      nearest.best);
}

static const struct mr_cli_row *find_row(int value)
{
	const struct mr_cli_row *rows = mr_options_rows();

	for (size_t i = 0; i < MR_OPTIONS_COUNT; i++)
		if (value == LONG_BASE + (int)i || value == rows[i].option.short_name)
			return &rows[i];
	mr_assert(value != value); /* getopt returned what no table has */
	return NULL;
}

static int refuse_missing(int value, struct mr_error *err)
{
	const struct mr_cli_met met = { .row = find_row(value), .is_short = value < LONG_BASE };
	char label[MR_OPTIONS_LABEL_SIZE];

	return mr_err(err, MR_E_USAGE, EINVAL, "%s needs a value: %s",
		      mr_options_label(&met, label), met.row->option.arg);
}

/* Tables of getopt from ours. */
static void make_getopt_tables(struct option longs[MR_OPTIONS_COUNT + 1], struct mr_str *shorts)
{
	const struct mr_cli_row *rows = mr_options_rows();
	size_t n = 0;

	mr_str_add(shorts, "+:");
	for (size_t i = 0; i < MR_OPTIONS_COUNT; i++) {
		const struct mr_cli_option *option = &rows[i].option;

		if (!option->name)
			continue;
		longs[n++] = (struct option){ option->name,
					      option->arg ? required_argument : no_argument, NULL,
					      LONG_BASE + (int)i };
		if (option->short_name)
			mr_str_printf(shorts, "%c%s", option->short_name, option->arg ? ":" : "");
	}
	longs[n] = (struct option){ 0 };
}

/* Fills met, which has room for every letter of argv, and says whether "--" ended the options;
 * the words begin at optind. */
static int collect(int argc, char **argv, struct mr_cli_met *met, size_t *ret_n, bool *ret_dashes,
		   struct mr_error *err)
{
	struct option longs[MR_OPTIONS_COUNT + 1];
	char buf[2 * MR_OPTIONS_COUNT + 4];
	struct mr_str shorts;

	mr_str_init(&shorts, buf, sizeof(buf));
	make_getopt_tables(longs, &shorts);
	opterr = 0;
	optind = 0; /* makes glibc start afresh */
	for (size_t n = 0;;) {
		int before = optind;
		int value = getopt_long(argc, argv, buf, longs, NULL);

		if (value == -1) {
			*ret_n = n;
			*ret_dashes = optind > (before ? before : 1);
			return 0;
		}
		if (value == ':')
			return refuse_missing(optopt, err);
		if (value == '?') /* optopt is a short option, or 0 or a row's value */
			return refuse_option(argv[optind - 1], err);
		met[n++] = (struct mr_cli_met){ find_row(value), optarg, value < LONG_BASE };
	}
}

/* Does this absolute path mean a place inside, where the same file is or another one? */
static bool is_inside(const struct mr_spec *spec, const char *path)
{
	static const char *const shown[] = { "/usr",   "/bin",	 "/sbin",  "/lib",
					     "/lib32", "/lib64", "/libx32" };

	for (size_t i = 0; i < N_ELEMENTS(shown); i++)
		if (mr_str_is_under(path, shown[i]))
			return true;
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (mr_str_is_under(path, spec->mounts[i].dest))
			return true;
	return spec->sandbox_workspace[0] != '\0' && mr_str_is_under(path, "/work");
}

static bool has_shebang(const char *path)
{
	mr_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char start[2];

	return fd >= 0 && mr_read_full(fd, start, sizeof(start)) == sizeof(start) &&
	       memcmp(start, "#!", 2) == 0;
}

/* A file of the host that looks like something to run. */
static bool is_snippet_file(const struct mr_spec *spec, const char *word)
{
	struct stat st;

	if (word[0] == '/' && is_inside(spec, word))
		return false;
	if (stat(word, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	return mr_lang_of_path(word) || (st.st_mode & 0111) || has_shebang(word);
}

static void set_code(struct mr_spec *spec, const char *code)
{
	mr_spec_clear_program(spec);
	spec->snippet_code = mr_str_dup(code);
	spec->snippet_code_size = strlen(code);
}

/* What the words after the options are. */
static void take_words(struct mr_cli_parse *parse, char **words, bool dashes)
{
	struct mr_spec *spec = &parse->cli.spec;

	if (parse->code) {
		set_code(spec, parse->code);
	} else if (words[0]) {
		mr_spec_clear_program(spec);
		if (strcmp(words[0], "-") == 0 && (!dashes || parse->lang))
			parse->cli.snippet_from_stdin = true;
		else if (parse->lang || (!dashes && is_snippet_file(spec, words[0])))
			spec->snippet_path = mr_str_dup(words[0]);
		if (spec->snippet_path || parse->cli.snippet_from_stdin)
			words++;
	}
	for (; *words; words++)
		mr_strv_add(&spec->argv, *words);
	if (parse->lang) {
		mr_freep(&spec->lang);
		spec->lang = mr_str_dup(parse->lang);
	}
}

static int apply_stages(struct mr_cli_parse *parse, struct mr_error *err)
{
	for (enum mr_cli_stage stage = 0; stage < MR_CLI_STAGE_COUNT; stage++) {
		int r;

		for (size_t i = 0; i < parse->n_met; i++) {
			if (parse->met[i].row->stage != stage)
				continue;
			r = mr_options_apply(parse, &parse->met[i], err);
			if (r < 0)
				return r;
		}
		if (parse->cli.help || parse->cli.version)
			return 0;
		if (stage != MR_CLI_STAGE_PRESET)
			continue;
		r = mr_preset_apply_environment(&parse->cli.spec, environ, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The label of an option that was typed, by its field or by its name; NULL: it was not. */
static const char *find_label(struct mr_cli_parse *parse, int field, const char *name)
{
	for (size_t i = parse->n_met; i > 0; i--) {
		const struct mr_cli_option *option = &parse->met[i - 1].row->option;

		if (name ? strcmp(option->name, name) == 0 : option->field == field)
			return mr_options_label(&parse->met[i - 1], parse->label);
	}
	return NULL;
}

static const char *name_of_knob(void *owner, enum mr_field_id id)
{
	return find_label(owner, (int)id, NULL);
}

static int check_code(struct mr_cli_parse *parse, struct mr_error *err)
{
	if (!parse->code || parse->lang || mr_str_starts_with(parse->code, "#!"))
		return 0;
	return mr_err(err, MR_E_USAGE, EINVAL,
		      "%s: the text needs --lang NAME, or a first line that begins with \"#!\"",
		      find_label(parse, -1, "code"));
}

static int validate(struct mr_cli_parse *parse, struct mr_error *err)
{
	const struct mr_spec_labels labels = { name_of_knob, parse };
	struct mr_spec *spec = &parse->cli.spec;
	int r;

	if (!parse->cli.snippet_from_stdin)
		return mr_spec_validate_labelled(spec, &labels, err);
	/* Stands in for what is read later: all the rest is known. */
	spec->snippet_code = mr_str_dup("#!");
	spec->snippet_code_size = 2;
	r = mr_spec_validate_labelled(spec, &labels, err);
	mr_freep(&spec->snippet_code);
	spec->snippet_code = NULL;
	spec->snippet_code_size = 0;
	return r;
}

static int check(struct mr_cli_parse *parse, char **words, struct mr_error *err)
{
	const char *jobs = find_label(parse, -1, "jobs");
	int r;

	if (parse->cli.batch && (words[0] || parse->code))
		return refuse(err, "--batch reads specs from standard input; a program is not "
				   "accepted beside it");
	if (jobs && !parse->cli.batch)
		return mr_err(err, MR_E_USAGE, EINVAL, "%s: only with --batch", jobs);
	if (parse->cli.snippet_from_stdin && parse->cli.spec.sandbox_tty)
		return refuse(err, "--tty: standard input is already read for the snippet");
	if (parse->cli.batch)
		return 0;
	r = check_code(parse, err);
	return r < 0 ? r : validate(parse, err);
}

/* "-vvv" is one argument and three options. */
static size_t count_letters(int argc, char **argv)
{
	size_t n = 1;

	for (int i = 0; i < argc; i++)
		n += strlen(argv[i]);
	return n;
}

static int parse_all(int argc, char **argv, struct mr_cli_parse *parse, struct mr_error *err)
{
	bool dashes = false;
	int r;

	r = collect(argc, argv, parse->met, &parse->n_met, &dashes, err);
	if (r < 0)
		return r;
	r = apply_stages(parse, err);
	if (r < 0)
		return r;
	if (parse->cli.help || parse->cli.version)
		return 0;
	mr_preset_warn_environment(environ, &parse->cli.warnings);
	take_words(parse, argv + optind, dashes);
	return check(parse, argv + optind, err);
}

int mr_cli_parse(int argc, char **argv, struct mr_cli *ret, struct mr_error *err)
{
	struct mr_cli_parse parse = { .cli = { .jobs = 1 } };
	int r;

	mr_spec_init(&parse.cli.spec);
	parse.met = mr_str_alloc(count_letters(argc, argv) * sizeof(*parse.met));
	r = parse_all(argc, argv, &parse, err);
	mr_freep(&parse.met);
	if (r < 0) {
		mr_cli_deinit(&parse.cli);
		return r;
	}
	*ret = parse.cli;
	return 0;
}

void mr_cli_deinit(struct mr_cli *cli)
{
	mr_spec_deinit(&cli->spec);
	mr_strv_clear(&cli->warnings);
	mr_freep(&cli->json_target);
	*cli = (struct mr_cli){ 0 };
}

void mr_cli_help(struct mr_str *text)
{
	const struct mr_cli_row *rows = mr_options_rows();

	mr_str_add(text, "Usage: menace-run [OPTIONS] [--] PROGRAM [ARG...]\n"
			 "       menace-run [OPTIONS] FILE [ARG...]\n"
			 "       menace-run [OPTIONS] --lang NAME -c CODE [ARG...]\n"
			 "       menace-run --spec FILE.json\n"
			 "       menace-run --batch [-j N]\n"
			 "Run untrusted code in a sandbox.  See menace-run(1).\n");
	for (size_t i = 0; i < MR_OPTIONS_COUNT; i++) {
		const struct mr_cli_option *option = &rows[i].option;
		char left[48];

		if (!option->name) {
			mr_str_printf(text, "\n%s:\n", option->group);
			continue;
		}
		snprintf(left, sizeof(left), "%s%c%s --%s%s%s", option->short_name ? "-" : " ",
			 option->short_name ? option->short_name : ' ',
			 option->short_name ? "," : " ", option->name, option->arg ? " " : "",
			 option->arg ? option->arg : "");
		mr_str_printf(text, "  %-30s %s%s\n", left,
			      strlen(left) > 30 ? "\n                                 " : "",
			      option->help);
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of menace-run
 *
 * tools/optable.c only collects: every option becomes a row and an argument.  Then
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
#include "tools/optable.h"
#include "tools/options.h"

static int refuse(struct mr_error *err, const char *message)
{
	return mr_err(err, MR_E_USAGE, EINVAL, "%s", message);
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

static const struct mr_optable *option_table(void)
{
	static struct mr_optable table = { .stride = sizeof(struct mr_cli_row),
					   .n = MR_OPTIONS_COUNT };

	table.rows = mr_options_rows();
	return &table;
}

/* What was met, as rows of ours. */
static int collect(int argc, char **argv, struct mr_cli_parse *parse, bool *ret_dashes,
		   struct mr_error *err)
{
	mr_auto_free struct mr_optable_met *met = NULL;
	int r = mr_optable_collect(option_table(), argc, argv, &met, &parse->n_met, ret_dashes,
				   err);

	if (r < 0)
		return r;
	parse->met = mr_str_alloc((parse->n_met + 1) * sizeof(*parse->met));
	for (size_t i = 0; i < parse->n_met; i++)
		parse->met[i] = (struct mr_cli_met){ &mr_options_rows()[met[i].row], met[i].arg,
						     met[i].is_short };
	return 0;
}

static int parse_all(int argc, char **argv, struct mr_cli_parse *parse, struct mr_error *err)
{
	bool dashes = false;
	int r;

	r = collect(argc, argv, parse, &dashes, err);
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
	mr_freep(&cli->store);
	*cli = (struct mr_cli){ 0 };
}

void mr_cli_help(struct mr_str *text)
{
	mr_str_add(text, "Usage: menace-run [OPTIONS] [--] PROGRAM [ARG...]\n"
			 "       menace-run [OPTIONS] FILE [ARG...]\n"
			 "       menace-run [OPTIONS] --lang NAME -c CODE [ARG...]\n"
			 "       menace-run --spec FILE.json\n"
			 "       menace-run --batch [-j N]\n"
			 "Run untrusted code in a sandbox.  See menace-run(1).\n");
	mr_optable_help(option_table(), text);
}

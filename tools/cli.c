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
#include "runtime/base/units.h"
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

static bool reads_stdin(const struct mr_cli_met *met)
{
	const char *name = met->row->option.name;

	return strcmp(name, "batch") == 0 ||
	       ((strcmp(name, "spec") == 0 || strcmp(name, "policy") == 0) &&
		strcmp(met->arg, "-") == 0);
}

/* Before any of them reads it: the next would find nothing there, which may look like a request. */
static int check_stdin(struct mr_cli_parse *parse, struct mr_error *err)
{
	for (size_t i = 0; i < parse->n_met; i++) {
		const char *name = parse->met[i].row->option.name;

		if (!reads_stdin(&parse->met[i]))
			continue;
		if (parse->stdin_reader && strcmp(parse->stdin_reader, name) != 0)
			return mr_err(err, MR_E_USAGE, EINVAL,
				      "--%s: standard input is already read for --%s", name,
				      parse->stdin_reader);
		parse->stdin_reader = name;
	}
	return 0;
}

static int apply_stages(struct mr_cli_parse *parse, struct mr_error *err)
{
	for (enum mr_cli_stage stage = 0; stage < MR_CLI_STAGE_COUNT; stage++) {
		int r = 0;

		for (size_t i = 0; i < parse->n_met; i++) {
			if (parse->met[i].row->stage != stage)
				continue;
			r = mr_options_apply(parse, &parse->met[i], err);
			if (r < 0)
				return r;
		}
		if (parse->cli.help || parse->cli.version)
			return 0;
		if (stage == MR_CLI_STAGE_INFO)
			r = check_stdin(parse, err);
		else if (stage == MR_CLI_STAGE_PRESET)
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

/* A byte says nothing of whose it is. */
static int check_ready(struct mr_cli_parse *parse, struct mr_error *err)
{
	const char *label = find_label(parse, -1, "ready-fd");

	if (!label)
		label = find_label(parse, -1, "block-fd");
	if (label && parse->cli.dry_run)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s: not with --dry-run, where nothing begins", label);
	if (label && parse->cli.jobs > 1)
		return mr_err(err, MR_E_USAGE, EINVAL, "%s: only with one run at a time, --jobs 1",
			      label);
	return 0;
}

/* What is of one run, and would be asked for in vain. */
static int check_batch(struct mr_cli_parse *parse, char **words, struct mr_error *err)
{
	static const char *const of_one[][2] = {
		{ "json", "the results are on standard output, one a line" },
		{ "summary", "each result has it, one a line on standard output" },
		{ "dry-run", "it is of one request; take a line of the batch as --spec FILE" },
	};

	if (words[0] || parse->code)
		return refuse(err, "--batch reads specs from standard input; a program is not "
				   "accepted beside it");
	for (size_t i = 0; i < N_ELEMENTS(of_one); i++) {
		const char *label = find_label(parse, -1, of_one[i][0]);

		if (label)
			return mr_err(err, MR_E_USAGE, EINVAL, "%s: not with --batch: %s", label,
				      of_one[i][1]);
	}
	return check_ready(parse, err);
}

/* The terminal shows what the program prints, on our standard output. */
static int check_tty(const struct mr_cli *cli, struct mr_error *err)
{
	uint64_t fd = 0;
	const char *target = cli->json_target ? cli->json_target : "";

	if (!cli->spec.sandbox_tty)
		return 0;
	if (cli->snippet_from_stdin)
		return refuse(err, "--tty: standard input is already read for the snippet");
	if (strcmp(target, "-") != 0 &&
	    (!mr_str_starts_with(target, "FD:") ||
	     mr_units_parse_count(target + 3, &fd, NULL) < 0 || fd != STDOUT_FILENO))
		return 0;
	return mr_err(err, MR_E_USAGE, EINVAL,
		      "--tty: the terminal is shown on standard output, and --json %s wants the "
		      "result alone there; accepted: a file, or another FD:N",
		      target);
}

static int check(struct mr_cli_parse *parse, char **words, struct mr_error *err)
{
	const char *jobs = find_label(parse, -1, "jobs");
	int r;

	if (parse->cli.batch)
		return check_batch(parse, words, err);
	if (jobs)
		return mr_err(err, MR_E_USAGE, EINVAL, "%s: only with --batch", jobs);
	if (parse->cli.brief)
		return refuse(err, "--brief: only with --batch");
	if (parse->cli.snippet_from_stdin && parse->stdin_reader)
		return mr_err(err, MR_E_USAGE, EINVAL, "-: standard input is already read for --%s",
			      parse->stdin_reader);
	r = check_ready(parse, err);
	if (r == 0)
		r = check_tty(&parse->cli, err);
	if (r == 0)
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
	struct mr_cli_parse parse = { .cli = { .jobs = 1, .ready = { -1, -1 } } };
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
	mr_freep(&cli->cgroup_parent);
	*cli = (struct mr_cli){ 0 };
}

void mr_cli_help(struct mr_str *text)
{
	mr_str_add(text, "Usage: menace-run [OPTIONS] [--] PROGRAM [ARG...]\n"
			 "       menace-run [OPTIONS] FILE [ARG...]\n"
			 "       menace-run [OPTIONS] --lang NAME -c CODE [ARG...]\n"
			 "       menace-run --spec FILE.json\n"
			 "       menace-run --batch [-j N] [--brief]\n"
			 "Run untrusted code in a sandbox.  See menace-run(1).\n");
	mr_optable_help(option_table(), text);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace: read and keep the store of runs
 *
 *   main
 *     run_command           options of the subcommand into its struct
 *       cmd_NAME.c            mr_cmd_open(): spool taken in, store opened; rows as JSON
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/inherit.h"
#include "runtime/base/io.h"
#include "runtime/base/log.h"
#include "runtime/spec/spec.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "tools/cmd.h"

/* Never 0: MR_E_NONE is what was not found, which is no error of the machine but one of the call. */
static int fail(const struct mr_error *err)
{
	int status = mr_errc_exit_status(err->code);

	mr_log_error("%s", err->msg);
	return status ? status : 1;
}

/* --- options --------------------------------------------------------------- */

static int parse_instant(const char *text, int64_t *ret_us, struct mr_error *err)
{
	static const char *const formats[] = { "%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S",
					       "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S" };
	char quoted[MR_STR_QUOTE_SIZE];
	uint64_t ago_ms = 0;

	for (size_t i = 0; i < N_ELEMENTS(formats); i++) {
		struct tm tm = { 0 };
		const char *end = strptime(text, formats[i], &tm);

		if (!end || *end != '\0')
			continue;
		*ret_us = (int64_t)timegm(&tm) * 1000000;
		return 0;
	}
	if (mr_units_parse_timespan(text, true, &ago_ms, NULL) < 0 ||
	    ago_ms > (uint64_t)mr_clock_real_us() / 1000)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s is no time: accepted are 2026-01-31, 2026-01-31T12:00:00 (UTC), "
			      "and a time ago as 30m, 2h, 7d",
			      mr_str_quote(quoted, sizeof(quoted), text));
	*ret_us = mr_clock_real_us() - (int64_t)ago_ms * 1000;
	return 0;
}

static void add_to_list(struct mr_cmd_list *list, const char *arg)
{
	list->v = mr_str_grow(list->v, list->n, &list->cap, sizeof(*list->v));
	list->v[list->n++] = arg;
}

static void free_lists(const struct mr_cmd *cmd, void *values)
{
	for (size_t i = 0; i < cmd->options.n; i++) {
		const struct mr_cmd_row *row = (const void *)mr_optable_row(&cmd->options, i);

		if (row->kind == MR_CMD_LIST)
			free(((struct mr_cmd_list *)(void *)((char *)values + row->offset))->v);
	}
}

static int take_option(const struct mr_cmd_row *row, const char *arg, void *values,
		       struct mr_error *err)
{
	void *member = (char *)values + row->offset;
	char quoted[MR_STR_QUOTE_SIZE];
	uint64_t number = 0;
	int r = 0;

	switch (row->kind) {
	case MR_CMD_FLAG:
		*(bool *)member = true;
		return 0;
	case MR_CMD_TEXT: /* goes into JSON, and from there to the database */
		if (!mr_str_utf8_valid(arg, strlen(arg)))
			return mr_err(err, MR_E_USAGE, EILSEQ, "%s is not UTF-8",
				      mr_str_quote(quoted, sizeof(quoted), arg));
		*(const char **)member = arg;
		return 0;
	case MR_CMD_PATH:
		*(const char **)member = arg;
		return 0;
	case MR_CMD_LIST:
		add_to_list(member, arg);
		return 0;
	case MR_CMD_COUNT:
		r = mr_units_parse_count(arg, &number, err);
		break;
	case MR_CMD_TIMESPAN:
		r = mr_units_parse_timespan(arg, true, &number, err);
		break;
	case MR_CMD_INSTANT:
		return parse_instant(arg, member, err);
	}
	if (r == 0)
		*(int64_t *)member = (int64_t)number;
	return r;
}

static int print_command_help(const struct mr_cmd *cmd)
{
	char buf[8192];
	struct mr_str text;

	mr_str_init(&text, buf, sizeof(buf));
	mr_str_printf(&text, "Usage: menace %s [OPTIONS]%s%s\n%s.\n\n", cmd->name,
		      cmd->synopsis[0] ? " " : "", cmd->synopsis, cmd->summary);
	mr_optable_help(&cmd->options, &text);
	fputs(buf, stdout);
	return 0;
}

static int parse_options(const struct mr_cmd *cmd, int argc, char **argv, void *values,
			 struct mr_error *err)
{
	mr_auto_free struct mr_optable_met *met = NULL;
	char label[MR_OPTABLE_LABEL_SIZE];
	bool dashes = false;
	size_t n = 0;
	int r = mr_optable_collect(&cmd->options, argc, argv, &met, &n, &dashes, err);

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct mr_cmd_row *row =
			(const void *)mr_optable_row(&cmd->options, met[i].row);

		r = take_option(row, met[i].arg, values, err);
		if (r < 0)
			mr_err_wrap(err, r, "%s",
				    mr_optable_label(&row->option, met[i].is_short, label));
	}
	return r;
}

static void set_not_given(const struct mr_cmd *cmd, void *values)
{
	for (size_t i = 0; i < cmd->options.n; i++) {
		const struct mr_cmd_row *row = (const void *)mr_optable_row(&cmd->options, i);

		if (row->kind == MR_CMD_COUNT || row->kind == MR_CMD_TIMESPAN ||
		    row->kind == MR_CMD_INSTANT)
			*(int64_t *)(void *)((char *)values + row->offset) = MR_CMD_NOT_GIVEN;
	}
}

/* Is this word, with the next one, an option of the command's own?  Words it takes: 0 to 2. */
static int count_own_words(const struct mr_cmd *cmd, const char *word)
{
	for (size_t i = 0; i < cmd->options.n; i++) {
		const struct mr_cli_option *option = mr_optable_row(&cmd->options, i);
		const size_t n = strlen(option->name);

		if (mr_str_starts_with(word, "--") && strncmp(word + 2, option->name, n) == 0 &&
		    (word[2 + n] == '\0' || word[2 + n] == '='))
			return option->arg && word[2 + n] == '\0' ? 2 : 1;
		if (word[0] == '-' && option->short_name && word[1] == option->short_name &&
		    (option->arg || word[2] == '\0'))
			return option->arg && word[2] == '\0' ? 2 : 1;
	}
	return 0;
}

/* Divide argv into what is the command's own, options only, and what it passes on.  Both lists end
 * with NULL and are as long as argv; returns the length of the first. */
static int divide_words(const struct mr_cmd *cmd, int argc, char **argv, char **own, char **others)
{
	int n_own = 1, n_others = 0, i = 1;

	own[0] = argv[0];
	while (i < argc && strcmp(argv[i], "--") != 0) {
		int take = count_own_words(cmd, argv[i]);

		if (take == 0)
			others[n_others++] = argv[i++];
		for (; take > 0 && i < argc; take--)
			own[n_own++] = argv[i++];
	}
	while (i < argc)
		others[n_others++] = argv[i++];
	return n_own;
}

static void warn_environment(void)
{
	struct mr_strv warnings = { 0 };

	mr_preset_warn_environment(environ, &warnings);
	for (size_t i = 0; i < warnings.n; i++)
		mr_log_warn("%s", warnings.v[i]);
	mr_strv_clear(&warnings);
}

static int call(const struct mr_cmd *cmd, void *values, char **words, struct mr_error *err)
{
	if (cmd->heeds_environment)
		warn_environment();
	return cmd->run(values, words, err);
}

static int run_passing_on(const struct mr_cmd *cmd, int argc, char **argv, void *values,
			  struct mr_error *err)
{
	mr_auto_free char **own = mr_str_alloc(((size_t)argc + 1) * sizeof(*own));
	mr_auto_free char **others = mr_str_alloc(((size_t)argc + 1) * sizeof(*others));
	int n = divide_words(cmd, argc, argv, own, others);
	int r = parse_options(cmd, n, own, values, err);

	if (r < 0)
		return r;
	if (((const struct mr_cmd_common *)values)->help)
		return print_command_help(cmd);
	return call(cmd, values, others, err);
}

static int run_with(const struct mr_cmd *cmd, int argc, char **argv, void *values)
{
	struct mr_error err = MR_ERROR_INIT;
	size_t words;
	int r;

	if (cmd->passes_on) {
		r = run_passing_on(cmd, argc, argv, values, &err);
		return r < 0 ? fail(&err) : r;
	}
	r = parse_options(cmd, argc, argv, values, &err);
	if (r < 0)
		return fail(&err);
	if (((const struct mr_cmd_common *)values)->help)
		return print_command_help(cmd);
	words = (size_t)(argc - optind);
	if (words < cmd->min_words || words > cmd->max_words) {
		mr_log_error("usage: menace %s [OPTIONS]%s%s; see menace %s --help", cmd->name,
			     cmd->synopsis[0] ? " " : "", cmd->synopsis, cmd->name);
		return 2;
	}
	r = call(cmd, values, argv + optind, &err);
	return r < 0 ? fail(&err) : r;
}

static int run_command(const struct mr_cmd *cmd, int argc, char **argv)
{
	mr_auto_free void *values = mr_str_alloc(cmd->size);
	int status;

	set_not_given(cmd, values);
	status = run_with(cmd, argc, argv, values);
	free_lists(cmd, values);
	return status;
}

/* --- the front ------------------------------------------------------------- */

static int print_verbs(const struct mr_cmd *cmd)
{
	printf("Usage: menace %s VERB [OPTIONS] [WORDS]\n%s.\n\n", cmd->name, cmd->summary);
	for (size_t i = 0; cmd->verbs[i]; i++)
		printf("  %-20s %s\n", cmd->verbs[i]->name, cmd->verbs[i]->summary);
	printf("\nmenace %s VERB --help says more.\n", cmd->name);
	return 0;
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

/* argv[0] is the command's name. */
static int run_verb(const struct mr_cmd *cmd, int argc, char **argv)
{
	const size_t n = strlen(cmd->name) + 1;
	char quoted[MR_STR_QUOTE_SIZE];
	struct mr_str_nearest nearest;

	if (argc < 2 || is_help(argv[1]))
		return print_verbs(cmd) + (argc < 2 ? 2 : 0);
	if (argv[1][0] == '-')
		return run_command(cmd->verbs[0], argc, argv);
	mr_str_nearest_init(&nearest, argv[1]);
	for (size_t i = 0; cmd->verbs[i]; i++) {
		if (strcmp(cmd->verbs[i]->name + n, argv[1]) == 0)
			return run_command(cmd->verbs[i], argc - 1, argv + 1);
		mr_str_nearest_offer(&nearest, cmd->verbs[i]->name + n);
	}
	mr_str_quote(quoted, sizeof(quoted), argv[1]);
	if (nearest.best)
		mr_log_error("unknown verb %s; did you mean %s?", quoted, nearest.best);
	else
		mr_log_error("unknown verb %s; see menace %s --help", quoted, cmd->name);
	return 2;
}

static int print_help(void)
{
	printf("Usage: menace COMMAND [OPTIONS] [WORDS]\n"
	       "Look at what menace-run did, and prepare what it shall do.  See menace(1).\n\n");
	for (size_t i = 0; mr_cmd_get(i); i++)
		printf("  %-17s %s\n", mr_cmd_get(i)->name, mr_cmd_get(i)->summary);
	printf("\nmenace COMMAND --help says more.\n");
	return 0;
}

static int refuse_command(const char *word)
{
	char quoted[MR_STR_QUOTE_SIZE];
	struct mr_str_nearest nearest;

	mr_str_quote(quoted, sizeof(quoted), word);
	mr_str_nearest_init(&nearest, word);
	for (size_t i = 0; mr_cmd_get(i); i++)
		mr_str_nearest_offer(&nearest, mr_cmd_get(i)->name);
	if (nearest.best)
		mr_log_error("unknown command %s; did you mean %s?", quoted, nearest.best);
	else
		mr_log_error("unknown command %s; see menace --help", quoted);
	return 2;
}

static int run_word(int argc, char **argv);

/* "menace help pool drain" is "menace pool drain --help". */
static int run_help_of(int argc, char **argv)
{
	char help[] = "--help";
	char *words[] = { argv[0], argv[2], argc > 3 ? argv[3] : help, help, NULL };

	return run_word(argc > 3 ? 4 : 3, words);
}

static int run_word(int argc, char **argv)
{
	if (argc > 2 && is_help(argv[1]) && !is_help(argv[2]))
		return run_help_of(argc, argv);
	if (argc < 2 || is_help(argv[1]))
		return print_help() + (argc < 2 ? 2 : 0);
	if (strcmp(argv[1], "--version") == 0)
		return printf("menace %s\n", MENACE_VERSION) < 0;
	for (size_t i = 0; mr_cmd_get(i); i++)
		if (strcmp(mr_cmd_get(i)->name, argv[1]) == 0)
			return mr_cmd_get(i)->verbs
				       ? run_verb(mr_cmd_get(i), argc - 1, argv + 1)
				       : run_command(mr_cmd_get(i), argc - 1, argv + 1);
	return refuse_command(argv[1]);
}

/* Has the reader gone?  What a pipe says of itself, for whom the error of the write is long gone. */
static bool is_unread(void)
{
	struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

/* Exit status, from that of the command: output that is lost is a failure, one that nobody reads
 * any more is none. */
static int end_output(int status)
{
	if (fflush(stdout) != 0) {
		if (errno == EPIPE)
			return status;
		mr_log_error("standard output: %m");
		return 125;
	}
	/* An earlier write, and errno is of something else by now. */
	if (!ferror(stdout) || is_unread())
		return status;
	mr_log_error("standard output: not all of it could be written");
	return 125;
}

/* What is read from a closed standard input or printed into a closed output shall fail as ever, and
 * who is started by us find them closed; messages go nowhere. */
static int fill_standard_fds(void)
{
	static const int stand_ins[] = { O_WRONLY | O_CLOEXEC, O_RDONLY | O_CLOEXEC, O_WRONLY };
	struct mr_error err = MR_ERROR_INIT;
	bool was_closed[3];

	return mr_fill_standard_fds(stand_ins, was_closed, &err) < 0 ? fail(&err) : 0;
}

int main(int argc, char **argv)
{
	struct mr_error err = MR_ERROR_INIT;
	int status;

	mr_log_init("menace", MR_LOG_NOTICE, MR_LOG_TEXT);
	status = mr_inherit_settle(&err) < 0 ? fail(&err) : fill_standard_fds();
	return end_output(status ? status : run_word(argc, argv));
}

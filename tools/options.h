/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of menace-run: what cli.c and options.c share
 */
#pragma once

#include "tools/cli.h"

/* When an option acts: earlier stages first, whatever the order of the arguments. */
enum mr_cli_stage {
	MR_CLI_STAGE_INFO, /* --help and --version: nothing else counts then */
	MR_CLI_STAGE_BEST_EFFORT, /* decides what a preset may ask */
	MR_CLI_STAGE_SPEC,
	MR_CLI_STAGE_PRESET,
	MR_CLI_STAGE_SET,
	MR_CLI_STAGE_FLAG,
	MR_CLI_STAGE_COUNT,
};

struct mr_cli_row;

/* One option as it was typed. */
struct mr_cli_met {
	const struct mr_cli_row *row;
	const char *arg;
	bool is_short; /* by its letter */
};

/* What is gathered besides the result itself; borrows from argv. */
struct mr_cli_parse {
	struct mr_cli cli;
	struct mr_cli_met *met; /* all the options, in the order of the command line */
	size_t n_met;
	char label[MR_OPTABLE_LABEL_SIZE]; /* of the option that is being applied */
	const char *code; /* -c */
	const char *lang; /* --lang */
	const char *stdin_reader; /* name of the option that reads standard input, or NULL */
};

typedef int mr_cli_take_fn(struct mr_cli_parse *parse, const char *arg, struct mr_error *err);

struct mr_cli_row {
	struct mr_cli_option option;
	enum mr_cli_stage stage;
	mr_cli_take_fn *take; /* NULL: sets option.field */
	const char *value; /* NULL: from the argument */
};

enum {
	MR_OPTIONS_COUNT = 0
#define GROUP(...) +1
#define OPTION(...) +1
#define KNOB(...) +1
#define SWITCH(...) +1
#include "tools/options.def"
#undef GROUP
#undef OPTION
#undef KNOB
#undef SWITCH
};

/* MR_OPTIONS_COUNT rows. */
const struct mr_cli_row *mr_options_rows(void);
/* "--memory", or "-m (--memory)" when the letter was typed; returns buf. */
const char *mr_options_label(const struct mr_cli_met *met, char buf[MR_OPTABLE_LABEL_SIZE]);
/* Messages begin with the label. */
int mr_options_apply(struct mr_cli_parse *parse, const struct mr_cli_met *met,
		     struct mr_error *err);

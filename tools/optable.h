/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option tables: what all our tools do with theirs
 *
 * A table is an array of rows of any kind that begin with a struct mr_cli_option.
 * Parsing, hints for typing errors and the list of --help come from it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct mr_error;
struct mr_str;

/* One option, or (name NULL) the title of a group. */
struct mr_cli_option {
	const char *group;
	const char *name;
	int short_name; /* 0: none */
	const char *arg; /* NULL: takes no argument */
	const char *help;
	int field; /* enum mr_field_id that it sets, or -1 */
};

struct mr_optable {
	const void *rows;
	size_t stride; /* size of a row */
	size_t n;
	bool anywhere; /* options may also stand behind words; argv is put into order then */
};
#define MR_OPTABLE(array)                                                  \
	{                                                                  \
		.rows = (array), .stride = sizeof((array)[0]),             \
		.n = sizeof(array) / sizeof((array)[0]), .anywhere = true, \
	}

const struct mr_cli_option *mr_optable_row(const struct mr_optable *table, size_t i);

/* An option as it was met. */
struct mr_optable_met {
	size_t row;
	const char *arg; /* NULL: takes none; borrows argv */
	bool is_short; /* typed as one letter */
};

/* An option as it was typed, for messages: "--timeout" or "-t (--timeout)". Returns buf. */
#define MR_OPTABLE_LABEL_SIZE 32
const char *mr_optable_label(const struct mr_cli_option *option, bool is_short,
			     char buf[MR_OPTABLE_LABEL_SIZE]);

/* All options, up to the first word that is none unless `anywhere`; *ret_met is malloc'd.  The words begin at
 * optind; *ret_dashes: "--" ended the options.  Not reentrant (getopt). */
int mr_optable_collect(const struct mr_optable *table, int argc, char **argv,
		       struct mr_optable_met **ret_met, size_t *ret_n, bool *ret_dashes,
		       struct mr_error *err);
/* The lines of --help. */
void mr_optable_help(const struct mr_optable *table, struct mr_str *text);

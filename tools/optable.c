/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option tables
 *
 * getopt_long() only collects here; what an option does is the matter of its tool.
 */
#include "tools/optable.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

#define LONG_BASE 1000 /* getopt value of row i: beyond any short option */

const struct mr_cli_option *mr_optable_row(const struct mr_optable *table, size_t i)
{
	return (const void *)((const char *)table->rows + i * table->stride);
}

static int refuse_option(const struct mr_optable *table, const char *word, struct mr_error *err)
{
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
	for (size_t i = 0; i < table->n; i++)
		if (mr_optable_row(table, i)->name)
			mr_str_nearest_offer(&nearest, mr_optable_row(table, i)->name);
	mr_str_quote(quoted, sizeof(quoted), name);
	quoted[strlen(quoted) - 1] = '\0'; /* the quotes would only be in the way */
	if (!nearest.best)
		return mr_err(err, MR_E_USAGE, EINVAL, "unknown option %s; see --help", quoted + 1);
	if (strcmp(nearest.best, name + 2) == 0) /* known, so it was "--name=value" of a switch */
		return mr_err(err, MR_E_USAGE, EINVAL, "--%s takes no value", nearest.best);
	return mr_err(err, MR_E_USAGE, EINVAL, "unknown option %s; did you mean --%s?", quoted + 1,
		      nearest.best);
}

static size_t find_row(const struct mr_optable *table, int value)
{
	size_t i = 0;

	while (i < table->n && value != LONG_BASE + (int)i &&
	       value != mr_optable_row(table, i)->short_name)
		i++;
	mr_assert(i < table->n); /* else getopt returned what no table has */
	return i;
}

const char *mr_optable_label(const struct mr_cli_option *option, bool is_short,
			     char buf[MR_OPTABLE_LABEL_SIZE])
{
	if (is_short)
		snprintf(buf, MR_OPTABLE_LABEL_SIZE, "-%c (--%s)", option->short_name,
			 option->name);
	else
		snprintf(buf, MR_OPTABLE_LABEL_SIZE, "--%s", option->name);
	return buf;
}

static int refuse_missing(const struct mr_optable *table, int value, struct mr_error *err)
{
	const struct mr_cli_option *option = mr_optable_row(table, find_row(table, value));
	char label[MR_OPTABLE_LABEL_SIZE];

	return mr_err(err, MR_E_USAGE, EINVAL, "%s needs a value: %s",
		      mr_optable_label(option, value < LONG_BASE, label), option->arg);
}

/* Tables of getopt from ours; longs has room for a row more. */
static void make_getopt_tables(const struct mr_optable *table, struct option *longs,
			       struct mr_str *shorts)
{
	size_t n = 0;

	mr_str_add(shorts, table->anywhere ? ":" : "+:");
	for (size_t i = 0; i < table->n; i++) {
		const struct mr_cli_option *option = mr_optable_row(table, i);

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

/* "-vvv" is one argument and three options. */
static size_t count_letters(int argc, char **argv)
{
	size_t n = 1;

	for (int i = 0; i < argc; i++)
		n += strlen(argv[i]);
	return n;
}

int mr_optable_collect(const struct mr_optable *table, int argc, char **argv,
		       struct mr_optable_met **ret_met, size_t *ret_n, bool *ret_dashes,
		       struct mr_error *err)
{
	mr_auto_free struct option *longs = mr_str_alloc((table->n + 1) * sizeof(*longs));
	mr_auto_free char *buf = mr_str_alloc(2 * table->n + 4);
	mr_auto_free struct mr_optable_met *met =
		mr_str_alloc(count_letters(argc, argv) * sizeof(*met));
	struct mr_str shorts;

	mr_str_init(&shorts, buf, 2 * table->n + 4);
	make_getopt_tables(table, longs, &shorts);
	opterr = 0;
	optind = 0; /* makes glibc start afresh */
	for (size_t n = 0;;) {
		int before = optind;
		int value = getopt_long(argc, argv, buf, longs, NULL);

		if (value == -1) {
			*ret_n = n;
			*ret_dashes = optind > (before ? before : 1);
			*ret_met = mr_take_ptr(met);
			return 0;
		}
		if (value == ':')
			return refuse_missing(table, optopt, err);
		if (value == '?') /* optopt is a short option, or 0 or a row's value */
			return refuse_option(table, argv[optind - 1], err);
		met[n++] = (struct mr_optable_met){ find_row(table, value), optarg,
						    value < LONG_BASE };
	}
}

void mr_optable_help(const struct mr_optable *table, struct mr_str *text)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct mr_cli_option *option = mr_optable_row(table, i);
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

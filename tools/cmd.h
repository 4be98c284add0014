/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of menace: what its subcommands share
 *
 * A subcommand is one file cmd_NAME.c that defines one struct mr_cmd; commands.def
 * lists them.  Its options are a table of rows that say where in a struct of the
 * command's own each value goes; that struct begins with struct mr_cmd_common, and
 * the table ends with the rows of it that the command heeds.
 *
 * Exit status: 0; 1 the answer is no (nothing found, verification failed); 2 wrong
 * use; 3 diff: behaviour grew; 125 the store could not be used.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/store/store.h"
#include "tools/optable.h"

struct json_t;
struct mr_error;
struct mr_living;

enum mr_cmd_kind {
	MR_CMD_FLAG, /* bool */
	MR_CMD_TEXT, /* const char *, UTF-8, borrows argv */
	MR_CMD_PATH, /* the same of any bytes */
	MR_CMD_LIST, /* struct mr_cmd_list: each time the option is given, any bytes */
	MR_CMD_COUNT, /* int64_t */
	MR_CMD_TIMESPAN, /* int64_t, milliseconds; a bare number is seconds */
	MR_CMD_INSTANT, /* int64_t, microseconds since 1970: a date, or a span ago ("2h", "7d") */
};

/* What a number of an option is that was not given; 0 is a number like others. */
#define MR_CMD_NOT_GIVEN INT64_MIN

struct mr_cmd_list {
	const char **v; /* borrows argv; the array goes with the command's struct */
	size_t n, cap;
};

struct mr_cmd_row {
	struct mr_cli_option option;
	enum mr_cmd_kind kind;
	size_t offset; /* into the command's struct */
};

struct mr_cmd_common {
	const char *store; /* --store */
	bool json; /* --json */
	bool help; /* --help */
};

#define MR_CMD_ROW(name_, short_, arg_, kind_, type_, member_, help_)                       \
	{                                                                                   \
		.option = { NULL, name_, short_, arg_, help_, -1 }, .kind = MR_CMD_##kind_, \
		.offset = offsetof(struct type_, member_)                                   \
	}
/* One of these three ends the table of a command: no option that it does not heed. */
#define MR_CMD_HELP_ROW(type_) \
	MR_CMD_ROW("help", 'h', NULL, FLAG, type_, common.help, "print this help")
#define MR_CMD_JSON_ROWS(type_)                               \
	MR_CMD_ROW("json", 0, NULL, FLAG, type_, common.json, \
		   "print JSON, one document or one a line"), \
		MR_CMD_HELP_ROW(type_)
#define MR_CMD_COMMON_ROWS(type_)                                                      \
	MR_CMD_ROW("store", 0, "PATH", PATH, type_, common.store,                      \
		   "the store; by default the one that menace-run keeps its runs in"), \
		MR_CMD_JSON_ROWS(type_)

struct mr_cmd {
	const char *name;
	const char *synopsis; /* what follows the name */
	const char *summary; /* one line */
	struct mr_optable options; /* of struct mr_cmd_row */
	size_t size; /* of the command's struct */
	size_t min_words, max_words; /* words after the options */
	const struct mr_cmd *const
		*verbs; /* NULL-terminated, named "NAME VERB"; instead of all from options
				    on.  Options without a verb are the first one's */
	bool heeds_environment; /* variables that begin with SANDBOX_: of others of them it warns */
	bool passes_on; /* options that are not its own are words; "--" ends them and is one too */
	/* values: the command's struct; words: NULL-terminated. Exit status, or negative with *err. */
	int (*run)(void *values, char **words, struct mr_error *err);
};

/* The i-th command; NULL after the last. */
const struct mr_cmd *mr_cmd_get(size_t i);

/* Open the store of --store (or the default) and take in what waits in its spool; what keeps that
 * from happening is warned of and does not matter to MR_STORE_READ. 0 or negative. */
int mr_cmd_open(const struct mr_cmd_common *common, enum mr_store_mode mode, struct mr_store **ret,
		struct mr_error *err);
/* The run whose id begins with prefix: its full id, malloc'd. MR_E_USAGE: none, or several. */
int mr_cmd_find_run(struct mr_store *store, const char *prefix, char **ret, struct mr_error *err);
/* The living run whose id begins with prefix: 0 and its place in the list, 1 when there is none. */
int mr_cmd_find_living(const struct mr_living *list, size_t n, const char *prefix, size_t *ret,
		       struct mr_error *err);
/* Is word (NULL: not given) one of the n known ones?  Else MR_E_USAGE, with a hint. */
int mr_cmd_check_word(const char *option, const char *word, const char *const *known, size_t n,
		      struct mr_error *err);
/* The same for why a run ended. */
int mr_cmd_check_reason(const char *reason, struct mr_error *err);
/* A number of an option, with its fallback where it was not given; refused out of min to max. */
int mr_cmd_check_count(const char *option, int64_t *value, int64_t fallback, int64_t min,
		       int64_t max, struct mr_error *err);
/* The value of an MR_CMD_INSTANT to bind: null when it was not given; new reference. */
struct json_t *mr_cmd_instant(int64_t us);
/* A document on standard output: for machines, or one line. */
void mr_cmd_print_json(const struct json_t *json);
void mr_cmd_print_line(const struct json_t *json);
/* For who was told that standard output takes no more, and why: it is empty and without an error
 * from now on, so that main() does not say it again.  0: its reader is gone, which is no failure;
 * else negative with *err.  Who prints without looking has this from main(). */
int mr_cmd_lost_output(int errnum, struct mr_error *err);

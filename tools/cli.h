/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of menace-run
 *
 * options.def is the one list of options; parsing, --help, hints for typing errors and
 * the OPTIONS of the manual page come from it.  Nothing here prints or exits.
 *
 * Precedence, whatever the order of the arguments: flags, --set, the --spec document,
 * --preset, the environment (SANDBOX_ENV_PRESETS), defaults.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/log.h"
#include "runtime/spec/spec.h"
#include "runtime/supervise/ready.h"
#include "tools/optable.h"

struct mr_error;
struct mr_str;

struct mr_cli {
	struct mr_spec spec;
	char *json_target; /* --json: "-", "FD:N" or a file; NULL: no result asked */
	char *store; /* --store: a path or "none"; NULL: where it is by default */
	char *cgroup_parent; /* --cgroup-parent, or NULL */
	bool summary; /* --summary */
	bool dry_run; /* --dry-run */
	bool batch; /* --batch: spec is what every line starts from */
	bool brief; /* --brief: what most of a result is about is left out */
	struct mr_ready_fds ready; /* --ready-fd and --block-fd */
	unsigned int jobs; /* --jobs; 1 if not given */
	int verbosity; /* -v counts up, -q down */
	enum mr_log_format log_format;
	bool help; /* nothing else counts then */
	bool version;
	bool snippet_from_stdin; /* FILE was "-": the caller fills in spec.snippet_code */
	struct mr_strv warnings; /* lines worth saying before the run */
};

/* Parse and check.  *ret must be released by mr_cli_deinit(); on failure it is untouched.
 * The spec has passed mr_spec_validate(), except with batch, snippet_from_stdin, help and
 * version: the caller completes it and validates then.  Not reentrant (getopt). */
int mr_cli_parse(int argc, char **argv, struct mr_cli *ret, struct mr_error *err);
void mr_cli_deinit(struct mr_cli *cli);

/* The text of --help, at most MR_CLI_HELP_SIZE bytes. */
#define MR_CLI_HELP_SIZE 8192
void mr_cli_help(struct mr_str *text);

/* The i-th row of options.def; NULL after the last. */
const struct mr_cli_option *mr_cli_option(size_t i);

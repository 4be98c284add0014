/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session: what menace-run shares between its ways of running
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/loop.h"
#include "runtime/supervise/run.h"
#include "tools/cli.h"

struct json_t;
struct mr_error;
struct mr_result_file;

/* single.c: one run in the foreground, whose result goes to the file; exit status. */
int mr_single_main(struct mr_run_host *host, struct mr_cli *cli, struct mr_result_file *file);
/* batch.c: specs as lines on standard input, results as lines on standard output; exit status. */
int mr_batch_main(struct mr_run_host *host, struct mr_cli *cli);
/* dry_run.c: the resolved spec and what this host can enforce; exit status. */
int mr_dry_run_main(struct mr_run_host *host, struct mr_cli *cli);

/* report.c: the table of --summary on stderr, and the one line after a run that did not end by
 * itself. */
void mr_report_summary(const struct json_t *result);
void mr_report_notice(const struct json_t *result);

/* menace-run.c: was this one of 0, 1 and 2 closed when we were started?  /dev/null stands there. */
bool mr_session_was_closed(int fd);
/* Is that number a descriptor of the caller's that can be written to, or read from?  what: the option, for
 * the message. */
int mr_session_check_fd(const char *what, uint64_t fd, bool writes, struct mr_error *err);
/* Text written to standard output: 0, or an error that names it (what: the noun in front). */
int mr_session_flush(const char *what, bool written, struct mr_error *err);
/* Signals we take by descriptor, blocked for the process. Descriptor or negative errno. */
int mr_session_signals(struct mr_error *err);
/* Say an error and return its exit status. */
int mr_session_fail(const struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runner: a menace-run process that stays for the next run
 *
 * It is menace-run --batch with one run at a time: starting one costs as much as many a
 * run.  Each run still has a sandbox of its own; what is kept is the supervisor.  Nothing
 * is ever sent to a runner whose last run did not give a result.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct mr_error;
struct mr_runners;

struct mr_runner {
	pid_t pid;
	int in_fd, out_fd; /* a line each way; the latter does not block */
	int said_fd; /* its messages, a file in memory */
	off_t said_from; /* where those of this run begin */
};

/* program: menace-run; store: of its --store, or NULL.  Never NULL. */
struct mr_runners *mr_runners_new(const char *program, const char *store);
/* Ends those that wait.  Accepts NULL, returns NULL. */
struct mr_runners *mr_runners_free(struct mr_runners *runners);

/* One that waits or a new one, with a request: one line without its end. */
int mr_runners_take(struct mr_runners *runners, const char *line, size_t size,
		    struct mr_runner *ret, struct mr_error *err);
/* It has given its result, whole. */
void mr_runners_put(struct mr_runners *runners, struct mr_runner *runner);
/* Have it end its run and itself, and wait; its status of waitpid(2). */
int mr_runner_end(struct mr_runner *runner);

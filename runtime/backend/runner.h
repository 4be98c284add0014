/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runner: a menace-run process that stays for the next run
 *
 * It is menace-run --batch --brief with one run at a time: starting one costs as much as many a
 * run.  Each run still has a sandbox of its own; what is kept is the supervisor.  Nothing
 * is ever sent to a runner whose last run did not give a result.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct mr_error;
struct mr_runners;

struct mr_runner {
	pid_t pid;
	int in_fd, out_fd; /* a line each way; the latter does not block */
	/* Of one that holds its runs: a byte comes when the run is ready, and one lets it go; else -1. */
	int hold_fd;
	int said_fd; /* its messages, a file in memory */
	off_t said_from; /* where those of this run begin */
};
#define MR_RUNNER_NONE                                                  \
	(struct mr_runner)                                              \
	{                                                               \
		.in_fd = -1, .out_fd = -1, .hold_fd = -1, .said_fd = -1 \
	}

/* Start a process of menace-run, argv[0] its path: in a group of its own, and told to end when we do.  streams: what
 * becomes its standard input, output and error, -1: /dev/null; kept: other descriptors that it has.  Its id, or
 * negative errno. */
pid_t mr_runner_spawn(char **argv, const int streams[3], const int *kept, size_t n_kept,
		      struct mr_error *err);

/* program: menace-run; store: of its --store, or NULL; cgroup_parent: of its --cgroup-parent, or NULL;
 * holds: each run is held when it is ready, and no process stays for another.  Never NULL. */
struct mr_runners *mr_runners_new(const char *program, const char *store, const char *cgroup_parent,
				  bool holds);
/* Ends those that wait.  Accepts NULL, returns NULL. */
struct mr_runners *mr_runners_free(struct mr_runners *runners);

/* One that waits or a new one, with a request: one line without its end. */
int mr_runners_take(struct mr_runners *runners, const char *line, size_t size,
		    struct mr_runner *ret, struct mr_error *err);
/* It has given its result, whole. */
void mr_runners_put(struct mr_runners *runners, struct mr_runner *runner);
/* Have it end its run and itself, and wait; its status of waitpid(2). */
int mr_runner_end(struct mr_runner *runner);
/* Tell a menace-run to take its sandbox down and to end, also where somebody has stopped it. */
void mr_runner_terminate(pid_t pid);
/* Wait for that end, which is not reaped here; one that does not come in time is brought about. */
void mr_runner_await(pid_t pid);

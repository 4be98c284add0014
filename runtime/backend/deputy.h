/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deputy: a run that the program of another backend does for us
 *
 * menace-run's side of handover.h.  Like a run of our own (runtime/supervise/run.h) it is driven
 * by a loop, always ends, and then has a result.
 */
#pragma once

#include <stdbool.h>

#include "runtime/backend/choose.h"

struct json_t;
struct mr_deputy;
struct mr_error;
struct mr_loop;
struct mr_ready_fds;

/* Ask the backend's program whether it can do this run; waits for its answer, at most
 * HANDOVER_PROBE of patience.def.  Never fails: who cannot be asked cannot. */
void mr_deputy_probe(enum mr_backend backend, const struct mr_spec *spec,
		     struct mr_backend_facts *ret);

struct mr_deputy_opts {
	const struct mr_spec *spec; /* borrowed until it is freed */
	const struct mr_choice *choice; /* borrowed likewise */
	int stdin_fd, stdout_fd, stderr_fd; /* the caller's streams, borrowed; -1: none */
	/* How it is held before its program is started, borrowed; NULL: not. */
	const struct mr_ready_fds *ready;
	void (*on_done)(struct mr_deputy *deputy, void *owner); /* or NULL */
	void *owner;
};

/* A failure from here on is part of the run: it is then done at once, with a result of
 * reason setup_error, and on_done is not called; a program that ends without a result of its own is
 * reason supervisor_lost.  Never NULL. */
struct mr_deputy *mr_deputy_start(struct mr_loop *loop, const struct mr_deputy_opts *opts);
bool mr_deputy_is_done(const struct mr_deputy *deputy);
/* Hand a signal on. */
void mr_deputy_signal(struct mr_deputy *deputy, int sig);

/* Once done: schema "menace.result/1"; new reference. */
struct json_t *mr_deputy_result(const struct mr_deputy *deputy);
int mr_deputy_exit_status(const struct mr_deputy *deputy);
/* The error of a run that could not be done; NULL otherwise. */
const struct mr_error *mr_deputy_error(const struct mr_deputy *deputy);
/* One that is not done is ended first.  Returns NULL. */
struct mr_deputy *mr_deputy_free(struct mr_deputy *deputy);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Run: one sandbox, from a spec to a result
 *
 * A run is driven by the loop it is given; many can share one.  It ends in the
 * state DONE, whatever happens, and then has a result.  The caller is told through
 * on_done, collects and frees the run, which takes away the last it left outside.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/spec/spec.h"
#include "runtime/supervise/whose.h"

struct json_t;
struct mr_cgroup_host;
struct mr_error;
struct mr_loop;
struct mr_netns_pool;
struct mr_ready_fds;
struct mr_roots;
struct mr_telemetry_host;
struct mr_run;
struct mr_spec;

struct mr_subrun_opts {
	const struct json_t *spec; /* a document */
	const void *input; /* what the program reads */
	size_t input_size;
	int output_fd; /* where what it prints goes */
	void (*on_end)(void *owner); /* from the loop, once; then it may be freed */
	void *owner;
};

/* Who makes a run for a run: another menace-run process (runtime/backend/child.h), of which this layer
 * knows no more. */
struct mr_subruns {
	/* The options are not needed afterwards. */
	int (*start)(struct mr_loop *loop, const struct mr_subrun_opts *opts, void **ret,
		     struct mr_error *err);
	/* After the end: the result, borrowed. */
	int (*result)(void *subrun, const struct json_t **ret, struct mr_error *err);
	/* Ask it to end; it does so by itself. */
	void (*interrupt)(void *subrun);
	/* One that lives is ended first, and waited for.  NULL is accepted. */
	void (*free)(void *subrun);
};

/* What all runs of a process share. */
struct mr_run_host {
	struct mr_loop *loop;
	struct mr_cgroup_host *cgroups;
	int lease_dir;
	struct mr_netns_pool *
		netns; /* where network namespaces are made, and kept for the next; NULL: not by us */
	struct mr_roots
		*roots; /* what runs leave of theirs for the next, or NULL: each makes its own */
	struct mr_telemetry_host *telemetry; /* made by the first run that wants it */
	struct mr_looks looks; /* at whose a socket is */
	const struct mr_subruns *subruns; /* NULL: none can be made */
};
/* Open it, and sweep what crashed supervisors left. */
int mr_run_host_open(struct mr_run_host *host, struct mr_error *err);
/* For up to *runs runs at a time: raise our soft limit of open files as far as they need and the hard one
 * lets us, keep what their control groups are in until the host is closed, and use network namespaces
 * again, as many as there is room for.  Without privilege, or without room, each run has its own.
 * Where the hard limit does not suffice, a warning says so, and *runs is lowered to what has room. */
int mr_run_host_keep(struct mr_run_host *host, unsigned int *runs, struct mr_error *err);
/* After keeping: do once, for the runs to come, what of a run by this level of telemetry
 * depends on nothing in it; what cannot be done is left to them. */
void mr_run_host_prepare(struct mr_run_host *host, enum mr_telemetry_level level);
void mr_run_host_close(struct mr_run_host *host);

struct mr_run_opts {
	const struct mr_spec *spec; /* borrowed until the run is freed */
	unsigned int slot; /* distinct among the runs of this process */
	int stdin_fd, stdout_fd, stderr_fd; /* the caller's streams, borrowed; -1: none */
	const struct mr_ready_fds *ready; /* how it is held when it is ready, borrowed; NULL: not */
	void (*on_done)(struct mr_run *run, void *owner);
	void *owner;
};

/* Start.  A failure from here on is part of the run: the run is then DONE at once, has a result
 * of reason setup_error, and on_done is not called.  Never NULL. */
struct mr_run *mr_run_start(struct mr_run_host *host, const struct mr_run_opts *opts);
bool mr_run_is_done(const struct mr_run *run);
/* Ask the payload to end (the signal is forwarded); kill the tree after the grace time or at the
 * second call. */
void mr_run_interrupt(struct mr_run *run, int sig);
/* Forward a signal that does not mean the end (SIGUSR1, SIGWINCH ...). */
void mr_run_forward(struct mr_run *run, int sig);
/* Stop the payload, and let it go on: job control of the caller. */
void mr_run_suspend(struct mr_run *run);
void mr_run_resume(struct mr_run *run, uint64_t stopped_ns);
/* SIGURG came: somebody may have asked to follow it (follow.h). */
void mr_run_followed(struct mr_run *run);
/* Set the size of the payload's terminal from the caller's. */
void mr_run_resize(struct mr_run *run, int tty_fd);

/* Once DONE, and once only: read what it left in its workspace; not from within on_done.  That can
 * take long: others(owner), if any, is called now and then meanwhile and may run the loop. */
void mr_run_collect(struct mr_run *run, void (*others)(void *owner), void *owner);
/* Once collected: the result, schema "menace.result/1"; new reference. */
struct json_t *mr_run_result(struct mr_run *run);
int mr_run_exit_status(const struct mr_run *run);
/* The error of a run that could not be set up; NULL otherwise. */
const struct mr_error *mr_run_error(const struct mr_run *run);
const char *mr_run_id(const struct mr_run *run);
/* Release everything; a run that is not DONE is killed first. Returns NULL. */
struct mr_run *mr_run_free(struct mr_run *run);

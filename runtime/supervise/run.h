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
#include <stdint.h>

#include "runtime/supervise/whose.h"

struct json_t;
struct mr_cgroup_host;
struct mr_error;
struct mr_loop;
struct mr_netns_pool;
struct mr_telemetry_host;
struct mr_run;
struct mr_spec;

/* What all runs of a process share. */
struct mr_run_host {
	struct mr_loop *loop;
	struct mr_cgroup_host *cgroups;
	int lease_dir;
	struct mr_netns_pool
		*netns; /* network namespaces to use again, or NULL: each run its own */
	struct mr_telemetry_host *telemetry; /* made by the first run that wants it */
	struct mr_looks looks; /* at whose a socket is */
};
/* Open it, and sweep what crashed supervisors left. */
int mr_run_host_open(struct mr_run_host *host, struct mr_error *err);
/* For many runs: use network namespaces again, up to max at a time. Without privilege: no-op. */
int mr_run_host_keep_netns(struct mr_run_host *host, unsigned int max, struct mr_error *err);
void mr_run_host_close(struct mr_run_host *host);

struct mr_run_opts {
	const struct mr_spec *spec; /* borrowed until the run is freed */
	unsigned int slot; /* distinct among the runs of this process */
	int stdin_fd, stdout_fd, stderr_fd; /* the caller's streams, borrowed; -1: none */
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

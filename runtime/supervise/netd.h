/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netd: the life of a run's menace-netd, as the supervisor sees it
 *
 * netns/netd.h is what the two agree on.  It ends with us (end of file on the channel), and
 * when it ends before we asked it to, on_lost says so: the run must end then, for what its network
 * does is no longer what was asked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "netns/netd.h"
#include "runtime/base/loop.h"

struct mr_error;

struct mr_netd_opts {
	const char *mode; /* of menace-netd */
	const char *config; /* text of the mode, copied */
	size_t config_size;
	const int *doors; /* borrowed */
	size_t n_doors; /* at most MR_DOORS */
	const int *more; /* behind the doors, borrowed: the mode's own */
	size_t n_more; /* at most MR_NETD_MORE_MAX */
	const char *task; /* what it does, for whoever reads that it no longer does: constant */
	/* A whole message of the mode's own. */
	void (*on_message)(void *owner, const struct mr_netd_head *head);
	/* It failed or died, once; not called from within one of the functions below. */
	void (*on_lost)(void *owner, const struct mr_error *err);
	void *owner;
};

/* All members are private to netd.c. */
struct mr_netd_run {
	struct mr_netd_opts opts;
	struct mr_loop *loop;
	struct mr_source channel, process;
	pid_t pid;
	bool ready, lost;
	bool rests; /* for this turn of the loop */
	int landlock_abi;
	struct mr_error end;
	struct mr_netd_window windows[MR_DROP_WINDOWS]; /* of its faults */
	uint32_t n_windows; /* that were told */
};
#define MR_NETD_RUN_INIT                                          \
	{                                                         \
		.channel = { .fd = -1 }, .process = { .fd = -1 }, \
	}

/* Start it; it becomes ready by itself.  MR_E_KERNEL when the program is not there. */
int mr_netd_start(struct mr_netd_run *netd, struct mr_loop *loop, const struct mr_netd_opts *opts,
		  struct mr_error *err);
/* Wait until it is confined and serves, at most 30 seconds; its own error when it cannot. */
int mr_netd_wait(struct mr_netd_run *netd, struct mr_error *err);
/* Send one message; false when it cannot be told any more, which on_lost will tell or has told. */
bool mr_netd_send(struct mr_netd_run *netd, const struct mr_netd_head *head);
/* From within on_message: what that cost was much, the messages that follow wait for the next turn
 * of the loop. */
void mr_netd_rest(struct mr_netd_run *netd);
/* Its process, while it is there; else 0. */
pid_t mr_netd_pid(const struct mr_netd_run *netd);
/* ABI of Landlock it is confined with; 0: none. */
int mr_netd_landlock(const struct mr_netd_run *netd);
/* What it told at its end of a fault; NULL: nothing. */
const struct mr_netd_window *mr_netd_window(const struct mr_netd_run *netd, size_t i);
/* The run is over: hand on what it still says within two seconds, or twenty while it is kept from the
 * processor, then kill and reap it.  No-op for one that was not started. */
void mr_netd_stop(struct mr_netd_run *netd);
/* Why what it told until then is not all: it failed at the end, or was killed there.  NULL: it is all. */
const struct mr_error *mr_netd_end(const struct mr_netd_run *netd);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helper: a process of ours beside a run, in a control group of its choice
 *
 * Forked, not executed: it holds no descriptor but one of a pipe whose other end is the
 * supervisor's, and ends at its end of file, so that it does not outlive the supervisor.  What it
 * counts it writes into memory that both share.  Helpers do something, or not, at the begin of each
 * second; which seconds is drawn beforehand.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/base/rand.h"

struct mr_cgroup;
struct mr_error;

#define MR_SECOND_NS 1000000000ULL
#define MR_SECONDS 65536 /* drawn; after that they come again */

struct mr_seconds {
	uint8_t fires[MR_SECONDS / 8];
};
void mr_seconds_draw(struct mr_seconds *seconds, struct mr_rand *rand, unsigned int percent);
bool mr_seconds_fire(const struct mr_seconds *seconds, uint64_t second);

struct mr_helper {
	pid_t pid; /* 0: none */
	int fd; /* our end */
};
/* body runs once the process is in the group; it must call nothing that could hold a lock, and ends
 * with _exit() or by returning. */
int mr_helper_start(struct mr_helper *helper, const struct mr_cgroup *group, const char *name,
		    void (*body)(void *arg, int fd), void *arg, struct mr_error *err);
/* Tell it to end, and wait for that; kill it when it has not after 300 ms.  No-op for none. */
void mr_helper_stop(struct mr_helper *helper);

/* Wait until then.  True: it is to end. */
bool mr_helper_wait(int fd, uint64_t until_ns);

/* Memory that a helper shares; zeroed.  NULL with *err filled. */
void *mr_helper_share(size_t size, struct mr_error *err);

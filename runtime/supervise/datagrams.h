/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Datagrams: what a run whose network leads nowhere sends by calls that nobody stops
 *
 * sendmsg and sendmmsg are calls of local sockets too, and their addresses lie where seccomp cannot
 * look.  So a guard (bpf/guard.h) at the run's control group tells of them.  It is put there
 * when the run makes its first internet socket, which waits for that: a run that makes none pays
 * nothing.
 */
#pragma once

#include <stdint.h>

#include "runtime/supervise/unseen.h"

struct mr_guard;
struct mr_run;

/* The run is about to make an internet socket; for mr_notify_payload. */
void mr_datagrams_watch(void *run);
/* What a guard had no room to tell: into the sums of the denials; how many. */
uint64_t mr_datagrams_lose(struct mr_run *run, const struct mr_guard *guard);
/* It has ended: tell the rest, and let go. */
void mr_datagrams_finish(struct mr_run *run);
void mr_datagrams_free(struct mr_run *run);
/* What of it may have been refused without a denial.  Lives as long as the run. */
struct mr_unseen_part mr_datagrams_unseen(const struct mr_run *run);

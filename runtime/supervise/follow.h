/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follow: the events of a run as they happen, for somebody who asks
 *
 * Who asks
 *   1. listens on a socket ".follow-RUN-PID-TIME" beside the lease of the run,
 *   2. sends the supervisor SIGURG, whose default is to be ignored,
 *   3. takes the connection that the supervisor makes, and removes the name.
 *
 * So a run that nobody follows has neither a socket nor a watch nor a timer for it.  Who may ask
 * is who may write the folder of leases (its owner, who is the run's, and root) and may send that
 * signal: the kernel decides both, and the sandbox sees neither.  What a killed asker leaves is a
 * name at which nobody listens; the next start of a run, or asker, removes it.
 *
 * The socket is SOCK_SEQPACKET: one message is one event, a JSON object with the members
 * boot_ns, type, tgid, start_boot_ns, comm, object, detail.  Three types are ours:
 *   hello   first; run_id, begin_ns
 *   lost    count events are missing here, because the asker read too slowly
 *   end     last; reason, exit_status of the run.  Without it the supervisor was killed.
 *
 * The supervisor never waits for a follower: what finds no room in a bounded queue is counted.
 */
#pragma once

#include <stddef.h>

#include "runtime/supervise/lease.h"

struct mr_error;
struct mr_run;

#define MR_FOLLOWERS_MAX 8 /* of a run */
#define MR_FOLLOW_MESSAGE_MAX 65536

/* The supervisor's side; mr_run_followed() of run.h connects to those who listen, and
 * living.h has the other end. */

/* The run is DONE: say what is left, and the end; nobody follows it any more.  No-op without
 * followers. */
void mr_follow_end(struct mr_run *run);
/* For the sweep of leases: remove name, if it is that of an asker who is gone. */
void mr_follow_sweep(int dir_fd, const char *name);

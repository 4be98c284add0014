/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wait: the end of a child, also of one that somebody else has reaped
 */
#pragma once

#include <sys/types.h>

/* As of waitpid(): a child that is gone without anybody who knows how.  It exited, and not with 0. */
#define MR_WAIT_UNKNOWN (255 << 8)

/* Wait for the end of this child: its status of waitpid(), or MR_WAIT_UNKNOWN. */
int mr_wait(pid_t pid);
/* Without waiting.  0: it lives.  1: it is gone, and ret_status is as of mr_wait(). */
int mr_wait_now(pid_t pid, int *ret_status);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inherit: what a process has from its caller besides arguments and descriptors
 *
 * Dispositions, the signal mask, timers and the umask outlive execve().  Each main calls
 * mr_inherit_settle() before anything else; rules[] in inherit.c says what becomes of each of them.
 * mr_signals_open() is the one list of the signals that end a run.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct mr_error;

/* Apply every rule: for what people start.  0, or a negative errno with the rule that could not be applied. */
int mr_inherit_settle(struct mr_error *err);
/* The rules for a program that another of ours starts, which has settled what its own caller left: the
 * mask is then how it is told that signals wait for it until it takes them by a descriptor. */
int mr_inherit_settle_helper(struct mr_error *err);

/* Is it ignored?  After mr_inherit_settle() that is so for what the caller wants to stay ignored only. */
bool mr_signal_is_ignored(int sig);

/* Does it end a run, with a result and a record?  All signals that end a process by default and that
 * come from others; not those of a fault of our own (SEGV and the like), of a write (PIPE, XFSZ), of
 * nobody (KILL), and not USR1 and USR2, which are the program's. */
bool mr_signal_ends(int sig);

/* Block the signals that end a run and the n_more of `more`, except for what the caller ignores, and
 * receive them by a descriptor (signalfd, non-blocking).  It, or a negative errno.  ret_before (may be
 * NULL): the mask as it was. */
int mr_signals_open(const int *more, size_t n_more, sigset_t *ret_before, struct mr_error *err);

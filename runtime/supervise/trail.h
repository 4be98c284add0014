/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trail: processes and events of a run, as far as there is room
 *
 * A process is its pid and the time it began.  What is kept is what came first and, of a
 * run that ends badly, what came last; its size is bounded whatever the payload does;
 * what is left out is counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/event.h"

struct json_t;

#define MR_TRAIL_PROCESSES_MAX 1024
#define MR_TRAIL_EVENTS_MAX 1024
#define MR_TRAIL_TEXT_MAX (256 * 1024) /* bytes of names and arguments */
#define MR_TRAIL_LAST_MAX 64 /* events held in case the run ends badly */

struct mr_trail;

struct mr_trail *mr_trail_new(void);
struct mr_trail *mr_trail_free(struct mr_trail *trail);
/* Take what there is to keep of an event. */
void mr_trail_add(struct mr_trail *trail, const struct mr_event *event);
/* When the process that has this pid began, so far; 0: not known. */
uint64_t mr_trail_start_of(const struct mr_trail *trail, uint32_t pid);

/* Has the kernel ended a process for a system call that a filter does not let live? */
bool mr_trail_has_seccomp_kill(const struct mr_trail *trail);

/* It ended badly: the last events belong to the list, too. */
void mr_trail_keep_last(struct mr_trail *trail);
/* Events that only mr_trail_keep_last() brought into the list; 0 where all had room. */
size_t mr_trail_last_kept(const struct mr_trail *trail);

/* Lists with members called as the columns of the store are; new references. */
struct json_t *mr_trail_processes(const struct mr_trail *trail);
/* In the order of time, forks and exits left to the processes. */
struct json_t *mr_trail_events(const struct mr_trail *trail);
/* An event as one or two rows of that kind, forks and exits too; those who look at it while it
 * goes on get these.  Each row is a new reference. */
typedef void mr_trail_fn(void *owner, struct json_t *row);
void mr_trail_show(const struct mr_trail *trail, const struct mr_event *event, mr_trail_fn *fn,
		   void *owner);
/* All that is kept as such rows, in the order of time. */
void mr_trail_replay(const struct mr_trail *trail, mr_trail_fn *fn, void *owner);
uint64_t mr_trail_processes_left_out(const struct mr_trail *trail);
uint64_t mr_trail_events_left_out(const struct mr_trail *trail);

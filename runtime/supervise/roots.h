/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Roots: what a run leaves of its root for the next of its slot
 *
 * Most of a sandbox's root is the same in every run: views of the host's system, a few files of
 * /etc, the nodes of /dev.  A process of many runs keeps, one a slot, the tree of mounts that a run
 * has made of it (mr_launch_shares_root()), and gives it to the next that would make the same.  Two
 * runs never have one at a time: by locks on its files they could talk.
 *
 * What changes on the host is shown to runs that start a second later at the latest: then a
 * tree is thrown away, however often it was handed on.
 */
#pragma once

#include <stdint.h>

struct mr_error;
struct mr_launch_opts;
struct mr_roots;
struct mr_run;

struct mr_roots *mr_roots_new(void);
/* NULL is accepted.  Returns NULL. */
struct mr_roots *mr_roots_free(struct mr_roots *roots);

/* Set keeps_root and kept_root of the opts; the latter is the caller's to close. */
int mr_roots_take(struct mr_run *run, struct mr_launch_opts *opts, struct mr_error *err);
/* The copy that the run has made, or -1; its descriptor is taken over. */
void mr_roots_keep(struct mr_run *run, int fd);

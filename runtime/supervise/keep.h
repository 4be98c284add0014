/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keep: copy what changed in a workspace to a directory of the caller's
 *
 * The copy walks what was written itself: the bounds of the list of changes (its rows, the
 * entries that it looks at) are none of the copy.
 *
 * To bring the result into a tree of one's own: there, remove what .menace-deleted lists
 * (xargs -0 rm -rf --), then copy the rest over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/supervise/changes.h"

struct json_t;
struct mr_error;

/* List of what is to be removed before the rest is copied over: the paths of the changes
 * "deleted" and "type_changed", each ended by a NUL.  Only there when it is not empty.
 * An entry of the payload with this name at the top is not kept, and a note says so. */
#define MR_KEEP_DELETED_NAME ".menace-deleted"

#define MR_KEEP_MAX_NOTES 100

struct mr_keep_opts {
	uint64_t max_bytes; /* file data copied; holes do not count */
	bool userxattr; /* as in mr_changes_opts */
	struct mr_turns *turns; /* for whoever waits meanwhile, or NULL */
};
#define MR_KEEP_OPTS_INIT               \
	{                               \
		.max_bytes = 1ULL << 40 \
	}

/* An entry that was not kept. */
struct mr_keep_note {
	char *path;
	const char *why; /* static text */
	int errnum; /* or 0 */
};

struct mr_kept {
	uint64_t files, dirs, symlinks;
	uint64_t bytes; /* file data copied */
	uint64_t deletions; /* paths in the list */
	uint64_t skipped;
	uint64_t lost; /* of these, all but fifos, sockets and devices, which hold no data */
	bool complete; /* nothing skipped */
	struct mr_keep_note notes[MR_KEEP_MAX_NOTES];
	size_t n_notes; /* the first ones of the skipped */
	struct mr_keep_note first_lost; /* path NULL: nothing was lost */
};

/* Copy what is added, modified and type_changed, and metadata where the mode changed, from
 * upper_fd into the directory out_fd, which must be empty.  lower_fd as in mr_changes_scan.
 * Ownership is that of the calling process; modes are kept without setuid, setgid and sticky,
 * times of modification as well.
 * A symbolic link is kept as it is: its target is the payload's text, do not follow it.
 * Hard links become files of their own; fifos, sockets and devices are skipped with a note.
 * opts NULL: MR_KEEP_OPTS_INIT.  *ret is also filled on failure, as far as it went.
 * Errors: MR_E_USAGE when out_fd is not empty; MR_E_SYS when the disk refuses or upper_fd cannot
 * be read.  What cannot be kept for a reason of its own (unreadable, name too long) is a note,
 * and counted in ret->lost: the caller must not take the copy for a whole one then. */
int mr_keep_changes(int upper_fd, int lower_fd, int out_fd, const struct mr_keep_opts *opts,
		    struct mr_kept *ret, struct mr_error *err);
/* The first thing that was lost and how many there are, as an error; 0: nothing was lost. */
int mr_keep_check(const struct mr_kept *kept, struct mr_error *err);
void mr_keep_deinit(struct mr_kept *kept);

/* New reference: files, dirs, symlinks, bytes, deletions, skipped, lost,
 * complete, notes [{path, why, errno}]. */
struct json_t *mr_keep_to_json(const struct mr_kept *kept);

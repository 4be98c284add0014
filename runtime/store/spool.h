/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spool: records on their way into the store
 *
 * A record is one frame, appended in one write:
 *
 *   LF "mr1 " LENGTH " " SHA256 " " PAYLOAD LF
 *
 * LENGTH is decimal, SHA256 is 64 lower-case digits over the payload, the payload is JSON without
 * line feeds.  The line feed in front ends whatever a killed writer left half-done.
 *
 * Nothing is synced: like a transaction in WAL mode with synchronous=NORMAL, a record
 * survives the death of any process, and may be lost when the host itself crashes within the
 * seconds that the kernel takes to write it back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_error;
struct mr_place;

#define MR_SPOOL_RECORD_MAX (16 * 1024 * 1024)

struct mr_spool {
	int fd; /* -1: not open */
	char *path; /* the file; owned */
	bool in_refuge;
	struct mr_place *place; /* borrowed */
};

/* Open for one record of about `bytes`, in the store's folder or, when that cannot take it, in
 * the refuge: then returns 1, and *err says why.  Checks size, rights and room; writes nothing. */
int mr_spool_open(struct mr_place *place, size_t bytes, struct mr_spool *ret, struct mr_error *err);
/* Append a record; a store's folder that turns out to be full is replaced by the refuge as in
 * mr_spool_open(), with 1 and the reason.  Never waits for another process. */
int mr_spool_append(struct mr_spool *spool, const char *payload, size_t size, struct mr_error *err);
/* Close and release; accepts one that is closed. */
void mr_spool_close(struct mr_spool *spool);

/* One piece of a spool file: a frame, or bytes that are none. */
struct mr_spool_piece {
	const char *text; /* payload of a frame; otherwise the bytes as they are */
	size_t size;
	const char *why; /* not a frame: what is wrong; NULL for a frame */
};
/* The next piece at *at, which moves behind it.  False at the end.  Borrows buf. */
bool mr_spool_next(const char *buf, size_t size, size_t *at, struct mr_spool_piece *ret);

/* Files of this place that hold records: sealed ones, and the open one, which is sealed by this
 * call so that no writer adds to it.  NULL-terminated list of paths, malloc'd as each of them;
 * one whose last writer is still busy is left for the next time and counted in *ret_busy. */
int mr_spool_seal(const struct mr_place *place, char ***ret_paths, size_t *ret_busy,
		  struct mr_error *err);
/* Is there anything to take in?  Cheap. */
bool mr_spool_waits(const struct mr_place *place);
void mr_spool_free_paths(char **paths);

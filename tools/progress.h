/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress: one line on standard error that says how far long work is
 *
 * On a terminal only, and only once the work takes long.  The line is gone afterwards.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct mr_progress {
	const char *what; /* "taking in records" */
	uint64_t begin_ns, next_ns; /* when the line is next due; 0: never, nobody looks */
	int shown; /* width of the line that stands there */
	uint64_t before; /* done before it began: they say nothing of how fast it is */
	bool rate; /* how many a second, and how long what is left takes, are told too */
};

void mr_progress_begin(struct mr_progress *progress, const char *what);
/* The same with a rate, of work of which so many were done before. */
void mr_progress_begin_at(struct mr_progress *progress, const char *what, uint64_t done);
/* So many of them are done; total 0: nobody knows of how many. */
void mr_progress_tell(struct mr_progress *progress, uint64_t done, uint64_t total);
void mr_progress_end(struct mr_progress *progress);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress: one line on standard error that says how far long work is
 *
 * On a terminal only, and only once the work takes long.  The line is gone afterwards.
 */
#pragma once

#include <stdint.h>

struct mr_progress {
	const char *what; /* "taking in records" */
	uint64_t begin_ns, next_ns; /* when the line is next due; 0: never, nobody looks */
	int shown; /* width of the line that stands there */
};

void mr_progress_begin(struct mr_progress *progress, const char *what);
/* So many of them are done; total 0: nobody knows of how many. */
void mr_progress_tell(struct mr_progress *progress, uint64_t done, uint64_t total);
void mr_progress_end(struct mr_progress *progress);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Missed: how often the kernel passed programs over
 *
 * A program that runs on a processor already is not run there a second time; what it would have counted and
 * told then is lost without a trace in any map.  The kernel counts that for the program, which all runs share,
 * so this is a number of the machine and not of one run.
 */
#pragma once

#include <stdint.h>

#define MR_MISSED_PROGRAMS_MAX 64

/* Programs that were opened; fds belong to it. */
struct mr_missed {
	int fds[MR_MISSED_PROGRAMS_MAX];
	uint8_t rows[MR_MISSED_PROGRAMS_MAX]; /* of probes.def */
	unsigned int n;
	uint64_t opened; /* a bit for each row */
};

void mr_missed_close(struct mr_missed *missed);
/* How often the programs of these rows were passed over since they were loaded into the set at this path;
 * they are kept open.  -errno: the kernel does not tell.  *ret is untouched then. */
int mr_missed_count(struct mr_missed *missed, const char *set_path, uint64_t rows, uint64_t *ret);

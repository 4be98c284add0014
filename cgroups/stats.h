/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stats: from the text of the kernel's files to numbers
 *
 * One struct mr_stat_file is one file, one field of it one number.  The tables
 * are in v1.c and v2.c.  What a host does not tell stays MR_STAT_UNKNOWN, never
 * 0: a missing file, a missing key and a text that does not parse are the same.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cgroups/cgroup.h"
#include "cgroups/limits.h"

enum mr_stat_form {
	MR_STAT_FORM_SINGLE, /* "123\n" */
	MR_STAT_FORM_KEYED, /* "usage_usec 123\n" */
	MR_STAT_FORM_PSI, /* "some avg10=0.00 avg60=0.00 avg300=0.00 total=123\n" */
	MR_STAT_FORM_IO, /* "8:0 rbytes=1 wbytes=2 ...\n", summed over devices */
};

struct mr_stat_field {
	const char *key; /* NULL ends the list; "" in a SINGLE file */
	size_t offset; /* in struct mr_cgroup_stats */
	unsigned int divisor; /* unit of the file to unit of the field; 0 is 1 */
};

struct mr_stat_file {
	const char *file;
	enum mr_stat_form form;
	enum mr_controller controller; /* MR_CONTROLLER_COUNT_: none needed */
	struct mr_stat_field fields[5];
};

/* All members unknown. */
void mr_stats_init(struct mr_cgroup_stats *stats);

/* Add what a NUL-terminated text of this file says.  A number for a field that is known
 * already is added to it. */
void mr_stats_parse(const struct mr_stat_file *file, const char *text,
		    struct mr_cgroup_stats *stats);

/* Read and parse the files whose controller is in the mask. */
void mr_stats_read(int dir_fd, const struct mr_stat_file *files, size_t n, unsigned int controllers,
		   struct mr_cgroup_stats *stats);

/* Value of `key` in "key value\n" lines, MR_STAT_UNKNOWN when absent or not a number. */
uint64_t mr_stats_keyed(const char *text, const char *key);

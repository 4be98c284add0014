/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outfile: a file that is there whole, or not at all
 *
 * It has no name until it is finished, then takes the place of what had its name.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#define MR_OUTFILE_TEMP ".menace-" /* how a name begins that whoever is killed may leave */

struct mr_error;

struct mr_outfile {
	FILE *stream; /* to write to */
	int dir_fd;
	char *path, *name; /* as it was given; the last part of it */
	char temp[48]; /* "": it has no name yet */
	bool displaces; /* opened by mr_outfile_open_over() */
};
#define MR_OUTFILE_INIT      \
	{                    \
		.dir_fd = -1 \
	}

/* mode as for open(2).  MR_E_USAGE: path names something that is there and no regular file. */
int mr_outfile_open(const char *path, unsigned int mode, struct mr_outfile *ret,
		    struct mr_error *err);
/* The same in a folder that is open, which stays the caller's: of path only the last part is looked for. */
int mr_outfile_open_in(int folder_fd, const char *path, unsigned int mode, struct mr_outfile *ret,
		       struct mr_error *err);
/* The same, whatever has the name by the time of the commit, for others may write in the folder: a folder
 * is moved to a name of ours then, all else is replaced.  The disk is not waited for. */
int mr_outfile_open_over(int folder_fd, const char *path, unsigned int mode, struct mr_outfile *ret,
			 struct mr_error *err);
/* On the disk and under its name.  On failure what had the name before is still there, unless it
 * was the folder that could not be written. */
int mr_outfile_commit(struct mr_outfile *file, struct mr_error *err);
/* What was not committed is gone. */
void mr_outfile_deinit(struct mr_outfile *file);

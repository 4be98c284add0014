/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mountinfo: the lines of /proc/PID/mountinfo
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct mr_mountinfo {
	FILE *file; /* owned */
	char *line; /* owned */
	size_t size;
	const char *point; /* of the mount: its path, unescaped */
	bool read_only; /* this mount, whatever the file system is */
	uint64_t id; /* as statx(2) has it */
	const char *type; /* of the file system: "ext4", "fuse.sshfs"; "" where the line is cut */
};

/* Of this process.  0, or negative errno. */
int mr_mountinfo_open(struct mr_mountinfo *ret);
/* The next mount, whose members hold until the one after it: 1; 0: there is none; negative errno. */
int mr_mountinfo_next(struct mr_mountinfo *mounts);
void mr_mountinfo_close(struct mr_mountinfo *mounts);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts: where the hierarchies are and which group of each we are in
 *
 * Pure functions over the text of /proc/self/mountinfo and /proc/self/cgroup.
 */
#pragma once

#include "cgroups/limits.h"

/* One hierarchy as we see it. */
struct mr_mount {
	char *point; /* mount point, NULL: none that contains our own group */
	char *own; /* our own group as a path in the hierarchy, "/a/b" or "/" */
	char *below; /* our own group relative to the mount point, "a/b" or "" */
};

struct mr_mounts {
	struct mr_mount v2;
	struct mr_mount v1[MR_CONTROLLER_COUNT_]; /* of MEMORY, PIDS and CPU */
};

/* 0 or -ENOMEM.  *ret is overwritten; give it back with mr_mounts_deinit(). */
int mr_mounts_parse(const char *mountinfo, const char *proc_cgroup, struct mr_mounts *ret);
void mr_mounts_deinit(struct mr_mounts *mounts);

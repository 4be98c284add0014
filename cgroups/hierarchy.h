/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hierarchy: what v1.c and v2.c give to cgroup.c, and the records they share
 *
 * Private to this folder and its tests.  A host has one v2 hierarchy and up to
 * three of v1; a control group is one directory in each that it needs, and
 * struct mr_cgroup is the list of them.  No function here keeps state.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cgroups/cgroup.h"
#include "cgroups/limits.h"
#include "cgroups/stats.h"

#define MR_HIERARCHIES_MAX 4
#define MR_CGROUP_PARENT "menace"
/* Where we move ourselves when the kernel wants BASE free of processes. */
#define MR_CGROUP_LEAF "menace-supervisor"
#define MR_CGROUP_NAME_MAX 64

/* Rows of the tables of limits and statistics; member is one of struct mr_limits and of struct
 * mr_cgroup_stats. */
/* clang-format off */
#define MR_LIMIT_ROW(key, file, member, controller, form) \
	{ key, file, offsetof(struct mr_limits, member), \
	  MR_CONTROLLER_##controller, MR_LIMIT_FORM_##form }
#define MR_STAT_AT(member) offsetof(struct mr_cgroup_stats, member)
#define MR_STAT_SINGLE(file, controller, member) \
	{ file, MR_STAT_FORM_SINGLE, MR_CONTROLLER_##controller, { { "", MR_STAT_AT(member), 0 } } }
/* The same in both kinds of hierarchy. */
#define MR_STAT_PIDS \
	MR_STAT_SINGLE("pids.peak", PIDS, pids_peak), \
	MR_STAT_SINGLE("pids.current", PIDS, pids_current), \
	{ "pids.events", MR_STAT_FORM_KEYED, MR_CONTROLLER_PIDS, \
	  { { "max", MR_STAT_AT(pids_max_events), 0 } } }
/* clang-format on */

struct mr_hierarchy_ops;

/* A mounted hierarchy and our BASE in it. */
struct mr_hierarchy {
	const struct mr_hierarchy_ops *ops;
	unsigned int controllers; /* mask of what it serves to BASE's children */
	int base_fd; /* O_PATH */
	char *dir; /* BASE in the file system, for messages */
	char *path; /* BASE in the hierarchy, "/" or "/a/b" */
};

struct mr_cgroup_host {
	enum mr_cgroup_mode mode;
	char why[384];
	unsigned int controllers; /* union over the hierarchies */
	unsigned int
		always; /* whose hierarchy every group is in: a group above has a limit there */
	uint64_t cpus; /* see mr_cgroup_host_cpus() */
	bool keeps_parent; /* until it is freed */
	char *absent[MR_CONTROLLER_COUNT_]; /* why a controller cannot be used, or NULL */
	size_t n;
	struct mr_hierarchy h[MR_HIERARCHIES_MAX]; /* [0] is v2, then those of v1 */
};

/* BASE/menace/NAME in one hierarchy. */
struct mr_group {
	const struct mr_hierarchy_ops *ops;
	unsigned int controllers;
	bool keeps_parent; /* as its host */
	int base_fd; /* O_PATH */
	int parent_fd; /* BASE/menace, O_PATH */
	int dir_fd; /* -1: not there */
	uint64_t memory_max; /* as asked; MR_UNLIMITED also when nobody asked */
	int file_fd; /* v2: cgroup.events, read only; v1: tasks, write only */
};

/* A descriptor that becomes readable by an event, with what must stay open beside it. */
struct mr_oom_watch {
	bool tried;
	int fd;
	short events; /* poll mask */
};

struct mr_hierarchy_ops {
	/* Make BASE/menace ready to have groups with these controllers; without the required
	 * ones it fails.  menace_fd is BASE/menace.  May be NULL. */
	int (*prepare)(const struct mr_hierarchy *h, int menace_fd, unsigned int wanted,
		       unsigned int required, struct mr_error *err);
	/* Apply the (normalised) limits that this hierarchy serves. */
	int (*confine)(const struct mr_group *g, const struct mr_limits *limits, char *note,
		       size_t note_size, struct mr_error *err);
	/* Append rows to shown[*n..cap). */
	int (*show)(const struct mr_group *g, struct mr_cgroup_shown *shown, size_t cap, size_t *n,
		    struct mr_error *err);
	/* The file whose descriptor is mr_group.file_fd. */
	const char *file;
	int file_flags;
	const struct mr_stat_file *stats;
	size_t n_stats;
	/* Correct what this hierarchy's numbers get wrong.  May be NULL. */
	void (*finish_stats)(const struct mr_group *g, struct mr_cgroup_stats *stats);
	/* Start watching for OOM; 0 or negative errno. */
	int (*watch_oom)(const struct mr_group *g, struct mr_oom_watch *watch);
	/* 1: this directory has a memory limit of its own that was hit; 0: not; negative errno:
	 * no memory controller here. */
	int (*was_hit)(int dir_fd);
	long fs_magic; /* what fstatfs says of a directory of this kind */
};

extern const struct mr_hierarchy_ops mr_v1_ops;
extern const struct mr_hierarchy_ops mr_v2_ops;

/* Append one row when there is room. */
void mr_hierarchy_show_row(struct mr_cgroup_shown *shown, size_t cap, size_t *n, const char *key,
			   const char *file, uint64_t value);

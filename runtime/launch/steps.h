/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steps: what runs in the sandbox's init, in order
 *
 * struct mr_child is the state the steps share.  The order, with its reasons, is
 * the table in child.c; each step here is one row of it.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "runtime/launch/launch.h"
#include "runtime/launch/layer.h"
#include "runtime/launch/sync.h"
#include "runtime/spec/spec.h"

/* Folders of the pool on which something is mounted while the sandbox is built. */
#define MR_STAND_HOST "host"
#define MR_STAND_ETC "etc"
#define MR_STAND_LOWER "lower"
#define MR_STAND_LAYER "layer"

struct mr_child {
	const struct mr_launch_opts *opts;
	const struct mr_spec *spec;
	struct mr_ids ids;
	bool takes_netns; /* the supervisor gives it, see launch.h */
	struct mr_seccomp_policy policy;
	const struct sock_fprog *filter;
	bool main_reported; /* init told the supervisor how the program ended */
	int sync_fd; /* our end; beyond the payload's limit of descriptors with a narrowed policy */
	int go_fd; /* read end: the payload waits here */
	int *trees; /* one a spec mount: detached mount made by the parent, or -1 */
	int workspace_tree; /* likewise */
	char **argv; /* what is executed; argv[0] is looked up in env's PATH when it has no '/' */
	char **envp;
	const char *snippet_name; /* file name under /run/snippet, or NULL */
	const char *snippet_text;
	size_t snippet_size;

	int old_root_fd; /* the host's root, until the pivot */
	int host_view_fd; /* view of it, while the system and /etc are shown; -1: there is none */
	int root_fd; /* our root's mount */
	int root_copy_fd; /* for a later run, or -1 */
	int pool_fd; /* file system of the writable places */
	int upper_fd, lower_fd; /* workspace; -1 without */
	struct mr_emulate_fds shape_fds; /* -1 without conditions of the link */
	int pty_fd; /* master, -1 without a tty */
	int listener_fd; /* of the payload's filter, in the payload alone; or -1 */
	dev_t own_devs[4]; /* file systems in which mount points may be made */
	unsigned int n_own_devs;
	struct mr_strv host_mounts; /* mount points below what is shown of the host's system */
	struct mr_sync_msg built;
	uint32_t *progress; /* number of the step that was begun last, shared with the supervisor */
};

/* Numbers of steps: 0 for none, those of child.c from 1, those of the payload from here. */
#define MR_PROGRESS_PAYLOAD 128
static inline void mr_progress_note(struct mr_child *c, size_t number)
{
	__atomic_store_n(c->progress, (uint32_t)number, __ATOMIC_RELAXED);
}

/* child.c: never returns. */
_Noreturn void mr_child_main(struct mr_child *c);

/* init.c: fork the payload, wait, report; never returns. */
_Noreturn void mr_init_main(struct mr_child *c);
/* Names of the payload's steps, in order; NULL after the last. */
const char *mr_init_step_name(size_t i);

typedef int mr_step_fn(struct mr_child *c, struct mr_error *err);

struct mr_step {
	const char *name;
	mr_step_fn *run;
};

/* idmap.c */
mr_step_fn mr_idmap_become;
/* A user namespace that maps ids for an idmapped mount: on-disk `from` shows as `to`, all
 * others as they are.  Descriptor, or negative errno. */
int mr_idmap_userns_fd(uid_t from_uid, uid_t to_uid, gid_t from_gid, gid_t to_gid,
		       struct mr_error *err);
/* Write the maps of the new child. */
int mr_idmap_write(pid_t pid, const struct mr_ids *ids, struct mr_error *err);

/* rootfs.c: the tree; mounts.c: what the spec adds to it */
mr_step_fn mr_rootfs_begin;
mr_step_fn mr_rootfs_system;
mr_step_fn mr_rootfs_etc;
mr_step_fn mr_rootfs_dev;
mr_step_fn mr_rootfs_proc;
mr_step_fn mr_rootfs_snippet;
mr_step_fn mr_rootfs_enter;
mr_step_fn mr_mounts_workspace;
mr_step_fn mr_mounts_spec;
mr_step_fn mr_mounts_hide;

/* What both make in them: a folder, which may be there already; a file, which may not. */
int mr_rootfs_make_dir(int dir_fd, const char *path, mode_t mode, struct mr_error *err);
int mr_rootfs_write_file(int dir_fd, const char *path, mode_t mode, const void *text, size_t size,
			 struct mr_error *err);

/* pool.c: the file system of the writable places, not attached yet: descriptor or negative
 * errno; then, attached, its folders and where they are shown */
int mr_pool_new(const struct mr_child *c, struct mr_error *err);
mr_step_fn mr_pool_fill;

/* layer.c: opts->layer at MR_STAND_LAYER, once the workspace is open */
mr_step_fn mr_layer_make;

/* The folders of the host's root that are shown as they are; constant. */
const char *const *mr_rootfs_system_entries(size_t *ret_n);
/* Is this name of the host's /etc shown as it is? */
bool mr_rootfs_is_etc_entry(const char *name);

/* hostview.c: read the host's mounts; needed once, before all others */
mr_step_fn mr_hostview_begin;
/* Have a view of the host's whole root in the pool, which is attached, if that can be had; and no
 * longer hold it. */
mr_step_fn mr_hostview_root;
void mr_hostview_end(struct mr_child *c);
/* A folder of the host's root in that view, to be cloned: an O_PATH descriptor, or -1 where it has
 * to have a view of its own: there is no such view, or it is a link or a mount. */
int mr_hostview_open(const struct mr_child *c, const char *name);
/* A read-only view of the host's folder at an absolute path, under inodes of its own; where
 * private-inodes may be missing also a copy of its mounts, with all that is mounted below.
 * Descriptor of a detached mount.  Changes the working directory. */
int mr_hostview_new(struct mr_child *c, const char *path, bool *ret_copied, struct mr_error *err);
/* Views of what the host has mounted at and below `top`, attached at the same paths inside,
 * where a view of top is attached already.  Not for a copy. */
int mr_hostview_show_mounts(struct mr_child *c, const char *top, struct mr_error *err);

/* shape.c: the conditions of the network link; nothing without any */
mr_step_fn mr_shape_link;

/* rlimits.c */
int mr_rlimits_apply(const struct mr_spec *spec, bool limits_by_rlimit, struct mr_error *err);

/* stdio.c: descriptors 0 to 2, in the payload; closing of all others */
int mr_stdio_open_tty(struct mr_child *c, struct mr_error *err);
int mr_stdio_attach(struct mr_child *c, struct mr_error *err);
/* Close every descriptor from 3 up but those in keep[]. */
int mr_stdio_close_except(const int *keep, size_t n, struct mr_error *err);

/* env.c: the environment of the payload; malloc'd, NULL-terminated. */
char **mr_env_build(const struct mr_spec *spec);

/* program.c: what to execute; fills argv and the snippet members. */
int mr_program_resolve(struct mr_child *c, struct mr_error *err);
void mr_program_release(struct mr_child *c);
/* The files that running argv runs: itself, its "#!" interpreter, the loader of that; their
 * number.  As seen in the working directory and root of the caller. */
#define MR_PROGRAM_FILES 6
size_t mr_program_files(char **argv, char **envp, char ret[MR_PROGRAM_FILES][MR_PROGRAM_PATH_MAX]);
/* Find and exec; returns only on failure, with MR_E_NOENT or MR_E_NOEXEC. */
int mr_program_exec(char **argv, char **envp, struct mr_error *err);

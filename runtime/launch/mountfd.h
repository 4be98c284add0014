/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts by descriptor
 *
 * Thin wrappers over the mount API of Linux 5.2 to 5.12 that report the object
 * they failed on.  Trees and file systems are detached descriptors until they are
 * attached at a directory descriptor, so no path is walked twice.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mr_error;

struct mr_fsopt {
	const char *key;
	const char *value; /* NULL: a flag */
};

/* Make a file system; descriptor of its detached mount with MOUNT_ATTR_* attrs. */
int mr_mountfd_new(const char *fstype, const struct mr_fsopt *opts, size_t n, uint64_t attrs,
		   struct mr_error *err);
/* A detached copy of the mounts at dir_fd/path ("" : dir_fd itself), recursive, with attrs set
 * everywhere in it.  No magic links; a trailing symlink is followed only with `follow`. */
int mr_mountfd_clone(int dir_fd, const char *path, uint64_t attrs, struct mr_error *err);
/* Set attributes on the mount itself (not below). */
int mr_mountfd_setattr(int mount_fd, uint64_t attrs, const char *what, struct mr_error *err);
/* Attach a detached mount on the object of target_fd. */
int mr_mountfd_attach(int mount_fd, int target_fd, const char *what, struct mr_error *err);
/* Attach at dir_fd/name, which exists and is no symlink. */
int mr_mountfd_attach_at(int mount_fd, int dir_fd, const char *name, struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pool
 *
 * All places the payload may write to are folders of one tmpfs, whose size and inode
 * count are the disk limit, so that the places are counted together.  It is made first
 * and attached where it goes away with the host's tree (rootfs.c); what stays are copies
 * of the mount, one for each folder that is shown.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/launch/mountfd.h"
#include "runtime/launch/steps.h"
#include "runtime/spec/spec.h"

#define RW_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define RO_ATTRS (MOUNT_ATTR_RDONLY | RW_ATTRS)
#define MOCKS_BYTES 16384 /* for what is not the payload's */

static const struct pool_dir {
	const char *name; /* in the pool */
	const char *target; /* in the root; NULL: attached by the workspace's overlay */
	mode_t mode;
} pool_dirs[] = {
	{ "tmp", "tmp", 01777 }, { "shm", "dev/shm", 01777 }, { "work", "work", 0755 },
	{ "upper", NULL, 0755 }, { "ovl", NULL, 0755 },
};

/* The pool is the disk limit less what --tmpfs DEST:SIZE reserves. */
static int pool_size(const struct mr_spec *spec, uint64_t *ret, struct mr_error *err)
{
	uint64_t size = spec->limits_disk_bytes;

	for (size_t i = 0; i < spec->n_mounts && size != MR_UNLIMITED; i++) {
		const struct mr_spec_mount *m = &spec->mounts[i];

		if (m->kind != MR_MOUNT_TMPFS || !m->size_bytes)
			continue;
		if (m->size_bytes >= size)
			return mr_err(err, MR_E_USAGE, ERANGE,
				      "tmpfs %s of %ju bytes leaves nothing of "
				      "limits.disk_bytes=%ju",
				      m->dest, (uintmax_t)m->size_bytes,
				      (uintmax_t)spec->limits_disk_bytes);
		size -= m->size_bytes;
	}
	if (spec->net_mode == MR_NET_STUB && size != MR_UNLIMITED)
		size += MOCKS_BYTES;
	*ret = size == MR_UNLIMITED ? 0 : size; /* 0 is tmpfs's word for no limit */
	return 0;
}

int mr_pool_new(const struct mr_child *c, struct mr_error *err)
{
	const size_t mocks = c->spec->net_mode == MR_NET_STUB ? 2 : 0;
	char size[32], inodes[32];
	const struct mr_fsopt opts[] = { { "mode", "0755" },
					 { "size", size },
					 { "nr_inodes", inodes } };
	uint64_t bytes = 0;
	int r = pool_size(c->spec, &bytes, err);

	if (r < 0)
		return r;
	snprintf(size, sizeof(size), "%ju", (uintmax_t)bytes);
	/* The folders that must be in it are not the payload's. */
	snprintf(inodes, sizeof(inodes), "%ju",
		 c->spec->limits_disk_inodes == MR_UNLIMITED
			 ? (uintmax_t)0
			 : (uintmax_t)c->spec->limits_disk_inodes + N_ELEMENTS(pool_dirs) + 1 +
				   mocks);
	return mr_mountfd_new("tmpfs", opts, N_ELEMENTS(opts), RW_ATTRS, err);
}

static int make_pool_dir(struct mr_child *c, const struct pool_dir *d, struct mr_error *err)
{
	mr_auto_close int dir = -1;
	mr_auto_close int tree = -1;
	int r = mr_rootfs_make_dir(c->pool_fd, d->name, d->mode, err);

	if (r < 0)
		return r;
	dir = openat(c->pool_fd, d->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fchown(dir, c->ids.uid, c->ids.gid) < 0)
		return mr_err(err, MR_E_SYS, errno, "own folder %s of the pool: %m", d->name);
	if (!d->target)
		return 0;
	tree = mr_mountfd_clone(dir, "", RW_ATTRS, err);
	return tree < 0 ? tree : mr_mountfd_attach_at(tree, c->root_fd, d->target, err);
}

/* Where the supervisor puts what the payload is to trust: a folder of the pool, which it can
 * write to when all else is read-only, and which cannot be written to from inside. */
static int make_mocks_dir(struct mr_child *c, struct mr_error *err)
{
	mr_auto_close int dir = -1;
	mr_auto_close int tree = -1;
	int r = mr_rootfs_make_dir(c->pool_fd, MR_LAUNCH_MOCKS_POOL, 0755, err);

	if (r == 0)
		r = mr_rootfs_make_dir(c->root_fd, &MR_LAUNCH_MOCKS_DIR[1], 0755, err);
	if (r < 0)
		return r;
	dir = openat(c->pool_fd, MR_LAUNCH_MOCKS_POOL,
		     O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return mr_err(err, MR_E_SYS, errno, "folder of the mocks: %m");
	/* Made here: the supervisor's user may not exist in the user namespace of this file system. */
	r = mr_rootfs_write_file(dir, MR_LAUNCH_MOCKS_CA, 0644, "", 0, err);
	if (r < 0)
		return r;
	tree = mr_mountfd_clone(dir, "", RO_ATTRS, err);
	return tree < 0 ? tree
			: mr_mountfd_attach_at(tree, c->root_fd, &MR_LAUNCH_MOCKS_DIR[1], err);
}

int mr_pool_fill(struct mr_child *c, struct mr_error *err)
{
	const bool workspace = c->spec->sandbox_workspace[0];
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(pool_dirs); i++) {
		const struct pool_dir *d = &pool_dirs[i];

		if (workspace && strcmp(d->name, "work") == 0)
			continue;
		r = make_pool_dir(c, d, err);
	}
	return r == 0 && c->spec->net_mode == MR_NET_STUB ? make_mocks_dir(c, err) : r;
}

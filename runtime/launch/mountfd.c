/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts by descriptor
 *
 * fsopen/fsconfig/fsmount for new file systems, open_tree/mount_setattr for
 * copies, move_mount to attach.  The kernel's own words (the fs context log) are
 * added to the message where it has any.
 */
#include "runtime/launch/mountfd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"

static int fs_error(int fs_fd, const char *fstype, const char *what, int errnum,
		    struct mr_error *err)
{
	char log[200];
	ssize_t n = read(fs_fd, log, sizeof(log) - 1);
	enum mr_errc code = errnum == ENODEV ? MR_E_KERNEL : MR_E_SYS;

	log[n > 0 ? n : 0] = '\0';
	log[strcspn(log, "\n")] = '\0';
	return mr_err(err, code, errnum, "file system %s: %s: %m%s%s", fstype, what,
		      log[0] ? ": " : "", log);
}

int mr_mountfd_new(const char *fstype, const struct mr_fsopt *opts, size_t n, uint64_t attrs,
		   struct mr_error *err)
{
	mr_auto_close int fs = (int)syscall(SYS_fsopen, fstype, FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0)
		return mr_err(err, errno == ENODEV ? MR_E_KERNEL : MR_E_SYS, errno,
			      "file system %s: fsopen: %m", fstype);
	for (size_t i = 0; i < n; i++) {
		unsigned int cmd = opts[i].value ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;

		if (syscall(SYS_fsconfig, fs, cmd, opts[i].key, opts[i].value, 0) < 0)
			return fs_error(fs, fstype, opts[i].key, errno, err);
	}
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return fs_error(fs, fstype, "create", errno, err);
	fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attrs);
	if (fd < 0)
		return fs_error(fs, fstype, "fsmount", errno, err);
	return fd;
}

int mr_mountfd_clone(int dir_fd, const char *path, uint64_t attrs, struct mr_error *err)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
	struct mount_attr attr = { .attr_set = attrs };
	mr_auto_close int place = -1;
	mr_auto_close int tree = -1;

	if (path[0]) {
		place = (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
		if (place < 0)
			return mr_err(err, MR_E_SYS, errno, "open %s: %m", path);
	}
	tree = (int)syscall(SYS_open_tree, path[0] ? place : dir_fd, "",
			    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);
	if (tree < 0)
		return mr_err(err, MR_E_SYS, errno, "open_tree %s: %m", path);
	if (attrs && syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
			     sizeof(attr)) < 0)
		return mr_err(err, MR_E_SYS, errno, "mount_setattr %s: %m", path);
	return mr_take_fd(tree);
}

int mr_mountfd_setattr(int mount_fd, uint64_t attrs, const char *what, struct mr_error *err)
{
	struct mount_attr attr = { .attr_set = attrs };

	if (syscall(SYS_mount_setattr, mount_fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return mr_err(err, MR_E_SYS, errno, "mount_setattr %s: %m", what);
	return 0;
}

int mr_mountfd_attach(int mount_fd, int target_fd, const char *what, struct mr_error *err)
{
	if (syscall(SYS_move_mount, mount_fd, "", target_fd, "",
		    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return mr_err(err, MR_E_SYS, errno, "attach %s: %m", what);
	return 0;
}

int mr_mountfd_attach_at(int mount_fd, int dir_fd, const char *name, struct mr_error *err)
{
	if (syscall(SYS_move_mount, mount_fd, "", dir_fd, name, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return mr_err(err, MR_E_SYS, errno, "attach at %s: %m", name);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overlay
 *
 * The folder is walked from its base by descriptors: each part that is ours to make is a real
 * folder of ours, and the last has mode 0700.
 */
#include "runtime/backend/qemu_overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

/* Of root; whoever is not root has ~/.local/state. */
#define BASE "/var/lib"
#define OWN_PART "menace/overlays"

static int check_own(int fd, const char *path, struct mr_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "%s: %m", path);
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return mr_err(err, MR_E_DENIED, EPERM,
			      "folder %s belongs to user %u with mode %04o; it must be ours alone "
			      "(0700)",
			      path, st.st_uid, st.st_mode & 07777);
	return 0;
}

/* dir/name, made if missing; dir is closed. */
static int enter(int dir, const char *name, const char *path, struct mr_error *err)
{
	mr_auto_close int from = dir;
	int fd;

	if (mkdirat(from, name, 0700) < 0 && errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "make folder %s: %m", path);
	fd = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? mr_err(err, MR_E_SYS, errno, "open folder %s: %m", path) : fd;
}

static int open_default(char **ret_path, struct mr_error *err)
{
	const char *home = getenv("HOME");
	mr_auto_free char *own = mr_str_format("%s/.local/state", home ? home : "");
	const char *base = geteuid() == 0 ? BASE : own;
	int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*ret_path = mr_str_format("%s/" OWN_PART, base);
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open folder %s: %m", base);
	fd = enter(fd, "menace", *ret_path, err);
	return fd < 0 ? fd : enter(fd, "overlays", *ret_path, err);
}

/* One that the user names is the user's to make. */
static int open_folder(char **ret_path, struct mr_error *err)
{
	const char *named = getenv(MR_OVERLAY_VARIABLE);
	int fd;

	if (!named || !named[0])
		return open_default(ret_path, err);
	*ret_path = mr_str_dup(named);
	fd = open(named, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? mr_err(err, MR_E_SYS, errno, MR_OVERLAY_VARIABLE "=%s: %m", named) : fd;
}

int mr_overlay_open(struct mr_error *err)
{
	mr_auto_free char *path = NULL;
	mr_auto_close int folder = open_folder(&path, err);
	int fd, r;

	if (folder < 0)
		return folder;
	r = check_own(folder, path, err);
	if (r < 0)
		return r;
	fd = openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR))
		return mr_err(err, MR_E_KERNEL, errno,
			      "the file system of %s has no files without a name (O_TMPFILE); name "
			      "a folder of another one in " MR_OVERLAY_VARIABLE,
			      path);
	return fd < 0 ? mr_err(err, MR_E_SYS, errno, "make an overlay in %s: %m", path) : fd;
}

uint64_t mr_overlay_bytes(int fd)
{
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

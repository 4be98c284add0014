/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temporary folders of workflows
 *
 * Between the making of a folder and its lock another process may take it for one that was
 * left, so whoever has locked one looks whether it is still there, and else makes another.
 */
#include "tools/flow_temp.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/flow/folder.h"

#define NAME "flow"
#define PREFIX "menace-" NAME "."
#define ROUNDS 100 /* lost races, each with another process that starts */

/* Is the open folder still what the name means? */
static bool is_at(int fd, int parent_fd, const char *name)
{
	struct stat open, named;

	return fstat(fd, &open) == 0 &&
	       fstatat(parent_fd, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	       open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/* Ours, as mkdtemp(3) makes them: anybody can put a name into a place for temporary files. */
static bool is_own(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 07777) == 0700;
}

static void remove_dead(int parent_fd, const char *name)
{
	mr_auto_close int fd =
		openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct mr_error err = MR_ERROR_INIT;

	if (fd < 0 || !is_own(fd) || flock(fd, LOCK_EX | LOCK_NB) < 0 ||
	    !is_at(fd, parent_fd, name))
		return;
	if (mr_folder_remove(parent_fd, name, &err) < 0)
		mr_log_warn("%s, which a process that was killed has left: %s", name, err.msg);
}

static void sweep(const char *beside)
{
	mr_auto_free char *at = mr_str_ndup(beside, (size_t)(strrchr(beside, '/') - beside) + 1);
	mr_auto_closedir DIR *dir = opendir(at);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (mr_str_starts_with(entry->d_name, PREFIX))
			remove_dead(dirfd(dir), entry->d_name);
}

int mr_flow_temp_new(char **ret_path, int *ret_lock_fd, struct mr_error *err)
{
	for (int i = 0; i < ROUNDS; i++) {
		mr_auto_free char *path = NULL;
		mr_auto_close int fd = -1;
		int r = mr_folder_temporary(NAME, &path, err);

		if (r < 0)
			return r;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && errno != ENOENT)
			return mr_err(err, MR_E_SYS, errno, "open %s: %m", path);
		if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_at(fd, AT_FDCWD, path))
			continue;
		sweep(path);
		*ret_path = mr_take_ptr(path);
		*ret_lock_fd = mr_take_fd(fd);
		return 0;
	}
	return mr_err(err, MR_E_BUSY, EBUSY, "a temporary folder cannot be kept: others remove it");
}

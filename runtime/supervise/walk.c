/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walk
 *
 * Everything goes through two doors: openat2 with one name, and
 * /proc/self/fd/N, which leads to exactly the inode that descriptor N holds.
 * The second is needed because an O_PATH descriptor can neither be read nor
 * fchmod'ed.
 */
#include "runtime/supervise/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"

#define FD_PATH_SIZE 32
#define TURN_BYTES (4U << 20) /* some 20 ms of hashing, or 1024 entries */

void mr_turns_spend(struct mr_turns *turns, uint64_t bytes)
{
	if (!turns)
		return;
	turns->spent += bytes;
	if (turns->spent < TURN_BYTES)
		return;
	turns->spent = 0;
	turns->give(turns->owner);
}

static const char *fd_path(char buf[FD_PATH_SIZE], int fd)
{
	snprintf(buf, FD_PATH_SIZE, "/proc/self/fd/%d", fd);
	return buf;
}

/* Set an owner bit that is missing; false, with errno as it was, when that is not what stands
 * in the way or not ours to do. */
static bool borrow(int fd, mode_t bit, enum mr_walk_rights rights, mode_t *ret_mode)
{
	char path[FD_PATH_SIZE];
	int saved = errno;
	struct stat st;
	bool done;

	if (rights != MR_WALK_BORROW || fstat(fd, &st) < 0 || S_ISLNK(st.st_mode) ||
	    (st.st_mode & bit))
		return false;
	*ret_mode = st.st_mode & 07777;
	done = chmod(fd_path(path, fd), *ret_mode | bit) == 0;
	errno = saved;
	return done;
}

/* Give the borrowed bit back; keeps errno. */
static void give_back(int fd, mode_t mode)
{
	char path[FD_PATH_SIZE];
	int saved = errno;

	/* It worked a moment ago on the same inode; the mode reported is the one seen before. */
	(void)chmod(fd_path(path, fd), mode);
	errno = saved;
}

static int open_one(int dir_fd, const char *name)
{
	struct open_how how = {
		.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV,
	};

	return (int)syscall(SYS_openat2, dir_fd, name, &how, sizeof(how));
}

int mr_walk_open(int dir_fd, const char *name, enum mr_walk_rights rights, struct stat *ret_st)
{
	mr_auto_close int fd = -1;
	mode_t mode;

	/* ".." would be stopped by RESOLVE_BENEATH; a path would not. */
	if (strchr(name, '/') || !name[0])
		return -EINVAL;
	fd = open_one(dir_fd, name);
	if (fd < 0 && errno == EACCES && borrow(dir_fd, S_IXUSR, rights, &mode)) {
		fd = open_one(dir_fd, name);
		give_back(dir_fd, mode);
	}
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return -errno;
	return mr_take_fd(fd);
}

int mr_walk_reopen(int path_fd, enum mr_walk_rights rights)
{
	int fd, flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	char path[FD_PATH_SIZE];
	struct stat st;
	mode_t mode;

	if (fstat(path_fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return -EINVAL;
	fd = open(fd_path(path, path_fd), flags);
	if (fd < 0 && errno == EACCES && borrow(path_fd, S_IRUSR, rights, &mode)) {
		fd = open(fd_path(path, path_fd), flags);
		give_back(path_fd, mode);
	}
	return fd < 0 ? -errno : fd;
}

DIR *mr_walk_opendir(int path_fd, enum mr_walk_rights rights)
{
	mr_auto_close int fd = mr_walk_reopen(path_fd, rights);
	DIR *dir;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	dir = fdopendir(fd);
	if (dir)
		fd = -1;
	return dir;
}

const char *mr_walk_next(DIR *dir)
{
	for (;;) {
		const struct dirent *entry;

		errno = 0;
		entry = readdir(dir); /* NOLINT(concurrency-mt-unsafe) */
		if (!entry)
			return NULL;
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return entry->d_name;
	}
}

ssize_t mr_walk_xattr(int path_fd, const char *name, enum mr_walk_rights rights, char *ret,
		      size_t size)
{
	char path[FD_PATH_SIZE];
	mode_t mode;
	ssize_t n = getxattr(fd_path(path, path_fd), name, ret, size);

	/* Reading a user attribute needs the right to read the file. */
	if (n < 0 && errno == EACCES && borrow(path_fd, S_IRUSR, rights, &mode)) {
		n = getxattr(path, name, ret, size);
		give_back(path_fd, mode);
	}
	return n < 0 ? -errno : n;
}

char *mr_walk_readlink(int path_fd, size_t *ret_size)
{
	mr_auto_free char *buf = mr_str_alloc(PATH_MAX + 1);
	ssize_t n = readlinkat(path_fd, "", buf, PATH_MAX);

	if (n < 0)
		return NULL;
	*ret_size = (size_t)n;
	return mr_take_ptr(buf);
}

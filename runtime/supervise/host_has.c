/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host has
 *
 * The kernel is asked for what it knows by heart (RESOLVE_CACHED).  It says EAGAIN of what it has not
 * looked at lately, or while somebody renames or mounts.  Then the path is gone through a name at a
 * time, and a name is looked for on the file system of its folder, if that is one that asks nobody
 * but this machine's disks; from then on the kernel knows it.
 */
#include "runtime/supervise/host_has.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/mountinfo.h"
#include "runtime/base/str.h"

#define TRIES 4 /* for a name, while others rename or mount */
#define STEPS_MAX 100 /* names in all, those of links among them, which lead to each other */

/* A place on the way, and what is known of its file system. */
struct way {
	int fd; /* O_PATH */
	unsigned int steps;
	uint64_t mount; /* the one that was judged last; 0: none */
	bool is_local; /* it was */
};

static int open_at(int fd, const char *name, int flags, unsigned int resolve)
{
	const struct open_how how = { .flags = (unsigned int)(O_PATH | O_CLOEXEC | flags),
				      .resolve = resolve | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, fd, name, &how, sizeof(how));
}

static bool is_local_type(const char *type)
{
	static const char *const local[] = { "ext2",	 "ext3",  "ext4",  "xfs",
					     "btrfs",	 "f2fs",  "tmpfs", "overlay",
					     "squashfs", "erofs", "zfs",   "rootfs" };

	for (size_t i = 0; i < N_ELEMENTS(local); i++)
		if (strcmp(type, local[i]) == 0)
			return true;
	return false;
}

static bool is_local_mount(uint64_t id)
{
	struct mr_mountinfo mounts;
	bool found = false;

	if (mr_mountinfo_open(&mounts) < 0)
		return false;
	while (!found && mr_mountinfo_next(&mounts) > 0)
		found = mounts.id == id && is_local_type(mounts.type);
	mr_mountinfo_close(&mounts);
	return found;
}

/* statfs would ask the server of the file system. */
static bool is_local(struct way *way)
{
	struct statx st;

	if (statx(way->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) < 0 ||
	    !(st.stx_mask & STATX_MNT_ID))
		return false;
	if (st.stx_mnt_id != way->mount) {
		way->mount = st.stx_mnt_id;
		way->is_local = is_local_mount(way->mount);
	}
	return way->is_local;
}

static int walk(struct way *way, const char *path, int flags);

/* On a file system that asks nobody.  What a link leads to is another way, for some file systems have the
 * kernel forget links at once.  A descriptor, or -1 with errno. */
static int look(struct way *way, const char *name, int flags)
{
	int fd = open_at(way->fd, name, O_NOFOLLOW, RESOLVE_NO_XDEV);
	char text[PATH_MAX];
	ssize_t n = fd < 0 || (flags & O_NOFOLLOW) ? -1 : readlinkat(fd, "", text, sizeof(text));

	if (n < 0 || n == sizeof(text))
		return fd;
	mr_close(fd);
	text[n] = '\0';
	return walk(way, text, flags);
}

/* One name; a descriptor, or -1.  What is mounted there is known by heart. */
static int step(struct way *way, const char *name, int flags)
{
	int fd = open_at(way->fd, name, flags, RESOLVE_CACHED);

	for (int i = 0; i < TRIES && fd < 0 && errno == EAGAIN; i++) {
		if (is_local(way)) {
			fd = look(way, name, flags);
			if (fd >= 0 || errno != EXDEV)
				return fd;
		}
		fd = open_at(way->fd, name, flags, RESOLVE_CACHED);
	}
	return fd;
}

/* From there, where the way is again in the end; flags are of the last name.  A descriptor, or -1. */
static int walk(struct way *way, const char *path, int flags)
{
	mr_auto_free char *names = mr_str_dup(path);
	char *save = NULL, *name = strtok_r(names, "/", &save);
	const int begin = way->fd;
	int at = open_at(begin, path[0] == '/' ? "/" : ".", 0, 0);

	while (name && at >= 0 && way->steps < STEPS_MAX) {
		char *next = strtok_r(NULL, "/", &save);

		way->fd = at;
		way->steps++;
		at = step(way, name, next ? 0 : flags);
		mr_close(way->fd);
		name = next;
	}
	way->fd = begin;
	return name ? mr_close(at) : at;
}

bool mr_host_has(const char *path)
{
	mr_auto_close int fd = open_at(AT_FDCWD, path, O_NOFOLLOW, RESOLVE_CACHED);
	struct way way = { .fd = AT_FDCWD };

	if (fd < 0 && errno == EAGAIN)
		fd = walk(&way, path, O_NOFOLLOW);
	return fd >= 0;
}

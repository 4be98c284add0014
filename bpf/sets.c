/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets
 *
 * A set is removed by whoever holds the root and all of its slots, so no run can have it.  First it
 * gets a name that begins with "new-": should the rest be cut short, that is what the next who
 * loads or purges takes away.
 *
 * When a set was last used is the time of its folders: a run touches that of its slot when it
 * ends.  So it is known of a set of any build, whatever is in its maps.
 */
#include "bpf/sets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bpf/loader.h"
#include "bpf/pins.h"
#include "bpf/wire.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"

#define LOCK_DIR "menace-lock"

static int remove_tree(int dir_fd, const char *name, int depth, struct mr_error *err)
{
	mr_auto_closedir DIR *dir = NULL;
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent *entry;

	if (fd < 0)
		return errno == ENOENT ? 0 : mr_err(err, MR_E_SYS, errno, "open %s: %m", name);
	dir = fdopendir(fd);
	if (!dir) {
		mr_close(fd);
		return mr_err(err, MR_E_SYS, errno, "list %s: %m", name);
	}
	while ((entry = readdir(dir))) {
		const char *sub = entry->d_name;
		int r = 0;

		if (strcmp(sub, ".") == 0 || strcmp(sub, "..") == 0)
			continue;
		if (unlinkat(dirfd(dir), sub, 0) < 0)
			r = (errno == EISDIR || errno == EPERM) && depth > 0
				    ? remove_tree(dirfd(dir), sub, depth - 1, err)
				    : mr_err(err, MR_E_SYS, errno, "remove %s/%s: %m", name, sub);
		if (r < 0)
			return r;
	}
	if (unlinkat(dir_fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return mr_err(err, MR_E_SYS, errno, "remove %s: %m", name);
	return 0;
}

int mr_sets_remove_half_made(const char *path, const char *prefix, struct mr_error *err)
{
	mr_auto_closedir DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return mr_err(err, MR_E_SYS, errno, "list %s: %m", path);
	while ((entry = readdir(dir))) {
		int r;

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		r = remove_tree(dirfd(dir), entry->d_name, 2, err);
		if (r < 0)
			return mr_err_wrap(err, r, "%s", path);
	}
	return 0;
}

int mr_sets_lock(const char *root, int *ret_fd, struct mr_error *err)
{
	char path[MR_PINS_PATH_MAX];
	int r = mr_pins_join(path, root, LOCK_DIR, err);

	if (r == 0 && mkdir(path, 0700) < 0 && errno != EEXIST)
		r = mr_err(err, MR_E_SYS, errno, "make folder %s: %m", path);
	if (r == 0)
		r = mr_pins_lock(path, true, ret_fd, err);
	return r > 0 ? mr_err(err, MR_E_BUSY, ENOENT, "%s is being removed", path) : r;
}

/* --- purge ------------------------------------------------------------------------------ */

/* Lock every slot, so that no run can begin with it: 0, or 1 when one is in use.  *last_s: when a
 * run ended, or when the slots were made. */
static int lock_slots(const char *set, int fds[MR_WIRE_SLOTS], time_t *last_s, struct mr_error *err)
{
	for (unsigned int i = 0; i < MR_WIRE_SLOTS; i++) {
		char path[MR_PINS_PATH_MAX], name[16];
		struct stat st;
		int r;

		snprintf(name, sizeof(name), "s%u", i);
		r = mr_pins_join(path, set, name, err);
		if (r == 0)
			r = mr_pins_lock(path, false, &fds[i], err);
		if (r < 0 || r == 1)
			return r;
		if (r == 0 && fstat(fds[i], &st) == 0 && st.st_mtim.tv_sec > *last_s)
			*last_s = st.st_mtim.tv_sec;
	}
	return 0;
}

static int unname_and_remove(const char *root, int root_fd, const char *name, struct mr_error *err)
{
	char fresh[MR_PINS_PATH_MAX];

	if (snprintf(fresh, sizeof(fresh), MR_PINS_NEW "%s", name) >= (int)sizeof(fresh))
		return mr_err(err, MR_E_SYS, ENAMETOOLONG, "%s/%.100s: %m", root, name);
	if (renameat(root_fd, name, root_fd, fresh) < 0)
		return mr_err(err, MR_E_SYS, errno, "rename %s/%s to %s: %m", root, name, fresh);
	return remove_tree(root_fd, fresh, 2, err);
}

/* 1: in use, or was not long ago. */
static int purge_set(const char *root, int root_fd, const char *name, uint64_t idle_s,
		     struct mr_error *err)
{
	char path[MR_PINS_PATH_MAX];
	int fds[MR_WIRE_SLOTS], r;
	time_t last_s = 0, now_s = (time_t)(mr_clock_ns(MR_CLOCK_REAL) / 1000000000);

	for (unsigned int i = 0; i < MR_WIRE_SLOTS; i++)
		fds[i] = -1;
	r = mr_pins_join(path, root, name, err);
	if (r == 0)
		r = lock_slots(path, fds, &last_s, err);
	/* A clock that was set back makes nothing idle. */
	if (r == 0 && idle_s && (now_s < last_s || (uint64_t)(now_s - last_s) < idle_s))
		r = 1;
	if (r == 0)
		r = unname_and_remove(root, root_fd, name, err);
	for (unsigned int i = 0; i < MR_WIRE_SLOTS; i++)
		mr_close(fds[i]);
	return r;
}

int mr_sets_purge(const char *root, const char *keep, uint64_t idle_s, int *ret_left,
		  struct mr_error *err)
{
	mr_auto_closedir DIR *dir = opendir(root);
	struct dirent *entry;
	int r = 0, left = 0, removed = 0;

	if (!dir)
		return mr_err(err, MR_E_SYS, errno, "list %s: %m", root);
	while (r == 0 && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (strncmp(name, MR_PINS_PREFIX, strlen(MR_PINS_PREFIX)) != 0 ||
		    strcmp(name, LOCK_DIR) == 0 || (keep && strcmp(name, keep) == 0))
			continue;
		r = purge_set(root, dirfd(dir), name, idle_s, err);
		left += r == 1;
		removed += r == 0;
		r = r < 0 ? r : 0;
	}
	if (ret_left)
		*ret_left = left;
	return r < 0 ? r : removed;
}

int mr_loader_purge(uint64_t idle_s, int *ret_left, struct mr_error *err)
{
	char root[MR_PINS_PATH_MAX];
	mr_auto_close int lock = -1;
	int r = mr_pins_root(root, err);

	*ret_left = 0;
	if (r > 0)
		return 0; /* nobody has loaded anything */
	if (r == 0)
		r = mr_sets_lock(root, &lock, err);
	if (r == 0)
		r = mr_sets_remove_half_made(root, MR_PINS_NEW MR_PINS_PREFIX, err);
	if (r == 0)
		r = mr_sets_purge(root, NULL, idle_s, ret_left, err);
	return r < 0 ? mr_err_wrap(err, r, "purge probes") : r;
}

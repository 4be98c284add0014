/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host view
 *
 * The host's own files under inodes that belong to this run alone.  A bind mount shows
 * the host's inodes, and what hangs on an inode is shared by everyone who sees it: two
 * runs could talk by flock() or fcntl() locks, leases and inotify on any file that both
 * may read.  A read-only overlay has inodes of its own above the same data, so the page
 * cache is still shared and the locks are not.
 *
 * An overlay does not show what is mounted below its lower directory, so each of those
 * mounts gets a view too, in the order of mountinfo, parents before what is below them.
 *
 * Each overlay makes the end of a run wait for all CPUs once, so the folders of the host's root
 * that are on its own mount are taken from one view of the whole root.  That stands in the pool
 * while we build and goes away with the host's tree; what is attached inside are mounts of single
 * folders, and nobody in there can get above those: the overlay is read-only, so nothing in it moves.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/mountinfo.h"
#include "runtime/base/str.h"
#include "runtime/launch/mountfd.h"
#include "runtime/launch/steps.h"
#include "runtime/spec/spec.h"

#define RO_ATTRS (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define EMPTY_DIR "run/mask" /* an overlay without upper directory wants a second lower one */

/* lowerdir's own separators, in a path. */
static int escape_lower(const char *path, char *buf, size_t size)
{
	size_t n = 0;

	for (; *path; path++) {
		if (n + 4 >= size)
			return -ENAMETOOLONG;
		if (*path == ':' || *path == '\\')
			buf[n++] = '\\';
		buf[n++] = *path;
	}
	memcpy(buf + n, ":.", 3);
	return 0;
}

/* The folder as an overlay; the empty directory is named by the working directory, because
 * absolute paths lead to the host until the root is entered. */
static int new_overlay(struct mr_child *c, const char *path, struct mr_error *err)
{
	char lower[PATH_MAX];
	/* The last two, about redirections inside of the host's folders, are root's alone to say. */
	const struct mr_fsopt opts[] = { { "source", "menace" },
					 { "lowerdir", lower },
					 { "redirect_dir", "nofollow" },
					 { "metacopy", "off" } };
	mr_auto_close int empty =
		openat(c->root_fd, EMPTY_DIR, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (empty < 0 || fchdir(empty) < 0)
		return mr_err(err, MR_E_SYS, errno, "enter /" EMPTY_DIR ": %m");
	if (escape_lower(path, lower, sizeof(lower)) < 0)
		return mr_err(err, MR_E_SYS, ENAMETOOLONG, "show %s: %m", path);
	return mr_mountfd_new("overlay", opts, c->ids.userns ? 2 : N_ELEMENTS(opts), RO_ATTRS, err);
}

static bool has_mounts_below(const struct mr_child *c, const char *path)
{
	for (size_t i = 0; i < c->host_mounts.n; i++) {
		if (mr_str_is_under(c->host_mounts.v[i], path) &&
		    strcmp(c->host_mounts.v[i], path) != 0)
			return true;
	}
	return false;
}

static const char below_it[] = "something is mounted below it, which in a user namespace is in the "
			       "way of an overlay";

int mr_hostview_new(struct mr_child *c, const char *path, bool *ret_copied, struct mr_error *err)
{
	struct mr_error why;
	int fd = new_overlay(c, path, &why);

	*ret_copied = fd < 0;
	if (fd >= 0)
		return fd;
	if (mr_spec_tolerates(c->spec, "private-inodes")) {
		c->built.built.shared_inodes = 1; /* the receipt says so */
		return mr_mountfd_clone(AT_FDCWD, path, RO_ATTRS, err);
	}
	/* In a user namespace what a mount covers stays covered, and an overlay would show it. */
	return mr_err(err, why.code, why.errnum,
		      "%s: %s: runs could talk by locks on its files; --best-effort "
		      "private-inodes allows it",
		      path, c->ids.userns && has_mounts_below(c, path) ? below_it : why.msg);
}

/* The object at a path below a folder, which no link and no mount leads to. */
static int open_on_mount(int dir_fd, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve =
					RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV };

	return (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
}

int mr_hostview_root(struct mr_child *c, struct mr_error *err)
{
	struct mr_error why;
	mr_auto_close int view = -1;
	int r;

	/* What is mounted on the root is all in the way of it there; see mr_hostview_new(). */
	if (c->ids.userns)
		return 0;
	view = new_overlay(c, "/", &why);
	if (view < 0)
		return 0; /* each folder has its own then, or says why it cannot */
	r = mr_rootfs_make_dir(c->pool_fd, MR_STAND_HOST, 0700, err);
	if (r == 0)
		r = mr_mountfd_attach_at(view, c->pool_fd, MR_STAND_HOST, err);
	if (r == 0)
		c->host_view_fd = mr_take_fd(view);
	return r;
}

void mr_hostview_end(struct mr_child *c)
{
	c->host_view_fd = mr_close(c->host_view_fd);
}

int mr_hostview_open(const struct mr_child *c, const char *name)
{
	mr_auto_close int host = -1;

	if (c->host_view_fd < 0)
		return -1;
	host = open_on_mount(c->old_root_fd, name);
	return host < 0 ? -1 : open_on_mount(c->host_view_fd, name);
}

/* The object at a path below our root, which no link leads to. */
static int open_inside(struct mr_child *c, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS };

	return (int)syscall(SYS_openat2, c->root_fd, path, &how, sizeof(how));
}

static int show_mount(struct mr_child *c, const char *point, struct mr_error *err)
{
	mr_auto_close int place = -1;
	mr_auto_close int tree = -1;
	struct stat st;
	bool copied;

	place = open_inside(c, point);
	if (place < 0 && errno == ENOENT)
		return 0; /* covered by a later mount, so nobody sees it on the host either */
	if (place < 0 || fstat(place, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s inside: %m", point);
	tree = S_ISDIR(st.st_mode) ? mr_hostview_new(c, point, &copied, err)
				   : mr_mountfd_clone(AT_FDCWD, point, RO_ATTRS, err);
	return tree < 0 ? tree : mr_mountfd_attach(tree, place, point, err);
}

/* Below one of the folders that are shown; the folder itself is shown with what is on it. */
static bool is_shown(const char *point)
{
	const char *name = point + 1, *rest = strchrnul(name, '/');
	size_t n;
	const char *const *entries = mr_rootfs_system_entries(&n);

	for (size_t i = 0; *rest && i < n; i++) {
		if (strncmp(entries[i], name, (size_t)(rest - name)) == 0 &&
		    entries[i][rest - name] == '\0')
			return true;
	}
	return mr_str_is_under(point, "/etc");
}

int mr_hostview_begin(struct mr_child *c, struct mr_error *err)
{
	struct mr_mountinfo mounts;
	int r = mr_mountinfo_open(&mounts);

	while (r >= 0 && (r = mr_mountinfo_next(&mounts)) > 0)
		if (is_shown(mounts.point))
			mr_strv_add(&c->host_mounts, mounts.point);
	mr_mountinfo_close(&mounts);
	return r < 0 ? mr_err(err, MR_E_SYS, -r, "read /proc/self/mountinfo: %m") : 0;
}

int mr_hostview_show_mounts(struct mr_child *c, const char *top, struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->host_mounts.n; i++) {
		if (mr_str_is_under(c->host_mounts.v[i], top))
			r = show_mount(c, c->host_mounts.v[i], err);
	}
	return r;
}

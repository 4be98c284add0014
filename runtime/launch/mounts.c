/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts of the spec
 *
 * The workspace as an overlay whose upper directory is in the pool, and the
 * --ro, --rw, --tmpfs and --hide places.  A mount point is made only in file
 * systems of ours (root, pool, the workspace's overlay), never in a folder of the host,
 * and the walk to it follows no link, so a link planted in a workspace or an image leads
 * nowhere (CVE-2026-87766).  Places are attached parents first, whatever the order they were
 * given in; hides come last.
 *
 * A restriction is of a name: whoever can rename a folder above it, or make the name anew, is
 * rid of it.  So every folder between it and the writable place that it is in becomes a mount of
 * its own, which the kernel neither renames nor removes (EBUSY).
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/launch/mountfd.h"
#include "runtime/launch/steps.h"
#include "runtime/spec/spec.h"

#define RO_ATTRS (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
#define RW_ATTRS (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

static bool is_own_dev(const struct mr_child *c, dev_t dev)
{
	for (unsigned int i = 0; i < c->n_own_devs; i++) {
		if (c->own_devs[i] == dev)
			return true;
	}
	return false;
}

/* Make the last component, if this directory is ours. */
static int make_component(struct mr_child *c, int dir_fd, const char *name, bool want_dir,
			  const char *dest, struct mr_error *err)
{
	struct stat st;
	int fd;

	if (fstat(dir_fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "%s: stat: %m", dest);
	if (!is_own_dev(c, st.st_dev))
		return mr_err(err, MR_E_USAGE, ENOENT,
			      "%s: %s is not there and would have to be made in a folder of the "
			      "host; "
			      "make it first or mount elsewhere",
			      dest, name);
	if (want_dir) {
		if (mkdirat(dir_fd, name, 0755) < 0)
			return mr_err(err, MR_E_SYS, errno, "%s: make folder %s: %m", dest, name);
		return 0;
	}
	fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "%s: make file %s: %m", dest, name);
	mr_close(fd);
	return 0;
}

/* Open, without following links, one component; *missing is set where it is not there. */
static int open_component(int dir_fd, const char *name, bool dir, const char *dest, bool *missing,
			  struct mr_error *err)
{
	struct stat st;
	int fd = openat(dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	*missing = fd < 0 && errno == ENOENT;
	if (*missing)
		return -ENOENT;
	if (fd < 0)
		return mr_err(err, MR_E_USAGE, errno, "%s: %s: %m", dest, name);
	if (fstat(fd, &st) < 0 || S_ISLNK(st.st_mode)) {
		mr_close(fd);
		return mr_err(err, MR_E_USAGE, ELOOP,
			      "%s: %s is a symbolic link; it is not followed", dest, name);
	}
	if (dir && !S_ISDIR(st.st_mode)) {
		mr_close(fd);
		return mr_err(err, MR_E_USAGE, ENOTDIR, "%s: %s: %m", dest, name);
	}
	return fd;
}

/* The root is read-only in the end, whatever its mount says now. */
static bool is_writable_place(const struct mr_child *c, int fd, const struct stat *st)
{
	struct statvfs fs;

	return st->st_dev != c->own_devs[0] && (fstatvfs(fd, &fs) < 0 || !(fs.f_flag & ST_RDONLY));
}

/* Make a folder that the program could rename a mount of its own. *dir becomes its root. */
static int pin_folder(const struct mr_child *c, int *dir, const char *dest, struct mr_error *err)
{
	mr_auto_close int tree = -1;
	struct statx stx;
	struct stat st;
	int r;

	if (fstat(*dir, &st) < 0 || statx(*dir, "", AT_EMPTY_PATH, STATX_TYPE, &stx) < 0)
		return mr_err(err, MR_E_SYS, errno, "%s: stat: %m", dest);
	if (!is_writable_place(c, *dir, &st) || (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return 0;
	tree = mr_mountfd_clone(*dir, "", 0, err);
	if (tree < 0)
		return mr_err_wrap(err, tree, "%s: hold the folders above", dest);
	r = mr_mountfd_attach(tree, *dir, dest, err);
	if (r < 0)
		return mr_err_wrap(err, r, "hold the folders above");
	mr_close(*dir);
	*dir = mr_take_fd(tree);
	return 0;
}

/* What is there of dest is not all: nothing to hide, unless the program could make the rest on the host.
 * In the copy of a workspace and in a tmpfs it may: that is its own, and of a workspace a change that is told. */
static int refuse_if_makable(const struct mr_child *c, int dir, const char *name, const char *dest,
			     struct mr_error *err)
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "%s: stat: %m", dest);
	if (is_own_dev(c, st.st_dev) || !is_writable_place(c, dir, &st))
		return -ENOENT;
	return mr_err(err, MR_E_USAGE, EINVAL,
		      "%s: %s is not there, and the program could make it in a folder of the host; "
		      "make it first, or hide a folder above it",
		      dest, name);
}

enum how {
	MAKE = 1, /* what is missing, where that is ours to make */
	PIN = 2, /* the folders above */
};

/* The object at dest inside. O_PATH descriptor. -ENOENT without MAKE: nothing is there to hide. */
static int open_dest(struct mr_child *c, const char *dest, bool want_dir, unsigned int how,
		     struct mr_error *err)
{
	char path[PATH_MAX];
	mr_auto_close int dir = openat(c->root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *rest = path, *name;

	if (dir < 0)
		return mr_err(err, MR_E_SYS, errno, "open the new root: %m");
	if ((size_t)snprintf(path, sizeof(path), "%s", dest) >= sizeof(path))
		return mr_err(err, MR_E_USAGE, ENAMETOOLONG, "%s: path too long", dest);
	while ((name = strsep(&rest, "/"))) {
		bool last = !rest || rest[strspn(rest, "/")] == '\0';
		bool missing;
		int fd, r;

		if (!*name || strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0)
			return mr_err(err, MR_E_USAGE, EINVAL, "%s: '..' is not accepted", dest);
		fd = open_component(dir, name, !last, dest, &missing, err);
		if (missing && !(how & MAKE))
			return refuse_if_makable(c, dir, name, dest, err);
		if (missing) {
			r = make_component(c, dir, name, !last || want_dir, dest, err);
			if (r < 0)
				return r;
			fd = open_component(dir, name, !last, dest, &missing, err);
		}
		if (fd < 0)
			return fd;
		mr_close(dir);
		dir = fd;
		r = !last && (how & PIN) ? pin_folder(c, &dir, dest, err) : 0;
		if (r < 0)
			return r;
	}
	return mr_take_fd(dir);
}

static int attach_at_dest(struct mr_child *c, int tree, const char *dest, unsigned int how,
			  struct mr_error *err)
{
	mr_auto_close int target = -1;
	struct stat st;

	if (fstat(tree, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "%s: stat: %m", dest);
	target = open_dest(c, dest, S_ISDIR(st.st_mode), MAKE | how, err);
	return target < 0 ? target : mr_mountfd_attach(tree, target, dest, err);
}

/* In a user namespace an overlay marks a folder that hides the lower one by a user.* attribute,
 * which tmpfs has since Linux 6.6. */
static bool can_mark_folders(const struct mr_child *c)
{
	static const char name[] = "user.overlay.menace";

	if (!c->ids.userns)
		return true;
	return fsetxattr(c->upper_fd, name, "y", 1, 0) == 0 && fremovexattr(c->upper_fd, name) == 0;
}

/* Overlay options differ with privilege: trusted.* attributes need the first user namespace. */
int mr_mounts_workspace(struct mr_child *c, struct mr_error *err)
{
	const bool layered = c->opts->layer && c->opts->layer->n > 0;
	const char *lower = layered ? MR_STAND_LAYER ":" MR_STAND_LOWER : MR_STAND_LOWER;
	const struct mr_fsopt as_root[] = {
		{ "source", "menace" }, { "lowerdir", lower },	   { "upperdir", "upper" },
		{ "workdir", "ovl" },	{ "redirect_dir", "off" }, { "metacopy", "off" },
		{ "index", "off" },	{ "volatile", NULL },
	};
	const struct mr_fsopt in_userns[] = {
		{ "source", "menace" }, { "lowerdir", lower }, { "upperdir", "upper" },
		{ "workdir", "ovl" },	{ "userxattr", NULL }, { "volatile", NULL },
	};
	mr_auto_close int overlay = -1;
	struct stat st;
	int r;

	if (c->workspace_tree < 0)
		return 0;
	if (mkdirat(c->pool_fd, MR_STAND_LOWER, 0700) < 0)
		return mr_err(err, MR_E_SYS, errno, "make folder " MR_STAND_LOWER ": %m");
	r = mr_mountfd_attach_at(c->workspace_tree, c->pool_fd, MR_STAND_LOWER, err);
	if (r < 0)
		return r;
	if (fchdir(c->pool_fd) < 0)
		return mr_err(err, MR_E_SYS, errno, "enter the pool: %m");
	c->upper_fd = openat(c->pool_fd, "upper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	c->lower_fd = openat(c->pool_fd, MR_STAND_LOWER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (c->upper_fd < 0 || c->lower_fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open the workspace: %m");
	/* The root of the overlay takes its mode from the upper directory. */
	if (fstat(c->lower_fd, &st) < 0 || fchmod(c->upper_fd, st.st_mode & 0777) < 0)
		return mr_err(err, MR_E_SYS, errno, "mode of the workspace: %m");
	r = layered ? mr_layer_make(c, err) : 0;
	if (r < 0)
		return r;
	c->built.built.no_opaque = !can_mark_folders(c);
	overlay =
		c->ids.userns
			? mr_mountfd_new("overlay", in_userns, N_ELEMENTS(in_userns), RW_ATTRS, err)
			: mr_mountfd_new("overlay", as_root, N_ELEMENTS(as_root), RW_ATTRS, err);
	if (overlay < 0)
		return mr_err_wrap(err, overlay, "workspace %s", c->spec->sandbox_workspace);
	if (fstat(overlay, &st) == 0)
		c->own_devs[c->n_own_devs++] = st.st_dev;
	return mr_mountfd_attach_at(overlay, c->root_fd, "work", err);
}

static int attach_tmpfs(struct mr_child *c, const struct mr_spec_mount *m, size_t index,
			struct mr_error *err)
{
	char size[32], inodes[32], name[32];
	mr_auto_close int tree = -1;

	if (m->size_bytes) {
		const struct mr_fsopt opts[] = { { "mode", "1777" },
						 { "size", size },
						 { "nr_inodes", inodes } };

		snprintf(size, sizeof(size), "%ju", (uintmax_t)m->size_bytes);
		/* A page a file is as many as the size could hold with anything in them. */
		snprintf(inodes, sizeof(inodes), "%ju", (uintmax_t)(m->size_bytes / 4096 + 16));
		tree = mr_mountfd_new("tmpfs", opts, N_ELEMENTS(opts), RW_ATTRS, err);
	} else {
		/* Without a cap of its own it is a folder of the pool. */
		mr_auto_close int dir = -1;

		snprintf(name, sizeof(name), "tmpfs%zu", index);
		if (mkdirat(c->pool_fd, name, 01777) < 0)
			return mr_err(err, MR_E_SYS, errno, "make %s in the pool: %m", name);
		dir = openat(c->pool_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			return mr_err(err, MR_E_SYS, errno, "open %s in the pool: %m", name);
		tree = mr_mountfd_clone(dir, "", RW_ATTRS, err);
	}
	return tree < 0 ? tree : attach_at_dest(c, tree, m->dest, 0, err);
}

static int compare_dest(const void *a, const void *b, void *arg)
{
	const struct mr_spec *spec = arg;

	return strcmp(spec->mounts[*(const size_t *)a].dest, spec->mounts[*(const size_t *)b].dest);
}

/* Indices of the spec's mounts, parents before what is below them; malloc'd. */
static size_t *sorted_mounts(const struct mr_spec *spec)
{
	size_t *order = calloc(spec->n_mounts + 1, sizeof(*order));

	mr_assert(order);
	for (size_t i = 0; i < spec->n_mounts; i++)
		order[i] = i;
	qsort_r(order, spec->n_mounts, sizeof(*order), compare_dest, (void *)(uintptr_t)spec);
	return order;
}

int mr_mounts_spec(struct mr_child *c, struct mr_error *err)
{
	mr_auto_free size_t *order = sorted_mounts(c->spec);
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->spec->n_mounts; i++) {
		const struct mr_spec_mount *m = &c->spec->mounts[order[i]];

		if (m->kind == MR_MOUNT_TMPFS)
			r = attach_tmpfs(c, m, order[i], err);
		else if (m->kind != MR_MOUNT_HIDE)
			r = attach_at_dest(c, c->trees[order[i]], m->dest,
					   m->kind == MR_MOUNT_RO ? PIN : 0, err);
		if (r < 0)
			return mr_err_wrap(err, r, "mount");
	}
	return 0;
}

int mr_mounts_hide(struct mr_child *c, struct mr_error *err)
{
	for (size_t i = 0; i < c->spec->n_mounts; i++) {
		const struct mr_spec_mount *m = &c->spec->mounts[i];
		mr_auto_close int target = -1;
		mr_auto_close int mask = -1;
		struct stat st;
		int r;

		if (m->kind != MR_MOUNT_HIDE)
			continue;
		target = open_dest(c, m->dest, false, PIN, err);
		if (target == -ENOENT)
			continue; /* not there: hidden already */
		if (target < 0)
			return mr_err_wrap(err, target, "hide");
		if (fstat(target, &st) < 0)
			return mr_err(err, MR_E_SYS, errno, "hide %s: %m", m->dest);
		mask = mr_mountfd_clone(c->root_fd,
					S_ISDIR(st.st_mode) ? "run/mask" : "run/mask-file",
					RO_ATTRS | MOUNT_ATTR_NOEXEC, err);
		if (mask < 0)
			return mask;
		r = mr_mountfd_attach(mask, target, m->dest, err);
		if (r < 0)
			return mr_err_wrap(err, r, "hide");
	}
	return 0;
}

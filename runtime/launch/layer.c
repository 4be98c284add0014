/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layer
 *
 * A tmpfs of its own, so that nothing of it is counted in the payload's disk limit, which is a lower
 * directory of the workspace's overlay above the workspace.  Overlayfs takes the attributes of a folder
 * from the topmost layer that has it, so folders on the way are made to look as those below; what is gone
 * is a whiteout, which is a character device 0/0 and may be made in any user namespace (Linux 5.8).
 */
#include "runtime/launch/layer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"
#include "runtime/launch/mountfd.h"
#include "runtime/launch/steps.h"

/* Mode and owner of what the workspace has at the same path.  In a user namespace an owner that is not
 * mapped cannot be given: then it stays ours. */
static int imitate(const struct mr_child *c, int layer, const char *path, struct mr_error *err)
{
	struct stat st;

	if (fstatat(c->lower_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return mr_err(err, MR_E_SYS, errno, "%s in the workspace: %m", path);
	if (fchownat(layer, path, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		errno = 0;
	if (fchmodat(layer, path, st.st_mode & 0777, 0) < 0)
		return mr_err(err, MR_E_SYS, errno, "mode of %s: %m", path);
	return 0;
}

static int make_parents(const struct mr_child *c, int layer, const char *path, struct mr_error *err)
{
	int r = 0;

	for (const char *slash = path; r == 0 && (slash = strchr(slash, '/')); slash++) {
		mr_auto_free char *parent = mr_str_ndup(path, (size_t)(slash - path));

		if (mkdirat(layer, parent, 0755) == 0)
			r = imitate(c, layer, parent, err);
		else if (errno != EEXIST)
			r = mr_err(err, MR_E_SYS, errno, "make folder %s: %m", parent);
	}
	return r;
}

static int make_denied(const struct mr_child *c, int layer, const char *path, struct mr_error *err)
{
	mr_auto_close int fd = -1;
	struct stat st;

	if (fstatat(c->lower_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return mr_err(err, MR_E_SYS, errno, "%s in the workspace: %m", path);
	if (S_ISDIR(st.st_mode))
		return mkdirat(layer, path, 0) < 0
			       ? mr_err(err, MR_E_SYS, errno, "make %s: %m", path)
			       : 0;
	fd = openat(layer, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	return fd < 0 ? mr_err(err, MR_E_SYS, errno, "make %s: %m", path) : 0;
}

static int make_bytes(const struct mr_child *c, int layer, const struct mr_layer_file *file,
		      struct mr_error *err)
{
	mr_auto_close int fd =
		openat(layer, file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r;

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "make %s: %m", file->path);
	r = mr_write_full(fd, file->bytes, file->size);
	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "write %s: %m", file->path);
	return imitate(c, layer, file->path, err);
}

static int make_file(const struct mr_child *c, int layer, const struct mr_layer_file *file,
		     struct mr_error *err)
{
	int r = make_parents(c, layer, file->path, err);

	if (r < 0)
		return r;
	switch (file->kind) {
	case MR_LAYER_GONE:
		if (mknodat(layer, file->path, S_IFCHR, 0) < 0)
			return mr_err(err, MR_E_SYS, errno, "make a whiteout for %s: %m",
				      file->path);
		return 0;
	case MR_LAYER_DENIED:
		return make_denied(c, layer, file->path, err);
	case MR_LAYER_BYTES:
		break;
	}
	return make_bytes(c, layer, file, err);
}

int mr_layer_make(struct mr_child *c, struct mr_error *err)
{
	const struct mr_layer *layer = c->opts->layer;
	char size[32];
	const struct mr_fsopt opts[] = { { "mode", "0755" }, { "size", size } };
	mr_auto_close int tree = -1;
	mr_auto_close int top = -1;
	int r;

	if (mkdirat(c->pool_fd, MR_STAND_LAYER, 0700) < 0)
		return mr_err(err, MR_E_SYS, errno, "make folder " MR_STAND_LAYER ": %m");
	snprintf(size, sizeof(size), "%u", 2 * MR_LAYER_BYTES_MAX);
	tree = mr_mountfd_new("tmpfs", opts, N_ELEMENTS(opts), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
			      err);
	if (tree < 0)
		return tree;
	r = mr_mountfd_attach_at(tree, c->pool_fd, MR_STAND_LAYER, err);
	if (r < 0)
		return r;
	top = openat(c->pool_fd, MR_STAND_LAYER, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return mr_err(err, MR_E_SYS, errno, "open " MR_STAND_LAYER ": %m");
	for (size_t i = 0; r == 0 && i < layer->n; i++)
		r = make_file(c, top, &layer->v[i], err);
	return r < 0 ? mr_err_wrap(err, r, "layer over the workspace") : 0;
}

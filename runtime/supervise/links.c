/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links
 *
 * Whose links are followed.  Those of the caller's own folders are (/var/run): they
 * lead with his own rights to where he wants.  But a folder that this run shows
 * writable may hold links that an earlier run left: from there on none is.  No text
 * is compared for that, for one folder has many names: it is the device and the inode.
 */
#include "runtime/supervise/links.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/spec/spec.h"

/* Is this the folder that some mount shows writable? */
static bool is_shown_writable(const struct mr_spec *spec, const char *path)
{
	struct stat here, source;

	if (stat(path, &here) < 0)
		return false;
	for (size_t i = 0; i < spec->n_mounts; i++)
		if (spec->mounts[i].kind == MR_MOUNT_RW &&
		    stat(spec->mounts[i].source, &source) == 0 && S_ISDIR(source.st_mode) &&
		    source.st_dev == here.st_dev && source.st_ino == here.st_ino)
			return true;
	return false;
}

/* How much of an absolute path leads to a folder that the program may write; 0: none. */
static size_t writable_prefix(const struct mr_spec *spec, const char *path)
{
	for (const char *p = strchr(path, '/'); p; p = strchr(p + 1, '/')) {
		mr_auto_free char *prefix = mr_str_ndup(path, (size_t)(p - path) + 1);

		if (is_shown_writable(spec, prefix))
			return (size_t)(p - path) + 1;
	}
	return 0;
}

int mr_links_open(const struct mr_spec *spec, const char *path, int flags)
{
	mr_auto_free char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0);
	mr_auto_free char *whole = cwd ? mr_str_format("%s/%s", cwd, path) : mr_str_dup(path);
	const struct open_how how = { .flags = (uint64_t)(unsigned int)flags,
				      .mode = flags & O_CREAT ? 0644 : 0,
				      .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	size_t n = writable_prefix(spec, whole);
	mr_auto_free char *folder = mr_str_ndup(whole, n);
	const char *rest = whole + n + strspn(whole + n, "/");
	mr_auto_close int dir = -1;

	if (n == 0)
		return open(path, flags, 0644);
	dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? -1 : (int)syscall(SYS_openat2, dir, *rest ? rest : ".", &how, sizeof(how));
}

/* A folder would be a way into the host's files.  A FIFO is waited for together with all the rest. */
int mr_links_open_input(const struct mr_spec *spec, int stdin_fd, int *ret, int *ret_own,
			struct mr_error *err)
{
	const char *path = spec->sandbox_stdin_path;
	struct stat st;

	*ret = stdin_fd;
	if (path[0]) {
		*ret = *ret_own =
			mr_links_open(spec, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (*ret < 0)
			return mr_err(err, MR_E_USAGE, errno, "standard input %s: %m", path);
	}
	if (*ret >= 0 && fstat(*ret, &st) == 0 && S_ISDIR(st.st_mode))
		return mr_err(err, MR_E_USAGE, EISDIR,
			      "standard input is a directory; it would be a way into the host's "
			      "files");
	return 0;
}

/* "a/b//" is "b" in "a"; what names the root, or the folder we are in, is "." in it. */
static char *split(const char *path, char **ret_name)
{
	size_t end = strlen(path), from;
	char *parent;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (from = end; from > 0 && path[from - 1] != '/'; from--)
		;
	parent = from ? mr_str_ndup(path, from) : mr_str_dup(".");
	*ret_name = from < end ? mr_str_ndup(path + from, end - from) : mr_str_dup(".");
	return parent;
}

int mr_links_open_parent(const struct mr_spec *spec, const char *path, char **ret_name)
{
	mr_auto_free char *parent = split(path, ret_name);

	return mr_links_open(spec, parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static int folder_error(const char *what, const char *path, struct mr_error *err)
{
	if (errno == ELOOP)
		return mr_err(err, MR_E_USAGE, errno,
			      "%s %s: %m; a link is not written through, nor one followed in a "
			      "folder that --rw shows",
			      what, path);
	return mr_err(err, MR_E_USAGE, errno, "%s %s: %m", what, path);
}

int mr_links_make_folder(const struct mr_spec *spec, const char *path, struct mr_error *err)
{
	mr_auto_free char *name = NULL;
	mr_auto_close int dir = mr_links_open_parent(spec, path, &name);
	int fd;

	if (dir < 0)
		return folder_error("open the folder of", path, err);
	if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
		return folder_error("make", path, err);
	fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? folder_error("open", path, err) : fd;
}

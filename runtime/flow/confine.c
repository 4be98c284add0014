/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confine
 *
 * The text is judged first, for a clear message; what holds is openat2(2) with
 * RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS.  The last component of what is written
 * or removed is one name in a folder that was opened so.
 */
#include "runtime/flow/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"
#include "runtime/flow/folder.h"

#define PATH_BYTES_MAX 4095

static int refuse(const char *path, const char *why, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];

	return mr_err(err, MR_E_USAGE, EINVAL, "%s %s", mr_str_quote(quoted, sizeof(quoted), path),
		      why);
}

int mr_confine_check(const char *path, struct mr_error *err)
{
	const char *part = path;

	if (path[0] == '/')
		return refuse(path, "is absolute: path escapes sandbox", err);
	if (strlen(path) > PATH_BYTES_MAX)
		return refuse(path, "is too long for a path", err);
	while (*part || part == path) {
		const size_t n = strcspn(part, "/");

		if (n == 2 && memcmp(part, "..", 2) == 0)
			return refuse(path, "has \"..\" in it: path escapes sandbox", err);
		if (n == 0 || n > 255 || (n == 1 && part[0] == '.'))
			return refuse(path, "is no path of a file in a folder", err);
		if (part[n] == '/' && part[n + 1] == '\0')
			return refuse(path, "ends with a slash", err);
		part += n + (part[n] == '/');
	}
	return 0;
}

static int open_beneath(int dir_fd, const char *path, int flags)
{
	const struct open_how how = { .flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC),
				      .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
						 RESOLVE_NO_MAGICLINKS };
	long fd;

	do
		fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN); /* somebody renames meanwhile */
	return (int)fd;
}

static int fail_open(const char *path, int errnum, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];

	if (errnum == ELOOP)
		return refuse(path, "is, or is behind, a symbolic link: path escapes sandbox", err);
	if (errnum == EXDEV)
		return refuse(path, "leaves its folder: path escapes sandbox", err);
	return mr_err(err, errnum == ENOENT ? MR_E_USAGE : MR_E_SYS, errnum, "%s: %m",
		      mr_str_quote(quoted, sizeof(quoted), path));
}

int mr_confine_read(int dir_fd, const char *path, size_t max, char **ret, size_t *ret_size,
		    struct mr_error *err)
{
	mr_auto_free char *data = NULL;
	mr_auto_close int fd = -1;
	struct stat st;
	ssize_t n;
	int r = mr_confine_check(path, err);

	if (r < 0)
		return r;
	fd = open_beneath(dir_fd, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fail_open(path, errno, err);
	if (fstat(fd, &st) < 0)
		return fail_open(path, errno, err);
	if (!S_ISREG(st.st_mode))
		return refuse(path, "is no regular file", err);
	if ((uint64_t)st.st_size > max)
		return refuse(path, "is too large", err);
	data = mr_str_alloc((size_t)st.st_size + 1);
	n = mr_read_full(fd, data, (size_t)st.st_size);
	if (n < 0)
		return fail_open(path, (int)-n, err);
	data[n] = '\0';
	*ret_size = (size_t)n;
	*ret = mr_take_ptr(data);
	return 0;
}

int mr_confine_open_folder(int dir_fd, const char *path, int *ret, struct mr_error *err)
{
	int fd, r = mr_confine_check(path, err);

	if (r < 0)
		return r;
	fd = open_beneath(dir_fd, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fail_open(path, errno, err);
	*ret = fd;
	return 0;
}

/* The folder that holds the last name of path, which is *ret_name; folders are made with make. */
static int open_parent(int dir_fd, const char *path, bool make, int *ret, const char **ret_name,
		       struct mr_error *err)
{
	mr_auto_close int at = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3);
	const char *part = path;

	for (const char *slash; at >= 0 && (slash = strchr(part, '/')); part = slash + 1) {
		mr_auto_free char *name = mr_str_ndup(part, (size_t)(slash - part));
		int next;

		if (make && mkdirat(at, name, 0755) < 0 && errno != EEXIST)
			return fail_open(path, errno, err);
		next = open_beneath(at, name, O_RDONLY | O_DIRECTORY);
		if (next < 0)
			return fail_open(path, errno, err);
		mr_close(at);
		at = next;
	}
	if (at < 0)
		return fail_open(path, errno, err);
	*ret_name = part;
	*ret = mr_take_fd(at);
	return 0;
}

int mr_confine_write(int dir_fd, const char *path, const void *data, size_t size, mode_t mode,
		     struct mr_error *err)
{
	mr_auto_close int parent = -1;
	mr_auto_close int fd = -1;
	const char *name = path;
	int r = mr_confine_check(path, err);

	if (r == 0)
		r = open_parent(dir_fd, path, true, &parent, &name, err);
	if (r < 0)
		return r;
	if (unlinkat(parent, name, 0) < 0 && errno != ENOENT)
		return fail_open(path, errno, err);
	fd = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (fd < 0 || fchmod(fd, mode) < 0)
		return fail_open(path, errno, err);
	r = mr_write_full(fd, data, size);
	return r < 0 ? fail_open(path, -r, err) : 0;
}

int mr_confine_remove(int dir_fd, const char *path, struct mr_error *err)
{
	mr_auto_close int parent = -1;
	const char *name = path;
	int r = mr_confine_check(path, err);

	if (r == 0)
		r = open_parent(dir_fd, path, false, &parent, &name, err);
	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : mr_folder_remove(parent, name, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folder
 *
 * One name at a time from an open folder, so that the depth of a tree is bounded by
 * descriptors alone, and it is: DEPTH_MAX.
 */
#include "runtime/flow/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"
#include "runtime/flow/confine.h"

#define DEPTH_MAX 200
#define CHUNK 65536
#define DELETED_LIST ".menace-deleted"
#define DELETED_LIST_MAX (64u << 20)

static int fail(const char *doing, const char *name, int errnum, struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];

	return mr_err(err, MR_E_SYS, errnum, "%s %s: %m", doing,
		      mr_str_quote(quoted, sizeof(quoted), name));
}

static DIR *open_stream(int dir_fd, const char *name)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		mr_close(fd);
	return dir;
}

/* The next name but "." and ".."; NULL at the end, with errno. */
static const char *next_name(DIR *dir)
{
	const struct dirent *entry;

	do {
		errno = 0;
		entry = readdir(dir);
	} while (entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry ? entry->d_name : NULL;
}

/* --- removing -------------------------------------------------------------- */

static int remove_at(int parent_fd, const char *name, int depth, struct mr_error *err)
{
	mr_auto_closedir DIR *dir = NULL;
	const char *inner;
	int r = 0;

	if (unlinkat(parent_fd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return fail("remove", name, errno, err);
	if (depth == DEPTH_MAX)
		return fail("remove", name, ELOOP, err);
	dir = open_stream(parent_fd, name);
	if (!dir)
		return fail("remove", name, errno, err);
	while (r == 0 && (inner = next_name(dir)))
		r = remove_at(dirfd(dir), inner, depth + 1, err);
	if (r == 0 && unlinkat(parent_fd, name, AT_REMOVEDIR) < 0)
		return fail("remove", name, errno, err);
	return r;
}

int mr_folder_remove(int parent_fd, const char *name, struct mr_error *err)
{
	return remove_at(parent_fd, name, 0, err);
}

/* --- measuring -------------------------------------------------------------- */

static int64_t changed_us(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000 + st->st_mtim.tv_nsec / 1000;
}

static int measure_at(int parent_fd, const char *name, int depth, struct mr_folder_size *size,
		      struct mr_error *err)
{
	mr_auto_closedir DIR *dir = NULL;
	const char *inner;
	struct stat st;
	int r = 0;

	if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fail("look at", name, errno, err);
	size->bytes += (uint64_t)st.st_blocks * 512;
	size->files += !S_ISDIR(st.st_mode);
	if (depth <= 1 && changed_us(&st) > size->changed_us)
		size->changed_us = changed_us(&st);
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (depth == DEPTH_MAX)
		return fail("look at", name, ELOOP, err);
	dir = open_stream(parent_fd, name);
	if (!dir)
		return errno == ENOENT ? 0 : fail("look at", name, errno, err);
	while (r == 0 && (inner = next_name(dir)))
		r = measure_at(dirfd(dir), inner, depth + 1, size, err);
	return r;
}

int mr_folder_measure(int parent_fd, const char *name, struct mr_folder_size *ret,
		      struct mr_error *err)
{
	struct mr_folder_size size = { 0 };
	int r = measure_at(parent_fd, name, 0, &size, err);

	if (r == 0)
		*ret = size;
	return r;
}

/* --- copying --------------------------------------------------------------- */

static int copy_data(int from, int to)
{
	mr_auto_free char *chunk = mr_str_alloc(CHUNK);
	ssize_t n;
	int r = 0;

	do {
		n = mr_read_full(from, chunk, CHUNK);
		if (n > 0)
			r = mr_write_full(to, chunk, (size_t)n);
	} while (n == CHUNK && r == 0);
	return n < 0 ? (int)n : r;
}

static int copy_file(int from_fd, int to_fd, const char *name, const struct stat *st,
		     struct mr_error *err)
{
	mr_auto_close int from =
		openat(from_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	mr_auto_close int to = -1;
	struct stat now;
	int r;

	if (from < 0 || fstat(from, &now) < 0)
		return fail("read", name, errno, err);
	if (!S_ISREG(now.st_mode))
		return fail("read", name, ESTALE, err);
	to = openat(to_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return fail("write", name, errno, err);
	r = copy_data(from, to);
	if (r == 0 && fchmod(to, st->st_mode & 0777) < 0)
		r = -errno;
	return r < 0 ? fail("copy", name, -r, err) : 0;
}

static int copy_link(int from_fd, int to_fd, const char *name, struct mr_error *err)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(from_fd, name, target, sizeof(target) - 1);

	if (n < 0)
		return fail("read link", name, errno, err);
	target[n] = '\0';
	return symlinkat(target, to_fd, name) < 0 ? fail("make link", name, errno, err) : 0;
}

static int copy_folder(int from_fd, int to_fd, const char *skip, int depth, struct mr_error *err);

static int join_folder(int from_fd, int to_fd, const char *name, const struct stat *st, int depth,
		       struct mr_error *err)
{
	mr_auto_close int from =
		openat(from_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	mr_auto_close int to = -1;
	int r;

	if (from < 0)
		return fail("read", name, errno, err);
	if (mkdirat(to_fd, name, 0700) < 0 && errno != EEXIST)
		return fail("make", name, errno, err);
	to = openat(to_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return fail("make", name, errno, err);
	r = copy_folder(from, to, NULL, depth + 1, err);
	if (r == 0 && fchmod(to, st->st_mode & 0777) < 0)
		return fail("make", name, errno, err);
	return r;
}

/* What is in the way and no folder that another is joined to. */
static int make_way(int to_fd, const char *name, bool for_folder, struct mr_error *err)
{
	struct stat st;

	if (fstatat(to_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fail("look at", name, errno, err);
	if (for_folder && S_ISDIR(st.st_mode))
		return 0;
	return mr_folder_remove(to_fd, name, err);
}

static int copy_entry(int from_fd, int to_fd, const char *name, int depth, struct mr_error *err)
{
	struct stat st;
	int r;

	if (fstatat(from_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail("look at", name, errno, err);
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	r = make_way(to_fd, name, S_ISDIR(st.st_mode), err);
	if (r < 0)
		return r;
	if (S_ISREG(st.st_mode))
		return copy_file(from_fd, to_fd, name, &st, err);
	if (S_ISLNK(st.st_mode))
		return copy_link(from_fd, to_fd, name, err);
	return join_folder(from_fd, to_fd, name, &st, depth, err);
}

static int copy_folder(int from_fd, int to_fd, const char *skip, int depth, struct mr_error *err)
{
	mr_auto_closedir DIR *dir = open_stream(from_fd, ".");
	const char *name;
	int r = 0;

	if (!dir)
		return fail("read", ".", errno, err);
	if (depth == DEPTH_MAX)
		return fail("copy", "a tree that deep", ELOOP, err);
	while (r == 0 && (name = next_name(dir)))
		if (!skip || strcmp(name, skip) != 0)
			r = copy_entry(from_fd, to_fd, name, depth, err);
	return r;
}

int mr_folder_copy(int from_fd, int to_fd, const char *skip, struct mr_error *err)
{
	return copy_folder(from_fd, to_fd, skip, 0, err);
}

int mr_folder_temporary(const char *name, char **ret, struct mr_error *err)
{
	const char *said = getenv("TMPDIR");
	const char *at = said && said[0] ? said : "/tmp";
	mr_auto_free char *path = mr_str_format("%s/menace-%s.XXXXXX", at, name);

	if (!mkdtemp(path))
		return mr_err(err, MR_E_SYS, errno, "make a folder in %s: %m", at);
	*ret = mr_take_ptr(path);
	return 0;
}

/* --- what was kept --------------------------------------------------------- */

static int remove_listed(int kept_fd, int to_fd, struct mr_error *err)
{
	mr_auto_free char *list = NULL;
	size_t size = 0;
	int r = 0;

	if (faccessat(kept_fd, DELETED_LIST, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	r = mr_confine_read(kept_fd, DELETED_LIST, DELETED_LIST_MAX, &list, &size, err);
	for (const char *path = list; r == 0 && path < list + size; path += strlen(path) + 1)
		r = mr_confine_remove(to_fd, path, err);
	return r;
}

int mr_folder_apply_kept(int kept_fd, int to_fd, struct mr_error *err)
{
	int r = remove_listed(kept_fd, to_fd, err);

	return r < 0 ? r : mr_folder_copy(kept_fd, to_fd, DELETED_LIST, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outfile
 *
 * O_TMPFILE where the file system has it: whoever is killed leaves nothing behind.
 * link(2) replaces nothing, so the finished file gets a random name first, which
 * rename(2) then puts in place.
 */
#include "runtime/base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

static int make_name(struct mr_outfile *file, struct mr_error *err)
{
	unsigned char random[12];
	char hex[sizeof(random) * 2 + 1];

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return mr_err(err, MR_E_SYS, errno, "%s: random name: %m", file->path);
	mr_str_hex(random, sizeof(random), hex);
	snprintf(file->temp, sizeof(file->temp), MR_OUTFILE_TEMP "%s", hex);
	return 0;
}

/* folder_fd: -1: the folder of the path. */
static int open_folder(struct mr_outfile *file, int folder_fd, struct mr_error *err)
{
	const char *slash = strrchr(file->path, '/');
	mr_auto_free char *folder =
		slash ? mr_str_ndup(file->path, (size_t)(slash - file->path) + 1) : mr_str_dup(".");

	file->name = mr_str_dup(slash ? slash + 1 : file->path);
	if (file->name[0] == '\0')
		return mr_err(err, MR_E_USAGE, EISDIR, "\"%s\" names no file", file->path);
	if (strcmp(file->path, "-") == 0)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "- is standard output, which has something else; a file of that name "
			      "is ./-");
	file->dir_fd = folder_fd < 0 ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
				     : fcntl(folder_fd, F_DUPFD_CLOEXEC, 3);
	if (file->dir_fd < 0)
		return mr_err(err, MR_E_USAGE, errno, "open the folder of %s: %m", file->path);
	return 0;
}

/* What is not a regular file must not be replaced by one: a device, a pipe, somebody's link. */
static int check_place(const struct mr_outfile *file, struct mr_error *err)
{
	struct stat st;

	if (fstatat(file->dir_fd, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISREG(st.st_mode))
			return 0;
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s is there and is not a regular file; a file is replaced as a "
			      "whole, "
			      "for anything else use standard output",
			      file->path);
	}
	return errno == ENOENT ? 0 : mr_err(err, MR_E_SYS, errno, "stat %s: %m", file->path);
}

static int open_nameless(struct mr_outfile *file, unsigned int mode, struct mr_error *err)
{
	int fd = openat(file->dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
	int r;

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
		goto out;
	r = make_name(file, err);
	if (r < 0)
		return r;
	fd = openat(file->dir_fd, file->temp, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC,
		    mode);
	if (fd < 0)
		file->temp[0] = '\0'; /* not ours to remove */
out:
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "make a file in the folder of %s: %m",
			      file->path);
	return fd;
}

static int open_place(struct mr_outfile *ret, int folder_fd, unsigned int mode,
		      struct mr_error *err)
{
	int r, fd;

	r = open_folder(ret, folder_fd, err);
	if (r == 0 && !ret->displaces)
		r = check_place(ret, err);
	fd = r < 0 ? r : open_nameless(ret, mode, err);
	if (fd >= 0) {
		ret->stream = fdopen(fd, "w");
		mr_assert(ret->stream);
		return 0;
	}
	mr_outfile_deinit(ret);
	return fd;
}

int mr_outfile_open(const char *path, unsigned int mode, struct mr_outfile *ret,
		    struct mr_error *err)
{
	return mr_outfile_open_in(-1, path, mode, ret, err);
}

int mr_outfile_open_in(int folder_fd, const char *path, unsigned int mode, struct mr_outfile *ret,
		       struct mr_error *err)
{
	*ret = (struct mr_outfile){ .dir_fd = -1, .path = mr_str_dup(path) };
	return open_place(ret, folder_fd, mode, err);
}

int mr_outfile_open_over(int folder_fd, const char *path, unsigned int mode, struct mr_outfile *ret,
			 struct mr_error *err)
{
	*ret = (struct mr_outfile){ .dir_fd = -1, .path = mr_str_dup(path), .displaces = true };
	return open_place(ret, folder_fd, mode, err);
}

static int give_name(struct mr_outfile *file, struct mr_error *err)
{
	char fd_path[32];
	int r = make_name(file, err);

	if (r < 0)
		return r;
	snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", fileno(file->stream));
	if (linkat(AT_FDCWD, fd_path, file->dir_fd, file->temp, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	file->temp[0] = '\0';
	return mr_err(err, MR_E_SYS, errno, "%s: give the file a name: %m", file->path);
}

/* A disk that is full is often not full any more when the last piece is written: that the ones before
 * are lost is known by the stream alone, which does not say why. */
static int flush(struct mr_outfile *file, struct mr_error *err)
{
	bool lost = ferror(file->stream);

	if (fflush(file->stream) != 0 || (!file->displaces && fsync(fileno(file->stream)) < 0))
		return mr_err(err, MR_E_SYS, errno, "write %s: %m", file->path);
	return lost ? mr_err(err, MR_E_SYS, EIO, "write %s: a part of it could not be written",
			     file->path)
		    : 0;
}

/* A folder cannot be replaced by rename(2), so that one would keep the result away. */
static int take_name(struct mr_outfile *file)
{
	if (renameat(file->dir_fd, file->temp, file->dir_fd, file->name) == 0)
		return 0;
	if (!file->displaces || errno != EISDIR)
		return -1;
	return renameat2(file->dir_fd, file->temp, file->dir_fd, file->name, RENAME_EXCHANGE);
}

int mr_outfile_commit(struct mr_outfile *file, struct mr_error *err)
{
	int r = flush(file, err);

	if (r < 0)
		return r;
	if (file->temp[0] == '\0')
		r = give_name(file, err);
	if (r < 0)
		return r;
	if (take_name(file) < 0)
		return mr_err(err, MR_E_SYS, errno, "rename to %s: %m", file->path);
	file->temp[0] = '\0';
	if (file->displaces)
		return 0;
	if (fsync(file->dir_fd) < 0 && errno != EINVAL) /* EINVAL: not of this file system */
		return mr_err(err, MR_E_SYS, errno, "write the folder of %s: %m", file->path);
	return 0;
}

void mr_outfile_deinit(struct mr_outfile *file)
{
	if (file->stream)
		fclose(file->stream);
	if (file->temp[0] != '\0')
		unlinkat(file->dir_fd, file->temp, 0);
	mr_close(file->dir_fd);
	free(file->path);
	free(file->name);
	*file = (struct mr_outfile)MR_OUTFILE_INIT;
}

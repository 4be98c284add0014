/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cache
 */
#include "runtime/section/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/log.h"
#include "runtime/base/outfile.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"

static bool is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & 022) == 0;
}

static int open_folder(const char *folder, int *ret, struct mr_error *err)
{
	mr_auto_close int fd =
		open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", folder);
	if (!is_ours(&st))
		return mr_err(err, MR_E_DENIED, EPERM,
			      "%s is no folder of yours that nobody else can write; remove it, or "
			      "chown it and chmod 700",
			      folder);
	*ret = mr_take_fd(fd);
	return 0;
}

/* --- loading --------------------------------------------------------------- */

static int read_ours(int folder_fd, const char *folder, const char *name, char **ret,
		     size_t *ret_size, struct mr_error *err)
{
	mr_auto_close int fd =
		openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	mr_auto_free char *text = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s/%s: %m", folder, name);
	if (!S_ISREG(st.st_mode) || !is_ours(&st))
		return mr_err(err, MR_E_DENIED, EPERM,
			      "%s/%s is no file of yours that nobody else can write", folder, name);
	if (st.st_size > (off_t)MR_SECTION_CACHE_MAX)
		return mr_err(err, MR_E_USAGE, EFBIG, "%s/%s is over 64 MiB", folder, name);
	text = mr_str_alloc((size_t)st.st_size + 1);
	n = mr_read_full(fd, text, (size_t)st.st_size);
	if (n < 0)
		return mr_err(err, MR_E_SYS, (int)-n, "read %s/%s: %m", folder, name);
	*ret_size = (size_t)n;
	*ret = mr_take_ptr(text);
	return 0;
}

/* The whole document; -ENOENT: there is none. */
static int load(const char *folder, const char *name, json_t **ret, size_t *ret_size,
		struct mr_error *err)
{
	mr_auto_free char *file = mr_str_format("%s.json", name);
	mr_auto_free char *text = NULL;
	mr_auto_close int fd = -1;
	int r = open_folder(folder, &fd, err);

	if (r == 0)
		r = read_ours(fd, folder, file, &text, ret_size, err);
	return r < 0 ? r : mr_json_parse(text, *ret_size, file, ret, err);
}

json_t *mr_section_cache_load(const char *folder, const char *name, const char *version,
			      size_t *ret_size)
{
	mr_auto_json json_t *all = NULL;
	struct mr_error why = MR_ERROR_INIT;
	json_t *files;
	int r;

	*ret_size = 0;
	r = load(folder, name, &all, ret_size, &why);
	if (r < 0 && r != -ENOENT)
		mr_log_warn("what was found before is not used, and made anew: %s", why.msg);
	files = json_object_get(all, "files");
	if (r == 0 && strcmp(mr_json_text_or_empty(all, "version"), version) == 0 &&
	    json_is_object(files))
		return json_incref(files);
	*ret_size = 0;
	return json_object();
}

/* --- saving ---------------------------------------------------------------- */

/* Files that were never finished go, and the oldest of the others when there are too many. */
static void trim(int folder_fd)
{
	int fd = fcntl(folder_fd, F_DUPFD_CLOEXEC, 3);
	mr_auto_closedir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	mr_auto_free char *oldest = NULL;
	const struct dirent *entry;
	const time_t now = (time_t)(mr_clock_ns(MR_CLOCK_REAL) / 1000000000);
	time_t when = 0;
	size_t n = 0;
	struct stat st;

	while (dir && (entry = readdir(dir))) {
		if (fstatat(folder_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		if (mr_str_starts_with(entry->d_name, MR_OUTFILE_TEMP)) {
			if (st.st_mtime < now - (time_t)MR_PATIENCE_S(CACHE_NEW))
				unlinkat(folder_fd, entry->d_name, 0);
			continue;
		}
		n++;
		if (oldest && st.st_mtime >= when)
			continue;
		free(oldest);
		oldest = mr_str_dup(entry->d_name);
		when = st.st_mtime;
	}
	if (n > MR_SECTION_CACHES_MAX)
		unlinkat(folder_fd, oldest, 0);
}

static int write_text(int folder_fd, const char *path, const char *text, struct mr_error *err)
{
	mr_cleanup(mr_outfile_deinit) struct mr_outfile file = MR_OUTFILE_INIT;
	int r = mr_outfile_open_in(folder_fd, path, 0600, &file, err);

	if (r == 0)
		fputs(text, file.stream); /* what fails is told by the commit */
	return r < 0 ? r : mr_outfile_commit(&file, err);
}

int mr_section_cache_save(const char *folder, const char *name, const char *version, json_t *files,
			  struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("%s/%s.json", folder, name);
	mr_auto_json json_t *all = json_pack("{s:s, s:O}", "version", version, "files", files);
	mr_auto_free char *text = json_dumps(all, JSON_COMPACT | JSON_ENSURE_ASCII);
	mr_auto_close int fd = -1;
	int r;

	mr_assert(text);
	if (strlen(text) > MR_SECTION_CACHE_MAX)
		return mr_err(err, MR_E_USAGE, EFBIG, "it is over 64 MiB");
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "make %s: %m", folder);
	r = open_folder(folder, &fd, err);
	if (r == 0)
		r = write_text(fd, path, text, err);
	if (r == 0)
		trim(fd);
	return r;
}

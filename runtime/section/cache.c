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
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"

#define CACHE_MAX (256u << 20)

static bool is_ours(const char *folder, struct stat *ret)
{
	return lstat(folder, ret) == 0 && S_ISDIR(ret->st_mode) && ret->st_uid == geteuid() &&
	       (ret->st_mode & 022) == 0;
}

json_t *mr_section_cache_load(const char *folder, const char *name, const char *version)
{
	mr_auto_free char *path = mr_str_format("%s/%s.json", folder, name);
	mr_auto_free char *text = NULL;
	mr_auto_json json_t *all = NULL;
	struct mr_error why = MR_ERROR_INIT;
	json_t *files;
	size_t size = 0;
	struct stat st;

	if (!is_ours(folder, &st) || mr_read_whole_file(path, CACHE_MAX, &text, &size, &why) < 0)
		return json_object();
	if (mr_json_parse(text, size, path, &all, &why) < 0) {
		mr_log_warn("not used, and made anew: %s", why.msg);
		return json_object();
	}
	files = json_object_get(all, "files");
	if (strcmp(mr_json_text_or_empty(all, "version"), version) != 0 || !json_is_object(files))
		return json_object();
	return json_incref(files);
}

/* The oldest file of the folder goes when there are too many. */
static void trim(const char *folder)
{
	mr_auto_closedir DIR *dir = opendir(folder);
	mr_auto_free char *oldest = NULL;
	const struct dirent *entry;
	time_t when = 0;
	size_t n = 0;
	struct stat st;

	while (dir && (entry = readdir(dir))) {
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		n++;
		if (oldest && st.st_mtime >= when)
			continue;
		free(oldest);
		oldest = mr_str_dup(entry->d_name);
		when = st.st_mtime;
	}
	if (n > MR_SECTION_CACHES_MAX)
		unlinkat(dirfd(dir), oldest, 0);
}

static int write_text(const char *folder, const char *path, const char *text, struct mr_error *err)
{
	mr_auto_free char *temporary = mr_str_format("%s/new.XXXXXX", folder);
	mr_auto_close int fd = mkostemp(temporary, O_CLOEXEC);
	int r;

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "make a file in %s: %m", folder);
	r = mr_write_full(fd, text, strlen(text));
	if (r == 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r == 0)
		return 0;
	unlink(temporary);
	return mr_err(err, MR_E_SYS, -r, "write %s: %m", path);
}

int mr_section_cache_save(const char *folder, const char *name, const char *version, json_t *files,
			  struct mr_error *err)
{
	mr_auto_free char *path = mr_str_format("%s/%s.json", folder, name);
	mr_auto_json json_t *all = json_pack("{s:s, s:O}", "version", version, "files", files);
	mr_auto_free char *text = json_dumps(all, JSON_COMPACT | JSON_ENSURE_ASCII);
	struct stat st;
	int r;

	mr_assert(text);
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "make %s: %m", folder);
	if (!is_ours(folder, &st))
		return mr_err(err, MR_E_DENIED, EPERM,
			      "%s is no folder of yours that nobody else can write", folder);
	r = write_text(folder, path, text, err);
	if (r == 0)
		trim(folder);
	return r;
}

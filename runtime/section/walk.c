/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walk
 *
 * Folders are opened by descriptor and with O_NOFOLLOW, each from the one above it: whatever is done to
 * them meanwhile, nothing outside of the first is read.  What is not looked at is told, by name.
 */
#include "runtime/section/walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"

struct walk {
	mr_section_file_fn *fn;
	void *owner;
	json_t *first; /* of what is left out */
	size_t n_left_out, n_by_rule, n_files, n_bytes, n_names;
};

struct names {
	char **v;
	size_t n, cap;
};

static int walk_folder(struct walk *w, int parent_fd, const char *name, const char *path,
		       unsigned int depth, struct mr_error *err);

/* Something that should have been looked at. */
static void leave_out(struct walk *w, const char *path, const char *why)
{
	char quoted[MR_STR_QUOTE_SIZE * 4];

	if (w->n_left_out++ < MR_SECTION_TOLD_MAX)
		json_array_append_new(w->first,
				      json_pack("{s:s, s:s}", "path",
						mr_str_utf8_valid(path, strlen(path))
							? path
							: mr_str_quote(quoted, sizeof(quoted),
								       path),
						"why", why));
}

static void leave_out_by_rule(struct walk *w, const char *path, const char *why)
{
	w->n_by_rule++;
	leave_out(w, path, why);
}

/* --- names ----------------------------------------------------------------- */

static void free_names(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A file or a folder that is looked at, or told. */
static bool is_meant(const struct dirent *entry)
{
	const char *name = entry->d_name;

	if (mr_str_ends_with(name, ".py"))
		return true;
	if (name[0] == '.' || strcmp(name, "__pycache__") == 0)
		return false;
	return entry->d_type == DT_DIR || entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN;
}

/* 1: not all of them, there are too many. */
static int read_names(struct walk *w, int fd, struct names *ret)
{
	mr_auto_closedir DIR *dir = fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 3));
	const struct dirent *entry;

	if (!dir)
		return -errno;
	while (errno = 0, (entry = readdir(dir))) {
		if (w->n_names >= MR_SECTION_NAMES_MAX)
			break;
		w->n_names++;
		if (!is_meant(entry))
			continue;
		ret->v = mr_str_grow(ret->v, ret->n, &ret->cap, sizeof(*ret->v));
		ret->v[ret->n++] = mr_str_dup(entry->d_name);
	}
	if (errno != 0)
		return -errno;
	if (ret->n > 0)
		qsort(ret->v, ret->n, sizeof(*ret->v), compare_names);
	return entry != NULL;
}

/* One that a terminal, a line of text or a JSON document would not show as it is. */
static bool is_odd(const char *name)
{
	if (!mr_str_utf8_valid(name, strlen(name)))
		return true;
	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		if (*p < ' ' || *p == 0x7f || *p == ':' || *p == '#')
			return true;
	return false;
}

/* --- files ----------------------------------------------------------------- */

/* Why it cannot be read, or NULL with the contents. */
static const char *read_file(int folder_fd, const char *name, char **ret, size_t *ret_size)
{
	mr_auto_close int fd =
		openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	mr_auto_free char *data = NULL;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return "cannot be opened";
	if (!S_ISREG(st.st_mode))
		return "is no regular file";
	if (st.st_size > MR_SECTION_FILE_MAX)
		return "is over 1 MiB";
	data = mr_str_alloc((size_t)st.st_size + 2);
	n = mr_read_full(fd, data, (size_t)st.st_size + 1);
	if (n < 0)
		return "cannot be read";
	if (n > st.st_size)
		return "grows while it is read";
	data[n] = '\0';
	*ret_size = (size_t)n;
	*ret = mr_take_ptr(data);
	return NULL;
}

static int take_file(struct walk *w, int folder_fd, const char *name, const char *path,
		     struct mr_error *err)
{
	mr_auto_free char *data = NULL;
	size_t size = 0;
	const char *why = w->n_files >= MR_SECTION_FILES_MAX ? "there are over 20000 files" : NULL;

	if (!why)
		why = read_file(folder_fd, name, &data, &size);
	if (!why && w->n_bytes + size > MR_SECTION_ALL_MAX)
		why = "all files are over 256 MiB";
	if (why) {
		leave_out(w, path, why);
		return 0;
	}
	w->n_files++;
	w->n_bytes += size;
	return w->fn(path, &data, size, w->owner, err);
}

static int take_name(struct walk *w, int folder_fd, const char *folder, const char *name,
		     unsigned int depth, struct mr_error *err)
{
	mr_auto_free char *path =
		folder[0] ? mr_str_format("%s/%s", folder, name) : mr_str_dup(name);
	const bool python = mr_str_ends_with(name, ".py");
	struct stat st;

	if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* gone meanwhile */
	if (!python && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode))
		return 0;
	if (name[0] == '.' && S_ISDIR(st.st_mode))
		return 0;
	if (is_odd(name))
		leave_out(w, path, "has an odd name");
	else if (S_ISLNK(st.st_mode))
		leave_out_by_rule(w, path, "is a symbolic link");
	else if (name[0] == '.')
		leave_out_by_rule(w, path, "is hidden");
	else if (S_ISDIR(st.st_mode) && depth >= MR_SECTION_DEPTH_MAX)
		leave_out(w, path, "is over 64 folders deep");
	else if (S_ISDIR(st.st_mode))
		return walk_folder(w, folder_fd, name, path, depth + 1, err);
	else
		return take_file(w, folder_fd, name, path, err);
	return 0;
}

static int walk_folder(struct walk *w, int parent_fd, const char *name, const char *path,
		       unsigned int depth, struct mr_error *err)
{
	mr_auto_close int fd =
		openat(parent_fd, name,
		       O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth > 0 ? O_NOFOLLOW : 0));
	mr_cleanup(free_names) struct names names = { 0 };
	int r = fd < 0 ? -errno : read_names(w, fd, &names);

	if (r > 0) {
		leave_out(w, path[0] ? path : ".", "there are over 1000000 names in all folders");
		r = 0;
	}
	if (r < 0 && depth > 0) {
		leave_out(w, path, "cannot be opened");
		return 0;
	}
	if (r < 0)
		return mr_err(err, MR_E_USAGE, -r, "%s: %m", name);
	for (size_t i = 0; r == 0 && i < names.n; i++)
		r = take_name(w, fd, path, names.v[i], depth, err);
	return r;
}

int mr_section_walk(const char *folder, mr_section_file_fn *fn, void *owner, json_t **ret_left_out,
		    struct mr_error *err)
{
	struct walk w = { .fn = fn, .owner = owner, .first = json_array() };
	int r = walk_folder(&w, AT_FDCWD, folder, "", 0, err);

	if (r < 0) {
		json_decref(w.first);
		return r;
	}
	*ret_left_out = json_pack("{s:I, s:I, s:o}", "count", (json_int_t)w.n_left_out, "missed",
				  (json_int_t)(w.n_left_out - w.n_by_rule), "first", w.first);
	return 0;
}

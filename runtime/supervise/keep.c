/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keep
 *
 * A second scan of the changes hands over each one as it is found, without the bounds
 * of the list that is reported: what is kept is whole, or the result says what is lost.
 *
 * The payload chose every name, so both trees are walked one name at a time from
 * a descriptor (walk.h): a path of the changes is never given to the kernel whole.
 * Changes of a directory come together, so the pair of parent directories of the last
 * one mostly serves the next one too.
 *
 * Directories are made 0700 and get their own mode and time when the scan has left
 * them: a directory that the payload left without rights can then be filled, and
 * filling it does not change its time.  Only those on the way to the last change are
 * remembered, however many the payload made.
 */
#include "runtime/supervise/keep.h"

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
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/text.h"
#include "runtime/supervise/walk.h"

#define SKIP 1 /* outcome of a copy: not kept, noted */

/* A directory that was made, until the scan leaves it. */
struct made_dir {
	char *path;
	mode_t mode;
	struct timespec mtime;
};

struct keep {
	int upper, out;
	int deleted; /* the list of deletions; -1: nothing was deleted yet */
	uint64_t bytes_left;
	struct mr_kept *kept;
	struct mr_turns *turns;
	struct mr_error *err;
	struct made_dir *dirs; /* each is in the one before */
	size_t n_dirs, dirs_cap;
	/* Parents of the last change; -1 when there are none. */
	char *parent;
	int parent_upper, parent_out;
};

static void keep_deinit(struct keep *k)
{
	for (size_t i = 0; i < k->n_dirs; i++)
		free(k->dirs[i].path);
	free(k->dirs);
	free(k->parent);
	mr_close(k->parent_upper);
	mr_close(k->parent_out);
	mr_close(k->deleted);
}

static int note(struct keep *k, const char *path, const char *why, int errnum)
{
	struct mr_kept *kept = k->kept;

	kept->skipped++;
	kept->complete = false;
	if (kept->n_notes < MR_KEEP_MAX_NOTES)
		kept->notes[kept->n_notes++] = (struct mr_keep_note){ .path = mr_str_dup(path),
								      .why = why,
								      .errnum = errnum };
	return SKIP;
}

/* What the caller asked for and does not get. */
static int lose(struct keep *k, const char *path, const char *why, int errnum)
{
	struct mr_kept *kept = k->kept;

	if (kept->lost++ == 0)
		kept->first_lost = (struct mr_keep_note){ .path = mr_str_dup(path),
							  .why = why,
							  .errnum = errnum };
	return note(k, path, why, errnum);
}

/* Does this error end everything?  Otherwise it is one entry's own trouble. */
static bool is_fatal(int errnum)
{
	return errnum == ENOSPC || errnum == EDQUOT || errnum == EROFS || errnum == EIO;
}

static int out_error(struct keep *k, const char *path, const char *why, int errnum,
		     struct mr_error *err)
{
	char quoted[MR_STR_QUOTE_SIZE];

	if (!is_fatal(errnum))
		return lose(k, path, why, errnum);
	return mr_err(err, MR_E_SYS, errnum, "keep %s: %m",
		      mr_str_quote(quoted, sizeof(quoted), path));
}

static void remember_dir(struct keep *k, const char *path, size_t len, const struct stat *st)
{
	k->dirs = mr_str_grow(k->dirs, k->n_dirs, &k->dirs_cap, sizeof(*k->dirs));
	k->dirs[k->n_dirs++] = (struct made_dir){ .path = mr_str_ndup(path, len),
						  .mode = st->st_mode & 0777,
						  .mtime = st->st_mtim };
	k->kept->dirs++;
}

static int open_out_dir(int dir_fd, const char *name)
{
	return openat(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Step both parents down into name, made in out when it is not there.  path[0..len) is where
 * that is.  0 or a negative errno. */
static int step_down(struct keep *k, const char *path, size_t len, const char *name)
{
	mr_auto_close int upper = -1;
	mr_auto_close int out = -1;
	struct stat st;

	mr_turns_spend(k->turns, MR_TURNS_ENTRY);
	upper = mr_walk_open(k->parent_upper, name, MR_WALK_BORROW, &st);
	if (upper < 0)
		return upper;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	if (mkdirat(k->parent_out, name, 0700) == 0)
		remember_dir(k, path, len, &st);
	else if (errno != EEXIST)
		return -errno;
	out = open_out_dir(k->parent_out, name);
	if (out < 0)
		return -errno;
	mr_close(k->parent_upper);
	mr_close(k->parent_out);
	k->parent_upper = mr_take_fd(upper);
	k->parent_out = mr_take_fd(out);
	return 0;
}

/* Back to the top: duplicates, so that parents are always ours to close. */
static int restart_parents(struct keep *k)
{
	free(k->parent);
	k->parent = NULL;
	k->parent_upper = mr_close(k->parent_upper);
	k->parent_out = mr_close(k->parent_out);
	k->parent_upper = fcntl(k->upper, F_DUPFD_CLOEXEC, 3);
	k->parent_out = fcntl(k->out, F_DUPFD_CLOEXEC, 3);
	return k->parent_upper < 0 || k->parent_out < 0 ? -errno : 0;
}

/* Make parent_upper and parent_out the directories that path[0..len) names. */
static int walk_parents(struct keep *k, const char *path, size_t len)
{
	mr_auto_free char *name = NULL;
	int r;

	if (k->parent && strlen(k->parent) == len && memcmp(k->parent, path, len) == 0)
		return 0;
	r = restart_parents(k);
	for (size_t at = 0, end; r == 0 && at < len; at = end + 1) {
		const char *slash = memchr(path + at, '/', len - at);

		end = slash ? (size_t)(slash - path) : len;
		free(name);
		name = mr_str_ndup(path + at, end - at);
		r = step_down(k, path, end, name);
	}
	if (r == 0)
		k->parent = mr_str_ndup(path, len);
	return r;
}

/* Copy up to size bytes at *pos; bytes copied, 0 at the end, or a negative errno. */
static ssize_t copy_some(int in, int out, off_t *pos, size_t size)
{
	char buf[65536];
	off_t out_pos = *pos;
	ssize_t n = copy_file_range(in, pos, out, &out_pos, size, 0);

	if (n >= 0)
		return n;
	if (errno != EXDEV && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
		return -errno;
	n = pread(in, buf, size < sizeof(buf) ? size : sizeof(buf), *pos);
	if (n <= 0)
		return n < 0 ? -errno : 0;
	if (lseek(out, *pos, SEEK_SET) < 0)
		return -errno;
	if (mr_write_full(out, buf, (size_t)n) < 0)
		return -errno;
	*pos += n;
	return n;
}

/* Copy the data up to *end, which is lowered to what there is.  0, SKIP when bytes_left does
 * not suffice, or a negative errno. */
static int copy_extent(struct keep *k, int in, int out, off_t pos, off_t end)
{
	while (pos < end) {
		uint64_t left = k->bytes_left - k->kept->bytes;
		off_t want = end - pos > 1 << 20 ? 1 << 20 : end - pos;
		ssize_t n;

		if ((uint64_t)want > left)
			return SKIP;
		n = copy_some(in, out, &pos, (size_t)want);
		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		k->kept->bytes += (uint64_t)n;
		mr_turns_spend(k->turns, (uint64_t)n);
	}
	return 0;
}

/* Copy a file of `size` bytes, leaving holes as holes. */
static int copy_data(struct keep *k, int in, int out, off_t size)
{
	off_t pos = 0;
	int r = 0;

	while (r == 0 && pos < size) {
		off_t data = lseek(in, pos, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(in, data, SEEK_HOLE);

		if (data < 0 && errno == ENXIO)
			break;
		if (data < 0 || hole < 0) {
			data = pos; /* no such file system: all of it is data */
			hole = size;
		}
		if (data >= size)
			break;
		if (hole > size)
			hole = size;
		r = copy_extent(k, in, out, data, hole);
		pos = hole;
	}
	if (r == 0 && ftruncate(out, size) < 0)
		return -errno;
	return r;
}

static int finish_file(int out, const struct stat *st)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, st->st_mtim };

	if (fchmod(out, st->st_mode & 0777) < 0 || futimens(out, times) < 0)
		return -errno;
	return 0;
}

static int copy_file(struct keep *k, const char *path, const char *name, int path_fd,
		     const struct stat *st, struct mr_error *err)
{
	mr_auto_close int in = mr_walk_reopen(path_fd, MR_WALK_BORROW);
	mr_auto_close int out = -1;
	uint64_t bytes_before = k->kept->bytes;
	int r;

	if (in < 0)
		return lose(k, path, "unreadable", -in);
	out = openat(k->parent_out, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		     0600);
	if (out < 0)
		return out_error(k, path, "cannot be created", errno, err);
	r = copy_data(k, in, out, st->st_size);
	if (r == 0)
		r = finish_file(out, st);
	if (r == 0) {
		k->kept->files++;
		return 0;
	}
	unlinkat(k->parent_out, name, 0);
	k->kept->bytes = bytes_before;
	if (r == SKIP)
		return lose(k, path, "max_bytes is used up", 0);
	return out_error(k, path, "cannot be copied", -r, err);
}

static int copy_symlink(struct keep *k, const char *path, const char *name, int path_fd,
			const struct stat *st, struct mr_error *err)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, st->st_mtim };
	mr_auto_free char *target = NULL;
	size_t size;

	target = mr_walk_readlink(path_fd, &size);
	if (!target)
		return lose(k, path, "unreadable", errno);
	if (symlinkat(target, k->parent_out, name) < 0)
		return out_error(k, path, "cannot be created", errno, err);
	/* A file system without times of links keeps the link all the same. */
	(void)utimensat(k->parent_out, name, times, AT_SYMLINK_NOFOLLOW);
	k->kept->symlinks++;
	return 0;
}

static int make_dir(struct keep *k, const char *path, const char *name, const struct stat *st,
		    struct mr_error *err)
{
	if (mkdirat(k->parent_out, name, 0700) < 0)
		return out_error(k, path, "cannot be created", errno, err);
	remember_dir(k, path, strlen(path), st);
	return 0;
}

static int keep_entry(struct keep *k, const struct mr_change *c, struct mr_error *err)
{
	const char *slash = strrchr(c->path, '/');
	const char *name = slash ? slash + 1 : c->path;
	mr_auto_close int path_fd = -1;
	struct stat st;
	int r = walk_parents(k, c->path, slash ? (size_t)(slash - c->path) : 0);

	if (r < 0)
		return out_error(k, c->path, "its directory cannot be entered", -r, err);
	path_fd = mr_walk_open(k->parent_upper, name, MR_WALK_BORROW, &st);
	if (path_fd < 0)
		return lose(k, c->path, "unreadable", -path_fd);
	if (S_ISREG(st.st_mode))
		return copy_file(k, c->path, name, path_fd, &st, err);
	if (S_ISLNK(st.st_mode))
		return copy_symlink(k, c->path, name, path_fd, &st, err);
	if (S_ISDIR(st.st_mode))
		return make_dir(k, c->path, name, &st, err);
	return note(k, c->path, "not a file, directory or symbolic link", 0);
}

static bool is_wanted(const struct mr_change *c)
{
	switch (c->kind) {
	case MR_CHANGE_ADDED:
	case MR_CHANGE_MODIFIED:
	case MR_CHANGE_TYPE_CHANGED:
	case MR_CHANGE_UNREADABLE:
		return true;
	case MR_CHANGE_METADATA:
		return c->differs & MR_CHANGE_MODE;
	case MR_CHANGE_DELETED:
	case MR_CHANGE_KINDS_:
		break;
	}
	return false;
}

static bool is_reserved(const char *path)
{
	size_t len = strlen(MR_KEEP_DELETED_NAME);

	return strncmp(path, MR_KEEP_DELETED_NAME, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/');
}

static bool is_removed(const struct mr_change *c)
{
	return c->kind == MR_CHANGE_DELETED || c->kind == MR_CHANGE_TYPE_CHANGED;
}

static int list_deletion(struct keep *k, const char *path)
{
	int r = 0;

	if (k->deleted < 0) {
		k->deleted = openat(k->out, MR_KEEP_DELETED_NAME,
				    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
		r = k->deleted < 0 ? -errno : 0;
	}
	if (r == 0)
		r = mr_write_full(k->deleted, path, strlen(path) + 1);
	if (r < 0)
		return mr_err(k->err, MR_E_SYS, -r, "write " MR_KEEP_DELETED_NAME ": %m");
	k->kept->deletions++;
	return 0;
}

/* Mode and time of the last directory that was made. */
static int finish_dir(struct keep *k)
{
	const struct made_dir dir = k->dirs[--k->n_dirs];
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, dir.mtime };
	int r = walk_parents(k, dir.path, strlen(dir.path));

	if (r == 0 && (futimens(k->parent_out, times) < 0 || fchmod(k->parent_out, dir.mode) < 0))
		r = -errno;
	if (r < 0)
		r = out_error(k, dir.path, "its mode and time were not kept", -r, k->err);
	free(dir.path);
	return r < 0 ? r : 0;
}

static bool is_inside(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && path[len] == '/';
}

/* The scan is at path now (NULL: at its end): finish the directories that it has left. */
static int leave_dirs(struct keep *k, const char *path)
{
	int r = 0;

	while (r == 0 && k->n_dirs > 0 && !(path && is_inside(path, k->dirs[k->n_dirs - 1].path)))
		r = finish_dir(k);
	return r;
}

static int take(void *owner, const struct mr_change *c)
{
	struct keep *k = owner;
	int r = leave_dirs(k, c->path);

	if (r == 0 && is_removed(c))
		r = list_deletion(k, c->path);
	if (r < 0 || !is_wanted(c))
		return r;
	if (c->kind == MR_CHANGE_UNREADABLE)
		return lose(k, c->path, "unreadable", c->errnum);
	if (is_reserved(c->path))
		return lose(k, c->path, "the name is reserved for the list of deletions", 0);
	return keep_entry(k, c, k->err);
}

static void miss(void *owner, const char *path, const char *why, int errnum)
{
	lose(owner, path, why, errnum);
}

static int walk_upper(struct keep *k, int lower_fd, bool userxattr)
{
	const struct mr_changes_sink sink = { .take = take, .miss = miss, .owner = k };
	struct mr_changes_opts opts = MR_CHANGES_OPTS_INIT;
	struct mr_changes none;
	int r;

	opts.max_entries = 0;
	opts.max_visited = UINT64_MAX;
	opts.userxattr = userxattr;
	opts.turns = k->turns;
	opts.sink = &sink;
	r = mr_changes_scan(k->upper, lower_fd, &opts, &none, k->err);
	if (r < 0)
		return r;
	mr_changes_deinit(&none);
	return leave_dirs(k, NULL);
}

static int check_empty(int out_fd, struct mr_error *err)
{
	mr_auto_closedir DIR *dir = mr_walk_opendir(out_fd, MR_WALK_AS_IS);

	if (!dir)
		return mr_err(err, MR_E_SYS, errno, "read the directory for kept changes: %m");
	if (mr_walk_next(dir))
		return mr_err(err, MR_E_USAGE, ENOTEMPTY,
			      "the directory for kept changes is not empty");
	if (errno != 0)
		return mr_err(err, MR_E_SYS, errno, "read the directory for kept changes: %m");
	return 0;
}

int mr_keep_changes(int upper_fd, int lower_fd, int out_fd, const struct mr_keep_opts *opts,
		    struct mr_kept *ret, struct mr_error *err)
{
	static const struct mr_keep_opts defaults = MR_KEEP_OPTS_INIT;
	mr_cleanup(keep_deinit) struct keep k = { .upper = upper_fd,
						  .out = out_fd,
						  .deleted = -1,
						  .kept = ret,
						  .err = err,
						  .parent_upper = -1,
						  .parent_out = -1 };
	int r;

	opts = opts ? opts : &defaults;
	*ret = (struct mr_kept){ .complete = true };
	k.bytes_left = opts->max_bytes;
	k.turns = opts->turns;
	r = check_empty(out_fd, err);
	if (r == 0)
		r = walk_upper(&k, lower_fd, opts->userxattr);
	if (r < 0)
		ret->complete = false;
	return r;
}

int mr_keep_check(const struct mr_kept *kept, struct mr_error *err)
{
	const struct mr_keep_note *first = &kept->first_lost;
	char quoted[MR_STR_QUOTE_SIZE];

	if (kept->lost == 0)
		return 0;
	mr_str_quote(quoted, sizeof(quoted), first->path);
	return mr_err(err, MR_E_SYS, first->errnum ? first->errnum : EIO,
		      "keep changes: %llu not kept, the first is %s: %s%s%s",
		      (unsigned long long)kept->lost, quoted, first->why, first->errnum ? ": " : "",
		      first->errnum ? strerror(first->errnum) : "");
}

void mr_keep_deinit(struct mr_kept *kept)
{
	for (size_t i = 0; i < kept->n_notes; i++)
		free(kept->notes[i].path);
	free(kept->first_lost.path);
	*kept = (struct mr_kept){ 0 };
}

static json_t *note_to_json(const struct mr_keep_note *n)
{
	const char *name = n->errnum ? strerrorname_np(n->errnum) : NULL;
	json_t *obj = json_object();

	mr_text_set(obj, "path", n->path, strlen(n->path));
	json_object_set_new(obj, "why", json_string(n->why));
	json_object_set_new(obj, "errno", name ? json_string(name) : json_null());
	return obj;
}

struct json_t *mr_keep_to_json(const struct mr_kept *kept)
{
	json_t *notes = json_array();

	for (size_t i = 0; i < kept->n_notes; i++)
		json_array_append_new(notes, note_to_json(&kept->notes[i]));
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:o}", "files",
			 (json_int_t)kept->files, "dirs", (json_int_t)kept->dirs, "symlinks",
			 (json_int_t)kept->symlinks, "bytes", (json_int_t)kept->bytes, "deletions",
			 (json_int_t)kept->deletions, "skipped", (json_int_t)kept->skipped, "lost",
			 (json_int_t)kept->lost, "complete", kept->complete, "notes", notes);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes
 *
 * One walk over upper, with lower beside it as long as lower has a directory of
 * the same name.  An entry of upper is one of
 *   a whiteout           lower's entry was deleted
 *   new                  nothing in lower
 *   another type         replaced
 *   the same type        modified, or only copied up: content decides
 * and below an opaque directory everything of lower that upper lacks was deleted.
 *
 * The tree is the payload's work, so each resource has its bound: rows, bytes of
 * paths, entries looked at, depth, bytes hashed, and names held for sorting.  A
 * reached bound shows in the result and costs as little exactness as it can:
 * counting goes on after the rows are full; a directory with more names than are
 * held is taken for the rest in the order the kernel gives them.
 */
#include "runtime/supervise/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/text.h"
#include "runtime/supervise/walk.h"

#define NAMES_MAX_BYTES (4U << 20) /* names held at one moment, over all levels */

static const char *const kind_names[] = {
	[MR_CHANGE_ADDED] = "added",	   [MR_CHANGE_MODIFIED] = "modified",
	[MR_CHANGE_DELETED] = "deleted",   [MR_CHANGE_TYPE_CHANGED] = "type_changed",
	[MR_CHANGE_METADATA] = "metadata", [MR_CHANGE_UNREADABLE] = "unreadable",
};

static const char *const type_names[] = {
	[MR_CHANGE_FILE] = "file", [MR_CHANGE_DIR] = "dir",	  [MR_CHANGE_SYMLINK] = "symlink",
	[MR_CHANGE_FIFO] = "fifo", [MR_CHANGE_SOCKET] = "socket", [MR_CHANGE_DEVICE] = "device",
};

struct scan {
	const struct mr_changes_opts *opts;
	struct mr_changes *out;
	size_t rows_cap;
	char *path; /* of the entry being looked at */
	size_t path_len, path_cap;
	size_t path_bytes; /* kept in rows */
	size_t name_bytes; /* held for sorting */
	uint64_t hash_left;
	int stopped; /* by the sink, which returned this */
};

/* A directory of upper and what lower has in its place. */
struct level {
	int upper;
	int lower; /* -1: no directory there */
	bool opaque; /* lower does not show through */
	unsigned int depth;
};

struct names {
	char **v;
	size_t n, cap, bytes;
};

/* An entry in both trees. */
struct entry {
	int upper; /* O_PATH */
	struct stat st;
	bool in_lower;
	struct stat lower_st;
};

static int scan_dir(struct scan *s, const struct level *level);

const char *mr_changes_kind_name(enum mr_change_kind kind)
{
	mr_assert((size_t)kind < N_ELEMENTS(kind_names));
	return kind_names[kind];
}

const char *mr_changes_type_name(enum mr_change_type type)
{
	mr_assert((size_t)type < N_ELEMENTS(type_names));
	return type_names[type];
}

static void names_deinit(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
}

static void names_add(struct names *names, const char *name)
{
	names->v = mr_str_grow(names->v, names->n, &names->cap, sizeof(*names->v));
	names->v[names->n++] = mr_str_dup(name);
	names->bytes += strlen(name) + 1;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Append "/name" to the path; returns the length to cut it back to. */
static size_t push_name(struct scan *s, const char *name)
{
	size_t before = s->path_len, len = strlen(name);

	if (s->path_len + len + 2 > s->path_cap) {
		s->path_cap = (s->path_len + len + 2) * 2;
		s->path = realloc(s->path, s->path_cap);
		mr_assert(s->path);
	}
	if (s->path_len > 0)
		s->path[s->path_len++] = '/';
	memcpy(s->path + s->path_len, name, len + 1);
	s->path_len += len;
	return before;
}

static void pop_name(struct scan *s, size_t before)
{
	s->path_len = before;
	s->path[before] = '\0';
}

static enum mr_change_type type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return MR_CHANGE_FILE;
	case S_IFDIR:
		return MR_CHANGE_DIR;
	case S_IFLNK:
		return MR_CHANGE_SYMLINK;
	case S_IFIFO:
		return MR_CHANGE_FIFO;
	case S_IFSOCK:
		return MR_CHANGE_SOCKET;
	default:
		return MR_CHANGE_DEVICE;
	}
}

static void describe(struct mr_change *c, const struct stat *st)
{
	c->type = type_of(st->st_mode);
	c->mode = st->st_mode & 07777;
	c->size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
}

static bool rows_are_full(const struct scan *s)
{
	return s->out->n_rows >= s->opts->max_entries ||
	       s->path_bytes + s->path_len > s->opts->max_path_bytes;
}

/* Count a change and keep it as a row, as long as there is room.  Takes c's link_target. */
static void add_change(struct scan *s, struct mr_change *c)
{
	s->out->counts[c->kind]++;
	if (c->errnum)
		s->out->unreadable++;
	if (s->opts->sink && s->stopped == 0) {
		int r;

		c->path = s->path;
		r = s->opts->sink->take(s->opts->sink->owner, c);
		s->stopped = r < 0 ? r : 0;
	}
	if (rows_are_full(s)) {
		s->out->truncated = true;
		free(c->link_target);
		return;
	}
	c->path = mr_str_dup(s->path);
	s->path_bytes += s->path_len + (c->link_target ? strlen(c->link_target) : 0);
	s->out->rows =
		mr_str_grow(s->out->rows, s->out->n_rows, &s->rows_cap, sizeof(*s->out->rows));
	s->out->rows[s->out->n_rows++] = *c;
}

static void tell_missed(struct scan *s, const char *why, int errnum)
{
	if (s->opts->sink)
		s->opts->sink->miss(s->opts->sink->owner, s->path, why, errnum);
}

static void add_unreadable(struct scan *s, const struct stat *st, int errnum)
{
	struct mr_change c = { .kind = MR_CHANGE_UNREADABLE, .errnum = errnum };

	describe(&c, st);
	add_change(s, &c);
}

static void add_deleted(struct scan *s, const struct stat *lower_st)
{
	struct mr_change c = { .kind = MR_CHANGE_DELETED, .sha256_why = "deleted" };

	describe(&c, lower_st);
	add_change(s, &c);
}

/* One more entry to look at; false when the bound is reached, or the sink wants no more. */
static bool count_visit(struct scan *s)
{
	if (s->stopped < 0)
		return false;
	if (s->out->visited >= s->opts->max_visited) {
		s->out->incomplete = s->out->truncated = true;
		return false;
	}
	s->out->visited++;
	mr_turns_spend(s->opts->turns, MR_TURNS_ENTRY);
	return true;
}

static ssize_t overlay_mark(const struct scan *s, int fd, const char *mark, char *ret, size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.overlay.%s", s->opts->userxattr ? "user" : "trusted",
		 mark);
	return mr_walk_xattr(fd, name, MR_WALK_BORROW, ret, size);
}

/* A character device 0:0, or since Linux 6.7 an empty file with the mark. */
static bool is_whiteout(const struct scan *s, const struct entry *e)
{
	char value[4];

	if (S_ISCHR(e->st.st_mode))
		return e->st.st_rdev == makedev(0, 0);
	return S_ISREG(e->st.st_mode) && e->st.st_size == 0 &&
	       overlay_mark(s, e->upper, "whiteout", value, sizeof(value)) >= 0;
}

/* "y"; an "x" says only that marked whiteouts may be inside. */
static bool is_opaque(const struct scan *s, int fd)
{
	char value[4];

	return overlay_mark(s, fd, "opaque", value, sizeof(value)) == 1 && value[0] == 'y';
}

/* Fill hex, or say why not.  Returns an errno when the file could not be read. */
static int hash_file(struct scan *s, int path_fd, uint64_t size, enum mr_walk_rights rights,
		     char hex[MR_HASH_HEX_SIZE], const char **ret_why)
{
	mr_auto_close int fd = -1;
	struct mr_error err;
	int r;

	if (size > s->opts->hash_max_bytes) {
		*ret_why = "larger than hash_max_bytes";
		return 0;
	}
	if (size > s->hash_left) {
		*ret_why = "hash_total_max_bytes is used up";
		return 0;
	}
	fd = mr_walk_reopen(path_fd, rights);
	r = fd < 0 ? fd : mr_hash_fd(fd, size, hex, NULL, &err);
	s->hash_left -= fd < 0 ? 0 : size;
	mr_turns_spend(s->opts->turns, fd < 0 ? 0 : size);
	if (r == 0)
		return 0;
	*ret_why = r > 0 ? "changed while it was read" : "unreadable";
	return r > 0 ? 0 : -r;
}

/* Is the content of two files of one size different?  Assumed when it cannot be told. */
static bool file_content_differs(struct scan *s, const struct level *level, const char *name,
				 const struct entry *e, struct mr_change *c)
{
	mr_auto_close int lower = -1;
	char lower_hex[MR_HASH_HEX_SIZE];
	const char *why = NULL;
	struct stat st;

	if (!c->sha256[0])
		return true;
	lower = mr_walk_open(level->lower, name, MR_WALK_AS_IS, &st);
	if (lower < 0 || !S_ISREG(st.st_mode) || st.st_size != e->lower_st.st_size ||
	    hash_file(s, lower, (uint64_t)st.st_size, MR_WALK_AS_IS, lower_hex, &why) != 0 || why)
		return true;
	c->content_compared = true;
	return strcmp(c->sha256, lower_hex) != 0;
}

static bool link_target_differs(const struct level *level, const char *name,
				const struct mr_change *c)
{
	mr_auto_close int lower = -1;
	mr_auto_free char *target = NULL;
	struct stat st;
	size_t size;

	lower = mr_walk_open(level->lower, name, MR_WALK_AS_IS, &st);
	if (lower >= 0)
		target = mr_walk_readlink(lower, &size);
	return !target || !c->link_target || strcmp(target, c->link_target) != 0;
}

static unsigned int compare_stat(const struct stat *a, const struct stat *b)
{
	unsigned int differs = 0;

	if ((a->st_mode & 07777) != (b->st_mode & 07777))
		differs |= MR_CHANGE_MODE;
	if (a->st_uid != b->st_uid || a->st_gid != b->st_gid)
		differs |= MR_CHANGE_OWNER;
	if (!S_ISDIR(a->st_mode) &&
	    (a->st_mtim.tv_sec != b->st_mtim.tv_sec || a->st_mtim.tv_nsec != b->st_mtim.tv_nsec))
		differs |= MR_CHANGE_MTIME;
	return differs;
}

static bool content_differs(struct scan *s, const struct level *level, const char *name,
			    const struct entry *e, struct mr_change *c)
{
	c->content_compared = true;
	switch (c->type) {
	case MR_CHANGE_FILE:
		if (e->st.st_size != e->lower_st.st_size)
			return true;
		c->content_compared = false;
		return file_content_differs(s, level, name, e, c);
	case MR_CHANGE_SYMLINK:
		return link_target_differs(level, name, c);
	case MR_CHANGE_DEVICE:
		return e->st.st_rdev != e->lower_st.st_rdev ||
		       S_ISBLK(e->st.st_mode) != S_ISBLK(e->lower_st.st_mode);
	case MR_CHANGE_DIR:
	case MR_CHANGE_FIFO:
	case MR_CHANGE_SOCKET:
	case MR_CHANGE_TYPES_:
		break;
	}
	return false;
}

/* Read what a row of this entry shows. */
static void read_content(struct scan *s, const struct entry *e, struct mr_change *c)
{
	bool same_size =
		e->in_lower && S_ISREG(e->lower_st.st_mode) && e->st.st_size == e->lower_st.st_size;

	if (c->type == MR_CHANGE_FILE && (same_size || !rows_are_full(s)))
		c->errnum =
			hash_file(s, e->upper, c->size, MR_WALK_BORROW, c->sha256, &c->sha256_why);
	if (c->type == MR_CHANGE_SYMLINK) {
		size_t size;

		c->link_target = mr_walk_readlink(e->upper, &size);
		c->errnum = c->link_target ? 0 : errno;
	}
}

/* Classify an entry that is no whiteout; true when that makes a row. */
static bool add_entry(struct scan *s, const struct level *level, const char *name,
		      const struct entry *e)
{
	struct mr_change c = { .kind = MR_CHANGE_ADDED };

	describe(&c, &e->st);
	read_content(s, e, &c);
	if (e->in_lower && type_of(e->lower_st.st_mode) != c.type) {
		c.kind = MR_CHANGE_TYPE_CHANGED;
		c.old_type = type_of(e->lower_st.st_mode);
	} else if (e->in_lower) {
		c.differs = compare_stat(&e->st, &e->lower_st);
		if (content_differs(s, level, name, e, &c))
			c.differs |= MR_CHANGE_CONTENT;
		c.kind = c.differs & MR_CHANGE_CONTENT ? MR_CHANGE_MODIFIED : MR_CHANGE_METADATA;
		/* Every directory above a change was copied up: that alone is none. */
		if (c.type == MR_CHANGE_DIR && !c.differs)
			return false;
	}
	add_change(s, &c);
	return true;
}

/* Go on below a directory; what cannot be entered is told by a row of its own, or by the one
 * the directory just got. */
static void enter_dir(struct scan *s, const struct level *level, const char *name,
		      const struct entry *e, bool has_row)
{
	mr_auto_close int lower = -1;
	struct level below = { .upper = e->upper, .lower = -1, .depth = level->depth + 1 };
	size_t rows_before = s->out->n_rows;
	struct stat st;
	int r = 0;

	if (below.depth >= s->opts->max_depth) {
		s->out->incomplete = s->out->truncated = true;
		tell_missed(s, "more levels of directories than are entered", 0);
		return;
	}
	below.opaque = level->opaque || is_opaque(s, e->upper);
	if (e->in_lower && S_ISDIR(e->lower_st.st_mode)) {
		lower = mr_walk_open(level->lower, name, MR_WALK_AS_IS, &st);
		below.lower = lower;
		r = lower < 0 ? lower : 0;
	}
	if (r == 0)
		r = scan_dir(s, &below);
	if (r >= 0)
		return;
	if (!has_row) {
		add_unreadable(s, &e->st, -r);
		return;
	}
	s->out->unreadable++;
	tell_missed(s, "not all that is in the directory can be read", -r);
	if (rows_before > 0 && strcmp(s->out->rows[rows_before - 1].path, s->path) == 0)
		s->out->rows[rows_before - 1].errnum = -r;
}

/* What lower has under this name: 1, 0 for nothing, or a negative errno. */
static int look_below(const struct level *level, const char *name, struct stat *ret)
{
	if (level->lower < 0)
		return 0;
	if (fstatat(level->lower, name, ret, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

static void visit_entry(struct scan *s, const struct level *level, const char *name)
{
	mr_auto_close int upper = -1;
	struct entry e = { 0 };
	bool has_row;
	int r;

	e.upper = upper = mr_walk_open(level->upper, name, MR_WALK_BORROW, &e.st);
	if (upper < 0) {
		if (fstatat(level->upper, name, &e.st, AT_SYMLINK_NOFOLLOW) < 0)
			e.st = (struct stat){ .st_mode = S_IFREG };
		add_unreadable(s, &e.st, -upper);
		return;
	}
	r = look_below(level, name, &e.lower_st);
	if (r < 0) {
		add_unreadable(s, &e.st, -r);
		return;
	}
	e.in_lower = r > 0;
	if (is_whiteout(s, &e)) {
		if (e.in_lower)
			add_deleted(s, &e.lower_st);
		return;
	}
	has_row = add_entry(s, level, name, &e);
	if (S_ISDIR(e.st.st_mode))
		enter_dir(s, level, name, &e, has_row);
}

static bool visit(struct scan *s, const struct level *level, const char *name)
{
	size_t before;

	if (!count_visit(s))
		return false;
	before = push_name(s, name);
	visit_entry(s, level, name);
	pop_name(s, before);
	return true;
}

/* Everything of lower that upper does not have. */
static int scan_hidden(struct scan *s, const struct level *level)
{
	mr_auto_closedir DIR *dir = mr_walk_opendir(level->lower, MR_WALK_AS_IS);
	const char *name;

	if (!dir)
		return -errno;
	while ((name = mr_walk_next(dir))) {
		mr_auto_close int upper = -1;
		struct stat st;
		size_t before;

		if (!count_visit(s))
			return 0;
		upper = mr_walk_open(level->upper, name, MR_WALK_BORROW, &st);
		if (upper != -ENOENT || fstatat(level->lower, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		before = push_name(s, name);
		add_deleted(s, &st);
		pop_name(s, before);
	}
	return -errno;
}

/* Collect names to go through them in order; those beyond the bound are visited at once. */
static int list_or_visit(struct scan *s, const struct level *level, struct names *names)
{
	mr_auto_closedir DIR *dir = mr_walk_opendir(level->upper, MR_WALK_BORROW);
	const char *name;

	if (!dir)
		return -errno;
	while ((name = mr_walk_next(dir))) {
		size_t held = strlen(name) + 1 + sizeof(char *);

		if (s->name_bytes + held <= NAMES_MAX_BYTES) {
			names_add(names, name);
			s->name_bytes += held;
		} else if (!visit(s, level, name)) {
			return 0;
		}
	}
	return -errno;
}

static int scan_dir(struct scan *s, const struct level *level)
{
	mr_cleanup(names_deinit) struct names names = { 0 };
	size_t held = s->name_bytes;
	int r = list_or_visit(s, level, &names);

	if (names.n > 0)
		qsort(names.v, names.n, sizeof(*names.v), compare_names);
	for (size_t i = 0; i < names.n; i++) {
		if (!visit(s, level, names.v[i]))
			break;
	}
	s->name_bytes = held;
	if (r == 0 && level->opaque && level->lower >= 0)
		r = scan_hidden(s, level);
	return r;
}

static int compare_paths(const void *a, const void *b)
{
	const struct mr_change *x = a, *y = b;

	return strcmp(x->path, y->path);
}

int mr_changes_scan(int upper_fd, int lower_fd, const struct mr_changes_opts *opts,
		    struct mr_changes *ret, struct mr_error *err)
{
	static const struct mr_changes_opts defaults = MR_CHANGES_OPTS_INIT;
	struct mr_changes out = { 0 };
	struct scan s = { .opts = opts ? opts : &defaults, .out = &out };
	struct level root = { .upper = upper_fd, .lower = lower_fd };
	int r;

	s.hash_left = s.opts->hash_total_max_bytes;
	root.opaque = is_opaque(&s, upper_fd);
	r = scan_dir(&s, &root);
	free(s.path);
	if (s.stopped < 0) {
		mr_changes_deinit(&out);
		return s.stopped;
	}
	if (r < 0) {
		mr_changes_deinit(&out);
		return mr_err(err, MR_E_SYS, -r, "read the workspace's changes: %m");
	}
	if (out.n_rows > 0)
		qsort(out.rows, out.n_rows, sizeof(*out.rows), compare_paths);
	*ret = out;
	return 0;
}

void mr_changes_deinit(struct mr_changes *changes)
{
	for (size_t i = 0; i < changes->n_rows; i++) {
		free(changes->rows[i].path);
		free(changes->rows[i].link_target);
	}
	free(changes->rows);
	*changes = (struct mr_changes){ 0 };
}

static json_t *differs_to_json(unsigned int differs)
{
	static const char *const bit_names[] = { "content", "mode", "owner", "mtime" };
	json_t *list = json_array();

	for (size_t i = 0; i < N_ELEMENTS(bit_names); i++) {
		if (differs & 1U << i)
			json_array_append_new(list, json_string(bit_names[i]));
	}
	return list;
}

static void set_file(json_t *obj, const struct mr_change *c)
{
	json_object_set_new(obj, "size", json_integer((json_int_t)c->size));
	if (c->sha256[0]) {
		json_object_set_new(obj, "sha256", json_string(c->sha256));
		return;
	}
	json_object_set_new(obj, "sha256", json_null());
	if (c->sha256_why)
		json_object_set_new(obj, "sha256_why", json_string(c->sha256_why));
}

static json_t *change_to_json(const struct mr_change *c)
{
	json_t *obj = json_object();
	char mode[8];

	snprintf(mode, sizeof(mode), "%04o", c->mode & 07777U);
	mr_text_set(obj, "path", c->path, strlen(c->path));
	json_object_set_new(obj, "kind", json_string(kind_names[c->kind]));
	json_object_set_new(obj, "type", json_string(type_names[c->type]));
	if (c->kind == MR_CHANGE_TYPE_CHANGED)
		json_object_set_new(obj, "old_type", json_string(type_names[c->old_type]));
	json_object_set_new(obj, "mode", json_string(mode));
	if (c->type == MR_CHANGE_FILE)
		set_file(obj, c);
	if (c->kind == MR_CHANGE_MODIFIED || c->kind == MR_CHANGE_METADATA)
		json_object_set_new(obj, "differs", differs_to_json(c->differs));
	if (c->kind == MR_CHANGE_MODIFIED && !c->content_compared)
		json_object_set_new(obj, "content_compared", json_false());
	if (c->link_target)
		mr_text_set(obj, "target", c->link_target, strlen(c->link_target));
	if (c->errnum) {
		const char *name = strerrorname_np(c->errnum);

		json_object_set_new(obj, "errno", json_string(name ? name : "unknown"));
	}
	return obj;
}

struct json_t *mr_changes_to_json(const struct mr_changes *changes)
{
	json_t *entries = json_array(), *counts = json_object();

	for (size_t i = 0; i < changes->n_rows; i++)
		json_array_append_new(entries, change_to_json(&changes->rows[i]));
	for (size_t i = 0; i < N_ELEMENTS(kind_names); i++)
		json_object_set_new(counts, kind_names[i],
				    json_integer((json_int_t)changes->counts[i]));
	return json_pack("{s:o, s:I, s:b, s:b, s:o}", "counts", counts, "unreadable",
			 (json_int_t)changes->unreadable, "truncated", changes->truncated,
			 "incomplete", changes->incomplete, "entries", entries);
}

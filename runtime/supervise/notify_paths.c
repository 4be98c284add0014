/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notify: paths
 *
 * Two questions about a path that a call names.  The first, of --explain-denials,
 * is what the kernel will say to an open and what would change that.  The second, of
 * a policy and of whoever records for one, is which access the call needs to what.
 *
 * A path is resolved as the caller's: its root, its working directory, its links.
 * What comes out is the path of an object, without links and "..", which is what
 * Landlock judges.  Where the call fails before Landlock is asked (nothing is there,
 * the file system is read-only, the file's permissions forbid it) it needs nothing.
 */
#include "runtime/supervise/notify_paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/launch/launch.h"
#include "runtime/spec/policy.h"
#include "runtime/supervise/host_has.h"
#include "runtime/supervise/recorder.h"

#define JOINED_MAX (2 * MR_NOTIFY_PATH_MAX + 2)

/* Text of a link of /proc, where it is a path of something that still has one. */
static bool read_path_link(const char *link, char *buf, size_t size)
{
	static const char gone[] = " (deleted)";
	ssize_t n = readlink(link, buf, size - 1);

	if (n <= 0 || (size_t)n >= size - 1 || buf[0] != '/')
		return false;
	buf[n] = '\0';
	return !mr_str_ends_with(buf, gone);
}

/* The path from the root that the caller's words stand for; nothing is resolved yet. */
static bool join(const struct mr_notify *notify, int dir_fd, const char *text, char ret[JOINED_MAX])
{
	char link[64], base[MR_NOTIFY_PATH_MAX];

	if (text[0] == '/')
		return snprintf(ret, JOINED_MAX, "%s", text) < JOINED_MAX;
	if (dir_fd == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/%u/cwd", notify->req->pid);
	else
		snprintf(link, sizeof(link), "/proc/%u/fd/%d", notify->req->pid, dir_fd);
	return read_path_link(link, base, sizeof(base)) &&
	       snprintf(ret, JOINED_MAX, "%s/%s", base, text) < JOINED_MAX;
}

/* Open what a whole path stands for in the sandbox, where every link begins at its root and not at
 * ours; a negative errno where there is none.  flags: O_NOFOLLOW or 0. */
static int open_in_root(const struct mr_notify *notify, const char *joined, int flags)
{
	struct open_how how = { .flags = (uint64_t)(unsigned int)(O_PATH | O_CLOEXEC | flags),
				.resolve = RESOLVE_IN_ROOT };
	int fd = (int)syscall(SYS_openat2, notify->root_fd, joined, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* The same of the caller's words. */
static int open_inside(const struct mr_notify *notify, int dir_fd, const char *path)
{
	char joined[JOINED_MAX];

	return join(notify, dir_fd, path, joined) ? open_in_root(notify, joined, 0) : -EXDEV;
}

static bool may_access(const struct mr_notify *notify, const struct stat *st, unsigned int want)
{
	unsigned int bits = st->st_mode & 7;

	if (st->st_uid == notify->uid)
		bits = (st->st_mode >> 6) & 7;
	else if (st->st_gid == notify->gid)
		bits = (st->st_mode >> 3) & 7;
	return (bits & want) == want;
}

/* What the kernel is about to say to an open, as far as we can tell; text for the denial. */
struct forecast {
	int errnum; /* 0: fine */
	const char *rule, *reason;
	char allow[MR_NOTIFY_PATH_MAX + 8]; /* "": nothing to suggest */
};

static void forecast_is(struct forecast *f, int errnum, const char *rule, const char *reason)
{
	f->errnum = errnum;
	f->rule = rule;
	f->reason = reason;
}

static void suggest(struct forecast *f, const char *option, const char *path)
{
	if (path[0] == '/')
		snprintf(f->allow, sizeof(f->allow), "%s %s", option, path);
}

/* Can something be made in, or written to, this object? */
static void forecast_write(const struct mr_notify *notify, int fd, const char *path,
			   unsigned int want, struct forecast *f)
{
	struct statvfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || fstatvfs(fd, &fs) < 0)
		return;
	if ((want & 2) && (fs.f_flag & ST_RDONLY) && !S_ISCHR(st.st_mode)) {
		forecast_is(f, EROFS, "read-only mount",
			    "only /work, /tmp, /dev/shm and what is mounted with --rw or --tmpfs "
			    "can be "
			    "written");
		suggest(f, "--rw", path);
	} else if (!may_access(notify, &st, want)) {
		forecast_is(f, EACCES, "file permissions", "the payload's user has no right to it");
	}
}

/* O_CREAT of something that is not there: what counts is the folder. */
static void forecast_create(const struct mr_notify *notify, int dir_fd, const char *path,
			    struct forecast *f)
{
	char parent[MR_NOTIFY_PATH_MAX];
	mr_auto_close int fd = -1;
	char *slash;

	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (slash == parent)
		slash++;
	if (slash)
		*slash = '\0';
	fd = open_inside(notify, dir_fd, slash ? parent : ".");
	if (fd >= 0)
		forecast_write(notify, fd, slash ? parent : ".", 2, f);
}

static void forecast_open(const struct mr_notify *notify, int dir_fd, const char *path, int flags,
			  struct forecast *f)
{
	const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC));
	const unsigned int want = (writes ? 2U : 0U) | ((flags & O_ACCMODE) == O_WRONLY ? 0U : 4U);
	mr_auto_close int fd = open_inside(notify, dir_fd, path);

	if (fd >= 0) {
		forecast_write(notify, fd, path, want, f);
	} else if (fd == -ENOENT && (flags & O_CREAT)) {
		forecast_create(notify, dir_fd, path, f);
	} else if (fd == -ENOENT && path[0] == '/' && mr_host_has(path)) {
		forecast_is(f, ENOENT, "not in the sandbox",
			    "the host has it, the sandbox's root does not");
		suggest(f, "--ro", path);
	}
}

struct open_args {
	int dir_fd, flags;
	uint64_t path;
};

static struct open_args open_arguments(const struct mr_notify *notify, const char *syscall_name)
{
	const __u64 *args = notify->req->data.args;
	struct open_args a = { .dir_fd = (int)args[0], .path = args[1], .flags = (int)args[2] };

	if (strcmp(syscall_name, "open") == 0)
		a = (struct open_args){ .dir_fd = AT_FDCWD,
					.path = args[0],
					.flags = (int)args[1] };
	else if (strcmp(syscall_name, "creat") == 0)
		a = (struct open_args){ .dir_fd = AT_FDCWD,
					.path = args[0],
					.flags = O_CREAT | O_WRONLY | O_TRUNC };
	return a;
}

void mr_notify_explain_open(struct mr_notify *notify, const char *syscall_name)
{
	struct open_args a = open_arguments(notify, syscall_name);
	struct forecast f = { 0 };
	char path[MR_NOTIFY_PATH_MAX];
	struct mr_denial denial = { .layer = MR_DENIAL_MOUNT,
				    .what = syscall_name,
				    .object = path };

	if (!mr_notify_read_string(notify, a.path, path, sizeof(path)) || (a.flags & O_PATH))
		return;
	if (strncmp(path, "/proc/", 6) == 0)
		return; /* its links mean something else to us than to the payload */
	forecast_open(notify, a.dir_fd, path, a.flags, &f);
	if (!f.errnum)
		return;
	denial.errnum = f.errnum;
	denial.rule = f.rule;
	denial.reason = f.reason;
	denial.allow = f.allow[0] ? f.allow : NULL;
	mr_notify_record(notify, &denial);
}

/* --- where a path leads --------------------------------------------------------- */

/* An object of the sandbox. */
struct place {
	int fd; /* O_PATH, or -1 */
	struct stat st;
	char path[MR_NOTIFY_PATH_MAX + 1]; /* a folder's ends in a slash */
};

static void closep_place(struct place *place)
{
	place->fd = mr_close(place->fd);
}
#define auto_place mr_cleanup(closep_place)
#define PLACE_INIT       \
	{                \
		.fd = -1 \
	}

/* Of the caller's own entries of /proc, and of links to them, the rest behind "/proc/self". */
static bool is_own_proc(const char *path, char ret_rest[JOINED_MAX])
{
	static const struct {
		const char *prefix, *rest;
	} own[] = {
		{ "/proc/self", "" },	   { "/proc/thread-self", "" }, { "/dev/fd", "/fd" },
		{ "/dev/stdin", "/fd/0" }, { "/dev/stdout", "/fd/1" },	{ "/dev/stderr", "/fd/2" },
	};

	for (size_t i = 0; i < N_ELEMENTS(own); i++) {
		if (!mr_str_is_under(path, own[i].prefix))
			continue;
		return snprintf(ret_rest, JOINED_MAX, "%s%s", own[i].rest,
				path + strlen(own[i].prefix)) < JOINED_MAX;
	}
	return false;
}

static void add_slash(struct place *place)
{
	size_t n = strlen(place->path);

	if (S_ISDIR(place->st.st_mode) && n > 0 && n < sizeof(place->path) - 1 &&
	    place->path[n - 1] != '/')
		memcpy(place->path + n, "/", 2);
}

/* The object that a descriptor leads to. */
static int take_place(int fd, struct place *ret)
{
	char link[64];

	ret->fd = fd;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fstat(fd, &ret->st) < 0 || !read_path_link(link, ret->path, sizeof(ret->path)))
		return -ENOENT;
	add_slash(ret);
	return 0;
}

/* Does a path go up?  In our own /proc that would lead to other processes, ours among them. */
static bool goes_up(const char *path)
{
	for (const char *p = path; (p = strstr(p, "/..")); p += 3) {
		if (p[3] == '/' || p[3] == '\0')
			return true;
	}
	return false;
}

/* What it is stays unknown. */
static int give_up(const struct mr_notify *notify)
{
	if (notify->recorder)
		notify->recorder->full = true;
	return -EXDEV;
}

/* How much of a path in our own /proc leads to the first link that is no text: a working directory,
 * a root, a descriptor.  All of it where there is none. */
static size_t magic_prefix(const char *host)
{
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				      .resolve = RESOLVE_NO_MAGICLINKS };

	for (const char *p = strchr(host + 1, '/'); p; p = strchr(p + 1, '/')) {
		mr_auto_free char *prefix = mr_str_ndup(host, (size_t)(p - host));
		mr_auto_close int fd =
			(int)syscall(SYS_openat2, AT_FDCWD, prefix, &how, sizeof(how));

		if (fd < 0 && errno == ELOOP)
			return (size_t)(p - host);
	}
	return strlen(host);
}

/* Behind such a link the sandbox begins: the rest is its own, and so is where its links lead. */
static int find_behind(const struct mr_notify *notify, const char *host, size_t n, int flags,
		       struct place *ret)
{
	mr_auto_free char *link = mr_str_ndup(host, n);
	char base[MR_NOTIFY_PATH_MAX], joined[JOINED_MAX], rest[JOINED_MAX];
	int fd;

	if (!read_path_link(link, base, sizeof(base)))
		return -ENOENT;
	if (snprintf(joined, sizeof(joined), "%s%s", base, host + n) >= JOINED_MAX)
		return -ENAMETOOLONG;
	if (is_own_proc(joined, rest))
		return give_up(notify); /* and so on, as long as it likes */
	fd = open_in_root(notify, joined, flags);
	if (fd == -EXDEV) /* through another of its kind, by a number */
		return give_up(notify);
	return fd < 0 ? fd : take_place(fd, ret);
}

/* What /proc shows of the caller, in our own /proc: "self" in its is somebody else for us.  Pipes
 * and sockets are nowhere, and Landlock does not judge them. */
static int find_own_proc(const struct mr_notify *notify, const char *rest, int flags,
			 struct place *ret)
{
	char host[MR_NOTIFY_PATH_MAX];
	size_t magic;
	int fd, r;

	if (goes_up(rest))
		return give_up(notify);
	if ((size_t)snprintf(host, sizeof(host), "/proc/%u%s", notify->req->pid, rest) >=
	    sizeof(host))
		return -ENAMETOOLONG;
	magic = magic_prefix(host);
	if (host[magic])
		return find_behind(notify, host, magic, flags, ret);
	fd = open(host, O_PATH | O_CLOEXEC | flags);
	if (fd < 0)
		return -errno;
	r = take_place(fd, ret);
	if (r < 0 || !mr_str_starts_with(ret->path, "/proc/"))
		return r;
	snprintf(ret->path, sizeof(ret->path), "/proc/self%.*s", MR_NOTIFY_PATH_MAX - 16, rest);
	add_slash(ret);
	return 0;
}

/* flags: O_NOFOLLOW or 0. */
static int find_place(const struct mr_notify *notify, const char *joined, int flags,
		      struct place *ret)
{
	char rest[JOINED_MAX];
	int fd;

	if (is_own_proc(joined, rest))
		return find_own_proc(notify, rest, flags, ret);
	fd = open_in_root(notify, joined, flags);
	return fd < 0 ? fd : take_place(fd, ret);
}

/* The folder that holds a path; *ret_name is the last name. */
static int find_parent(const struct mr_notify *notify, const char *joined, struct place *ret,
		       char ret_name[NAME_MAX + 1])
{
	mr_auto_free char *parent = mr_str_dup(joined);
	size_t n = strlen(parent);
	char *slash;

	while (n > 1 && parent[n - 1] == '/')
		parent[--n] = '\0';
	slash = strrchr(parent, '/');
	if (!slash || !slash[1] || strlen(slash + 1) > NAME_MAX || strcmp(slash, "/..") == 0)
		return -ENOENT;
	snprintf(ret_name, NAME_MAX + 1, "%s", slash + 1);
	slash[slash == parent] = '\0';
	return find_place(notify, parent, 0, ret);
}

/* --- what a call needs ------------------------------------------------------------ */

/* One path of one call. */
struct look {
	struct mr_notify *notify;
	const char *syscall;
	const char *text; /* the path as the caller wrote it */
	bool is_ours;
	char *from; /* room for the folder that something is taken from; "": none yet */
};

static unsigned int granted(const struct mr_notify *notify, const char *path)
{
	return mr_policy_lookup(notify->rules, notify->n_rules, path);
}

static void refuse(const struct look *look, const char *path, unsigned int lacks)
{
	char access[MR_POLICY_ACCESS_SIZE], reason[128], *allow;
	struct mr_denial denial = { .layer = MR_DENIAL_LANDLOCK,
				    .what = look->syscall,
				    .object = path,
				    .errnum = EACCES,
				    .rule = "policy",
				    .reason = reason };

	mr_policy_access_text(lacks, access);
	snprintf(reason, sizeof(reason), "the policy does not grant this path: %s", access);
	allow = mr_str_format("%s for %s in \"paths\" of the policy", access, path);
	denial.allow = allow;
	mr_notify_record(look->notify, &denial);
	free(allow);
}

/* The files of the program itself can be run whatever the policy says. */
static void add_floor(struct mr_notify *notify, const char *path)
{
	notify->rules = mr_str_grow(notify->rules, notify->n_rules, &notify->rules_cap,
				    sizeof(*notify->rules));
	notify->rules[notify->n_rules++] =
		(struct mr_policy_path){ .path = mr_str_dup(path), .access = MR_POLICY_EXECUTE };
	notify->n_rules = mr_policy_sort_paths(notify->rules, notify->n_rules);
}

static void need(const struct look *look, const char *path, unsigned int access)
{
	struct mr_notify *notify = look->notify;
	unsigned int lacks = access & ~granted(notify, path);

	if (look->is_ours && notify->judges_paths && lacks)
		add_floor(notify, path);
	if (look->is_ours && notify->recorder)
		mr_recorder_note_program(notify->recorder, path);

	/* To run a file is to read it. */
	if (lacks == MR_POLICY_READ && (granted(notify, path) & MR_POLICY_EXECUTE))
		lacks = 0;
	if (notify->judges_paths && lacks && !look->is_ours)
		refuse(look, path, lacks);
	else if (notify->recorder)
		mr_recorder_note_path(notify->recorder, path, access);
}

static bool kernel_refuses(const struct mr_notify *notify, const struct place *place,
			   unsigned int want)
{
	struct forecast f = { 0 };

	if (place->fd >= 0)
		forecast_write(notify, place->fd, place->path, want, &f);
	return f.errnum != 0;
}

/* Something in a folder is made or removed. */
static void need_folder(const struct look *look, const char *joined, enum mr_path_use use)
{
	auto_place struct place parent = PLACE_INIT, itself = PLACE_INIT;
	char name[NAME_MAX + 1];
	const bool exists = find_place(look->notify, joined, O_NOFOLLOW, &itself) == 0;
	mr_auto_free char *made = NULL;

	if (find_parent(look->notify, joined, &parent, name) < 0 || !S_ISDIR(parent.st.st_mode) ||
	    kernel_refuses(look->notify, &parent, 3) || (use == MR_PATH_REMOVE && !exists))
		return;
	need(look, parent.path, MR_POLICY_MAKE);
	if (use == MR_PATH_REMOVE)
		snprintf(look->from, MR_NOTIFY_PATH_MAX + 1, "%s", parent.path);
	else if (look->from[0] && look->notify->recorder)
		mr_recorder_note_move(look->notify->recorder, look->from, parent.path);
	if (use != MR_PATH_MAKE || exists || !look->notify->recorder)
		return;
	made = mr_str_format("%s%s", parent.path, name);
	mr_recorder_note_made(look->notify->recorder, made);
}

static unsigned int access_of_flags(int flags)
{
	const int mode = flags & O_ACCMODE;

	return (mode == O_RDONLY || mode == O_RDWR ? MR_POLICY_READ : 0U) |
	       (mode == O_WRONLY || mode == O_RDWR || (flags & O_TRUNC) ? MR_POLICY_WRITE : 0U);
}

/* An open that makes a file: rights to the file are rights to its folder. */
static void need_new_file(const struct look *look, const char *joined, int flags)
{
	auto_place struct place parent = PLACE_INIT;
	char name[NAME_MAX + 1];
	mr_auto_free char *made = NULL;

	if (find_parent(look->notify, joined, &parent, name) < 0 || !S_ISDIR(parent.st.st_mode) ||
	    kernel_refuses(look->notify, &parent, 3))
		return;
	need(look, parent.path, MR_POLICY_MAKE | access_of_flags(flags));
	if (!look->notify->recorder)
		return;
	made = mr_str_format("%s%s", parent.path, name);
	mr_recorder_note_made(look->notify->recorder, made);
}

static void need_existing(const struct look *look, const struct place *place, int flags)
{
	const bool is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;
	unsigned int access = access_of_flags(flags);
	unsigned int want =
		(access & MR_POLICY_READ ? 4U : 0U) | (access & MR_POLICY_WRITE ? 2U : 0U);

	if (S_ISLNK(place->st.st_mode) || ((flags & O_CREAT) && (flags & O_EXCL)))
		return; /* fails for that */
	if (S_ISDIR(place->st.st_mode) && !is_unnamed) {
		if (access & MR_POLICY_WRITE)
			return;
		access = MR_POLICY_LIST;
	} else if ((flags & O_DIRECTORY) && !is_unnamed) {
		return;
	}
	if ((access & MR_POLICY_WRITE) && mr_str_starts_with(place->path, "/proc/"))
		return; /* read-only inside */
	if (access && !kernel_refuses(look->notify, place, want))
		need(look, place->path, access);
}

static void need_open(const struct look *look, const char *joined, int flags)
{
	const bool no_follow = (flags & O_NOFOLLOW) || ((flags & O_CREAT) && (flags & O_EXCL));
	auto_place struct place place = PLACE_INIT;
	int r;

	if (flags & O_PATH)
		return;
	r = find_place(look->notify, joined, no_follow ? O_NOFOLLOW : 0, &place);
	if (r == 0)
		need_existing(look, &place, flags);
	else if (r == -ENOENT && (flags & O_CREAT))
		need_new_file(look, joined, flags);
}

/* The file, the interpreter of its first line, the loader of that. */
static void need_exec(const struct look *look, const char *joined)
{
	enum mr_program_next next = MR_PROGRAM_INTERPRETER;
	char path[MR_PROGRAM_PATH_MAX];

	snprintf(path, sizeof(path), "%.*s", MR_PROGRAM_PATH_MAX - 1, joined);
	for (int depth = 0; depth < 6; depth++) {
		auto_place struct place place = PLACE_INIT;

		if (find_place(look->notify, path, 0, &place) < 0 || !S_ISREG(place.st.st_mode) ||
		    !may_access(look->notify, &place.st, 1))
			return;
		need(look, place.path, MR_POLICY_EXECUTE);
		if (place.fd < 0 || next == MR_PROGRAM_LOADER)
			return;
		next = mr_program_interpreter(place.fd, path);
		if (next == MR_PROGRAM_NOTHING || path[0] != '/')
			return;
	}
}

static void need_write(const struct look *look, const char *joined)
{
	auto_place struct place place = PLACE_INIT;

	if (find_place(look->notify, joined, 0, &place) == 0 && S_ISREG(place.st.st_mode) &&
	    !kernel_refuses(look->notify, &place, 2))
		need(look, place.path, MR_POLICY_WRITE);
}

static void judge_one(const struct look *look, const struct mr_seccomp_path *row)
{
	const __u64 *args = look->notify->req->data.args;
	const int dir_fd = row->dir < 0 ? AT_FDCWD : (int)args[row->dir];
	char joined[JOINED_MAX];

	/* An empty path is a descriptor that is open already. */
	if (!look->text[0] || !join(look->notify, dir_fd, look->text, joined))
		return;
	switch (row->use) {
	case MR_PATH_OPEN:
		need_open(look, joined, open_arguments(look->notify, look->syscall).flags);
		return;
	case MR_PATH_EXEC:
		need_exec(look, joined);
		return;
	case MR_PATH_WRITE:
		need_write(look, joined);
		return;
	case MR_PATH_MAKE:
	case MR_PATH_REMOVE:
		need_folder(look, joined, row->use);
		return;
	}
}

void mr_notify_judge_path(struct mr_notify *notify, const struct mr_seccomp_rule *rule,
			  bool is_ours)
{
	const int nr = notify->req->data.nr;
	const char *name = mr_policy_call_name((unsigned int)nr);
	char from[MR_NOTIFY_PATH_MAX + 1] = "";
	size_t n;
	const struct mr_seccomp_path *rows = mr_seccomp_paths(&n);

	for (size_t i = 0; i < n; i++) {
		char text[MR_NOTIFY_PATH_MAX];
		const struct look look = { notify, name ? name : rule->syscall, text, is_ours,
					   from };

		if (rows[i].nr == nr &&
		    mr_notify_read_string(notify, notify->req->data.args[rows[i].path], text,
					  sizeof(text)))
			judge_one(&look, &rows[i]);
	}
	if (name && notify->policy.watch_opens && mr_seccomp_is_open(nr))
		mr_notify_explain_open(notify, name);
}

/* --- the policy's paths as they are inside ------------------------------------------ */

static void take_rule(struct mr_notify *notify, const struct mr_policy_path *rule)
{
	auto_place struct place place = PLACE_INIT;
	const bool found = find_place(notify, rule->path, 0, &place) == 0;

	if (!found || S_ISDIR(place.st.st_mode) != mr_str_ends_with(rule->path, "/"))
		return;
	notify->rules[notify->n_rules++] =
		(struct mr_policy_path){ .path = mr_str_dup(place.path), .access = rule->access };
}

void mr_notify_take_rules(struct mr_notify *notify, const struct mr_spec *spec)
{
	const struct mr_policy *policy = spec->policy;
	struct mr_policy_path floor[MR_POLICY_FLOOR_PATHS];
	const size_t n = mr_policy_floor_paths(spec, floor);

	notify->judges_paths = true;
	notify->rules_cap = policy->n_paths + n + 1;
	notify->rules = mr_str_alloc(notify->rules_cap * sizeof(*notify->rules));
	for (size_t i = 0; i < policy->n_paths; i++)
		take_rule(notify, &policy->paths[i]);
	for (size_t i = 0; i < n; i++)
		take_rule(notify, &floor[i]);
	notify->n_rules = mr_policy_sort_paths(notify->rules, notify->n_rules);
}

void mr_notify_drop_rules(struct mr_notify *notify)
{
	for (size_t i = 0; i < notify->n_rules; i++)
		free(notify->rules[i].path);
	mr_freep(&notify->rules);
	notify->rules = NULL;
	notify->n_rules = notify->rules_cap = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroup: the handle
 *
 * A struct mr_cgroup is a list of directories BASE/menace/NAME, one for each
 * hierarchy it needs, v2 first.  Everything is reached from the descriptors
 * opened when it was made.
 *
 * Many runs make and remove groups at the same moment and share the parent
 * "menace": whoever finds it missing makes it, whoever leaves it empty removes
 * it, at once or, with many runs to come, when the host is freed.  So a parent may vanish between being opened and being used (ENOENT, or
 * ENODEV from the files in it); the answer is to begin again, a bounded number of
 * times.  No lock is needed: mkdir and rmdir are atomic, and rmdir of a parent
 * with children fails.
 *
 * Removal goes v1 first and v2 last: as long as anything is left, the v2 group,
 * by which a later sweep and the telemetry know the run, is there too.
 */
#include "cgroups/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cgroups/hierarchy.h"
#include "cgroups/tree.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/patience.h"

#define RETRIES 1000 /* lost races for the parent, each a few microseconds */
#define ANCESTORS_MAX 64

struct mr_cgroup {
	char name[MR_CGROUP_NAME_MAX + 1];
	char *path; /* in the v2 hierarchy */
	uint64_t id;
	unsigned int extra_pids;
	int kill_fd; /* cgroup.kill: no kill waits for a descriptor; -1: there is none */
	char note[160];
	/* Apart, because asking for it first makes it: the kernel's registration costs as much
	 * as a group, and most callers read the counters at the end instead. */
	struct mr_oom_watch *oom;
	size_t n;
	struct mr_group groups[MR_HIERARCHIES_MAX]; /* [0] is v2 */
};

bool mr_cgroup_name_ok(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	size_t n = strlen(name);

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	return n >= 1 && n <= MR_CGROUP_NAME_MAX && strspn(name, allowed) == n;
}

static int check_name(const char *name, struct mr_error *err)
{
	if (mr_cgroup_name_ok(name))
		return 0;
	return mr_err(err, MR_E_USAGE, EINVAL,
		      "cgroup name \"%.80s\": accepted are 1 to %d of A-Z a-z 0-9 . _ -, and "
		      "neither \".\" nor \"..\"",
		      name, MR_CGROUP_NAME_MAX);
}

void mr_hierarchy_show_row(struct mr_cgroup_shown *shown, size_t cap, size_t *n, const char *key,
			   const char *file, uint64_t value)
{
	if (*n >= cap)
		return;
	shown[*n].key = key;
	snprintf(shown[*n].file, sizeof(shown[*n].file), "%s", file);
	shown[*n].value = value;
	(*n)++;
}

static void close_group(struct mr_group *g)
{
	g->base_fd = mr_close(g->base_fd);
	g->parent_fd = mr_close(g->parent_fd);
	g->dir_fd = mr_close(g->dir_fd);
	g->file_fd = mr_close(g->file_fd);
}

struct mr_cgroup *mr_cgroup_free(struct mr_cgroup *cg)
{
	if (!cg)
		return NULL;
	for (size_t i = 0; i < cg->n; i++)
		close_group(&cg->groups[i]);
	mr_close(cg->kill_fd);
	if (cg->oom)
		mr_close(cg->oom->fd);
	free(cg->oom);
	free(cg->path);
	free(cg);
	return NULL;
}

static struct mr_cgroup *alloc_cgroup(const struct mr_cgroup_host *host, const char *name)
{
	struct mr_cgroup *cg = calloc(1, sizeof(*cg));
	const char *base = host->h[0].path;

	if (!cg)
		return NULL;
	cg->kill_fd = -1;
	snprintf(cg->name, sizeof(cg->name), "%s", name);
	cg->oom = calloc(1, sizeof(*cg->oom));
	if (!cg->oom)
		return mr_cgroup_free(cg);
	cg->oom->fd = -1;
	if (asprintf(&cg->path, "%s/" MR_CGROUP_PARENT "/%s", strcmp(base, "/") ? base : "", name) <
	    0) {
		cg->path = NULL;
		return mr_cgroup_free(cg);
	}
	return cg;
}

/* An empty group of hierarchy i, with BASE open: it may outlive the host's record. */
static int init_group(const struct mr_cgroup_host *host, size_t i, unsigned int wanted,
		      struct mr_group *g)
{
	const struct mr_hierarchy *h = &host->h[i];

	*g = (struct mr_group){
		.ops = h->ops,
		.keeps_parent = host->keeps_parent,
		.controllers = h->controllers & wanted,
		.memory_max = MR_UNLIMITED,
		.base_fd = fcntl(h->base_fd, F_DUPFD_CLOEXEC, 3),
		.parent_fd = -1,
		.dir_fd = -1,
		.file_fd = -1,
	};
	return g->base_fd < 0 ? -errno : 0;
}

static int open_parent(int base_fd)
{
	int fd = openat(base_fd, MR_CGROUP_PARENT, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_dir(struct mr_group *g, const char *name)
{
	g->dir_fd = openat(g->parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return g->dir_fd < 0 ? -errno : 0;
}

/* The parent, the controllers in it and the group once.  -ENOENT and -ENODEV: lost a race. */
static int try_make_group(const struct mr_hierarchy *h, const char *name, unsigned int required,
			  struct mr_group *g, struct mr_error *err)
{
	int r;

	g->parent_fd = mr_close(g->parent_fd);
	r = open_parent(g->base_fd);
	if (r == -ENOENT) {
		if (mkdirat(g->base_fd, MR_CGROUP_PARENT, 0755) < 0 && errno != EEXIST)
			return mr_err(err, MR_E_SYS, errno, "mkdir %s/" MR_CGROUP_PARENT ": %m",
				      h->dir);
		r = open_parent(g->base_fd);
	}
	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "open %s/" MR_CGROUP_PARENT ": %m", h->dir);
	g->parent_fd = r;
	if (h->ops->prepare) {
		r = h->ops->prepare(h, g->parent_fd, g->controllers, required & g->controllers,
				    err);
		if (r < 0)
			return r;
	}
	if (mkdirat(g->parent_fd, name, 0755) < 0)
		return mr_err(err, MR_E_SYS, errno, "mkdir %s/" MR_CGROUP_PARENT "/%s: %m", h->dir,
			      name);
	return 0;
}

static void remove_parent(const struct mr_group *g)
{
	/* In use by another run, or gone already: both are fine. */
	if (!g->keeps_parent)
		(void)unlinkat(g->base_fd, MR_CGROUP_PARENT, AT_REMOVEDIR);
}

static int make_group(const struct mr_hierarchy *h, const char *name, unsigned int required,
		      struct mr_group *g, struct mr_error *err)
{
	int r = -ENOENT;

	for (int i = 0; i < RETRIES && (r == -ENOENT || r == -ENODEV); i++)
		r = try_make_group(h, name, required, g, err);
	if (r < 0) {
		remove_parent(g);
		return r;
	}
	r = open_dir(g, name);
	if (r < 0) {
		mr_tree_remove(g->parent_fd, name);
		remove_parent(g);
		return mr_err(err, MR_E_SYS, -r, "open %s/" MR_CGROUP_PARENT "/%s: %m", h->dir,
			      name);
	}
	return 0;
}

/* Controllers asked for but not here are an error before anything is made. */
static int check_controllers(const struct mr_cgroup_host *host, unsigned int required,
			     struct mr_error *err)
{
	for (enum mr_controller c = 0; c < MR_CONTROLLER_COUNT_; c++)
		if ((required & ~host->controllers) & MR_CONTROLLER_BIT(c))
			return mr_err(err, MR_E_KERNEL, EOPNOTSUPP,
				      "limit asked, but no %s controller: %s",
				      mr_limits_controller_name(c),
				      host->absent[c] ? host->absent[c] : "absent");
	return 0;
}

/* Descriptors that are needed later: while the child starts, and after the group may be full. */
static int open_file(struct mr_cgroup *cg, struct mr_group *g, struct mr_error *err)
{
	g->file_fd = openat(g->dir_fd, g->ops->file, g->ops->file_flags | O_CLOEXEC);
	if (g->file_fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s of %s: %m", g->ops->file, cg->path);
	if (g->ops == &mr_v2_ops) {
		/* poll() tells of changes since the last read. */
		int r = mr_cgroup_populated(cg, err);

		return r < 0 ? r : 0;
	}
	return 0;
}

/* Before 5.14 there is none, and the list of processes serves. */
static int open_kill(struct mr_cgroup *cg, struct mr_error *err)
{
	cg->kill_fd = openat(cg->groups[0].dir_fd, "cgroup.kill", O_WRONLY | O_CLOEXEC);
	if (cg->kill_fd < 0 && errno != ENOENT)
		return mr_err(err, MR_E_SYS, errno, "open cgroup.kill of %s: %m", cg->path);
	return 0;
}

static int fill_cgroup(const struct mr_cgroup_host *host, const struct mr_limits *limits,
		       struct mr_cgroup *cg, struct mr_error *err)
{
	unsigned int required = mr_limits_controllers(limits);
	/* Memory, pids and io also give statistics; cpu only costs when nothing is asked of it. */
	unsigned int wanted = required | host->always | MR_CONTROLLER_BIT(MR_CONTROLLER_MEMORY) |
			      MR_CONTROLLER_BIT(MR_CONTROLLER_PIDS) |
			      MR_CONTROLLER_BIT(MR_CONTROLLER_IO);
	struct stat st;

	for (size_t i = 0; i < host->n; i++) {
		const struct mr_hierarchy *h = &host->h[i];
		struct mr_group *g = &cg->groups[cg->n];
		int r;

		if (i > 0 && !(h->controllers & wanted))
			continue;
		r = init_group(host, i, wanted, g);
		if (r < 0)
			return mr_err(err, MR_E_SYS, -r, "duplicate a descriptor of %s: %m",
				      h->dir);
		r = make_group(h, cg->name, required, g, err);
		if (r < 0) {
			close_group(g);
			return r;
		}
		cg->n++;
		g->memory_max = limits->memory_max;
		r = g->ops->confine(g, limits, cg->note, sizeof(cg->note), err);
		if (r == 0)
			r = open_file(cg, g, err);
		if (r < 0)
			return r;
	}
	if (fstat(cg->groups[0].dir_fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "stat %s: %m", cg->path);
	cg->id = st.st_ino;
	return open_kill(cg, err);
}

static int check_host(const struct mr_cgroup_host *host, struct mr_error *err)
{
	if (host->mode != MR_CGROUP_NONE)
		return 0;
	return mr_err(err, MR_E_KERNEL, EOPNOTSUPP, "no usable cgroups: %s", host->why);
}

int mr_cgroup_new(const struct mr_cgroup_host *host, const char *name,
		  const struct mr_limits *limits, unsigned int extra_pids, struct mr_cgroup **ret,
		  struct mr_error *err)
{
	struct mr_limits normal;
	struct mr_cgroup *cg;
	int r = check_name(name, err);

	if (r == 0)
		r = check_host(host, err);
	if (r == 0)
		r = mr_limits_normalise(limits, extra_pids, &normal, err);
	if (r == 0)
		r = check_controllers(host, mr_limits_controllers(&normal), err);
	if (r < 0)
		return mr_err_wrap(err, r, "make cgroup %.64s", name);
	cg = alloc_cgroup(host, name);
	if (!cg)
		return mr_err(err, MR_E_SYS, ENOMEM, "make cgroup %s: %m", name);
	cg->extra_pids = extra_pids;
	r = fill_cgroup(host, &normal, cg, err);
	if (r < 0) {
		/* groups[0..n) were made by us; the one that failed has cleaned up itself */
		mr_cgroup_destroy(cg, NULL);
		mr_cgroup_free(cg);
		return mr_err_wrap(err, r, "make cgroup %s", name);
	}
	*ret = cg;
	return 0;
}

int mr_cgroup_share(const struct mr_cgroup *cg, struct mr_error *err)
{
	const struct mr_group *g = &cg->groups[0];
	int r = 0;

	if (g->controllers & MR_CONTROLLER_BIT(MR_CONTROLLER_MEMORY))
		r = mr_write_file_at(g->dir_fd, "memory.oom.group", "0");
	if (r < 0 && r != -ENOENT) /* from 4.19 on */
		return mr_err(err, MR_E_SYS, -r, "write \"0\" to memory.oom.group of %s: %m",
			      cg->path);
	return 0;
}

/* What a hierarchy of v1 serves is seen by its files; of v2 a file that is not there is no error. */
static unsigned int controllers_seen(const struct mr_group *g)
{
	unsigned int seen = 0;

	if (g->ops == &mr_v2_ops)
		return MR_CONTROLLER_BIT(MR_CONTROLLER_COUNT_) - 1;
	for (size_t i = 0; i < g->ops->n_stats; i++)
		if (faccessat(g->dir_fd, g->ops->stats[i].file, R_OK, 0) == 0)
			seen |= MR_CONTROLLER_BIT(g->ops->stats[i].controller);
	return seen;
}

/* 1: it has no such group. */
static int look_at_group(const struct mr_cgroup_host *host, size_t i, const char *name,
			 struct mr_group *g, struct mr_error *err)
{
	int r = init_group(host, i, 0, g);

	if (r == 0)
		r = g->parent_fd = open_parent(g->base_fd);
	if (r >= 0)
		r = open_dir(g, name);
	if (r == 0 && g->ops == &mr_v2_ops) {
		g->file_fd = openat(g->dir_fd, g->ops->file, O_RDONLY | O_CLOEXEC);
		r = g->file_fd < 0 ? -errno : 0;
	}
	if (r == 0) {
		g->controllers = controllers_seen(g);
		return 0;
	}
	close_group(g);
	return r == -ENOENT || r == -ENODEV
		       ? 1
		       : mr_err(err, MR_E_SYS, -r, "look at %s/" MR_CGROUP_PARENT "/%s: %m",
				host->h[i].dir, name);
}

int mr_cgroup_open(const struct mr_cgroup_host *host, const char *name, unsigned int extra_pids,
		   struct mr_cgroup **ret, struct mr_error *err)
{
	struct mr_cgroup *cg;
	struct stat st;
	int r = check_name(name, err);

	if (r < 0)
		return r;
	cg = alloc_cgroup(host, name);
	if (!cg)
		return mr_err(err, MR_E_SYS, ENOMEM, "look at cgroup %s: %m", name);
	cg->extra_pids = extra_pids;
	for (size_t i = 0; i < host->n && r >= 0; i++) {
		r = look_at_group(host, i, name, &cg->groups[cg->n], err);
		cg->n += r == 0;
		if (i == 0 && r == 1) /* it comes first and goes last */
			break;
	}
	if (r >= 0 && cg->n > 0 && fstat(cg->groups[0].dir_fd, &st) == 0)
		cg->id = st.st_ino;
	if (r >= 0 && cg->n > 0) {
		*ret = cg;
		return 0;
	}
	mr_cgroup_free(cg);
	return r;
}

int mr_cgroup_v2_fd(const struct mr_cgroup *cg)
{
	return cg->groups[0].dir_fd;
}

uint64_t mr_cgroup_id(const struct mr_cgroup *cg)
{
	return cg->id;
}

const char *mr_cgroup_path(const struct mr_cgroup *cg)
{
	return cg->path;
}

const char *mr_cgroup_note(const struct mr_cgroup *cg)
{
	return cg->note;
}

int mr_cgroup_enter_v1(const struct mr_cgroup *cg, struct mr_error *err)
{
	for (size_t i = 1; i < cg->n; i++) {
		ssize_t n;

		do
			n = write(cg->groups[i].file_fd, "0", 1);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return mr_err(err, MR_E_SYS, errno, "join cgroup v1 (%u): %m",
				      cg->groups[i].controllers);
	}
	return 0;
}

int mr_cgroup_change(struct mr_cgroup *cg, const struct mr_limits *limits, struct mr_error *err)
{
	struct mr_limits normal, some = *limits;
	int r;

	some.pids_max = MR_UNLIMITED;
	r = mr_limits_normalise(&some, 0, &normal, err);
	for (size_t i = 0; r == 0 && i < cg->n; i++) {
		struct mr_group *g = &cg->groups[i];
		const unsigned int mine = g->controllers & mr_limits_controllers(&normal);
		char note[sizeof(cg->note)];
		struct mr_group only = *g;

		if (!mine)
			continue;
		only.controllers = mine;
		r = g->ops->confine(&only, &normal, note, sizeof(note), err);
		if (r == 0 && normal.memory_max != MR_UNLIMITED)
			g->memory_max = normal.memory_max;
	}
	return r < 0 ? mr_err_wrap(err, r, "change cgroup %s", cg->path) : 0;
}

int mr_cgroup_add(const struct mr_cgroup *cg, pid_t pid, struct mr_error *err)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	for (size_t i = 0; i < cg->n; i++) {
		mr_auto_close int fd =
			openat(cg->groups[i].dir_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC);
		int r = fd < 0 ? -errno : mr_write_full(fd, text, strlen(text));

		if (r < 0)
			return mr_err(err, MR_E_SYS, -r, "move process %d to %s: %m", pid,
				      cg->path);
	}
	return 0;
}

int mr_cgroup_show_limits(const struct mr_cgroup *cg, struct mr_cgroup_shown *rows, size_t cap,
			  size_t *ret_n, struct mr_error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < cg->n; i++) {
		const struct mr_group *g = &cg->groups[i];
		int r = g->ops->show(g, rows, cap, &n, err);

		if (r < 0)
			return mr_err_wrap(err, r, "show limits of %s", cg->path);
	}
	for (size_t i = 0; i < n; i++)
		if (strcmp(rows[i].key, "pids_max") == 0 && rows[i].value != MR_UNLIMITED)
			rows[i].value -=
				rows[i].value < cg->extra_pids ? rows[i].value : cg->extra_pids;
	*ret_n = n;
	return 0;
}

/* A group that was found again, as that of a dead run, has no descriptor for it yet. */
static int write_kill(const struct mr_cgroup *cg)
{
	if (cg->kill_fd < 0)
		return mr_write_file_at(cg->groups[0].dir_fd, "cgroup.kill", "1");
	return write(cg->kill_fd, "1", 1) < 0 ? -errno : 0;
}

int mr_cgroup_kill(const struct mr_cgroup *cg, struct mr_error *err)
{
	int dir_fd = cg->groups[0].dir_fd;
	int r = dir_fd < 0 ? 0 : write_kill(cg);

	if (r == -ENOENT) /* before 5.14, or the group is gone and the list is empty */
		return mr_tree_kill(dir_fd, MR_PATIENCE_MS(CGROUP_KILL), err);
	if (r < 0 && r != -ENODEV)
		return mr_err(err, MR_E_SYS, -r, "write \"1\" to cgroup.kill of %s: %m", cg->path);
	return 0;
}

int mr_cgroup_events_fd(const struct mr_cgroup *cg)
{
	return cg->groups[0].file_fd;
}

int mr_cgroup_populated(const struct mr_cgroup *cg, struct mr_error *err)
{
	char text[256];
	uint64_t value;
	ssize_t n = pread(cg->groups[0].file_fd, text, sizeof(text) - 1, 0);

	if (n < 0 && errno == ENODEV)
		return 0; /* removed */
	if (n < 0)
		return mr_err(err, MR_E_SYS, errno, "read cgroup.events of %s: %m", cg->path);
	text[n] = '\0';
	value = mr_stats_keyed(text, "populated");
	if (value == MR_STAT_UNKNOWN)
		return mr_err(err, MR_E_KERNEL, EBADMSG, "no populated in cgroup.events of %s",
			      cg->path);
	return value != 0;
}

int mr_cgroup_pids(const struct mr_cgroup *cg, pid_t *pids, size_t cap, size_t *ret_n,
		   struct mr_error *err)
{
	return mr_tree_pids(cg->groups[0].dir_fd, pids, cap, ret_n, err);
}

int mr_cgroup_oom_fd(const struct mr_cgroup *cg, short *ret_events)
{
	for (size_t i = 0; i < cg->n && !cg->oom->tried; i++) {
		const struct mr_group *g = &cg->groups[i];

		if (g->controllers & MR_CONTROLLER_BIT(MR_CONTROLLER_MEMORY))
			g->ops->watch_oom(g, cg->oom); /* stays -1 when it cannot */
	}
	cg->oom->tried = true;
	*ret_events = cg->oom->events;
	return cg->oom->fd;
}

int mr_cgroup_stats(const struct mr_cgroup *cg, struct mr_cgroup_stats *ret, struct mr_error *err)
{
	struct mr_cgroup_stats stats;

	(void)err; /* what cannot be read is unknown, which is not a failure */
	mr_stats_init(&stats);
	for (size_t i = 0; i < cg->n; i++) {
		const struct mr_group *g = &cg->groups[i];

		mr_stats_read(g->dir_fd, g->ops->stats, g->ops->n_stats, g->controllers, &stats);
		if (g->ops->finish_stats)
			g->ops->finish_stats(g, &stats);
	}
	*ret = stats;
	return 0;
}

int mr_cgroup_cpu_usage_us(const struct mr_cgroup *cg, uint64_t *ret, struct mr_error *err)
{
	char text[1024];
	ssize_t n = mr_read_file_at(cg->groups[0].dir_fd, "cpu.stat", text, sizeof(text));

	if (n < 0)
		return mr_err(err, MR_E_SYS, (int)-n, "read cpu.stat of %s: %m", cg->path);
	*ret = mr_stats_keyed(text, "usage_usec");
	return 0;
}

/* True when a group above BASE's children has a memory limit that was hit. */
static bool is_hit_above(const struct mr_group *g)
{
	mr_auto_close int fd = fcntl(g->base_fd, F_DUPFD_CLOEXEC, 3);

	for (int i = 0; fd >= 0 && i < ANCESTORS_MAX; i++) {
		struct statfs fs;
		int up;

		/* Above the mount point is another file system. */
		if (fstatfs(fd, &fs) < 0 || fs.f_type != g->ops->fs_magic)
			return false;
		if (g->ops->was_hit(fd) > 0)
			return true;
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		mr_close(fd);
		fd = up;
	}
	return false;
}

const char *mr_cgroup_oom_level(const struct mr_cgroup *cg, const struct mr_cgroup_stats *stats)
{
	bool killed = stats->oom_kills != MR_STAT_UNKNOWN && stats->oom_kills > 0;
	bool ran_out = stats->oom_events != MR_STAT_UNKNOWN && stats->oom_events > 0;

	if (!killed && !ran_out)
		return NULL;
	if (ran_out)
		return "sandbox";
	for (size_t i = 0; i < cg->n; i++) {
		const struct mr_group *g = &cg->groups[i];

		if (!(g->controllers & MR_CONTROLLER_BIT(MR_CONTROLLER_MEMORY)))
			continue;
		/* v2 would have counted an oom event for a limit of the sandbox's own. */
		if (stats->oom_events == MR_STAT_UNKNOWN && g->ops->was_hit(g->dir_fd) > 0)
			return "sandbox";
		if (is_hit_above(g))
			return "parent";
	}
	return "host";
}

static uint64_t now_ms(void)
{
	return mr_clock_ns(MR_CLOCK_MONOTONIC) / 1000000;
}

/* Wait for cgroup.events to say empty; 1 while it is not and the deadline passed. */
static int wait_empty(const struct mr_cgroup *cg, uint64_t deadline, struct mr_error *err)
{
	struct pollfd p = { .fd = cg->groups[0].file_fd, .events = POLLPRI };

	for (;;) {
		int r = cg->groups[0].dir_fd < 0 ? 0 : mr_cgroup_populated(cg, err);
		uint64_t now;

		if (r <= 0)
			return r;
		now = now_ms();
		if (now >= deadline)
			return 1;
		if (poll(&p, 1, (int)(deadline - now)) < 0 && errno != EINTR)
			return mr_err(err, MR_E_SYS, errno, "wait for %s to empty: %m", cg->path);
	}
}

/* rmdir; a group may stay busy for an instant after its last process left. */
static int remove_group(const struct mr_cgroup *cg, const struct mr_group *g, uint64_t deadline)
{
	struct pollfd p = { .fd = cg->groups[0].file_fd, .events = POLLPRI };
	int r;

	if (g->parent_fd < 0)
		return 0;
	for (;;) {
		r = mr_tree_remove(g->parent_fd, cg->name);
		if (r != -EBUSY || now_ms() >= deadline)
			break;
		poll(&p, p.fd >= 0, MR_PATIENCE_MS(CGROUP_LOOK));
	}
	if (r == -ENOTDIR)
		r = 0; /* a file of the kernel by that name, no group */
	if (r == 0)
		remove_parent(g);
	return r;
}

static int err_busy(const struct mr_cgroup *cg, struct mr_error *err)
{
	size_t n = 0;

	mr_tree_pids(cg->groups[0].dir_fd, NULL, 0, &n, NULL);
	return mr_err(err, MR_E_BUSY, EBUSY, "remove cgroup %s: %zu processes are left in it",
		      cg->path, n);
}

static int destroy_until(const struct mr_cgroup *cg, uint64_t deadline, struct mr_error *err)
{
	int first, r;

	if (cg->n == 0)
		return 0;
	r = wait_empty(cg, deadline, err);
	if (r > 0)
		return err_busy(cg, err);
	first = r;
	for (size_t i = cg->n; i-- > 0;) {
		r = remove_group(cg, &cg->groups[i], deadline);
		if (r < 0 && first == 0)
			first = mr_err(err, r == -EBUSY ? MR_E_BUSY : MR_E_SYS, -r,
				       "remove cgroup %s (%s): %m", cg->path, i == 0 ? "v2" : "v1");
	}
	return first;
}

int mr_cgroup_destroy(const struct mr_cgroup *cg, struct mr_error *err)
{
	return destroy_until(cg, now_ms() + MR_PATIENCE_MS(CGROUP_EMPTY), err);
}

/* What exists of BASE/menace/NAME, with dir_fd -1 where it does not. */
static int find_groups(const struct mr_cgroup_host *host, struct mr_cgroup *cg,
		       struct mr_error *err)
{
	for (size_t i = 0; i < host->n; i++) {
		struct mr_group *g = &cg->groups[i];
		int r = init_group(host, i, ~0U, g);

		if (r < 0)
			return mr_err(err, MR_E_SYS, -r, "duplicate a descriptor: %m");
		cg->n++;
		r = open_parent(g->base_fd);
		if (r >= 0) {
			g->parent_fd = r;
			r = open_dir(g, cg->name);
		}
		if (r == -ENOENT || r == -ENOTDIR)
			continue;
		if (r == 0 && i == 0)
			r = open_file(cg, g, err);
		if (r < 0)
			return mr_err(err, MR_E_SYS, -r, "open %s/" MR_CGROUP_PARENT "/%s: %m",
				      host->h[i].dir, cg->name);
	}
	return 0;
}

/* A process is in the v2 group before it joins those of v1, so killing there reaches all of
 * them; the v1 lists matter only where the v2 group is gone. */
static int kill_stale(const struct mr_cgroup *cg, unsigned int timeout_ms, struct mr_error *err)
{
	int r = 0;

	if (cg->groups[0].dir_fd >= 0)
		return mr_cgroup_kill(cg, err);
	for (size_t i = 1; i < cg->n && r == 0; i++)
		if (cg->groups[i].dir_fd >= 0)
			r = mr_tree_kill(cg->groups[i].dir_fd, timeout_ms, err);
	return r;
}

int mr_cgroup_sweep(const struct mr_cgroup_host *host, const char *name, unsigned int timeout_ms,
		    struct mr_error *err)
{
	uint64_t deadline = now_ms() + timeout_ms;
	struct mr_cgroup *cg;
	int r = check_name(name, err);

	if (r < 0 || host->mode == MR_CGROUP_NONE)
		return r;
	cg = alloc_cgroup(host, name);
	if (!cg)
		return mr_err(err, MR_E_SYS, ENOMEM, "sweep cgroup %s: %m", name);
	r = find_groups(host, cg, err);
	if (r == 0)
		r = kill_stale(cg, timeout_ms, err);
	if (r == 0)
		r = destroy_until(cg, deadline, err);
	mr_cgroup_free(cg);
	return r < 0 ? mr_err_wrap(err, r, "sweep cgroup %s", name) : 0;
}

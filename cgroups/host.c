/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host: which hierarchies there are, and where our BASE is in each
 *
 * BASE is our own group, so that what limits us limits our sandboxes too.  The
 * exception is root on pure v2: there our own group has processes and cannot
 * pass controllers on, so the hierarchy's root is taken where it is writable.
 *
 * Nothing is created or changed here.  A controller that cannot be used has its
 * reason written down; whoever asks for a limit of it later is told.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cgroups/hierarchy.h"
#include "cgroups/mounts.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"

#define PROC_TEXT_MAX (1 << 22) /* mountinfo of a host with 20,000 mounts */
#define DELEGATE_HINT \
	"run as root, or in a delegated group (systemd-run --user --scope -p Delegate=yes ...)"

/* A file of /proc whole; NULL with errno. */
static char *read_proc(const char *path)
{
	mr_auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	mr_auto_free char *text = NULL;
	size_t used = 0;

	if (fd < 0)
		return NULL;
	for (size_t size = 16384; size <= PROC_TEXT_MAX; size *= 2) {
		char *bigger = realloc(text, size);
		ssize_t n;

		if (!bigger)
			return NULL;
		text = bigger;
		n = mr_read_full(fd, text + used, size - used - 1);
		if (n < 0) {
			errno = (int)-n;
			return NULL;
		}
		used += (size_t)n;
		text[used] = '\0';
		if (used < size - 1)
			return mr_take_ptr(text);
	}
	errno = EFBIG;
	return NULL;
}

/* Mask of the names in a list like "cpuset cpu memory pids\n". */
static unsigned int parse_controllers(char *text)
{
	unsigned int mask = 0;
	char *save = NULL;

	for (char *w = strtok_r(text, " \n", &save); w; w = strtok_r(NULL, " \n", &save))
		for (enum mr_controller c = 0; c < MR_CONTROLLER_COUNT_; c++)
			if (strcmp(w, mr_limits_controller_name(c)) == 0)
				mask |= MR_CONTROLLER_BIT(c);
	return mask;
}

static unsigned int controllers_at(int dir_fd)
{
	char text[256];

	if (mr_read_file_at(dir_fd, "cgroup.controllers", text, sizeof(text)) < 0)
		return 0;
	return parse_controllers(text);
}

/* Take "a/b/menace-supervisor" as "a/b": an earlier call moved us there to free BASE. */
static void leave_leaf(char *path)
{
	static const char leaf[] = MR_CGROUP_LEAF;
	size_t n = strlen(path);

	if (n < sizeof(leaf) - 1 || strcmp(path + n - (sizeof(leaf) - 1), leaf) != 0)
		return;
	n -= sizeof(leaf) - 1;
	if (n == 0)
		path[0] = '\0';
	else if (path[n - 1] == '/')
		path[n == 1 ? 1 : n - 1] = '\0'; /* the root keeps its slash */
}

/* Open BELOW of the mount as h's BASE.  On failure *why gets the reason (to free). */
static int open_base(const struct mr_hierarchy_ops *ops, const struct mr_mount *mount,
		     const char *below, struct mr_hierarchy *h, char **why)
{
	mr_auto_close int fd = -1;
	mr_auto_free char *dir = NULL;
	struct statfs fs;

	*h = (struct mr_hierarchy){ .ops = ops, .base_fd = -1 };
	if (asprintf(&dir, "%s%s%s", mount->point, *below ? "/" : "", below) < 0) {
		dir = NULL;
		return -ENOMEM;
	}
	fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return asprintf(why, "open %s: %m", dir) < 0 ? -ENOMEM : -EACCES;
	/* Something else may be mounted over it by now. */
	if (fstatfs(fd, &fs) < 0 || fs.f_type != ops->fs_magic)
		return asprintf(why, "%s is covered by another file system", dir) < 0 ? -ENOMEM
										      : -EACCES;
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return asprintf(why, "%s is not writable for uid %d: %m; " DELEGATE_HINT, dir,
				(int)geteuid()) < 0
			       ? -ENOMEM
			       : -EACCES;
	h->base_fd = mr_take_fd(fd);
	h->dir = mr_take_ptr(dir);
	return 0;
}

static int open_v2(const struct mr_mount *mount, struct mr_hierarchy *h, char **why)
{
	mr_auto_free char *own = strdup(mount->own);
	mr_auto_free char *below = strdup(mount->below);
	int r = -EACCES;

	if (!own || !below)
		return -ENOMEM;
	leave_leaf(own);
	leave_leaf(below);
	if (*below && geteuid() == 0) {
		r = open_base(&mr_v2_ops, mount, "", h, why);
		/* Without controllers (hybrid) the root has no advantage over our own group. */
		if (r == 0 && (h->controllers = controllers_at(h->base_fd)) != 0) {
			own[strlen(own) - strlen(below)] = '\0';
			if (strlen(own) > 1 && own[strlen(own) - 1] == '/')
				own[strlen(own) - 1] = '\0';
			h->path = mr_take_ptr(own);
			return 0;
		}
		if (r == 0) {
			h->base_fd = mr_close(h->base_fd);
			free(mr_take_ptr(h->dir));
		} else {
			free(mr_take_ptr(*why));
		}
	}
	r = open_base(&mr_v2_ops, mount, below, h, why);
	if (r < 0)
		return r;
	h->controllers = controllers_at(h->base_fd);
	h->path = mr_take_ptr(own);
	return 0;
}

static void deinit_hierarchy(struct mr_hierarchy *h)
{
	h->base_fd = mr_close(h->base_fd);
	free(h->dir);
	free(h->path);
}

/* Several controllers may share one v1 hierarchy ("cpu,cpuacct" mounts and the like). */
static struct mr_hierarchy *find_shared(struct mr_cgroup_host *host, const struct mr_mounts *mounts,
					enum mr_controller c)
{
	for (enum mr_controller other = 0; other < c; other++) {
		const char *point = mounts->v1[other].point;

		if (!point || strcmp(point, mounts->v1[c].point) != 0)
			continue;
		for (size_t i = 1; i < host->n; i++)
			if (host->h[i].controllers & MR_CONTROLLER_BIT(other))
				return &host->h[i];
	}
	return NULL;
}

static int add_v1(struct mr_cgroup_host *host, const struct mr_mounts *mounts, enum mr_controller c)
{
	const struct mr_mount *mount = &mounts->v1[c];
	struct mr_hierarchy *h;
	int r;

	if (!mount->point)
		return 0;
	h = find_shared(host, mounts, c);
	if (!h) {
		h = &host->h[host->n];
		r = open_base(&mr_v1_ops, mount, mount->below, h, &host->absent[c]);
		if (r < 0)
			return r == -ENOMEM ? r : 0;
		host->n++;
		h->path = strdup(mount->own);
		if (!h->path)
			return -ENOMEM;
	}
	h->controllers |= MR_CONTROLLER_BIT(c);
	host->controllers |= MR_CONTROLLER_BIT(c);
	return 0;
}

/* The first of the limits' controllers that is absent makes host->why. */
static int explain_absent(struct mr_cgroup_host *host)
{
	for (enum mr_controller c = 0; c < MR_CONTROLLER_IO; c++) {
		const char *name = mr_limits_controller_name(c);

		if (host->controllers & MR_CONTROLLER_BIT(c))
			continue;
		if (!host->absent[c] &&
		    asprintf(&host->absent[c], "%s does not offer it, and no v1 hierarchy does",
			     host->h[0].dir) < 0)
			return -ENOMEM;
		if (!host->why[0])
			snprintf(host->why, sizeof(host->why), "no %s controller: %s", name,
				 host->absent[c]);
	}
	return 0;
}

static int fill_host(struct mr_cgroup_host *host, const struct mr_mounts *mounts)
{
	mr_auto_free char *why = NULL;
	int r;

	if (!mounts->v2.point) {
		snprintf(host->why, sizeof(host->why),
			 "no cgroup2 mount shows our own group (mount -t cgroup2 none "
			 "/sys/fs/cgroup)");
		return 0;
	}
	r = open_v2(&mounts->v2, &host->h[0], &why);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		snprintf(host->why, sizeof(host->why), "%s", why);
		return 0;
	}
	host->n = 1;
	host->controllers = host->h[0].controllers;
	for (enum mr_controller c = 0; c < MR_CONTROLLER_IO; c++) {
		if (host->controllers & MR_CONTROLLER_BIT(c))
			continue;
		r = add_v1(host, mounts, c);
		if (r < 0)
			return r;
	}
	host->mode = host->n > 1 ? MR_CGROUP_HYBRID : MR_CGROUP_V2;
	return explain_absent(host);
}

int mr_cgroup_detect(struct mr_cgroup_host **ret, struct mr_error *err)
{
	mr_auto_free char *mountinfo = read_proc("/proc/self/mountinfo");
	mr_auto_free char *own = read_proc("/proc/self/cgroup");
	struct mr_cgroup_host *host = calloc(1, sizeof(*host));
	struct mr_mounts mounts = { 0 };
	int r = host ? 0 : -ENOMEM;

	if (host)
		host->cpus = MR_UNLIMITED;
	if (r == 0 && (!mountinfo || !own)) {
		snprintf(host->why, sizeof(host->why), "cannot read /proc/self/%s: %m",
			 mountinfo ? "cgroup" : "mountinfo");
		*ret = host;
		return 0;
	}
	if (r == 0)
		r = mr_mounts_parse(mountinfo, own, &mounts);
	if (r == 0)
		r = fill_host(host, &mounts);
	mr_mounts_deinit(&mounts);
	if (r < 0) {
		mr_cgroup_host_free(host);
		return mr_err(err, MR_E_SYS, -r, "find the cgroup hierarchies: %m");
	}
	*ret = host;
	return 0;
}

struct mr_cgroup_host *mr_cgroup_host_free(struct mr_cgroup_host *host)
{
	if (!host)
		return NULL;
	for (size_t i = 0; i < host->n; i++) {
		if (host->keeps_parent) /* not empty: somebody else's, who removes it */
			(void)unlinkat(host->h[i].base_fd, MR_CGROUP_PARENT, AT_REMOVEDIR);
		deinit_hierarchy(&host->h[i]);
	}
	for (size_t c = 0; c < N_ELEMENTS(host->absent); c++)
		free(host->absent[c]);
	free(host);
	return NULL;
}

void mr_cgroup_host_keep_parent(struct mr_cgroup_host *host)
{
	host->keeps_parent = true;
}

enum mr_cgroup_mode mr_cgroup_host_mode(const struct mr_cgroup_host *host)
{
	return host->mode;
}

const char *mr_cgroup_mode_name(enum mr_cgroup_mode mode)
{
	static const char *const names[] = {
		[MR_CGROUP_NONE] = "none",
		[MR_CGROUP_V2] = "v2",
		[MR_CGROUP_HYBRID] = "hybrid",
	};

	return names[mode];
}

const char *mr_cgroup_host_why(const struct mr_cgroup_host *host)
{
	return host->why;
}

static int open_of(const struct mr_mount *mount, struct mr_error *err)
{
	mr_auto_close int fd = -1;
	mr_auto_free char *dir = NULL;
	struct statfs fs;

	if (!mount->point)
		return mr_err(err, MR_E_KERNEL, ENOENT,
			      "its control group is in no v2 hierarchy that is mounted here");
	if (asprintf(&dir, "%s%s%s", mount->point, *mount->below ? "/" : "", mount->below) < 0) {
		dir = NULL;
		return mr_err(err, MR_E_SYS, ENOMEM, "control group: %m");
	}
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return mr_err(err, MR_E_SYS, errno, "open control group %s: %m", dir);
	if (fs.f_type != mr_v2_ops.fs_magic)
		return mr_err(err, MR_E_KERNEL, ENOENT, "%s is covered by another file system",
			      dir);
	return mr_take_fd(fd);
}

int mr_cgroup_open_of(const char *proc_cgroup, struct mr_error *err)
{
	mr_auto_free char *mountinfo = read_proc("/proc/self/mountinfo");
	struct mr_mounts mounts;
	int r;

	if (!mountinfo)
		return mr_err(err, MR_E_SYS, errno, "read /proc/self/mountinfo: %m");
	if (mr_mounts_parse(mountinfo, proc_cgroup, &mounts) < 0)
		return mr_err(err, MR_E_SYS, ENOMEM, "control groups: %m");
	r = open_of(&mounts.v2, err);
	mr_mounts_deinit(&mounts);
	return r;
}

const char *mr_cgroup_host_lacks(const struct mr_cgroup_host *host, enum mr_controller controller)
{
	if (host->mode == MR_CGROUP_NONE)
		return host->why;
	if (host->controllers & MR_CONTROLLER_BIT(controller))
		return NULL;
	return host->absent[controller] ? host->absent[controller] : "absent";
}

uint64_t mr_cgroup_host_cpus(const struct mr_cgroup_host *host)
{
	return host->cpus;
}

/* --- below a group that somebody else has made ------------------------------ */

/* Of v1: a quota above that of the group above is refused, where v2 takes the lesser of the two. */
static uint64_t read_cpus(int dir_fd)
{
	char quota_text[32], period_text[32];
	uint64_t quota = MR_UNLIMITED, period = MR_UNLIMITED, thousand = 0;

	if (mr_read_file_at(dir_fd, "cpu.cfs_quota_us", quota_text, sizeof(quota_text)) <= 0 ||
	    mr_read_file_at(dir_fd, "cpu.cfs_period_us", period_text, sizeof(period_text)) <= 0 ||
	    !mr_limits_parse(quota_text, &quota) || !mr_limits_parse(period_text, &period) ||
	    quota == MR_UNLIMITED || period == MR_UNLIMITED || period == 0 ||
	    __builtin_mul_overflow(quota, 1000, &thousand))
		return MR_UNLIMITED;
	return thousand / period;
}

/* 1: it is not in this hierarchy. */
static int move_below(struct mr_hierarchy *h, const char *name, struct mr_error *err)
{
	mr_auto_close int parent_fd =
		openat(h->base_fd, MR_CGROUP_PARENT, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	mr_auto_close int fd = -1;
	char *dir, *path;

	if (parent_fd >= 0)
		fd = openat(parent_fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 1;
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s/" MR_CGROUP_PARENT "/%s: %m", h->dir,
			      name);
	if (asprintf(&dir, "%s/" MR_CGROUP_PARENT "/%s", h->dir, name) < 0)
		return mr_err(err, MR_E_SYS, ENOMEM, "control group %s: %m", name);
	if (asprintf(&path, "%s/" MR_CGROUP_PARENT "/%s", strcmp(h->path, "/") ? h->path : "",
		     name) < 0) {
		free(dir);
		return mr_err(err, MR_E_SYS, ENOMEM, "control group %s: %m", name);
	}
	deinit_hierarchy(h);
	h->base_fd = mr_take_fd(fd);
	h->dir = dir;
	h->path = path;
	return 0;
}

int mr_cgroup_host_below(struct mr_cgroup_host *host, const char *name, struct mr_error *err)
{
	if (host->mode == MR_CGROUP_NONE)
		return mr_err(err, MR_E_KERNEL, EOPNOTSUPP, "no usable cgroups: %s", host->why);
	if (!mr_cgroup_name_ok(name))
		return mr_err(err, MR_E_USAGE, EINVAL, "\"%.80s\" is not the name of a group",
			      name);
	for (size_t i = 0; i < host->n; i++) {
		struct mr_hierarchy *h = &host->h[i];
		int r = move_below(h, name, err);

		if (r < 0)
			return r;
		if (r > 0 && i == 0)
			return mr_err(err, MR_E_USAGE, ENOENT,
				      "there is no control group %s/" MR_CGROUP_PARENT "/%s",
				      h->dir, name);
		if (r > 0)
			continue;
		if (h->ops == &mr_v2_ops) {
			h->controllers = controllers_at(h->base_fd);
			host->controllers = h->controllers;
			for (size_t other = 1; other < host->n; other++)
				host->controllers |= host->h[other].controllers;
			continue;
		}
		host->always |= h->controllers;
		if (h->controllers & MR_CONTROLLER_BIT(MR_CONTROLLER_CPU))
			host->cpus = read_cpus(h->base_fd);
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroup v2
 *
 * Which files are limits and statistics, and how a controller reaches a group:
 * it must be enabled in cgroup.subtree_control of BASE and of BASE/menace, and
 * the kernel refuses that (EBUSY, "no internal processes") while BASE itself
 * holds processes and is not the root.  When that process is only ourselves, we
 * step aside into the leaf BASE/menace-supervisor; that is the one place where
 * this folder moves a process, once in the life of BASE and never per run.
 *
 * On a hybrid host the hierarchy has no controllers: then it gives identity,
 * kill, cpu.stat and pressure, and the tables below find no files.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cgroups/hierarchy.h"
#include "cgroups/tree.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"

static const struct mr_limit_file limit_files[] = {
	MR_LIMIT_ROW("memory_max_bytes", "memory.max", memory_max, MEMORY, MAX),
	MR_LIMIT_ROW("swap_max_bytes", "memory.swap.max", swap_max, MEMORY, MAX),
	MR_LIMIT_ROW("pids_max", "pids.max", pids_max, PIDS, MAX),
	MR_LIMIT_ROW("cpu_quota_us", "cpu.max", cpu_quota_us, CPU, QUOTA),
};

static const struct mr_stat_file stat_files[] = {
	{ "cpu.stat",
	  MR_STAT_FORM_KEYED,
	  MR_CONTROLLER_COUNT_,
	  { { "usage_usec", MR_STAT_AT(cpu_usage_us), 0 },
	    { "user_usec", MR_STAT_AT(cpu_user_us), 0 },
	    { "system_usec", MR_STAT_AT(cpu_system_us), 0 },
	    { "nr_throttled", MR_STAT_AT(cpu_nr_throttled), 0 },
	    { "throttled_usec", MR_STAT_AT(cpu_throttled_us), 0 } } },
	/* Read in this order, what is used now is not over the peak. */
	MR_STAT_SINGLE("memory.current", MEMORY, memory_current_bytes),
	MR_STAT_SINGLE("memory.peak", MEMORY, memory_peak_bytes),
	{ "memory.events",
	  MR_STAT_FORM_KEYED,
	  MR_CONTROLLER_MEMORY,
	  { { "max", MR_STAT_AT(memory_max_events), 0 },
	    { "oom", MR_STAT_AT(oom_events), 0 },
	    { "oom_kill", MR_STAT_AT(oom_kills), 0 },
	    { "oom_group_kill", MR_STAT_AT(oom_group_kills), 0 } } },
	{ "memory.stat",
	  MR_STAT_FORM_KEYED,
	  MR_CONTROLLER_MEMORY,
	  { { "pgfault", MR_STAT_AT(pgfault), 0 }, { "pgmajfault", MR_STAT_AT(pgmajfault), 0 } } },
	MR_STAT_PIDS,
	{ "io.stat",
	  MR_STAT_FORM_IO,
	  MR_CONTROLLER_IO,
	  { { "rbytes", MR_STAT_AT(io_read_bytes), 0 },
	    { "wbytes", MR_STAT_AT(io_write_bytes), 0 },
	    { "rios", MR_STAT_AT(io_read_ops), 0 },
	    { "wios", MR_STAT_AT(io_write_ops), 0 } } },
	{ "cpu.pressure",
	  MR_STAT_FORM_PSI,
	  MR_CONTROLLER_COUNT_,
	  { { "some", MR_STAT_AT(psi_cpu_some_us), 0 } } },
	{ "memory.pressure",
	  MR_STAT_FORM_PSI,
	  MR_CONTROLLER_COUNT_,
	  { { "some", MR_STAT_AT(psi_memory_some_us), 0 },
	    { "full", MR_STAT_AT(psi_memory_full_us), 0 } } },
	{ "io.pressure",
	  MR_STAT_FORM_PSI,
	  MR_CONTROLLER_COUNT_,
	  { { "some", MR_STAT_AT(psi_io_some_us), 0 },
	    { "full", MR_STAT_AT(psi_io_full_us), 0 } } },
};

/* Which of `wanted` are not yet enabled below this directory. */
static unsigned int missing_below(int dir_fd, unsigned int wanted)
{
	char text[256], padded[260];
	unsigned int missing = wanted;
	ssize_t n = mr_read_file_at(dir_fd, "cgroup.subtree_control", text, sizeof(text));

	if (n < 0)
		return wanted;
	text[strcspn(text, "\n")] = '\0';
	snprintf(padded, sizeof(padded), " %s ", text);
	for (enum mr_controller c = 0; c < MR_CONTROLLER_COUNT_; c++) {
		char name[16];

		snprintf(name, sizeof(name), " %s ", mr_limits_controller_name(c));
		if (strstr(padded, name))
			missing &= ~MR_CONTROLLER_BIT(c);
	}
	return missing;
}

static int write_enable(int dir_fd, unsigned int controllers)
{
	char text[64] = "";
	size_t used = 0;

	for (enum mr_controller c = 0; c < MR_CONTROLLER_COUNT_; c++)
		if (controllers & MR_CONTROLLER_BIT(c))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "+%s ",
						 mr_limits_controller_name(c));
	return mr_write_file_at(dir_fd, "cgroup.subtree_control", text);
}

/* All at once, which the kernel does in one pass; where it refuses, one by one, so that one
 * refusal costs one controller and only a required one is an error. */
static int enable_below(int dir_fd, unsigned int wanted, unsigned int required)
{
	unsigned int missing = missing_below(dir_fd, wanted);

	if (!missing || write_enable(dir_fd, missing) == 0)
		return 0;
	for (enum mr_controller c = 0; c < MR_CONTROLLER_COUNT_; c++) {
		unsigned int bit = MR_CONTROLLER_BIT(c) & missing;
		int r = bit ? write_enable(dir_fd, bit) : 0;

		if (r < 0 && (required & bit))
			return r;
	}
	return 0;
}

/* Processes in the directory itself besides us; negative errno. */
static int count_others(int dir_fd)
{
	char text[4096];
	struct mr_tree_scan scan = { 0 };
	pid_t pids[512];
	int others = 0;
	ssize_t n = mr_read_file_at(dir_fd, "cgroup.procs", text, sizeof(text));

	if (n < 0)
		return (int)n;
	mr_tree_scan(&scan, text, (size_t)n, pids, N_ELEMENTS(pids));
	mr_tree_scan(&scan, NULL, 0, pids, N_ELEMENTS(pids));
	for (size_t i = 0; i < scan.count && i < N_ELEMENTS(pids); i++)
		others += pids[i] != getpid();
	return others;
}

static int step_aside(const struct mr_hierarchy *h, struct mr_error *err)
{
	mr_auto_close int leaf_fd = -1;
	int others = count_others(h->base_fd);
	int r;

	if (others < 0)
		return mr_err(err, MR_E_SYS, -others, "read %s/cgroup.procs: %m", h->dir);
	if (others > 0)
		return mr_err(
			err, MR_E_KERNEL, EBUSY,
			"%s holds %d other processes, and the kernel gives controllers only to "
			"groups without processes of their own; start menace in a group of its "
			"own (systemd-run --scope -p Delegate=yes ..., --user when not root), or "
			"move the others: mkdir %s/init, then write each pid of %s/cgroup.procs "
			"to init/cgroup.procs",
			h->dir, others, h->dir, h->dir);
	if (mkdirat(h->base_fd, MR_CGROUP_LEAF, 0755) < 0 && errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "mkdir %s/" MR_CGROUP_LEAF ": %m", h->dir);
	leaf_fd = openat(h->base_fd, MR_CGROUP_LEAF, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (leaf_fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s/" MR_CGROUP_LEAF ": %m", h->dir);
	r = mr_write_file_at(leaf_fd, "cgroup.procs", "0");
	if (r < 0)
		return mr_err(err, MR_E_SYS, -r, "move to %s/" MR_CGROUP_LEAF ": %m", h->dir);
	return 0;
}

static int prepare(const struct mr_hierarchy *h, int menace_fd, unsigned int wanted,
		   unsigned int required, struct mr_error *err)
{
	int r;

	if (!wanted)
		return 0;
	r = enable_below(h->base_fd, wanted, required);
	if (r == -EBUSY) {
		r = step_aside(h, err);
		if (r < 0)
			return r;
		r = enable_below(h->base_fd, wanted, required);
	}
	if (r < 0)
		return mr_err(err, MR_E_SYS, -r,
			      "enable controllers in %s/cgroup.subtree_control: %m", h->dir);
	r = enable_below(menace_fd, wanted, required);
	if (r < 0) /* -ENOENT, -ENODEV: another run removed it; the caller tries again */
		return mr_err(err, MR_E_SYS, -r,
			      "enable controllers in %s/" MR_CGROUP_PARENT
			      "/cgroup.subtree_control: %m",
			      h->dir);
	return 0;
}

/* First line of /proc/swaps is the heading; a second one is a swap area. */
static bool host_has_swap(void)
{
	char text[512];
	ssize_t n = mr_read_file_at(AT_FDCWD, "/proc/swaps", text, sizeof(text));
	const char *line;

	if (n == -ENOENT)
		return false; /* kernel without swap */
	if (n < 0)
		return true;
	line = strchr(text, '\n');
	return line && line[1] != '\0';
}

static int confine(const struct mr_group *g, const struct mr_limits *limits, char *note,
		   size_t note_size, struct mr_error *err)
{
	struct mr_limits l = *limits;
	int r;

	if ((g->controllers & MR_CONTROLLER_BIT(MR_CONTROLLER_MEMORY)) &&
	    l.swap_max != MR_UNLIMITED && faccessat(g->dir_fd, "memory.swap.max", F_OK, 0) < 0) {
		/* Without swap accounting the limit holds only where there is nothing to limit. */
		if (host_has_swap())
			return mr_err(err, MR_E_KERNEL, ENOENT,
				      "set limit: swap_max_bytes: this kernel does not count swap "
				      "(no memory.swap.max; boot with swapaccount=1, or swapoff "
				      "-a)");
		snprintf(note, note_size, "swap: not counted by this kernel; the host has none");
		l.swap_max = MR_UNLIMITED;
	}
	r = mr_limits_apply(g->dir_fd, limit_files, N_ELEMENTS(limit_files), g->controllers, &l,
			    err);
	if (r < 0)
		return r;
	/* One process killed out of a tree leaves a half-working program behind. */
	if (g->controllers & MR_CONTROLLER_BIT(MR_CONTROLLER_MEMORY))
		r = mr_write_file_at(g->dir_fd, "memory.oom.group", "1");
	if (r < 0 && r != -ENOENT) /* from 4.19 on */
		return mr_err(err, MR_E_SYS, -r, "set limit: write \"1\" to memory.oom.group: %m");
	return 0;
}

static int show(const struct mr_group *g, struct mr_cgroup_shown *shown, size_t cap, size_t *n,
		struct mr_error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(limit_files); i++) {
		const struct mr_limit_file *file = &limit_files[i];
		uint64_t value, period = MR_UNLIMITED;
		int r;

		if (!(g->controllers & MR_CONTROLLER_BIT(file->controller)))
			continue;
		r = mr_limits_read(g->dir_fd, file, &value, &period);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return mr_err(err, MR_E_SYS, -r, "read %s: %m", file->file);
		mr_hierarchy_show_row(shown, cap, n, file->key, file->file, value);
		if (file->form == MR_LIMIT_FORM_QUOTA)
			mr_hierarchy_show_row(shown, cap, n, "cpu_period_us", file->file, period);
	}
	return 0;
}

static int watch_oom(const struct mr_group *g, struct mr_oom_watch *watch)
{
	char text[256];
	int fd = openat(g->dir_fd, "memory.events", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	/* poll() tells of changes since the last read. */
	if (read(fd, text, sizeof(text)) < 0) {
		mr_close(fd);
		return -errno;
	}
	watch->fd = fd;
	watch->events = POLLPRI;
	return 0;
}

static int was_hit(int dir_fd)
{
	static const struct mr_limit_file *const memory_max = &limit_files[0];
	char text[512];
	uint64_t limit, period, ooms;
	int r = mr_limits_read(dir_fd, memory_max, &limit, &period);
	ssize_t n;

	if (r < 0)
		return r;
	if (limit == MR_UNLIMITED)
		return 0;
	/* .local (5.2) does not count what groups below ran into. */
	n = mr_read_file_at(dir_fd, "memory.events.local", text, sizeof(text));
	if (n == -ENOENT)
		n = mr_read_file_at(dir_fd, "memory.events", text, sizeof(text));
	if (n < 0)
		return (int)n;
	ooms = mr_stats_keyed(text, "oom");
	return ooms != MR_STAT_UNKNOWN && ooms > 0;
}

const struct mr_hierarchy_ops mr_v2_ops = {
	.prepare = prepare,
	.confine = confine,
	.show = show,
	.file = "cgroup.events",
	.file_flags = O_RDONLY,
	.stats = stat_files,
	.n_stats = N_ELEMENTS(stat_files),
	.watch_oom = watch_oom,
	.was_hit = was_hit,
	.fs_magic = CGROUP2_SUPER_MAGIC,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroup v1, for limits on hybrid hosts
 *
 * Used: memory, pids and cpu.  Left out on purpose:
 *   cpuacct  cpu.stat of v2 counts the same without another group to make
 *   blkio    costs as much as the whole v2 group, and does not see buffered
 *            writes (v1 charges write-back to the root): a number that is mostly
 *            0 is worse than "unknown"
 *   freezer  v2 is always there too, with cgroup.freeze or cgroup.kill
 *
 * A process joins by writing "0" to `tasks` itself, through the descriptor in
 * mr_group.file_fd: writing a pid to cgroup.procs takes the kernel's threadgroup
 * lock, and with it an RCU wait of up to 15 ms.  The kernel judges that write by
 * the rights of whoever opened the file.
 *
 * Swap is the odd one: memory.memsw limits memory and swap together, and exists
 * only with swap accounting.  The other is what TCP and UDP sockets hold, which has a
 * limit of its own (named after TCP alone) and is not counted at all without one.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cgroups/hierarchy.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"

/* The kernel gives up on a charge of up to 8 pages when this much is left at most. */
#define HIT_SLACK 65536

/* The period first: a quota is checked against the period in force. */
static const struct mr_limit_file limit_files[] = {
	MR_LIMIT_ROW("memory_max_bytes", "memory.limit_in_bytes", memory_max, MEMORY, MINUS),
	MR_LIMIT_ROW("pids_max", "pids.max", pids_max, PIDS, MAX),
	MR_LIMIT_ROW("cpu_period_us", "cpu.cfs_period_us", cpu_period_us, CPU, MINUS),
	MR_LIMIT_ROW("cpu_quota_us", "cpu.cfs_quota_us", cpu_quota_us, CPU, MINUS),
};

static const struct mr_limit_file memsw_file =
	MR_LIMIT_ROW("swap_max_bytes", "memory.memsw.limit_in_bytes", swap_max, MEMORY, MINUS);

static const struct mr_limit_file swappiness_file =
	MR_LIMIT_ROW("swap_max_bytes", "memory.swappiness", swap_max, MEMORY, MINUS);

static const struct mr_limit_file sockets_file =
	MR_LIMIT_ROW("sockets_max_bytes", "memory.kmem.tcp.limit_in_bytes", memory_max, MEMORY,
		     MINUS);

static const struct mr_stat_file stat_files[] = {
	{ "cpu.stat",
	  MR_STAT_FORM_KEYED,
	  MR_CONTROLLER_CPU,
	  { { "nr_throttled", MR_STAT_AT(cpu_nr_throttled), 0 },
	    { "throttled_time", MR_STAT_AT(cpu_throttled_us), 1000 } } },
	/* Read in this order, what is used now is not over the peak. */
	MR_STAT_SINGLE("memory.usage_in_bytes", MEMORY, memory_current_bytes),
	MR_STAT_SINGLE("memory.max_usage_in_bytes", MEMORY, memory_peak_bytes),
	{ "memory.oom_control",
	  MR_STAT_FORM_KEYED,
	  MR_CONTROLLER_MEMORY,
	  { { "oom_kill", MR_STAT_AT(oom_kills), 0 } } },
	/* With equal limits the kernel charges, and fails, memory and swap together first (and
	 * does not always count it: see was_hit). */
	MR_STAT_SINGLE("memory.failcnt", MEMORY, memory_max_events),
	MR_STAT_SINGLE("memory.memsw.failcnt", MEMORY, memory_max_events),
	{ "memory.stat",
	  MR_STAT_FORM_KEYED,
	  MR_CONTROLLER_MEMORY,
	  { { "total_pgfault", MR_STAT_AT(pgfault), 0 },
	    { "total_pgmajfault", MR_STAT_AT(pgmajfault), 0 } } },
	MR_STAT_PIDS,
};

/* Without memory.memsw swap cannot be counted, only be avoided: stricter than any swap limit,
 * except that the host as a whole may still swap this memory out when it runs short. */
static int avoid_swap(const struct mr_group *g, const char *because, char *note, size_t note_size,
		      struct mr_error *err)
{
	int r = mr_write_file_at(g->dir_fd, swappiness_file.file, "0");

	if (r < 0 && r != -ENOENT) /* absent: a kernel without swap */
		return mr_err(err, MR_E_SYS, -r, "set limit: swap_max_bytes: write \"0\" to %s: %m",
			      swappiness_file.file);
	snprintf(note, note_size, "swap: avoided by memory.swappiness=0 (%s)", because);
	return 0;
}

static int confine_swap(const struct mr_group *g, const struct mr_limits *limits, char *note,
			size_t note_size, struct mr_error *err)
{
	struct mr_limits both = *limits;
	int r;

	if (limits->swap_max == MR_UNLIMITED)
		return 0;
	if (limits->memory_max == MR_UNLIMITED)
		return avoid_swap(g, "cgroup v1 counts swap only on top of a memory limit", note,
				  note_size, err);
	/* memory + swap; a sum beyond 64 bits is no limit that anything could reach */
	if (__builtin_add_overflow(limits->memory_max, limits->swap_max, &both.swap_max))
		return 0;
	r = mr_limits_write(g->dir_fd, &memsw_file, &both, err);
	if (r == -ENOENT)
		return avoid_swap(g, "this kernel has no memory.memsw", note, note_size, err);
	return r < 0 ? mr_err_wrap(err, r, "set limit") : 0;
}

/* Off until it has a limit, and then for sockets made later.  Written only where packets can be:
 * the first such group on a host makes the kernel patch its own code. */
static int confine_sockets(const struct mr_group *g, const struct mr_limits *limits,
			   struct mr_error *err)
{
	int r;

	if (!limits->sockets || limits->memory_max == MR_UNLIMITED)
		return 0;
	r = mr_limits_write(g->dir_fd, &sockets_file, limits, err);
	return r < 0 ? mr_err_wrap(err, r, "set limit") : 0;
}

static int confine(const struct mr_group *g, const struct mr_limits *limits, char *note,
		   size_t note_size, struct mr_error *err)
{
	struct mr_limits l = *limits;
	int r;

	if (l.cpu_quota_us == MR_UNLIMITED)
		l.cpu_period_us = MR_UNLIMITED; /* leave the kernel's own */
	r = mr_limits_apply(g->dir_fd, limit_files, N_ELEMENTS(limit_files), g->controllers, &l,
			    err);
	if (r == -EINVAL && (g->controllers & MR_CONTROLLER_BIT(MR_CONTROLLER_CPU)))
		return mr_err_wrap(err, r, "a group above allows less CPU than is asked");
	if (r < 0)
		return r;
	if (!(g->controllers & MR_CONTROLLER_BIT(MR_CONTROLLER_MEMORY)))
		return 0;
	r = confine_sockets(g, limits, err);
	return r < 0 ? r : confine_swap(g, limits, note, note_size, err);
}

/* The swap row: memory.memsw less memory.limit, or swappiness where that says 0. */
static int show_swap(const struct mr_group *g, uint64_t memory, struct mr_cgroup_shown *shown,
		     size_t cap, size_t *n)
{
	uint64_t value, unused;
	int r = mr_limits_read(g->dir_fd, &swappiness_file, &value, &unused);

	if (r == 0 && value == 0) {
		mr_hierarchy_show_row(shown, cap, n, "swap_max_bytes", swappiness_file.file, 0);
		return 0;
	}
	r = mr_limits_read(g->dir_fd, &memsw_file, &value, &unused);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (value != MR_UNLIMITED)
		value = value > memory ? value - memory : 0;
	mr_hierarchy_show_row(shown, cap, n, "swap_max_bytes", memsw_file.file, value);
	return 0;
}

/* The row of sockets, where they have a limit. */
static int show_sockets(const struct mr_group *g, struct mr_cgroup_shown *shown, size_t cap,
			size_t *n)
{
	uint64_t value, unused;
	int r = mr_limits_read(g->dir_fd, &sockets_file, &value, &unused);

	if (r == 0 && value != MR_UNLIMITED)
		mr_hierarchy_show_row(shown, cap, n, sockets_file.key, sockets_file.file, value);
	return r == -ENOENT ? 0 : r;
}

static int show(const struct mr_group *g, struct mr_cgroup_shown *shown, size_t cap, size_t *n,
		struct mr_error *err)
{
	for (size_t i = 0; i < N_ELEMENTS(limit_files); i++) {
		const struct mr_limit_file *file = &limit_files[i];
		uint64_t value, unused;
		int r;

		if (!(g->controllers & MR_CONTROLLER_BIT(file->controller)))
			continue;
		r = mr_limits_read(g->dir_fd, file, &value, &unused);
		if (r < 0)
			return mr_err(err, MR_E_SYS, -r, "read %s: %m", file->file);
		mr_hierarchy_show_row(shown, cap, n, file->key, file->file, value);
		if (file->controller == MR_CONTROLLER_MEMORY)
			r = show_swap(g, value, shown, cap, n);
		if (r < 0)
			return mr_err(err, MR_E_SYS, -r, "read %s: %m", memsw_file.file);
		if (file->controller == MR_CONTROLLER_MEMORY)
			r = show_sockets(g, shown, cap, n);
		if (r < 0)
			return mr_err(err, MR_E_SYS, -r, "read %s: %m", sockets_file.file);
	}
	return 0;
}

/* The kernel ties an eventfd to memory.oom_control for as long as both live; it also signals
 * when the group is removed. */
static int watch_oom(const struct mr_group *g, struct mr_oom_watch *watch)
{
	mr_auto_close int event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	mr_auto_close int control_fd = -1;
	char text[32];
	int r;

	if (event_fd < 0)
		return -errno;
	control_fd = openat(g->dir_fd, "memory.oom_control", O_RDONLY | O_CLOEXEC);
	if (control_fd < 0)
		return -errno;
	snprintf(text, sizeof(text), "%d %d", event_fd, control_fd);
	r = mr_write_file_at(g->dir_fd, "cgroup.event_control", text);
	if (r < 0)
		return r;
	watch->fd = mr_take_fd(event_fd);
	watch->events = POLLIN;
	return 0;
}

static uint64_t read_number(int dir_fd, const char *file)
{
	char text[32];
	uint64_t value;

	if (mr_read_file_at(dir_fd, file, text, sizeof(text)) <= 0 ||
	    !mr_limits_parse(text, &value))
		return MR_STAT_UNKNOWN;
	return value;
}

static bool is_near(uint64_t peak, uint64_t limit)
{
	return peak != MR_STAT_UNKNOWN && limit != MR_UNLIMITED && peak + HIT_SLACK >= limit;
}

/* failcnt alone will not do: some kernels count it for memory but not for memory and swap
 * together, which is charged first, so that a group with both equal fails uncounted. */
static int was_hit(int dir_fd)
{
	static const struct mr_limit_file *const limits[] = { &limit_files[0], &memsw_file };
	static const char *const peaks[] = { "memory.max_usage_in_bytes",
					     "memory.memsw.max_usage_in_bytes" };
	static const char *const counters[] = { "memory.failcnt", "memory.memsw.failcnt" };

	for (size_t i = 0; i < N_ELEMENTS(limits); i++) {
		uint64_t limit, unused, hits;
		int r = mr_limits_read(dir_fd, limits[i], &limit, &unused);

		if (r < 0)
			return i == 0 ? r : 0; /* no swap accounting */
		if (limit == MR_UNLIMITED)
			continue;
		hits = read_number(dir_fd, counters[i]);
		if ((hits != MR_STAT_UNKNOWN && hits > 0) ||
		    is_near(read_number(dir_fd, peaks[i]), limit))
			return 1;
	}
	return 0;
}

/* A 0 that the peak contradicts is not a count (see was_hit). */
static void finish_stats(const struct mr_group *g, struct mr_cgroup_stats *stats)
{
	if (stats->memory_max_events == 0 && is_near(stats->memory_peak_bytes, g->memory_max))
		stats->memory_max_events = MR_STAT_UNKNOWN;
}

const struct mr_hierarchy_ops mr_v1_ops = {
	.confine = confine,
	.show = show,
	.file = "tasks",
	.file_flags = O_WRONLY,
	.stats = stat_files,
	.n_stats = N_ELEMENTS(stat_files),
	.finish_stats = finish_stats,
	.watch_oom = watch_oom,
	.was_hit = was_hit,
	.fs_magic = CGROUP_SUPER_MAGIC,
};

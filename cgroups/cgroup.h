/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroup: one control group of our own, whatever the host's arrangement
 *
 * Modes
 *   v2      one hierarchy does everything (memory, pids, cpu enabled for children)
 *   hybrid  v2 mounted without the controllers (identity, kill, freeze, cpu.stat)
 *           and v1 hierarchies for limits
 *   none    nothing writable (unprivileged without delegation); every call that
 *           needs a group fails with MR_E_KERNEL, the caller decides
 *
 * Groups are made as BASE/menace/NAME, BASE chosen by mr_cgroup_detect().  Only
 * groups below our own "menace" directories are ever written to or removed.
 * Nothing is kept open across mr_cgroup_free() and all paths are walked from the
 * hierarchy's directory descriptor.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cgroups/limits.h"

struct mr_error;
struct mr_cgroup;
struct mr_cgroup_host;

/* Can a group have this name: 1 to 64 of A-Z a-z 0-9 . _ -, and neither "." nor ".."? */
bool mr_cgroup_name_ok(const char *name);

enum mr_cgroup_mode { MR_CGROUP_NONE, MR_CGROUP_V2, MR_CGROUP_HYBRID };

/* Find the hierarchies from /proc/self/mountinfo and /proc/self/cgroup.  Never
 * fails for a host without usable cgroups: the mode is then MR_CGROUP_NONE and
 * mr_cgroup_host_why() says why.  *ret is freed by mr_cgroup_host_free(). */
int mr_cgroup_detect(struct mr_cgroup_host **ret, struct mr_error *err);
struct mr_cgroup_host *mr_cgroup_host_free(struct mr_cgroup_host *host);
/* Many groups will be made and removed: what they are in is not removed with each that was the last,
 * but with the host. */
void mr_cgroup_host_keep_parent(struct mr_cgroup_host *host);
enum mr_cgroup_mode mr_cgroup_host_mode(const struct mr_cgroup_host *host);
const char *mr_cgroup_mode_name(enum mr_cgroup_mode mode);
/* Why limits are not available, or "" when they are. */
const char *mr_cgroup_host_why(const struct mr_cgroup_host *host);

/* From now on BASE is the group BASE/menace/NAME, made by somebody else with mr_cgroup_new(): what limits it
 * limits all that is made below it.  In a hierarchy of v1 that it is not in, BASE stays.  MR_E_USAGE: it is
 * not there. */
int mr_cgroup_host_below(struct mr_cgroup_host *host, const char *name, struct mr_error *err);
/* NULL: limits of this controller can be had; otherwise why not; borrowed. */
const char *mr_cgroup_host_lacks(const struct mr_cgroup_host *host, enum mr_controller controller);
/* Thousandths of a processor that a group may be given at most, where the kernel refuses more (v1, below a
 * group with a limit); else MR_UNLIMITED. */
uint64_t mr_cgroup_host_cpus(const struct mr_cgroup_host *host);

/* Make BASE/menace/NAME in every hierarchy needed and apply the limits.  All or
 * nothing: on failure what was made is removed.  NAME: [A-Za-z0-9._-]{1,64}.
 * EEXIST if the group is there already.  extra_pids is added to pids_max for
 * tasks of ours that live in the group (the sandbox's init). */
int mr_cgroup_new(const struct mr_cgroup_host *host, const char *name,
		  const struct mr_limits *limits, unsigned int extra_pids, struct mr_cgroup **ret,
		  struct mr_error *err);
/* Groups of several runs will be below it: running out of its memory ends the one that is at fault, not
 * all of them.  Before anything is in it. */
int mr_cgroup_share(const struct mr_cgroup *cg, struct mr_error *err);
/* Look at BASE/menace/NAME, made by somebody else: for the calls that read, nothing else.  1 when it
 * is not there. */
int mr_cgroup_open(const struct mr_cgroup_host *host, const char *name, unsigned int extra_pids,
		   struct mr_cgroup **ret, struct mr_error *err);
/* The group of the v2 hierarchy that a process is in, whoever made it, to look at: its folder, which is
 * the caller's, or negative errno.  proc_cgroup: the text of /proc/PID/cgroup. */
int mr_cgroup_open_of(const char *proc_cgroup, struct mr_error *err);
/* Forget the handle and close its descriptors; the group stays.  Returns NULL. */
struct mr_cgroup *mr_cgroup_free(struct mr_cgroup *cg);

/* Directory descriptor for clone3(CLONE_INTO_CGROUP); borrowed. */
int mr_cgroup_v2_fd(const struct mr_cgroup *cg);
/* cgroup id (inode number of the v2 directory). */
uint64_t mr_cgroup_id(const struct mr_cgroup *cg);
/* In the new, still single-threaded child: join the v1 hierarchies by writing "0"
 * to `tasks` through descriptors opened by mr_cgroup_new().  Async-signal-safe. */
int mr_cgroup_enter_v1(const struct mr_cgroup *cg, struct mr_error *err);

/* Change limits of a group that is in use; what is MR_UNLIMITED is left as it is, pids_max cannot be
 * changed.  With swap_max unlimited that of swap stays.  Negative errno where the kernel refuses
 * (v1: -EBUSY for a memory limit under what is used and cannot be given back); then some of them may
 * be changed. */
int mr_cgroup_change(struct mr_cgroup *cg, const struct mr_limits *limits, struct mr_error *err);

/* Move a process of ours, which has no children yet, into the group. */
int mr_cgroup_add(const struct mr_cgroup *cg, pid_t pid, struct mr_error *err);

/* Path of the group in the v2 hierarchy, for the receipt; borrowed. */
const char *mr_cgroup_path(const struct mr_cgroup *cg);

/* What a limit's enforcement has to add ("swap: avoided by memory.swappiness=0 (...)"), or "";
 * borrowed.  For the receipt. */
const char *mr_cgroup_note(const struct mr_cgroup *cg);

/* One limit as the kernel shows it now. */
struct mr_cgroup_shown {
	const char
		*key; /* "memory_max_bytes", "swap_max_bytes", "sockets_max_bytes" (v1), "pids_max",
		      "cpu_quota_us", "cpu_period_us" */
	char file[64]; /* file it was read from, "memory.max" or "memory.limit_in_bytes" */
	uint64_t value; /* MR_UNLIMITED for "max" */
};
/* Fills up to `cap` rows, returns the count in *ret_n. extra_pids is taken off again. */
int mr_cgroup_show_limits(const struct mr_cgroup *cg, struct mr_cgroup_shown *rows, size_t cap,
			  size_t *ret_n, struct mr_error *err);

/* Kill every task in the group and below it: cgroup.kill, or freeze + SIGKILL + thaw
 * repeated until empty where that file is absent.  Does not wait. */
int mr_cgroup_kill(const struct mr_cgroup *cg, struct mr_error *err);
/* Descriptor of cgroup.events: poll it for POLLPRI, then ask mr_cgroup_populated(). Borrowed. */
int mr_cgroup_events_fd(const struct mr_cgroup *cg);
/* 1 populated, 0 empty, negative errno. */
int mr_cgroup_populated(const struct mr_cgroup *cg, struct mr_error *err);
/* Tasks (processes) now in the group; up to cap pids in pids[], total in *ret_n. */
int mr_cgroup_pids(const struct mr_cgroup *cg, pid_t *pids, size_t cap, size_t *ret_n,
		   struct mr_error *err);

/* Descriptor to poll for an out-of-memory event (v2: memory.events by POLLPRI; v1: an
 * eventfd registered at memory.oom_control, POLLIN), or -1 when there is no memory
 * controller.  *ret_events gets the poll mask.  Borrowed.  Registered by the first call, not by
 * mr_cgroup_new(): on v1 that costs about 20 us, and oom_kills of mr_cgroup_stats() is exact
 * without it.  Call it before the sandbox starts; v1 also signals on removal. */
int mr_cgroup_oom_fd(const struct mr_cgroup *cg, short *ret_events);

#define MR_STAT_UNKNOWN UINT64_MAX
/* Every member is MR_STAT_UNKNOWN where this host cannot tell. */
struct mr_cgroup_stats {
	uint64_t cpu_usage_us, cpu_user_us, cpu_system_us; /* cpu.stat of v2 */
	uint64_t cpu_nr_throttled, cpu_throttled_us;
	uint64_t memory_peak_bytes, memory_current_bytes;
	const char *memory_peak_source; /* "memory.peak", "memory.max_usage_in_bytes" or NULL */
	/* Of this group and below.  oom_kills as the kernel counts: with memory.oom.group (v2)
	 * some kernels count the first victim twice. */
	uint64_t oom_events, oom_kills;
	uint64_t oom_group_kills;
	uint64_t memory_max_events; /* times the limit was hit (v2 max; v1 failcnt) */
	uint64_t pgfault, pgmajfault;
	uint64_t pids_peak, pids_current, pids_max_events;
	uint64_t io_read_bytes, io_write_bytes, io_read_ops, io_write_ops;
	uint64_t psi_cpu_some_us, psi_memory_some_us, psi_memory_full_us, psi_io_some_us,
		psi_io_full_us;
};
int mr_cgroup_stats(const struct mr_cgroup *cg, struct mr_cgroup_stats *ret, struct mr_error *err);
/* cpu_usage_us alone, cheap enough for polling. */
int mr_cgroup_cpu_usage_us(const struct mr_cgroup *cg, uint64_t *ret, struct mr_error *err);

/* Level whose memory limit was hit: "sandbox", "parent" (a group above ours) or "host"; NULL
 * when there was no OOM. */
const char *mr_cgroup_oom_level(const struct mr_cgroup *cg, const struct mr_cgroup_stats *stats);

/* rmdir in every hierarchy, sub-groups made inside included, deepest first.
 * -EBUSY while tasks are left.  Our empty "menace" parents are removed too when
 * nobody else uses them. */
int mr_cgroup_destroy(const struct mr_cgroup *cg, struct mr_error *err);

/* The BASE directories of this host, one a line, for the record of a run: whoever sweeps it may
 * itself be in another group.  Returns the length, or -ENAMETOOLONG. */
int mr_cgroup_host_bases(const struct mr_cgroup_host *host, char *buf, size_t size);
/* A host for sweeping only, from such lines.  1 when there is nothing at these places any more
 * (*ret is then NULL). */
int mr_cgroup_host_at(const char *bases, struct mr_cgroup_host **ret, struct mr_error *err);

/* For the sweep of crashed runs: kill and remove BASE/menace/NAME wherever it exists, waiting
 * up to timeout_ms for it to empty.  0 also when there is nothing. */
int mr_cgroup_sweep(const struct mr_cgroup_host *host, const char *name, unsigned int timeout_ms,
		    struct mr_error *err);

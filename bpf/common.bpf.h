/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * What all programs share: the kernel's structs as far as they are used, the maps,
 * and the question whose run a task is
 *
 * Structs are matched by name against the BTF of the running kernel: a member that is
 * elsewhere is found, one that is not there is asked for first.
 */
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/wire.h"

typedef __u64 u64;
typedef __u32 u32;
typedef __u16 u16;
typedef __u8 u8;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	u64 id;
};
struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[1]; /* since 6.1 */
};
struct cgroup___before_6_1 {
	u64 ancestor_ids[1];
};
struct css_set {
	struct cgroup *dfl_cgrp;
};
struct ns_common {
	unsigned int inum;
};
struct pid_namespace {
	unsigned int level;
};
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[1];
};
struct super_block {
	unsigned int s_dev;
};
struct hlist_node;
struct hlist_head {
	struct hlist_node *first;
};
struct inode {
	unsigned long i_ino;
	unsigned int i_nlink;
	struct super_block *i_sb;
	struct hlist_head i_dentry;
};
struct qstr {
	const unsigned char *name;
};
struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
	union {
	} d_u;
};
struct vfsmount {
	struct dentry *mnt_root;
};
struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};
struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};
struct fs_struct {
	struct path root, pwd;
};
struct file {
	struct inode *f_inode;
	struct path f_path;
};
struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff;
	struct file *vm_file;
};
struct linux_binprm {
	const char *filename;
	struct file *file;
	int argc;
};
struct maple_tree {
	void *ma_root;
};
struct maple_range_64 {
	unsigned long pivot[15];
	void *slot[16];
};
struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
};
struct mm_struct {
	unsigned long arg_start, arg_end;
	struct maple_tree mm_mt; /* since 6.1 */
};
typedef struct {
	int counter;
} atomic_t;
struct signal_struct {
	atomic_t live;
	int group_exit_code;
	unsigned int flags;
	unsigned long maxrss; /* pages */
	struct mm_struct *oom_mm;
};
struct sched_entity {
	u64 sum_exec_runtime;
	u64 prev_sum_exec_runtime; /* the same when it came on */
};
struct sched_info {
	unsigned long long run_delay;
};
struct task_io_accounting {
	u64 rchar, wchar, syscr, syscw, read_bytes, write_bytes;
};
struct seccomp {
	int mode;
};
struct fdtable {
	unsigned int max_fds;
	unsigned long *open_fds;
};
struct files_struct {
	struct fdtable *fdt;
};
struct task_struct {
	int pid, tgid;
	int exit_code;
	char comm[16];
	u64 start_boottime;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt;
	struct task_struct *real_parent, *group_leader;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct fs_struct *fs;
	struct files_struct *files;
	struct css_set *cgroups;
	struct sched_entity se;
	struct sched_info sched_info;
	struct task_io_accounting ioac;
	struct seccomp seccomp;
};

#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MR_WIRE_SLOTS * 2);
	__type(key, u64);
	__type(value, struct mr_wire_run);
} runs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MR_WIRE_SLOTS);
	__type(key, u32);
	__type(value, struct mr_wire_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct mr_wire_control);
} control SEC(".maps");

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, MR_RING_VITAL_BYTES);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MR_WIRE_SLOTS *MR_RING_COUNT_);
	__type(key, u32);
	__array(values, struct ring);
} rings SEC(".maps");

/* The run that is being served: its slot and what marks its records. */
struct served {
	struct mr_wire_slot *slot;
	u64 generation;
	u64 rows; /* which of the programs it wants */
	u64 began_ns;
	u32 index;
};

/* Each a function of its own, so that where the member is missing nothing of it is ever reached. */
static __noinline u64 ancestor_id_before_6_1(struct cgroup___before_6_1 *cgrp, u32 depth)
{
	u64 id = 0;

	bpf_probe_read_kernel(&id, sizeof(id), (void *)&cgrp->ancestor_ids[depth]);
	return id;
}

static __noinline u64 ancestor_id_since_6_1(struct cgroup *cgrp, u32 depth)
{
	struct cgroup *up = NULL;

	bpf_probe_read_kernel(&up, sizeof(up), (void *)&cgrp->ancestors[depth]);
	return up ? BPF_CORE_READ(up, kn, id) : 0;
}

/* Not static: the verifier looks at it once, and not for each depth. */
__noinline u64 ancestor_id(u64 group, u32 depth)
{
	struct cgroup *cgrp = (void *)group;

	return bpf_core_field_exists(cgrp->ancestors)
		       ? ancestor_id_since_6_1(cgrp, depth)
		       : ancestor_id_before_6_1((void *)group, depth);
}

/* If this is the group of a run, whatever is made below it is looked for at this depth.  Of a group
 * below it nothing is noted: the payload may make as many as it likes.  false: there is no room. */
static __always_inline bool note_depth(struct cgroup *cgrp)
{
	struct mr_wire_control *c = bpf_map_lookup_elem(&control, &(u32){ 0 });
	u32 depth = (u32)BPF_CORE_READ(cgrp, level);
	u64 id = BPF_CORE_READ(cgrp, kn, id);

	if (!c || !depth || !bpf_map_lookup_elem(&runs, &id))
		return true;
	for (int i = 0; i < MR_WIRE_DEPTHS; i++) {
		u32 old = __sync_val_compare_and_swap(&c->depths[i], 0, depth);

		if (!old || old == depth)
			return true;
	}
	return false;
}

/* A group at or above this one that is observed. */
static __always_inline struct mr_wire_run *find_run_above(struct cgroup *cgrp)
{
	struct mr_wire_control *c = bpf_map_lookup_elem(&control, &(u32){ 0 });
	u64 id = BPF_CORE_READ(cgrp, kn, id);
	struct mr_wire_run *run = bpf_map_lookup_elem(&runs, &id);
	u32 level;

	if (run || !c)
		return run;
	level = (u32)BPF_CORE_READ(cgrp, level);
	for (int i = 0; i < MR_WIRE_DEPTHS; i++) {
		u32 depth = c->depths[i];

		if (!depth)
			return NULL;
		if (depth >= level)
			continue;
		id = ancestor_id((u64)cgrp, depth);
		run = bpf_map_lookup_elem(&runs, &id);
		if (run)
			return run;
	}
	return NULL;
}

/* Its number in its own namespace.  Of whatever is in a run that is the one its init made: no level of
 * the sandbox lets a payload make another. */
static __always_inline u32 inner_pid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);
	struct upid up = {};

	if (!level || level > 32)
		return 0;
	bpf_core_read(&up, bpf_core_type_size(struct upid),
		      (void *)&pid->numbers[0] + level * bpf_core_type_size(struct upid));
	return (u32)up.nr;
}

/* A function of its own: many programs ask, and few runs want to know. */
static __noinline bool is_first(struct task_struct *task)
{
	return inner_pid(task) == 1;
}

/* This one, found by the group of the task; NULL for a first process that is not of it. */
static __always_inline struct mr_wire_run *unless_first(struct task_struct *task,
							struct mr_wire_run *run)
{
	if (run && run->flags & MR_WIRE_RUN_WITHOUT_INIT && is_first(task))
		return NULL;
	return run;
}

static __always_inline struct mr_wire_run *find_run(struct task_struct *task)
{
	return unless_first(task, find_run_above(BPF_CORE_READ(task, cgroups, dfl_cgrp)));
}

/* The same for whoever runs: the kernel tells its groups with less ado. */
static __always_inline struct mr_wire_run *find_current_run(void)
{
	struct mr_wire_control *c = bpf_map_lookup_elem(&control, &(u32){ 0 });
	u64 id = bpf_get_current_cgroup_id();
	struct mr_wire_run *run = bpf_map_lookup_elem(&runs, &id);

	for (int i = 0; c && !run && i < MR_WIRE_DEPTHS; i++) {
		if (!c->depths[i])
			return NULL;
		id = bpf_get_current_ancestor_cgroup_id((int)c->depths[i]);
		if (id) /* not too deep for it */
			run = bpf_map_lookup_elem(&runs, &id);
	}
	return unless_first((void *)bpf_get_current_task(), run);
}

static __always_inline bool wants(u64 rows, enum mr_wire_row row)
{
	return rows >> row & 1;
}

/* A slot that has another generation already went to another run. */
static __always_inline bool serve_run(const struct mr_wire_run *run, struct served *s)
{
	if (!run)
		return false;
	s->index = run->slot;
	s->generation = run->generation;
	s->rows = run->rows;
	s->slot = bpf_map_lookup_elem(&slots, &s->index);
	return s->slot && s->slot->generation == s->generation;
}

/* Whoever runs, or another.  Programs are there for all runs; not each run wants each of them. */
static __always_inline bool serve(struct served *s, enum mr_wire_row row)
{
	s->began_ns = bpf_ktime_get_ns();
	return serve_run(find_current_run(), s) && wants(s->rows, row);
}

static __always_inline bool serve_task(struct task_struct *task, struct served *s,
				       enum mr_wire_row row)
{
	s->began_ns = bpf_ktime_get_ns();
	return serve_run(find_run(task), s) && wants(s->rows, row);
}

static __always_inline void add(u64 *counter, u64 n)
{
	__sync_fetch_and_add(counter, n);
}

#define COUNT(s, name, n) add(&(s)->slot->counters[MR_COUNTER_##name], (n))
/* This kernel does not keep it: not 0, but not known. */
#define ABSENT(s, name) __sync_fetch_and_or(&(s)->slot->absent, 1ULL << MR_COUNTER_##name)

static __always_inline void raise(u64 *counter, u64 n)
{
	/* Bounded: a loser sees a larger value, and gives way to one that is larger still. */
	for (int i = 0; i < 8; i++) {
		u64 old = *counter;

		if (old >= n || __sync_val_compare_and_swap(counter, old, n) == old)
			return;
	}
}

#define SECCOMP_MODE_FILTER 2
/* Whoever has no filter yet is still making the sandbox. */
static __always_inline bool is_filtered(struct task_struct *task)
{
	return BPF_CORE_READ(task, seccomp.mode) == SECCOMP_MODE_FILTER;
}

/* 1 for what is below 0: no comparison, of which the verifier would follow both ways. */
static __always_inline u64 is_negative(u64 n)
{
	barrier_var(n); /* or the compiler makes it one */
	return n >> 63;
}

/* Neither inlined nor static: the verifier looks at it once, and not for each way to it. */
__noinline int bucket_number(u64 ns)
{
	u64 us = ns / 1000, bucket = is_negative(-us);

	for (int shift = 16; shift; shift >>= 1) {
		u64 step = is_negative((1ULL << shift) - 1 - us) * (u64)shift;

		us >>= step;
		bucket += step;
	}
	return bucket < MR_WIRE_BUCKETS ? (int)bucket : MR_WIRE_BUCKETS - 1;
}

/* Of a histogram. */
static __always_inline u32 bucket_of(u64 ns)
{
	return (u32)bucket_number(ns) & (MR_WIRE_BUCKETS - 1);
}

static __always_inline void fill(struct mr_wire_header *h, enum mr_wire_type type, u64 size,
				 const struct served *s, struct task_struct *task)
{
	h->type = type;
	h->size = (__u16)size;
	h->tid = (u32)BPF_CORE_READ(task, pid);
	h->pid = (u32)BPF_CORE_READ(task, tgid);
	h->inner_pid = inner_pid(task);
	h->generation = s->generation;
	h->time_ns = bpf_ktime_get_boot_ns();
}

/* The end of a program that served a run: what it cost is part of the record. */
static __always_inline int served(const struct served *s)
{
	add(&s->slot->programs_ns, bpf_ktime_get_ns() - s->began_ns);
	return 0;
}

/* The ring of a run, with the books kept; NULL: the record is lost. */
static __always_inline void *ring_of(const struct served *s, enum mr_wire_ring ring,
				     enum mr_wire_type type)
{
	u32 index = s->index * MR_RING_COUNT_ + ring;
	void *map = bpf_map_lookup_elem(&rings, &index);

	add(&s->slot->emitted[type], 1);
	if (!map)
		add(&s->slot->lost_ring[type], 1);
	return map;
}

/* One wake-up for each event would cost more than the event; what is vital is rare, and large. */
static __always_inline u64 wake_up(void *map, enum mr_wire_ring ring)
{
	u64 enough = ring == MR_RING_VITAL ? MR_RING_VITAL_BYTES / 32 : MR_RING_EVENTS_BYTES / 4;

	return bpf_ringbuf_query(map, BPF_RB_AVAIL_DATA) >= enough ? BPF_RB_FORCE_WAKEUP
								   : BPF_RB_NO_WAKEUP;
}

/* A crash leaves room for ends: there may be any number of crashes, and they are large. */
static __always_inline bool leaves_room(void *map, enum mr_wire_type type, u64 size)
{
	const u64 most = MR_RING_VITAL_BYTES - MR_RING_VITAL_SPARE_BYTES;

	return type != MR_WIRE_CRASH || bpf_ringbuf_query(map, BPF_RB_AVAIL_DATA) + size <= most;
}

/* Hand a record over. */
static __always_inline void emit(const struct served *s, enum mr_wire_ring ring,
				 enum mr_wire_type type, void *record, u64 size)
{
	void *map = ring_of(s, ring, type);

	if (map && (!leaves_room(map, type, size) ||
		    bpf_ringbuf_output(map, record, size, wake_up(map, ring))))
		add(&s->slot->lost_full[type], 1);
}

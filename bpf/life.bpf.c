/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * Who lived, what was it, how did it end?
 *
 * Fork, exec and exit of every process in a run, and at the end of each thread what the
 * kernel had counted for it.  A process ends with its last thread, whichever that is.
 */
#include "bpf/exit.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* One record being put together on each CPU: it is larger than a stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, char[MR_WIRE_RECORD_MAX]);
} exec_scratch SEC(".maps");

#define PLACE_NAMES 24
#define PLACE_LAST 255 /* where a name may begin */
#define PLACE_CUT 0x10000

struct place {
	char names[MR_WIRE_PLACE_MAX];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2); /* PLACE_FILE, PLACE_CWD */
	__type(key, u32);
	__type(value, struct place);
} places SEC(".maps");
#define PLACE_FILE 0
#define PLACE_CWD 1

SEC("raw_tp/sched_process_fork")
int on_fork(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *parent = (void *)ctx->args[0], *child = (void *)ctx->args[1];
	struct mr_wire_fork e = {};
	struct served s;

	s.began_ns = bpf_ktime_get_ns();
	if (!serve_run(find_run(child), &s))
		return 0;
	/* What looks at packets needs it too, whoever wants to see forks. */
	if (!note_depth(BPF_CORE_READ(child, cgroups, dfl_cgrp)))
		add(&s.slot->failures, 1);
	if (!s.slot->main_pid && is_first(parent))
		__sync_val_compare_and_swap(&s.slot->main_pid, 0, (u64)inner_pid(child));
	if (!wants(s.rows, MR_ROW_on_fork))
		return 0;
	e.child_tid = (u32)BPF_CORE_READ(child, pid);
	e.child_pid = (u32)BPF_CORE_READ(child, tgid);
	if (e.child_tid != e.child_pid) {
		COUNT(&s, threads, 1);
		return served(&s);
	}
	COUNT(&s, forks, 1);
	fill(&e.h, MR_WIRE_FORK, sizeof(e), &s, parent);
	e.start_ns = BPF_CORE_READ(child, start_boottime);
	e.child_inner_pid = inner_pid(child);
	BPF_CORE_READ_STR_INTO(&e.comm, child, comm);
	emit(&s, MR_RING_EVENTS, MR_WIRE_FORK, &e, sizeof(e));
	return served(&s);
}

static __always_inline bool ends_at(const char *text)
{
	char c = 0;

	return !bpf_probe_read_kernel(&c, sizeof(c), text) && !c;
}

/* What is put together here is in parts that are neither inlined nor static: the verifier looks at
 * each once, and not for each way to it.  They find the record by themselves. */
static __always_inline struct mr_wire_exec *exec_record(void)
{
	return bpf_map_lookup_elem(&exec_scratch, &(u32){ 0 });
}

/* The path as it was given to exec, with its NUL. */
__noinline int read_exe(u64 binprm)
{
	struct linux_binprm *bprm = (void *)binprm;
	struct mr_wire_exec *e = exec_record();
	long n;

	if (!e)
		return 0;
	n = bpf_probe_read_kernel_str(e + 1, MR_WIRE_EXE_MAX, BPF_CORE_READ(bprm, filename));
	if (n <= 0 || n > MR_WIRE_EXE_MAX)
		return 0;
	if (n == MR_WIRE_EXE_MAX && !ends_at(BPF_CORE_READ(bprm, filename) + n - 1))
		e->flags |= MR_WIRE_EXEC_EXE_CUT;
	return (int)n;
}

/* The arguments lie in the new program's memory, one after the other; they go behind the path. */
__noinline int read_argv(u64 of, u32 at)
{
	struct task_struct *task = (void *)of;
	struct mr_wire_exec *e = exec_record();
	unsigned long start = BPF_CORE_READ(task, mm, arg_start);
	unsigned long end = BPF_CORE_READ(task, mm, arg_end);
	u64 size = end > start ? end - start : 0;

	if (!e || at > MR_WIRE_EXE_MAX)
		return 0;
	e->argv_bytes = size;
	if (size > MR_WIRE_ARGV_MAX)
		size = MR_WIRE_ARGV_MAX;
	if (size && bpf_probe_read_user((char *)(e + 1) + at, size, (void *)start)) {
		e->flags |= MR_WIRE_EXEC_NO_ARGV;
		return 0;
	}
	return (int)size;
}

static __always_inline struct mount *mount_of(u64 mnt)
{
	return (void *)(mnt - bpf_core_field_offset(struct mount, mnt));
}

/* On the way from an entry up to the root. */
struct climb {
	u64 mnt, entry, root_mnt, root_entry;
	struct place *place;
	u32 at;
	u32 arrived; /* at the root */
};

/* One step: 0 goes on, 1 was the last.  A callback, so that the verifier looks at it once. */
static long climb_one(u32 i, struct climb *c)
{
	struct dentry *d = (void *)c->entry, *parent = BPF_CORE_READ(d, d_parent);
	u64 mnt = c->mnt; /* of our own struct nothing may be inside of BPF_CORE_READ() */
	struct vfsmount *m = (void *)mnt;
	u32 at = c->at;
	long n;

	(void)i;
	if (mnt == c->root_mnt && c->entry == c->root_entry) {
		c->arrived = 1;
		return 1;
	}
	if (d == BPF_CORE_READ(m, mnt_root)) {
		struct mount *upper = BPF_CORE_READ(mount_of(mnt), mnt_parent);

		if (upper == mount_of(mnt))
			return 1; /* of no root that the process could see */
		c->entry = (u64)BPF_CORE_READ(mount_of(mnt), mnt_mountpoint);
		c->mnt = (u64)upper + bpf_core_field_offset(struct mount, mnt);
		return 0;
	}
	if (parent == d || at > PLACE_LAST)
		return 1;
	barrier_var(at); /* two comparisons made one are no bound to an older verifier */
	n = bpf_probe_read_kernel_str(&c->place->names[at & PLACE_LAST], PLACE_LAST + 1,
				      BPF_CORE_READ(d, d_name.name));
	if (n <= 0 || n > PLACE_LAST + 1)
		return 1;
	c->at = at + (u32)n;
	c->entry = (u64)parent;
	return 0;
}

/* The names from an entry up to the root, across mounts, into places[which]: how many bytes, and
 * PLACE_CUT when that is not all; 0 for what is in no folder.  Not inlined, so that the
 * verifier looks at it once. */
__noinline int read_place(u64 mnt, u64 entry, u64 root_mnt, u64 root_entry, u32 which)
{
	struct climb c = { .mnt = mnt,
			   .entry = entry,
			   .root_mnt = root_mnt,
			   .root_entry = root_entry,
			   .place = bpf_map_lookup_elem(&places, &which) };

	_Static_assert((PLACE_LAST & (PLACE_LAST + 1)) == 0, "a mask");
	_Static_assert(2 * (PLACE_LAST + 1) == MR_WIRE_PLACE_MAX, "room for a name");
	if (!c.place)
		return 0;
	bpf_loop(PLACE_NAMES, climb_one, &c, 0);
	if (!c.arrived)
		return (int)(c.at ? c.at | PLACE_CUT : 0);
	if (c.at)
		return (int)c.at;
	c.place->names[0] = '\0'; /* the root itself: one name, empty */
	return 1;
}

/* Append places[which] to the text; its bytes, at most MR_WIRE_PLACE_MAX. */
__noinline int add_place(u32 which, u32 told, u32 at)
{
	struct place *place = bpf_map_lookup_elem(&places, &which);
	struct mr_wire_exec *e = exec_record();
	u32 n = told & (PLACE_CUT - 1);

	if (!place || !e || n > MR_WIRE_PLACE_MAX || at > MR_WIRE_EXEC_TEXT_MAX - MR_WIRE_PLACE_MAX)
		return 0;
	barrier_var(n); /* two comparisons made one are no bound to an older verifier */
	if (!n)
		return 0;
	return bpf_probe_read_kernel((char *)(e + 1) + at, n, place->names) ? 0 : (int)n;
}

static __always_inline u32 find_place(struct mr_wire_exec *e, struct task_struct *task,
				      struct path *path, u32 which, u32 cut)
{
	u32 told = (u32)read_place((u64)BPF_CORE_READ(path, mnt), (u64)BPF_CORE_READ(path, dentry),
				   (u64)BPF_CORE_READ(task, fs, root.mnt),
				   (u64)BPF_CORE_READ(task, fs, root.dentry), which);

	if (told & PLACE_CUT)
		e->flags |= cut;
	return told;
}

static __always_inline void read_file(struct mr_wire_exec *e, struct linux_binprm *bprm,
				      const struct served *s)
{
	struct inode *inode = BPF_CORE_READ(bprm, file, f_inode);

	e->inode = BPF_CORE_READ(inode, i_ino);
	e->device = BPF_CORE_READ(inode, i_sb, s_dev);
	if (BPF_CORE_READ(inode, i_nlink) == 0) {
		e->flags |= MR_WIRE_EXEC_FILELESS;
		COUNT(s, execs_fileless, 1);
	}
}

SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct linux_binprm *bprm = (void *)ctx->args[2];
	struct mr_wire_exec *e;
	struct served s;
	u32 exe, argv, file, cwd;
	struct file *image = BPF_CORE_READ(bprm, file);
	struct fs_struct *fs = BPF_CORE_READ(task, fs);
	u64 size;

	if (!serve(&s, MR_ROW_on_exec))
		return 0;
	COUNT(&s, execs, 1);
	e = exec_record();
	if (!e)
		return 0;
	e->flags = 0;
	e->old_tid = (u32)ctx->args[1];
	e->start_ns = BPF_CORE_READ(task, start_boottime);
	e->parent_pid = (u32)BPF_CORE_READ(task, real_parent, tgid);
	e->argc = (u32)BPF_CORE_READ(bprm, argc);
	BPF_CORE_READ_STR_INTO(&e->comm, task, comm);
	read_file(e, bprm, &s);
	exe = (u32)read_exe((u64)bprm);
	argv = (u32)read_argv((u64)task, exe);
	if (!exe || e->flags & MR_WIRE_EXEC_NO_ARGV)
		add(&s.slot->failures, 1);
	file = find_place(e, task, &image->f_path, PLACE_FILE, MR_WIRE_EXEC_FILE_CUT);
	file = (u32)add_place(PLACE_FILE, file, exe + argv);
	cwd = find_place(e, task, &fs->pwd, PLACE_CWD, MR_WIRE_EXEC_CWD_CUT);
	cwd = (u32)add_place(PLACE_CWD, cwd, exe + argv + file);
	e->exe_bytes = (__u16)exe;
	e->argv_kept = (__u16)argv;
	e->file_bytes = (__u16)file;
	e->cwd_bytes = (__u16)cwd;
	e->reserved = 0;
	size = sizeof(*e) + exe + argv + file + cwd;
	if (size > MR_WIRE_RECORD_MAX)
		return 0; /* never; the verifier cannot know */
	fill(&e->h, MR_WIRE_EXEC, size, &s, task);
	emit(&s, MR_RING_EVENTS, MR_WIRE_EXEC, e, size);
	return served(&s);
}

/* The tracepoint's second argument, where there is one, says that this is the last thread.
 * Elsewhere attaching this is refused, and ends.bpf.c takes its place. */
SEC("raw_tp/sched_process_exit")
int on_exit_told(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct served s;

	if (!serve(&s, MR_ROW_on_exit_told))
		return 0;
	count_thread(task, &s);
	if (ctx->args[1] & 1)
		end_process(task, &s);
	return served(&s);
}

/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * Who lived, what was it, how did it end?
 *
 * Fork, exec and exit of every process in a run, and at the end of each thread what the
 * kernel had counted for it.  A process ends with its last thread, whichever that is.
 */
#include "bpf/common.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define PAGE_BYTES 4096 /* of x86_64 */
#define SIGNAL_GROUP_EXIT 4

#define EXEC_ROOM (MR_WIRE_RECORD_MAX + MR_WIRE_ARGV_MAX) /* slack for the verifier's sums */

/* One record being put together on each CPU: it is larger than a stack. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, char[EXEC_ROOM]);
} exec_scratch SEC(".maps");

/* Processes whose end is counted already, for kernels that do not tell the last thread: of two
 * that end at one moment both may see no other alive. */
struct ended {
	u64 process; /* address of what its threads share */
	u64 start_ns;
	u32 pid;
	u32 reserved;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct ended);
	__type(value, u32);
} ended_once SEC(".maps");

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

/* The path as it was given to exec, with its NUL. */
static __always_inline u32 read_exe(struct mr_wire_exec *e, char *to, struct linux_binprm *bprm)
{
	long n = bpf_probe_read_kernel_str(to, MR_WIRE_EXE_MAX, BPF_CORE_READ(bprm, filename));

	if (n <= 0 || n > MR_WIRE_EXE_MAX)
		return 0;
	if (n == MR_WIRE_EXE_MAX && !ends_at(BPF_CORE_READ(bprm, filename) + n - 1))
		e->flags |= MR_WIRE_EXEC_EXE_CUT;
	return (u32)n;
}

/* The arguments lie in the new program's memory, one after the other. */
static __always_inline u32 read_argv(struct mr_wire_exec *e, void *to, struct task_struct *task)
{
	unsigned long start = BPF_CORE_READ(task, mm, arg_start);
	unsigned long end = BPF_CORE_READ(task, mm, arg_end);
	u64 size = end > start ? end - start : 0;

	e->argv_bytes = size;
	if (size > MR_WIRE_ARGV_MAX)
		size = MR_WIRE_ARGV_MAX;
	if (size && bpf_probe_read_user(to, size, (void *)start)) {
		e->flags |= MR_WIRE_EXEC_NO_ARGV;
		return 0;
	}
	return (u32)size;
}

static __always_inline struct mount *mount_of(u64 mnt)
{
	return (void *)(mnt - bpf_core_field_offset(struct mount, mnt));
}

/* The names from an entry up to the root, across mounts, into places[which]: how many bytes, and
 * PLACE_CUT when that is not all; 0 for what is in no folder.  Not inlined, so that the
 * verifier looks at it once. */
__noinline int read_place(u64 mnt, u64 entry, u64 root_mnt, u64 root_entry, u32 which)
{
	struct place *place = bpf_map_lookup_elem(&places, &which);
	u32 at = 0;

	_Static_assert((PLACE_LAST & (PLACE_LAST + 1)) == 0, "a mask");
	_Static_assert(2 * (PLACE_LAST + 1) == MR_WIRE_PLACE_MAX, "room for a name");
	for (int i = 0; place && i < PLACE_NAMES; i++) {
		struct dentry *d = (void *)entry, *parent = BPF_CORE_READ(d, d_parent);
		struct vfsmount *m = (void *)mnt;
		long n;

		if (mnt == root_mnt && entry == root_entry) {
			if (!at)
				place->names[at++] = '\0'; /* the root itself: one name, empty */
			return (int)at;
		}
		if (d == BPF_CORE_READ(m, mnt_root)) {
			struct mount *upper = BPF_CORE_READ(mount_of(mnt), mnt_parent);

			if (upper == mount_of(mnt))
				break; /* of no root that the process could see */
			entry = (u64)BPF_CORE_READ(mount_of(mnt), mnt_mountpoint);
			mnt = (u64)upper + bpf_core_field_offset(struct mount, mnt);
			continue;
		}
		if (parent == d)
			break;
		barrier_var(at);
		if (at > PLACE_LAST)
			break;
		n = bpf_probe_read_kernel_str(&place->names[at & PLACE_LAST], PLACE_LAST + 1,
					      BPF_CORE_READ(d, d_name.name));
		if (n <= 0 || n > PLACE_LAST + 1)
			break;
		at += (u32)n;
		entry = (u64)parent;
	}
	return (int)(at ? at | PLACE_CUT : 0);
}

/* Append places[which] to the text; its bytes, at most MR_WIRE_PLACE_MAX. */
static __always_inline u32 add_place(char *to, u32 which, u32 told)
{
	struct place *place = bpf_map_lookup_elem(&places, &which);
	u32 n = told & (PLACE_CUT - 1);

	if (!place || n > MR_WIRE_PLACE_MAX)
		return 0;
	barrier_var(n); /* two comparisons made one are no bound to an older verifier */
	if (!n)
		return 0;
	return bpf_probe_read_kernel(to, n, place->names) ? 0 : n;
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
	char *text;
	u64 size;

	if (!serve(task, &s, MR_ROW_on_exec))
		return 0;
	COUNT(&s, execs, 1);
	e = bpf_map_lookup_elem(&exec_scratch, &(u32){ 0 });
	if (!e)
		return 0;
	text = (char *)(e + 1);
	e->flags = 0;
	e->old_tid = (u32)ctx->args[1];
	e->start_ns = BPF_CORE_READ(task, start_boottime);
	e->parent_pid = (u32)BPF_CORE_READ(task, real_parent, tgid);
	e->argc = (u32)BPF_CORE_READ(bprm, argc);
	BPF_CORE_READ_STR_INTO(&e->comm, task, comm);
	read_file(e, bprm, &s);
	exe = read_exe(e, text, bprm);
	if (exe > MR_WIRE_EXE_MAX)
		return 0;
	argv = read_argv(e, text + exe, task);
	if (argv > MR_WIRE_ARGV_MAX)
		return 0;
	if (!exe || e->flags & MR_WIRE_EXEC_NO_ARGV)
		add(&s.slot->failures, 1);
	file = find_place(e, task, &image->f_path, PLACE_FILE, MR_WIRE_EXEC_FILE_CUT);
	file = add_place(text + exe + argv, PLACE_FILE, file);
	cwd = find_place(e, task, &fs->pwd, PLACE_CWD, MR_WIRE_EXEC_CWD_CUT);
	if (file > MR_WIRE_PLACE_MAX)
		return 0;
	cwd = add_place(text + exe + argv + file, PLACE_CWD, cwd);
	if (cwd > MR_WIRE_PLACE_MAX)
		return 0;
	e->exe_bytes = (__u16)exe;
	e->argv_kept = (__u16)argv;
	e->file_bytes = (__u16)file;
	e->cwd_bytes = (__u16)cwd;
	e->reserved = 0;
	size = sizeof(*e) + exe + argv + file + cwd;
	fill(&e->h, MR_WIRE_EXEC, size, &s, task);
	emit(&s, MR_RING_EVENTS, MR_WIRE_EXEC, e, size);
	return served(&s);
}

/* What the kernel counted for a thread: final, and the same whichever thread is the last. */
static __always_inline void count_thread(struct task_struct *task, const struct served *s)
{
	COUNT(s, minor_faults, BPF_CORE_READ(task, min_flt));
	COUNT(s, major_faults, BPF_CORE_READ(task, maj_flt));
	COUNT(s, voluntary_switches, BPF_CORE_READ(task, nvcsw));
	COUNT(s, involuntary_switches, BPF_CORE_READ(task, nivcsw));
	if (bpf_core_field_exists(task->sched_info.run_delay))
		COUNT(s, run_delay_ns, BPF_CORE_READ(task, sched_info.run_delay));
	else
		ABSENT(s, run_delay_ns);
	if (bpf_core_field_exists(task->ioac.rchar)) {
		COUNT(s, read_bytes, BPF_CORE_READ(task, ioac.rchar));
		COUNT(s, written_bytes, BPF_CORE_READ(task, ioac.wchar));
		COUNT(s, read_calls, BPF_CORE_READ(task, ioac.syscr));
		COUNT(s, write_calls, BPF_CORE_READ(task, ioac.syscw));
	} else {
		ABSENT(s, read_bytes);
		ABSENT(s, written_bytes);
		ABSENT(s, read_calls);
		ABSENT(s, write_calls);
	}
	if (bpf_core_field_exists(task->ioac.read_bytes)) {
		COUNT(s, storage_read_bytes, BPF_CORE_READ(task, ioac.read_bytes));
		COUNT(s, storage_written_bytes, BPF_CORE_READ(task, ioac.write_bytes));
	} else {
		ABSENT(s, storage_read_bytes);
		ABSENT(s, storage_written_bytes);
	}
}

/* As wait() tells it.  Where the threads ended one by one, that is the last one's since 5.17, the
 * first one's before. */
static __always_inline u32 wait_status(struct task_struct *leader, struct signal_struct *sig)
{
	return (u32)(BPF_CORE_READ(sig, flags) & SIGNAL_GROUP_EXIT
			     ? BPF_CORE_READ(sig, group_exit_code)
			     : BPF_CORE_READ(leader, exit_code));
}

static __always_inline void end_process(struct task_struct *task, const struct served *s)
{
	struct task_struct *leader = BPF_CORE_READ(task, group_leader);
	struct signal_struct *sig = BPF_CORE_READ(task, signal);
	struct mr_wire_exit e = {};
	u32 inner;

	fill(&e.h, MR_WIRE_EXIT, sizeof(e), s, task);
	e.start_ns = BPF_CORE_READ(leader, start_boottime);
	e.exit_code = wait_status(leader, sig);
	e.rss_max_bytes = BPF_CORE_READ(sig, maxrss) * PAGE_BYTES;
	BPF_CORE_READ_STR_INTO(&e.comm, task, comm);
	COUNT(s, exits, 1);
	if (e.exit_code & 0x7f)
		COUNT(s, exits_signaled, 1);
	raise(&s->slot->counters[MR_COUNTER_rss_max_bytes], e.rss_max_bytes);
	/* Where the kernel marks whom it chose, never who asked for the memory. */
	if (BPF_CORE_READ(sig, oom_mm)) {
		e.flags |= MR_WIRE_EXIT_OOM;
		COUNT(s, oom_victims, 1);
	}
	inner = e.h.inner_pid;
	/* Init and the main program, its first child; whoever was killed for memory. */
	emit(s, inner == 1 || inner == 2 || e.flags ? MR_RING_VITAL : MR_RING_EVENTS, MR_WIRE_EXIT,
	     &e, sizeof(e));
}

/* The tracepoint's second argument, where there is one, says that this is the last thread.
 * Elsewhere attaching this is refused, and on_exit takes its place. */
SEC("raw_tp/sched_process_exit")
int on_exit_told(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct served s;

	if (!serve(task, &s, MR_ROW_on_exit_told))
		return 0;
	count_thread(task, &s);
	if (ctx->args[1] & 1)
		end_process(task, &s);
	return served(&s);
}

SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct ended key = {};
	struct served s;

	if (!serve(task, &s, MR_ROW_on_exit))
		return 0;
	count_thread(task, &s);
	if (BPF_CORE_READ(task, signal, live.counter) > 0)
		return served(&s);
	key.pid = (u32)BPF_CORE_READ(task, tgid);
	key.process = (u64)BPF_CORE_READ(task, signal);
	key.start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	if (!bpf_map_update_elem(&ended_once, &key, &(u32){ 1 }, BPF_NOEXIST))
		end_process(task, &s);
	return served(&s);
}

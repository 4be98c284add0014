/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * What is told of an end: what a thread used, how its process ended
 */
#pragma once

#include "bpf/common.bpf.h"

#define PAGE_BYTES 4096 /* of x86_64 */
#define SIGNAL_GROUP_EXIT 4

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

static __always_inline u64 count_ones(u64 n)
{
	n -= n >> 1 & 0x5555555555555555;
	n = (n & 0x3333333333333333) + (n >> 2 & 0x3333333333333333);
	n = (n + (n >> 4)) & 0x0f0f0f0f0f0f0f0f;
	return n * 0x0101010101010101 >> 56;
}

#define FD_WORDS_MAX 4
/* As in main_fds of a slot: known where there is room for no more than 256.  Neither inlined nor
 * static: the verifier looks at it once. */
__noinline u64 find_fds(u64 task)
{
	struct fdtable *table = BPF_CORE_READ((struct task_struct *)task, files, fdt);
	unsigned long *bits = BPF_CORE_READ(table, open_fds);
	u32 words = BPF_CORE_READ(table, max_fds) / 64;
	u64 open[FD_WORDS_MAX] = {};

	if (!words || words > FD_WORDS_MAX || bpf_probe_read_kernel(&open[0], 8, bits))
		return 0;
	if (words > 1 && bpf_probe_read_kernel(&open[1], 8, bits + 1))
		return 0;
	if (words > 2 && bpf_probe_read_kernel(&open[2], 16, bits + 2))
		return 0;
	return 1 + count_ones(open[0] & ~7ULL) + count_ones(open[1]) + count_ones(open[2]) +
	       count_ones(open[3]);
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
	/* Before its exec what it has open is ours. */
	if (inner == s->slot->main_pid && s->slot->counters[MR_COUNTER_execs])
		s->slot->main_fds = find_fds((u64)task);
	/* Init and the main program, its first child; whoever was killed for memory. */
	emit(s,
	     inner == 1 || inner == s->slot->main_pid || e.flags ? MR_RING_VITAL : MR_RING_EVENTS,
	     MR_WIRE_EXIT, &e, sizeof(e));
}

/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * Who ended, on kernels that do not tell the last thread of a process
 *
 * Loaded only where life.bpf.c's way to this was refused.
 */
#include "bpf/exit.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Processes whose end is counted already: of two threads that end at one moment both may see no other
 * alive. */
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

SEC("raw_tp/sched_process_exit")
int on_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)ctx->args[0];
	struct ended key = {};
	struct served s;

	if (!serve(&s, MR_ROW_on_exit))
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

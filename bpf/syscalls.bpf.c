/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * What does it ask of the kernel, and what is it told?
 *
 * Every call that returns, by number and outcome.  This is run for every call of every
 * task of the host while it is attached: only for a run that asks for it.
 */
#include "bpf/common.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs {
	unsigned long orig_ax;
};
#pragma clang attribute pop

struct outcomes {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, MR_WIRE_OUTCOMES);
	__type(key, u32);
	__type(value, u64);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MR_WIRE_SLOTS);
	__type(key, u32);
	__array(values, struct outcomes);
} calls SEC(".maps");

SEC("raw_tp/sys_exit")
int on_return(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct pt_regs *regs = (void *)ctx->args[0];
	long result = (long)ctx->args[1];
	struct mr_wire_run *run = find_run(task);
	u64 *count;
	void *map;
	u32 key, slot;

	/* Other runs may go on while it is attached for one. */
	if (!run || !wants(run->rows, MR_ROW_on_return))
		return 0;
	slot = run->slot;
	map = bpf_map_lookup_elem(&calls, &slot);
	if (!map)
		return 0;
	key = (u32)BPF_CORE_READ(regs, orig_ax);
	if (key >= MR_WIRE_SYSCALLS)
		key = MR_WIRE_SYSCALLS - 1;
	key *= MR_WIRE_ERRNOS;
	/* Results the program never sees (ERESTARTSYS and the like) are one more outcome. */
	if (result < 0 && result >= -4095)
		key += (u32)(-result < MR_WIRE_ERRNOS ? -result : MR_WIRE_ERRNOS - 1);
	count = bpf_map_lookup_elem(map, &key);
	if (count)
		add(count, 1);
	return 0;
}

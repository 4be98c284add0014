/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * What does it ask of the kernel, what is it told, and after how long?
 *
 * Every call that returns, by number and outcome.  This is run for every call of every
 * task of the host while it is attached: only for a run that asks for it.
 *
 * When a call began is noted by thread.  Of some that return no beginning was seen: what the
 * filter answers, and a new thread's return from the call that made it.  Some that begin never
 * return: their note goes with the oldest, or is found by a later thread of the same
 * number, whose first return is from another call.
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
	__uint(max_entries, MR_WIRE_CALLS);
	__type(key, u32);
	__type(value, u64);
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, MR_WIRE_SLOTS);
	__type(key, u32);
	__array(values, struct outcomes);
} calls SEC(".maps");

struct begun {
	u64 began_ns;
	u64 generation;
	u64 nr;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct begun);
} calls_begun SEC(".maps");

#define NR_EXIT 60 /* of x86_64 */
#define NR_EXIT_GROUP 231

/* These never return: noted, a storm of short processes would push out the calls that go on. */
static __always_inline bool returns(u64 nr)
{
	return nr != NR_EXIT && nr != NR_EXIT_GROUP;
}

SEC("raw_tp/sys_enter")
int on_call(struct bpf_raw_tracepoint_args *ctx)
{
	struct begun begun = { .nr = ctx->args[1] };
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct served s;

	if (!returns(begun.nr) || !serve(&s, MR_ROW_on_call))
		return 0;
	begun.generation = s.generation;
	begun.began_ns = bpf_ktime_get_ns();
	bpf_map_update_elem(&calls_begun, &tid, &begun, BPF_ANY);
	return served(&s);
}

/* How long the call took that returns now; 0: nobody saw it begin.  A return to where a signal came
 * in between has no number of its own any more: it has that of its beginning. */
static __always_inline u64 time_of_call(const struct served *s, u64 *nr)
{
	u32 tid = (u32)bpf_get_current_pid_tgid();
	struct begun *begun;
	u64 took = 0;

	if (!wants(s->rows, MR_ROW_on_call))
		return 0;
	begun = bpf_map_lookup_elem(&calls_begun, &tid);
	if (!begun)
		return 0;
	if (*nr == (u64)-1)
		*nr = begun->nr;
	if (begun->generation == s->generation && begun->nr == *nr)
		took = s->began_ns - begun->began_ns;
	bpf_map_delete_elem(&calls_begun, &tid);
	return took;
}

/* The outcome of a call, as wire.h numbers them. */
static __always_inline u32 outcome_of(u64 nr, long result)
{
	u32 key = (u32)nr;

	if (key >= MR_WIRE_SYSCALLS)
		key = MR_WIRE_SYSCALLS - 1;
	key *= MR_WIRE_ERRNOS;
	/* Results the program never sees (ERESTARTSYS and the like) are one more outcome. */
	if (result < 0 && result >= -4095)
		key += (u32)(-result < MR_WIRE_ERRNOS ? -result : MR_WIRE_ERRNOS - 1);
	return key;
}

SEC("raw_tp/sys_exit")
int on_return(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs *regs = (void *)ctx->args[0];
	u64 nr = BPF_CORE_READ(regs, orig_ax), took;
	struct served s;
	u64 *sum;
	void *map;
	u32 key;

	/* Other runs may go on while it is attached for one. */
	if (!serve_run(find_current_run(), &s) || !wants(s.rows, MR_ROW_on_return))
		return 0;
	/* Where no times are wanted two looks at the clock would cost more than all the rest. */
	s.began_ns = wants(s.rows, MR_ROW_on_call) ? bpf_ktime_get_ns() : 0;
	map = bpf_map_lookup_elem(&calls, &s.index);
	if (!map)
		return 0;
	took = time_of_call(&s, &nr);
	key = outcome_of(nr, (long)ctx->args[1]);
	sum = bpf_map_lookup_elem(map, &key);
	if (sum)
		add(sum, 1);
	if (!took)
		return s.began_ns ? served(&s) : 0;
	key += MR_WIRE_OUTCOMES;
	sum = bpf_map_lookup_elem(map, &key);
	if (sum)
		add(sum, took);
	add(&s.slot->histogram[MR_HIST_CALL][bucket_of(took)], 1);
	return served(&s);
}

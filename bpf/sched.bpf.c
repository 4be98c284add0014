/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * How long at a time does it run, and how long does it wait for a CPU?
 *
 * One hook: what a CPU is doing for whom is noted when a thread comes on, and settled
 * when it goes off: also what it does after its exit, when its memory is given back.
 * The wait is what the kernel's own scheduler measured for that very thread, so it is
 * never charged to whoever woke it.
 *
 * Some kernels do not tell of every switch: then the thread that goes off is not the one
 * that was noted, and what the scheduler remembers of its turn has to do.
 */
#include "bpf/common.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct turn {
	u64 since_ns;
	u64 ran_ns; /* on a CPU before this turn */
	u64 delay_ns; /* its waits before this one */
	u64 generation; /* 0: nobody we observe */
	u32 tid;
	u32 slot;
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct turn);
} turns SEC(".maps");

static __always_inline void settle(struct turn *t, struct task_struct *prev, u64 now)
{
	struct mr_wire_slot *slot = bpf_map_lookup_elem(&slots, &t->slot);
	u64 delay;

	if (!slot || slot->generation != t->generation)
		return;
	add(&slot->histogram[MR_HIST_RUN][bucket_of(now - t->since_ns)], 1);
	/* The scheduler has settled its own account by now, as it has not when a thread exits. */
	add(&slot->counters[MR_COUNTER_cpu_ns],
	    BPF_CORE_READ(prev, se.sum_exec_runtime) - t->ran_ns);
	if (!bpf_core_field_exists(prev->sched_info.run_delay)) {
		__sync_fetch_and_or(&slot->absent, 1ULL << MR_ABSENT_WAITS);
		return;
	}
	delay = BPF_CORE_READ(prev, sched_info.run_delay) - t->delay_ns;
	add(&slot->histogram[MR_HIST_WAIT][bucket_of(delay)], 1);
}

/* Nobody saw it come on; how long it waited before that is not known. */
static __always_inline void settle_unnoted(struct task_struct *prev)
{
	struct served s;
	u64 ran;

	if (!serve(&s, MR_ROW_on_switch))
		return;
	ran = BPF_CORE_READ(prev, se.sum_exec_runtime) -
	      BPF_CORE_READ(prev, se.prev_sum_exec_runtime);
	add(&s.slot->histogram[MR_HIST_RUN][bucket_of(ran)], 1);
	COUNT(&s, cpu_ns, ran);
}

SEC("raw_tp/sched_switch")
int on_switch(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *prev = (void *)ctx->args[1], *next = (void *)ctx->args[2];
	struct turn *t = bpf_map_lookup_elem(&turns, &(u32){ 0 });
	u64 now = bpf_ktime_get_ns();
	struct served s;

	if (!t)
		return 0;
	if (t->tid != (u32)BPF_CORE_READ(prev, pid))
		settle_unnoted(prev);
	else if (t->generation)
		settle(t, prev, now);
	t->generation = 0;
	t->tid = (u32)BPF_CORE_READ(next, pid);
	if (!serve_task(next, &s, MR_ROW_on_switch))
		return 0;
	t->generation = s.generation;
	t->slot = s.index;
	t->since_ns = now;
	t->ran_ns = BPF_CORE_READ(next, se.sum_exec_runtime);
	if (bpf_core_field_exists(next->sched_info.run_delay))
		t->delay_ns = BPF_CORE_READ(next, sched_info.run_delay);
	return served(&s);
}

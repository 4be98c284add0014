/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * What did it die of?
 *
 * Signals that end a process by default, at the moment they are delivered: code,
 * address and the stack as the frame pointers tell it.
 */
#include "bpf/common.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sigaction {
	void *sa_handler;
};
struct k_sigaction {
	struct sigaction sa;
};
struct kernel_siginfo {
	int si_signo, si_code;
	union {
		struct {
			void *_addr;
		} _sigfault;
	} _sifields;
};
#pragma clang attribute pop

#define BIT(sig) (1U << (sig))
/* SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS: of the program's own making */
#define CRASH_SIGNALS (BIT(4) | BIT(5) | BIT(6) | BIT(7) | BIT(8) | BIT(11) | BIT(31))
#define FAULT_SIGNALS (BIT(4) | BIT(5) | BIT(7) | BIT(8) | BIT(11))

struct crash {
	struct mr_wire_crash e;
	u64 frames[MR_WIRE_FRAMES];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct crash);
} crash_scratch SEC(".maps");

SEC("raw_tp/signal_deliver")
int on_signal(struct bpf_raw_tracepoint_args *ctx)
{
	u32 sig = (u32)ctx->args[0];
	struct kernel_siginfo *info = (void *)ctx->args[1];
	struct k_sigaction *action = (void *)ctx->args[2];
	struct task_struct *task = (void *)bpf_get_current_task();
	struct served s;
	struct crash *c;
	long n;

	if (sig > 31 || !(CRASH_SIGNALS & BIT(sig)) || BPF_CORE_READ(action, sa.sa_handler))
		return 0;
	if (!serve(task, &s))
		return 0;
	COUNT(&s, crashes, 1);
	c = bpf_map_lookup_elem(&crash_scratch, &(u32){ 0 });
	if (!c)
		return 0;
	c->e.signal = sig;
	c->e.code = BPF_CORE_READ(info, si_code);
	c->e.address = 0;
	/* A code over 0 is the kernel's; only there the union is an address. */
	if (c->e.code > 0 && (FAULT_SIGNALS & BIT(sig)))
		c->e.address = (u64)BPF_CORE_READ(info, _sifields._sigfault._addr);
	c->e.reserved = 0;
	BPF_CORE_READ_STR_INTO(&c->e.comm, task, comm);
	n = bpf_get_stack(ctx, c->frames, sizeof(c->frames), BPF_F_USER_STACK);
	if (n < 0) {
		add(&s.slot->failures, 1);
		n = 0;
	}
	n &= sizeof(c->frames) * 2 - 1;
	if (n > (long)sizeof(c->frames))
		n = sizeof(c->frames);
	c->e.n_frames = (u32)n / 8;
	fill(&c->e.h, MR_WIRE_CRASH, sizeof(c->e) + (u64)n, &s, task);
	emit(&s, MR_RING_VITAL, MR_WIRE_CRASH, c, sizeof(c->e) + (u64)n);
	return served(&s);
}

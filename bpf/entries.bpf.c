/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * The same at the entry of every system call, and is there any that no filter should let pass?
 *
 * This is run for every call of every task of the host while it is attached: only for a
 * run that asks for it.  The filter comes before it: what it denies is not seen here.
 *
 * A second program at a tracepoint costs each call more than both of them do: a run that wants both
 * facts has the first alone, and then it is that one which looks for both.
 */
#include "bpf/attempts.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline bool is_forbidden(u32 nr)
{
	switch (nr) {
#define FORBIDDEN(call, number, counter) case number:
#include "bpf/attempts.def"
		return true;
	default:
		return false;
	}
}

/* How the call with this number is counted; MR_COUNTER_COUNT_: it is not. */
static __always_inline enum mr_wire_counter attempt_of(u32 nr, struct pt_regs *regs)
{
	switch (nr) {
#define arg(n) BPF_CORE_READ(regs, dx)
#define ATTEMPT(call, number, counter) \
	case number:                   \
		return MR_COUNTER_##counter;
#define ATTEMPT_IF(call, number, counter, test) \
	case number:                            \
		return (test) ? MR_COUNTER_##counter : MR_COUNTER_COUNT_;
#include "bpf/attempts.def"
#undef arg
	default:
		return is_forbidden(nr) ? MR_COUNTER_forbidden_calls : MR_COUNTER_COUNT_;
	}
}

SEC("raw_tp/sys_enter")
int on_enter(struct bpf_raw_tracepoint_args *ctx)
{
	struct pt_regs *regs = (void *)ctx->args[0];
	u32 nr = (u32)ctx->args[1];
	enum mr_wire_counter counter = attempt_of(nr, regs);
	struct served s;

	if (counter == MR_COUNTER_COUNT_ || !serve(&s, MR_ROW_on_enter))
		return 0;
	if (counter == MR_COUNTER_forbidden_calls && !wants(s.rows, MR_ROW_on_forbidden))
		return 0;
	note_call(&s, counter, nr, regs);
	return served(&s);
}

SEC("raw_tp/sys_enter")
int on_forbidden(struct bpf_raw_tracepoint_args *ctx)
{
	u32 nr = (u32)ctx->args[1];
	struct served s;

	if (!is_forbidden(nr) || !serve(&s, MR_ROW_on_forbidden) || wants(s.rows, MR_ROW_on_enter))
		return 0;
	note_call(&s, MR_COUNTER_forbidden_calls, nr, (void *)ctx->args[0]);
	return served(&s);
}

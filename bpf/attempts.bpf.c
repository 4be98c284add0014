/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * Does it change who it is, or make memory to run code from?
 *
 * At the entry of each such system call, where the kernel lets functions be watched: costs
 * nothing for any other call.  What the filter denies never gets there.
 */
#include "bpf/attempts.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Of those that are judged by an argument it is the third. */
#define arg(n) BPF_CORE_READ(regs, dx)

#define ATTEMPT(call, number, counter) ATTEMPT_IF(call, number, counter, true)
#define ATTEMPT_IF(call, number, counter, test)                    \
	SEC("fentry/__x64_sys_" #call)                             \
	int on_attempt_##call(u64 *ctx)                            \
	{                                                          \
		struct pt_regs *regs = (void *)ctx[0];             \
		struct served s;                                   \
                                                                   \
		if (!(test) || !serve(&s, MR_ROW_on_attempt))      \
			return 0;                                  \
		note_call(&s, MR_COUNTER_##counter, number, regs); \
		return served(&s);                                 \
	}
#include "bpf/attempts.def"

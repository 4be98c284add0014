/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * What is told of a system call of attempts.def
 */
#pragma once

#include "bpf/common.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs {
	unsigned long di, si, dx;
};
#pragma clang attribute pop

#define PROT_WRITE 2
#define PROT_EXEC 4

static __always_inline bool is_wx(u64 prot)
{
	return (prot & (PROT_WRITE | PROT_EXEC)) == (PROT_WRITE | PROT_EXEC);
}

/* Counted each time; handed over the first times, so that no loop crowds out what others do. */
static __always_inline void note_call(const struct served *s, enum mr_wire_counter counter, u32 nr,
				      struct pt_regs *regs)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u64 *count = &s->slot->counters[counter];
	struct mr_wire_attempt e = { .nr = nr };

	if (!is_filtered(task))
		return;
	add(count, 1);
	if (*count > MR_WIRE_ATTEMPTS_TOLD)
		return;
	fill(&e.h, MR_WIRE_ATTEMPT, sizeof(e), s, task);
	BPF_CORE_READ_STR_INTO(&e.comm, task, comm);
	e.args[0] = BPF_CORE_READ(regs, di);
	e.args[1] = BPF_CORE_READ(regs, si);
	e.args[2] = BPF_CORE_READ(regs, dx);
	emit(s, MR_RING_EVENTS, MR_WIRE_ATTEMPT, &e, sizeof(e));
}

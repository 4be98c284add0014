/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a seccomp program answers: an interpreter of the instructions that we emit
 */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline bool seccomp_jump_taken(const struct sock_filter *insn, uint32_t a)
{
	switch (insn->code) {
	case BPF_JMP | BPF_JEQ | BPF_K:
		return a == insn->k;
	case BPF_JMP | BPF_JGE | BPF_K:
		return a >= insn->k;
	default:
		abort();
	}
}

static inline uint32_t seccomp_answer(const struct sock_fprog *prog,
				      const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < prog->len; pc++) {
		const struct sock_filter *insn = &prog->filter[pc];

		if (insn->code == (BPF_RET | BPF_K))
			return insn->k;
		if (insn->code == (BPF_LD | BPF_W | BPF_ABS))
			memcpy(&a, (const char *)data + insn->k, sizeof(a));
		else if (insn->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= insn->k;
		else if (insn->code == (BPF_JMP | BPF_JA))
			pc += insn->k;
		else
			pc += seccomp_jump_taken(insn, a) ? insn->jt : insn->jf;
	}
	abort(); /* ran off the end */
}

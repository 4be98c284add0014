/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An interpreter of seccomp programs: the instructions that our compiler and libseccomp use
 *
 * For cmocka tests; another instruction fails the test.
 */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static inline bool jump_taken(const struct sock_filter *insn, uint32_t a)
{
	switch (insn->code) {
	case BPF_JMP | BPF_JEQ | BPF_K:
		return a == insn->k;
	case BPF_JMP | BPF_JGT | BPF_K:
		return a > insn->k;
	case BPF_JMP | BPF_JGE | BPF_K:
		return a >= insn->k;
	default:
		fail_msg("unknown instruction 0x%x", insn->code);
	}
	return false;
}

static inline uint32_t interpret(const struct sock_fprog *prog, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < prog->len; pc++) {
		const struct sock_filter *insn = &prog->filter[pc];

		if (insn->code == (BPF_RET | BPF_K))
			return insn->k;
		if (insn->code == (BPF_LD | BPF_W | BPF_ABS)) {
			assert_true(insn->k % 4 == 0 && insn->k < sizeof(*data));
			memcpy(&a, (const char *)data + insn->k, sizeof(a));
		} else if (insn->code == (BPF_ALU | BPF_AND | BPF_K)) {
			a &= insn->k;
		} else if (insn->code == (BPF_JMP | BPF_JA)) {
			pc += insn->k;
		} else {
			pc += jump_taken(insn, a) ? insn->jt : insn->jf;
		}
	}
	fail_msg("ran off the end");
	return 0;
}

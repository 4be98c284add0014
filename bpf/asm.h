/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asm: small programs for the kernel, put together at run time
 *
 * For programs of a few dozen instructions that hold numbers known only to one run (the
 * descriptors of its maps): no compiler, no object file, no library.  Jumps go forward
 * to labels.
 */
#pragma once

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

struct mr_error;

#define MR_ASM_INSNS_MAX 256
#define MR_ASM_JUMPS_MAX 96
#define MR_ASM_LABELS_MAX 8

/* All members are private to asm.c; zeroed is empty. */
struct mr_asm {
	struct bpf_insn insns[MR_ASM_INSNS_MAX];
	size_t n;
	struct {
		size_t at;
		unsigned int label;
	} jumps[MR_ASM_JUMPS_MAX];
	size_t n_jumps;
	size_t labels[MR_ASM_LABELS_MAX]; /* place + 1; 0: not placed */
};

/* Any instruction that is no jump to a label. */
void mr_asm_add(struct mr_asm *a, uint8_t code, int dst, int src, int off, int32_t imm);
/* dst = src, and dst = imm, of 64 bits. */
void mr_asm_move(struct mr_asm *a, int dst, int src);
void mr_asm_set(struct mr_asm *a, int dst, int32_t imm);
/* dst = dst OP imm (BPF_ADD, BPF_AND, BPF_RSH ...), of 64 bits. */
void mr_asm_math(struct mr_asm *a, uint8_t op, int dst, int32_t imm);
/* dst = *(SIZE *)(src + off), with size BPF_W, BPF_H, BPF_B or BPF_DW. */
void mr_asm_load(struct mr_asm *a, uint8_t size, int dst, int src, int off);
/* *(SIZE *)(dst + off) = src, and = imm. */
void mr_asm_store(struct mr_asm *a, uint8_t size, int dst, int off, int src);
void mr_asm_store_imm(struct mr_asm *a, uint8_t size, int dst, int off, int32_t imm);
/* dst = the map of this descriptor. */
void mr_asm_map(struct mr_asm *a, int dst, int map_fd);
void mr_asm_call(struct mr_asm *a, int32_t helper);
/* return imm */
void mr_asm_exit(struct mr_asm *a, int32_t imm);
/* Jump to the label if dst OP imm (BPF_JEQ, BPF_JNE ...); always with BPF_JA. */
void mr_asm_jump(struct mr_asm *a, uint8_t op, int dst, int32_t imm, unsigned int label);
void mr_asm_jump_reg(struct mr_asm *a, uint8_t op, int dst, int src, unsigned int label);
/* The label is here. */
void mr_asm_label(struct mr_asm *a, unsigned int label);

/* Hand the program to the kernel: its descriptor (close-on-exec), or MR_E_KERNEL with what the
 * verifier said last. */
int mr_asm_program(struct mr_asm *a, enum bpf_prog_type type, enum bpf_attach_type attach,
		   const char *name, struct mr_error *err);

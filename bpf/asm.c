/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asm
 *
 * What does not fit or has no label is a bug of the caller, not an error.
 */
#include "bpf/asm.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/sys.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#define LOG_MAX 16384

void mr_asm_add(struct mr_asm *a, uint8_t code, int dst, int src, int off, int32_t imm)
{
	mr_assert(a->n < MR_ASM_INSNS_MAX);
	a->insns[a->n++] = (struct bpf_insn){ .code = code,
					      .dst_reg = (uint8_t)(dst & 15),
					      .src_reg = (uint8_t)(src & 15),
					      .off = (int16_t)off,
					      .imm = imm };
}

void mr_asm_move(struct mr_asm *a, int dst, int src)
{
	mr_asm_add(a, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

void mr_asm_set(struct mr_asm *a, int dst, int32_t imm)
{
	mr_asm_add(a, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, imm);
}

void mr_asm_math(struct mr_asm *a, uint8_t op, int dst, int32_t imm)
{
	mr_asm_add(a, (uint8_t)(BPF_ALU64 | op), dst, 0, 0, imm); /* BPF_K is 0 */
}

void mr_asm_load(struct mr_asm *a, uint8_t size, int dst, int src, int off)
{
	mr_asm_add(a, (uint8_t)(BPF_LDX | BPF_MEM | size), dst, src, off, 0);
}

void mr_asm_store(struct mr_asm *a, uint8_t size, int dst, int off, int src)
{
	mr_asm_add(a, (uint8_t)(BPF_STX | BPF_MEM | size), dst, src, off, 0);
}

void mr_asm_store_imm(struct mr_asm *a, uint8_t size, int dst, int off, int32_t imm)
{
	mr_asm_add(a, (uint8_t)(BPF_ST | BPF_MEM | size), dst, 0, off, imm);
}

void mr_asm_map(struct mr_asm *a, int dst, int map_fd)
{
	mr_asm_add(a, BPF_LD | BPF_DW, dst, BPF_PSEUDO_MAP_FD, 0, map_fd);
	mr_asm_add(a, 0, 0, 0, 0, 0); /* the upper half */
}

void mr_asm_call(struct mr_asm *a, int32_t helper)
{
	mr_asm_add(a, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

void mr_asm_exit(struct mr_asm *a, int32_t imm)
{
	mr_asm_set(a, BPF_REG_0, imm);
	mr_asm_add(a, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static void note_jump(struct mr_asm *a, unsigned int label)
{
	mr_assert(a->n_jumps < MR_ASM_JUMPS_MAX && label < MR_ASM_LABELS_MAX);
	a->jumps[a->n_jumps].at = a->n;
	a->jumps[a->n_jumps++].label = label;
}

void mr_asm_jump(struct mr_asm *a, uint8_t op, int dst, int32_t imm, unsigned int label)
{
	note_jump(a, label);
	mr_asm_add(a, (uint8_t)(BPF_JMP | op | BPF_K), dst, 0, 0, imm);
}

void mr_asm_jump_reg(struct mr_asm *a, uint8_t op, int dst, int src, unsigned int label)
{
	note_jump(a, label);
	mr_asm_add(a, (uint8_t)(BPF_JMP | op | BPF_X), dst, src, 0, 0);
}

void mr_asm_label(struct mr_asm *a, unsigned int label)
{
	mr_assert(label < MR_ASM_LABELS_MAX && !a->labels[label]);
	a->labels[label] = a->n + 1;
}

static void resolve_jumps(struct mr_asm *a)
{
	for (size_t i = 0; i < a->n_jumps; i++) {
		size_t at = a->jumps[i].at, to = a->labels[a->jumps[i].label];

		mr_assert(to > at + 1); /* placed, and ahead */
		a->insns[at].off = (int16_t)(to - 1 - (at + 1));
	}
}

/* The last line with text of what the verifier wrote. */
static const char *last_words(char *log)
{
	size_t n = strlen(log);
	char *line;

	while (n > 0 && log[n - 1] == '\n')
		log[--n] = '\0';
	line = strrchr(log, '\n');
	if (line && strncmp(line + 1, "processed ", 10) == 0) { /* its statistics */
		*line = '\0';
		line = strrchr(log, '\n');
	}
	return line ? line + 1 : log;
}

static int load(const struct mr_asm *a, enum bpf_prog_type type, enum bpf_attach_type attach,
		const char *name, char *log)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = type;
	attr.expected_attach_type = attach;
	attr.insns = (uintptr_t)a->insns;
	attr.insn_cnt = (uint32_t)a->n;
	attr.license = (uintptr_t) "Dual BSD/GPL";
	strncpy(attr.prog_name, name, sizeof(attr.prog_name) - 1);
	if (log) {
		attr.log_level = 1;
		attr.log_buf = (uintptr_t)log;
		attr.log_size = LOG_MAX;
	}
	return mr_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));
}

int mr_asm_program(struct mr_asm *a, enum bpf_prog_type type, enum bpf_attach_type attach,
		   const char *name, struct mr_error *err)
{
	mr_auto_free char *log = NULL;
	int fd, why;

	resolve_jumps(a);
	fd = load(a, type, attach, name, NULL);
	if (fd >= 0)
		return fd;
	why = errno;
	log = calloc(1, LOG_MAX);
	fd = log ? load(a, type, attach, name, log) : -1;
	if (fd >= 0)
		return fd;
	return mr_err(err, MR_E_KERNEL, why, "load program %s into the kernel: %m%s%.200s", name,
		      log && log[0] ? ": " : "", log && log[0] ? last_words(log) : "");
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Narrowed seccomp programs
 *
 * A policy document is only known at run time, so its part of the program is made
 * then and put in front of the compiled one, which stays as it is: our part either
 * hands a call to the supervisor or jumps on to the level's first instruction.
 * What the level refuses is left to it, answer and record included.
 *
 * The call numbers are cut into stretches with the same answer, and a binary
 * search over them ends in one instruction each.  All of it looks at the number
 * alone, so the kernel still finds the calls that are always allowed and lets them
 * pass without running anything.
 *
 * Until its exec the payload runs our code, whose calls the document need not
 * list: the supervisor lets them pass (notify.c).  One it cannot: the sendmsg that
 * brings it the listener.  That is let through by the number of its descriptor,
 * which is beyond the limit that the payload then has.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/launch/seccomp.h"
#include "runtime/spec/policy.h"

#define FAR UINT8_MAX /* the longest way that a conditional jump can go */

/* clang-format off */
enum {
#define SYSCALL(name, nr, set, allowed_up_to, errno_value, reason) NR_##name = (nr),
#include "runtime/spec/syscalls.def"
	};
/* clang-format on */

/* What our own code calls between the filter and the exec. */
static const int own_calls[] = { NR_close,     NR_close_range, NR_execve, NR_read,  NR_prlimit64,
				 NR_getrlimit, NR_brk,	       NR_mmap,	  NR_munmap };

enum answer { PASS, DENY, DENY_OWN, WATCH, RECORD, SENDMSG };

static const uint32_t returns[] = {
	[DENY] = SECCOMP_RET_USER_NOTIF | EPERM,
	[DENY_OWN] = SECCOMP_RET_USER_NOTIF | MR_SECCOMP_ALONE_REFUSE,
	[WATCH] = SECCOMP_RET_USER_NOTIF | MR_SECCOMP_ALONE_ALLOW,
	[RECORD] = SECCOMP_RET_USER_NOTIF | MR_SECCOMP_ALONE_REFUSE,
};

struct stretch {
	uint32_t first; /* up to the next one's first */
	enum answer answer;
};

struct program {
	struct sock_filter *insns;
	size_t n;
};

bool mr_seccomp_is_narrowed(const struct mr_seccomp_policy *policy)
{
	return policy->document || policy->watch_paths || policy->record || policy->watch_writes;
}

bool mr_seccomp_needs_own_fd(const struct mr_seccomp_policy *policy)
{
	return policy->record ||
	       (policy->document && !mr_policy_allows_call(policy->document, NR_sendmsg));
}

static bool is_own(uint32_t nr)
{
	for (size_t i = 0; i < N_ELEMENTS(own_calls); i++) {
		if (own_calls[i] == (int)nr)
			return true;
	}
	return false;
}

static bool is_path_call(uint32_t nr)
{
	size_t n;
	const struct mr_seccomp_path *paths = mr_seccomp_paths(&n);

	for (size_t i = 0; i < n; i++) {
		if (paths[i].nr == (int)nr)
			return true;
	}
	return false;
}

static enum answer judge(const struct mr_seccomp_policy *policy, uint32_t nr)
{
	const bool is_exec = nr == NR_execve || nr == NR_execveat;
	bool unlisted;

	if (!mr_seccomp_level_allows(policy->level, nr))
		return PASS;
	unlisted = policy->document && !mr_policy_allows_call(policy->document, nr);
	if (nr == NR_sendmsg && mr_seccomp_needs_own_fd(policy))
		return SENDMSG;
	if (unlisted)
		return is_own(nr) ? DENY_OWN : DENY;
	if (policy->record || (policy->watch_writes && mr_seccomp_write((int)nr)))
		return RECORD;
	/* From level 4 on the level's own program asks about exec. */
	if (policy->watch_paths && is_path_call(nr) && !(is_exec && policy->level >= 4))
		return WATCH;
	return PASS;
}

static size_t cut(const struct mr_seccomp_policy *policy, struct stretch *ret)
{
	size_t n = 0;

	for (uint32_t nr = 0; nr < MR_POLICY_SYSCALLS; nr++) {
		enum answer answer = judge(policy, nr);

		if (n == 0 || ret[n - 1].answer != answer)
			ret[n++] = (struct stretch){ nr, answer };
	}
	/* The rest, other ABIs included, is the level's. */
	if (ret[n - 1].answer != PASS)
		ret[n++] = (struct stretch){ MR_POLICY_SYSCALLS, PASS };
	return n;
}

static void emit(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	mr_assert(p->n < MR_SECCOMP_NARROWED_MAX);
	p->insns[p->n++] = (struct sock_filter){ .code = code, .jt = jt, .jf = jf, .k = k };
}

/* A way on to the level's program, whose place is filled in at the end. */
static void emit_pass(struct program *p)
{
	emit(p, BPF_JMP | BPF_JA, 0, 0, 0);
}

static void emit_leaf(struct program *p, const struct mr_seccomp_policy *policy, enum answer answer)
{
	if (answer == PASS) {
		emit_pass(p);
		return;
	}
	if (answer != SENDMSG) {
		emit(p, BPF_RET | BPF_K, returns[answer], 0, 0);
		return;
	}
	emit(p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args), 0, 0);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)policy->own_fd, 0, 1);
	emit_pass(p);
	emit(p, BPF_RET | BPF_K, returns[policy->record ? RECORD : DENY], 0, 0);
}

/* Lower half behind its branch, upper half behind that. */
static void emit_tree(struct program *p, const struct mr_seccomp_policy *policy,
		      const struct stretch *s, size_t n)
{
	const size_t mid = n / 2, branch = p->n;
	size_t far;

	if (n == 1) {
		emit_leaf(p, policy, s[0].answer);
		return;
	}
	emit(p, BPF_JMP | BPF_JGE | BPF_K, s[mid].first, 0, 1);
	emit(p, BPF_JMP | BPF_JA, 0, 0, 0);
	emit_tree(p, policy, s, mid);
	far = p->n - branch - 2; /* from the jump behind the branch */
	p->insns[branch + 1].k = (uint32_t)far;
	/* Mark: not one of those that lead to the level's program. */
	p->insns[branch + 1].jt = 1;
	emit_tree(p, policy, s + mid, n - mid);
}

/* Jumps that are left open lead to the first instruction behind ours. */
static void close_jumps(struct program *p)
{
	for (size_t i = 0; i < p->n; i++) {
		if (p->insns[i].code != (BPF_JMP | BPF_JA))
			continue;
		if (p->insns[i].jt)
			p->insns[i].jt = 0;
		else
			p->insns[i].k = (uint32_t)(p->n - i - 1);
	}
}

struct sock_fprog *mr_seccomp_narrow(const struct mr_seccomp_policy *policy)
{
	const struct mr_seccomp_policy level = { .level = policy->level,
						 .net = policy->net,
						 .watch_opens = policy->watch_opens };
	const struct sock_fprog *behind = mr_seccomp_program(&level);
	struct sock_fprog *ret = mr_str_alloc(sizeof(*ret));
	struct stretch stretches[MR_POLICY_SYSCALLS + 1];
	struct program p = { 0 };
	size_t n = cut(policy, stretches);

	p.insns = mr_str_alloc(MR_SECCOMP_NARROWED_MAX * sizeof(*p.insns));
	emit(&p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	emit(&p, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	emit_pass(&p);
	emit(&p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	emit_tree(&p, policy, stretches, n);
	close_jumps(&p);
	mr_assert(p.n + behind->len <= MR_SECCOMP_NARROWED_MAX);
	memcpy(p.insns + p.n, behind->filter, behind->len * sizeof(*p.insns));
	*ret = (struct sock_fprog){ .len = (unsigned short)(p.n + behind->len), .filter = p.insns };
	return ret;
}

struct sock_fprog *mr_seccomp_free(struct sock_fprog *program)
{
	if (program)
		free(program->filter);
	free(program);
	return NULL;
}

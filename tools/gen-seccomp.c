/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen-seccomp: compile syscalls.def to seccomp programs, at build time
 *
 * usage: gen-seccomp OUTPUT.c    write the programs of every policy
 *        gen-seccomp             print the number of instructions of each
 *
 * A policy is a level, a network mode and whether opens are watched.  The call
 * numbers are cut into segments with the same answer, and a binary search over
 * the segments ends in leaves: a return, or the argument checks of one call.
 * The kernel runs a new program once for every call number to find those that
 * it always allows, so a short and shallow program is what makes loading fast:
 * half the instructions and half the time of libseccomp's binary tree.
 *
 * Code is emitted from its end to its beginning, because BPF jumps only go
 * forward: what an instruction leads to is there already, its distance is known
 * and a return can be shared by all that are near enough.
 *
 * The low 16 bits of SECCOMP_RET_USER_NOTIF, which the kernel does not look at,
 * say what the call gets where there is no listener (MR_SECCOMP_ALONE_*).
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/launch/seccomp.h"

#define X32_BIT 0x40000000U
#define X32_LAST (X32_BIT + 0x3ff)
#define RET_ENOSYS (SECCOMP_RET_ERRNO | ENOSYS)

enum {
#define SYSCALL(name, nr, set, allowed_up_to, errno_value, reason) NR_##name = (nr),
#include "runtime/spec/syscalls.def"
};

struct row {
	uint32_t nr;
	unsigned int allowed_up_to;
	uint32_t errnum;
};
static const struct row rows[] = {
#define SYSCALL(name, nr, set, allowed_up_to, errno_value, reason) \
	{ (nr), (allowed_up_to), (errno_value) },
#include "runtime/spec/syscalls.def"
};

/* Holds when (args[arg] & mask) == value, in the low 32 bits. */
struct test {
	unsigned int arg;
	uint32_t mask, value;
};
struct check {
	uint32_t nr;
	unsigned int from, to;
	struct test tests[2];
	uint32_t errnum; /* or PASS, or SOCKET */
};
/* clang-format off */
#define IS(arg, value) { (arg), 0xffffffffU, (value) }
#define BITS(arg, mask, value) { (arg), (mask), (value) }
#define ANY { 0, 0, 0 }
#define PASS 0
#define SOCKET UINT32_MAX
/* clang-format on */
static const struct check checks[] = {
#define CHECK(name, from, to, first, second, errno_value, reason) \
	{ NR_##name, (from), (to), { first, second }, (errno_value) },
#include "runtime/spec/syscalls.def"
};

struct watch {
	uint32_t nr;
	enum mr_seccomp_verdict verdict;
	int non_null; /* argument number, or -1 */
};
static const struct watch watches[] = {
#define WATCH(name, verdict, non_null, errno_value, reason) \
	{ NR_##name, MR_SECCOMP_##verdict, (non_null) },
#include "runtime/spec/syscalls.def"
};

/* While emitting, insns[0] is the last instruction; a label is an index in here. */
struct program {
	struct sock_filter insns[MR_SECCOMP_LEN_MAX];
	size_t n;
};

enum leaf_kind { LEAF_RETURN, LEAF_POINTER, LEAF_CHECKS };

struct segment {
	uint32_t first; /* up to the next segment's first */
	enum leaf_kind kind;
	uint32_t ret; /* LEAF_CHECKS: of what its checks let pass */
	unsigned int arg; /* LEAF_POINTER */
};

struct segments {
	struct segment v[N_ELEMENTS(rows) * 2 + 8];
	size_t n;
};

static _Noreturn void die(const char *what, const char *object)
{
	fprintf(stderr, "gen-seccomp: %s: %s\n", object, what);
	exit(1);
}

static size_t emit(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (p->n == N_ELEMENTS(p->insns))
		die("longer than MR_SECCOMP_LEN_MAX", "program");
	p->insns[p->n] = (struct sock_filter){ .code = code, .jt = jt, .jf = jf, .k = k };
	return p->n++;
}

/* Instructions between the next one to be emitted and a label. */
static size_t distance(const struct program *p, size_t label)
{
	return p->n - label - 1;
}

/* A conditional jump reaches 255 instructions; 4 are kept for the hops of its other side. */
static bool is_near(const struct program *p, size_t label)
{
	return distance(p, label) <= UINT8_MAX - 4;
}

/* The label itself, or that of a jump to it. */
static size_t near_label(struct program *p, size_t label)
{
	if (is_near(p, label))
		return label;
	return emit(p, BPF_JMP | BPF_JA, (uint32_t)distance(p, label), 0, 0);
}

static size_t emit_return(struct program *p, uint32_t ret)
{
	for (size_t i = p->n; i-- > 0 && is_near(p, i);) {
		if (p->insns[i].code == (BPF_RET | BPF_K) && p->insns[i].k == ret)
			return i;
	}
	return emit(p, BPF_RET | BPF_K, ret, 0, 0);
}

static size_t emit_load(struct program *p, size_t offset)
{
	return emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static size_t emit_branch(struct program *p, uint16_t op, uint32_t k, size_t yes, size_t no)
{
	size_t jt, jf;

	yes = near_label(p, yes);
	no = near_label(p, no);
	jt = distance(p, yes);
	jf = distance(p, no);
	if (jt > UINT8_MAX || jf > UINT8_MAX)
		die("conditional jump too long", "program");
	return emit(p, (uint16_t)(BPF_JMP | op | BPF_K), k, (uint8_t)jt, (uint8_t)jf);
}

/* Offset of the low (word 0) or high (word 1) half of an argument; x86_64 is little-endian. */
static size_t arg_offset(unsigned int arg, unsigned int word)
{
	return offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t) +
	       word * sizeof(uint32_t);
}

static bool test_always_holds(const struct test *t)
{
	return t->mask == 0;
}

/* A test, preceded by the load of its argument unless is_loaded. */
static size_t emit_test(struct program *p, const struct test *t, bool is_loaded, size_t yes,
			size_t no)
{
	size_t label;

	if (test_always_holds(t))
		return yes;
	label = emit_branch(p, BPF_JEQ, t->value, yes, no);
	if (t->mask != UINT32_MAX)
		label = emit(p, BPF_ALU | BPF_AND | BPF_K, t->mask, 0, 0);
	return is_loaded ? label : emit_load(p, arg_offset(t->arg, 0));
}

static bool check_applies(const struct check *c, uint32_t nr, unsigned int level)
{
	return c->nr == nr && level >= c->from && level <= c->to;
}

/* The argument that is unchanged in the accumulator on every way out of a check, or -1. */
static int loaded_after(const struct check *c)
{
	if (!c || c->tests[0].mask != UINT32_MAX || !test_always_holds(&c->tests[1]))
		return -1;
	return (int)c->tests[0].arg;
}

/* The last check before the given one that judges the same call at this level, or NULL. */
static const struct check *check_before(const struct check *c, uint32_t nr, unsigned int level)
{
	while (c-- > checks) {
		if (check_applies(c, nr, level))
			return c;
	}
	return NULL;
}

static uint32_t check_return(const struct check *c, uint32_t pass, enum mr_seccomp_net net)
{
	if (c->errnum == SOCKET)
		return net == MR_SECCOMP_NET_ALLOW
			       ? SECCOMP_RET_ALLOW
			       : SECCOMP_RET_USER_NOTIF | MR_SECCOMP_ALONE_ALLOW;
	return c->errnum == PASS ? pass : SECCOMP_RET_USER_NOTIF | c->errnum;
}

static size_t emit_checks(struct program *p, const struct segment *s,
			  const struct mr_seccomp_policy *policy)
{
	const unsigned int level = policy->level;
	const uint32_t nr = s->first;
	size_t next = emit_return(p, s->ret);
	const struct check *c = check_before(checks + N_ELEMENTS(checks), nr, level);

	while (c) {
		const struct check *before = check_before(c, nr, level);
		const struct test *first = &c->tests[0], *second = &c->tests[1];
		size_t yes = emit_return(p, check_return(c, s->ret, policy->net));

		next = near_label(p, next);
		yes = emit_test(p, second, false, yes, next);
		next = emit_test(p, first, loaded_after(before) == (int)first->arg, yes, next);
		c = before;
	}
	return next;
}

/* A pointer is 64 bits wide: either half makes it non-NULL. */
static size_t emit_pointer(struct program *p, const struct segment *s)
{
	size_t set = emit_return(p, s->ret), null = emit_return(p, SECCOMP_RET_ALLOW);
	size_t high;

	emit_branch(p, BPF_JEQ, 0, null, set);
	high = emit_load(p, arg_offset(s->arg, 1));
	emit_branch(p, BPF_JEQ, 0, high, set);
	return emit_load(p, arg_offset(s->arg, 0));
}

static size_t emit_leaf(struct program *p, const struct segment *s,
			const struct mr_seccomp_policy *policy)
{
	switch (s->kind) {
	case LEAF_RETURN:
		return emit_return(p, s->ret);
	case LEAF_POINTER:
		return emit_pointer(p, s);
	case LEAF_CHECKS:
		return emit_checks(p, s, policy);
	}
	die("unknown kind of leaf", "program");
}

/* Binary search over segments lo to hi - 1, the call number being in the accumulator. */
static size_t emit_tree(struct program *p, const struct segments *s, size_t lo, size_t hi,
			const struct mr_seccomp_policy *policy)
{
	size_t mid = lo + (hi - lo) / 2, above, below;

	if (hi - lo == 1)
		return emit_leaf(p, &s->v[lo], policy);
	above = emit_tree(p, s, mid, hi, policy);
	below = emit_tree(p, s, lo, mid, policy);
	return emit_branch(p, BPF_JGE, s->v[mid].first, above, below);
}

static const struct row *find_row(uint32_t nr)
{
	const struct row *found = NULL;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		if (rows[i].nr != nr)
			continue;
		if (found)
			die("two rows with one number", "syscalls.def");
		found = &rows[i];
	}
	return found;
}

static bool watch_applies(const struct watch *w, const struct mr_seccomp_policy *policy)
{
	switch (w->verdict) {
	case MR_SECCOMP_NET:
		return policy->net == MR_SECCOMP_NET_DENY;
	case MR_SECCOMP_OPEN:
		return policy->watch_opens || policy->level >= 5;
	case MR_SECCOMP_EXEC:
		return policy->level >= 4;
	case MR_SECCOMP_DENY:
	case MR_SECCOMP_PATH:
	case MR_SECCOMP_RECORD:
	case MR_SECCOMP_SOCKET:
		break;
	}
	return false;
}

static const struct watch *find_watch(uint32_t nr, const struct mr_seccomp_policy *policy)
{
	for (size_t i = 0; i < N_ELEMENTS(watches); i++) {
		if (watches[i].nr == nr && watch_applies(&watches[i], policy))
			return &watches[i];
	}
	return NULL;
}

static bool has_checks(uint32_t nr, unsigned int level)
{
	for (size_t i = 0; i < N_ELEMENTS(checks); i++) {
		if (check_applies(&checks[i], nr, level))
			return true;
	}
	return false;
}

static uint32_t watch_return(const struct watch *w)
{
	return SECCOMP_RET_USER_NOTIF |
	       (w->verdict == MR_SECCOMP_EXEC ? MR_SECCOMP_ALONE_REFUSE : MR_SECCOMP_ALONE_ALLOW);
}

/* What the policy answers to one call number. */
static struct segment judge(uint32_t nr, const struct mr_seccomp_policy *policy)
{
	struct segment s = { .first = nr, .kind = LEAF_RETURN, .ret = RET_ENOSYS };
	const struct row *row = find_row(nr);
	const struct watch *w = find_watch(nr, policy);

	if (!row)
		return s;
	if (policy->level > row->allowed_up_to) {
		if (row->errnum != ENOSYS)
			s.ret = SECCOMP_RET_USER_NOTIF | row->errnum;
		return s;
	}
	s.ret = w ? watch_return(w) : SECCOMP_RET_ALLOW;
	if (has_checks(nr, policy->level)) {
		s.kind = LEAF_CHECKS;
		if (w && w->non_null >= 0)
			die("a call is both checked and watched for a pointer", "syscalls.def");
	} else if (w && w->non_null >= 0) {
		s.kind = LEAF_POINTER;
		s.arg = (unsigned int)w->non_null;
	}
	return s;
}

/* Add a segment, or let the one before it grow. */
static void add_segment(struct segments *s, struct segment next)
{
	const struct segment *last = s->n > 0 ? &s->v[s->n - 1] : NULL;

	if (last && last->kind == LEAF_RETURN && next.kind == LEAF_RETURN && last->ret == next.ret)
		return;
	if (s->n == N_ELEMENTS(s->v))
		die("too many segments", "syscalls.def");
	s->v[s->n++] = next;
}

static uint32_t highest_nr(void)
{
	uint32_t highest = 0;

	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		if (rows[i].nr > highest)
			highest = rows[i].nr;
	}
	return highest;
}

static void cut_segments(const struct mr_seccomp_policy *policy, struct segments *ret)
{
	const struct segment tail[] = {
		{ .first = highest_nr() + 1, .ret = RET_ENOSYS },
		{ .first = X32_BIT, .ret = SECCOMP_RET_USER_NOTIF | ENOSYS },
		{ .first = X32_LAST + 1, .ret = RET_ENOSYS },
	};

	ret->n = 0;
	for (uint32_t nr = 0; nr <= highest_nr(); nr++)
		add_segment(ret, judge(nr, policy));
	for (size_t i = 0; i < N_ELEMENTS(tail); i++)
		add_segment(ret, tail[i]);
}

static void reverse(struct program *p)
{
	for (size_t i = 0; i < p->n / 2; i++) {
		struct sock_filter insn = p->insns[i];

		p->insns[i] = p->insns[p->n - 1 - i];
		p->insns[p->n - 1 - i] = insn;
	}
}

/* Returns the number of segments. */
static size_t compile(const struct mr_seccomp_policy *policy, struct program *ret)
{
	struct segments segments;
	size_t other_abi, tree;

	cut_segments(policy, &segments);
	ret->n = 0;
	tree = emit_tree(ret, &segments, 0, segments.n, policy);
	if (tree != ret->n - 1)
		die("does not begin with its tree", "program");
	tree = emit_load(ret, offsetof(struct seccomp_data, nr));
	other_abi = emit_return(ret, SECCOMP_RET_USER_NOTIF | ENOSYS);
	emit_branch(ret, BPF_JEQ, AUDIT_ARCH_X86_64, tree, other_abi);
	emit_load(ret, offsetof(struct seccomp_data, arch));
	reverse(ret);
	return segments.n;
}

/* The policies in the order of mr_seccomp_programs[level][net][watch_opens]. */
#define N_POLICIES (MR_SECCOMP_LEVELS * MR_SECCOMP_NETS_ * 2)

static const struct {
	const char *constant, *word;
} nets[] = {
	[MR_SECCOMP_NET_DENY] = { "MR_SECCOMP_NET_DENY", "deny" },
	[MR_SECCOMP_NET_OWN] = { "MR_SECCOMP_NET_OWN", "own" },
	[MR_SECCOMP_NET_ALLOW] = { "MR_SECCOMP_NET_ALLOW", "allow" },
};

static struct mr_seccomp_policy policy_at(size_t i)
{
	return (struct mr_seccomp_policy){
		.level = 1 + (unsigned int)(i / 2 / MR_SECCOMP_NETS_),
		.net = (enum mr_seccomp_net)(i / 2 % MR_SECCOMP_NETS_),
		.watch_opens = i % 2,
	};
}

static bool same_program(const struct program *a, const struct program *b)
{
	return a->n == b->n && memcmp(a->insns, b->insns, a->n * sizeof(a->insns[0])) == 0;
}

/* Index of the first policy with the same program. */
static size_t first_same(const struct program *programs, size_t i)
{
	size_t j = 0;

	while (!same_program(&programs[j], &programs[i]))
		j++;
	return j;
}

static void print_array(FILE *out, const struct program *p, size_t i)
{
	fprintf(out, "\nstatic const struct sock_filter program_%zu[%zu] = {\n", i, p->n);
	for (size_t k = 0; k < p->n; k++)
		fprintf(out, "\t{ 0x%02x, %u, %u, 0x%08x },\n", p->insns[k].code, p->insns[k].jt,
			p->insns[k].jf, p->insns[k].k);
	fprintf(out, "};\n");
}

static void print_table(FILE *out, const struct program *programs)
{
	fprintf(out,
		"\n/* sock_fprog is not const for historical reasons; the kernel only reads. */\n"
		"#define PROGRAM(a) { sizeof(a) / sizeof((a)[0]), "
		"(struct sock_filter *)(uintptr_t)(a) }\n"
		"const struct sock_fprog "
		"mr_seccomp_programs[MR_SECCOMP_LEVELS][MR_SECCOMP_NETS_][2] "
		"= {\n");
	for (size_t i = 0; i < N_POLICIES; i++) {
		struct mr_seccomp_policy p = policy_at(i);

		fprintf(out, "\t[%u][%s][%d] = PROGRAM(program_%zu),\n", p.level - 1,
			nets[p.net].constant, p.watch_opens, first_same(programs, i));
	}
	fprintf(out, "};\n");
}

static void write_source(const char *path, const struct program *programs)
{
	FILE *out = fopen(path, "we");
	bool bad;

	if (!out)
		die(strerror(errno), path);
	fprintf(out, "/* Made by gen-seccomp from runtime/spec/syscalls.def; do not edit. */\n"
		     "#include \"runtime/launch/seccomp.h\"\n");
	for (size_t i = 0; i < N_POLICIES; i++) {
		if (first_same(programs, i) == i)
			print_array(out, &programs[i], i);
	}
	print_table(out, programs);
	bad = ferror(out);
	if (fclose(out) != 0 || bad)
		die("write failed", path);
}

static void print_counts(const struct program *programs, const size_t *n_segments)
{
	printf("level  net    opens    instructions  segments\n");
	for (size_t i = 0; i < N_POLICIES; i++) {
		struct mr_seccomp_policy p = policy_at(i);

		printf("%-6u %-6s %-8s %-13zu %zu%s\n", p.level, nets[p.net].word,
		       p.watch_opens ? "watched" : "-", programs[i].n, n_segments[i],
		       first_same(programs, i) == i ? "" : "  (as one above)");
	}
}

int main(int argc, char **argv)
{
	static struct program programs[N_POLICIES];
	size_t n_segments[N_POLICIES];

	if (argc > 2) {
		fprintf(stderr, "usage: gen-seccomp [OUTPUT.c]\n");
		return 2;
	}
	for (size_t i = 0; i < N_POLICIES; i++) {
		struct mr_seccomp_policy policy = policy_at(i);

		n_segments[i] = compile(&policy, &programs[i]);
	}
	if (argc == 2)
		write_source(argv[1], programs);
	else
		print_counts(programs, n_segments);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profile of an engine never allows what the program of the same level denies
 *
 * The profile is made into a program as runc does it, by libseccomp, and both are asked about each
 * call with the arguments that any check is about.
 */
#include <errno.h>
#include <linux/audit.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <seccomp.h>

#include <cmocka.h>

#include "runtime/backend/docker_seccomp.h"
#include "runtime/base/json.h"
#include "runtime/launch/seccomp.h"

#define LEVELS 3 /* 4 and 5 are not given to this backend */
#define CALLS 470

static uint32_t run_program(const struct sock_fprog *prog, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < prog->len; pc++) {
		const struct sock_filter *insn = &prog->filter[pc];
		bool taken;

		switch (insn->code) {
		case BPF_RET | BPF_K:
			return insn->k;
		case BPF_LD | BPF_W | BPF_ABS:
			memcpy(&a, (const char *)data + insn->k, sizeof(a));
			continue;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= insn->k;
			continue;
		case BPF_JMP | BPF_JA:
			pc += insn->k;
			continue;
		case BPF_JMP | BPF_JEQ | BPF_K:
			taken = a == insn->k;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			taken = a >= insn->k;
			break;
		case BPF_JMP | BPF_JGT | BPF_K:
			taken = a > insn->k;
			break;
		default:
			fail_msg("instruction %#x", insn->code);
			return 0;
		}
		pc += taken ? insn->jt : insn->jf;
	}
	fail_msg("ran off the end");
	return 0;
}

static uint32_t action_of(const json_t *rule)
{
	const char *name = json_string_value(json_object_get(rule, "action"));

	if (strcmp(name, "SCMP_ACT_ALLOW") == 0)
		return SCMP_ACT_ALLOW;
	assert_string_equal(name, "SCMP_ACT_ERRNO");
	return SCMP_ACT_ERRNO((uint32_t)json_integer_value(json_object_get(rule, "errnoRet")));
}

static struct scmp_arg_cmp test_of(const json_t *arg)
{
	const char *op = json_string_value(json_object_get(arg, "op"));

	return (struct scmp_arg_cmp){
		.arg = (unsigned int)json_integer_value(json_object_get(arg, "index")),
		.op = strcmp(op, "SCMP_CMP_GE") == 0 ? SCMP_CMP_GE : SCMP_CMP_MASKED_EQ,
		.datum_a = (scmp_datum_t)json_integer_value(json_object_get(arg, "value")),
		.datum_b = (scmp_datum_t)json_integer_value(json_object_get(arg, "valueTwo")),
	};
}

/* What libseccomp does not know runc leaves out; a rule that it refuses is the end of the start. */
static void add_rule(scmp_filter_ctx ctx, const json_t *rule)
{
	const json_t *args = json_object_get(rule, "args");
	const char *name = json_string_value(json_array_get(json_object_get(rule, "names"), 0));
	int nr = seccomp_syscall_resolve_name(name);
	struct scmp_arg_cmp tests[2];
	size_t n = json_array_size(args);
	int r;

	if (nr == __NR_SCMP_ERROR || action_of(rule) == SCMP_ACT_ERRNO(ENOSYS))
		return; /* the default action is no rule of its own */
	assert_true(n <= 2);
	for (size_t i = 0; i < n; i++)
		tests[i] = test_of(json_array_get(args, i));
	r = seccomp_rule_add_array(ctx, action_of(rule), nr, (unsigned int)n, tests);
	if (r < 0)
		fail_msg("%s, %zu tests: %s", name, n, strerror(-r));
}

static struct sock_fprog compile(const json_t *profile)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
	const json_t *rules = json_object_get(profile, "syscalls");
	struct sock_fprog prog = { 0 };
	struct stat st;
	int fd = memfd_create("filter", MFD_CLOEXEC);

	assert_non_null(ctx);
	assert_true(fd >= 0);
	for (size_t i = 0; i < json_array_size(rules); i++)
		add_rule(ctx, json_array_get(rules, i));
	assert_int_equal(seccomp_export_bpf(ctx, fd), 0);
	assert_int_equal(fstat(fd, &st), 0);
	prog.len = (unsigned short)((size_t)st.st_size / sizeof(struct sock_filter));
	prog.filter = malloc((size_t)st.st_size);
	assert_non_null(prog.filter);
	assert_int_equal(pread(fd, prog.filter, (size_t)st.st_size, 0), st.st_size);
	seccomp_release(ctx);
	close(fd);
	return prog;
}

/* Values that some check of syscalls.def is about, and their neighbours. */
static const uint64_t values[] = {
	0,	     1,
	2,	     3,
	10,	     16,
	17,	     38,
	40,	     35,
	33,	     115,
	132,	     256,
	8,	     0x20000,
	0x40000,     0xffffffff,
	06000,	     02000,
	04000,	     0x802,
	0100,	     020200000,
	0x803,	     0x5412,
	0x100005412, 0x541c,
	0x5423,	     0x10000000,
	0x00020011,  0x7e020000,
	6,	     0x1200011,
	0x20008,     4,
	0x541b,	     UINT64_C(1) << 32,
};

/* Calls of which the arguments count. */
static bool is_checked(int nr)
{
	static const char *const names[] = {
#define CHECK(name, ...) #name,
#include "runtime/spec/syscalls.def"
#undef CHECK
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (seccomp_syscall_resolve_name(names[i]) == nr)
			return true;
	return false;
}

static const struct mr_seccomp_rule *rule_of(unsigned int level, int nr)
{
	const struct mr_seccomp_policy policy = { .level = level, .net = MR_SECCOMP_NET_ALLOW };

	return mr_seccomp_rule(&policy, AUDIT_ARCH_X86_64, nr);
}

static bool allows(uint32_t answer)
{
	return answer == SECCOMP_RET_ALLOW;
}

static void compare(const struct sock_fprog *ours, const struct sock_fprog *theirs,
		    unsigned int level, const struct seccomp_data *data, size_t *stricter)
{
	const uint32_t a = run_program(ours, data), b = run_program(theirs, data);

	if (allows(b) && !allows(a))
		fail_msg("level %u: %s(%#llx, %#llx, %#llx) is %#x here and allowed there", level,
			 rule_of(level, data->nr)->syscall, (unsigned long long)data->args[0],
			 (unsigned long long)data->args[1], (unsigned long long)data->args[2], a);
	*stricter += allows(a) && !allows(b);
}

static void is_never_looser(void **state)
{
	(void)state;
	for (unsigned int level = 2; level <= LEVELS; level++) {
		const struct mr_seccomp_policy policy = { .level = level,
							  .net = MR_SECCOMP_NET_ALLOW };
		mr_auto_json json_t *profile = mr_docker_seccomp(level);
		struct sock_fprog theirs = compile(profile);
		const size_t n = sizeof(values) / sizeof(values[0]);
		size_t stricter = 0;

		for (int nr = 0; nr < CALLS; nr++) {
			const size_t tries = is_checked(nr) ? n * n * n : n;

			for (size_t i = 0; i < tries; i++) {
				const struct seccomp_data data = {
					.nr = nr,
					.arch = AUDIT_ARCH_X86_64,
					.args = { values[i % n], values[i / n % n],
						  values[i / n / n], values[(i + i / n) % n] },
				};

				compare(mr_seccomp_program(&policy), &theirs, level, &data,
					&stricter);
			}
		}
		print_message("level %u: %zu are refused there only\n", level, stricter);
		free(theirs.filter);
	}
}

/* What programs live of. */
static void allows_what_is_ordinary(void **state)
{
	static const struct {
		const char *name;
		uint64_t args[4];
		uint32_t answer;
	} rows[] = {
		{ "read", { 0 }, SECCOMP_RET_ALLOW },
		{ "ioctl", { 0, 0x5401 }, SECCOMP_RET_ALLOW },
		{ "ioctl", { 0, 0x5412 }, SECCOMP_RET_ERRNO | EPERM },
		{ "ioctl", { 0, 0x100005412 }, SECCOMP_RET_ERRNO | EPERM },
		{ "clone", { 0x1200011 }, SECCOMP_RET_ALLOW },
		{ "clone", { 0x10000000 }, SECCOMP_RET_ERRNO | EPERM },
		{ "socket", { 1, 1, 0 }, SECCOMP_RET_ALLOW },
		{ "socket", { 2, 1, 0 }, SECCOMP_RET_ALLOW },
		{ "socket", { 2, 0x80801, 6 }, SECCOMP_RET_ALLOW },
		{ "socket", { 10, 2, 17 }, SECCOMP_RET_ALLOW },
		{ "socket", { 16, 3, 0 }, SECCOMP_RET_ERRNO | EPERM },
		{ "socket", { 16, 0x80002, 0 }, SECCOMP_RET_ALLOW },
		{ "socket", { 2, 3, 1 }, SECCOMP_RET_ERRNO | EPERM },
		{ "socketpair", { 1, 1, 0 }, SECCOMP_RET_ALLOW },
		{ "mount", { 0 }, SECCOMP_RET_ERRNO | EPERM },
		{ "chmod", { 0, 0644 }, SECCOMP_RET_ALLOW },
		{ "chmod", { 0, 04755 }, SECCOMP_RET_ERRNO | EPERM },
		{ "chmod", { 0, 02755 }, SECCOMP_RET_ERRNO | EPERM },
		{ "mknodat", { 0, 0, 06755 }, SECCOMP_RET_ERRNO | EPERM },
		{ "mknodat", { 0, 0, 0100644 }, SECCOMP_RET_ALLOW },
		{ "creat", { 0, 0666 }, SECCOMP_RET_ALLOW },
		{ "open", { 0, 0, 0 }, SECCOMP_RET_ALLOW },
		{ "open", { 0, 0102, 0666 }, SECCOMP_RET_ALLOW },
		{ "open", { 0, 0102, 04755 }, SECCOMP_RET_ERRNO | EPERM },
		{ "openat", { 0, 0, 0, 0 }, SECCOMP_RET_ALLOW },
		{ "openat", { 0, 0, 0, 0xffffffff }, SECCOMP_RET_ALLOW },
		{ "openat", { 0, 0, 0102, 0666 }, SECCOMP_RET_ALLOW },
		{ "openat", { 0, 0, 0102, 02755 }, SECCOMP_RET_ERRNO | EPERM },
		{ "openat", { 0, 0, 020200002, 04755 }, SECCOMP_RET_ERRNO | EPERM },
	};
	mr_auto_json json_t *profile = mr_docker_seccomp(3);
	struct sock_fprog theirs = compile(profile);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct seccomp_data data = { .nr = seccomp_syscall_resolve_name(rows[i].name),
					     .arch = AUDIT_ARCH_X86_64 };
		uint32_t answer;

		memcpy(data.args, rows[i].args, sizeof(rows[i].args));
		answer = run_program(&theirs, &data);
		if (answer != rows[i].answer)
			fail_msg("row %zu, %s: %#x", i, rows[i].name, answer);
	}
	free(theirs.filter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_never_looser),
		cmocka_unit_test(allows_what_is_ordinary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

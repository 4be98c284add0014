/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, seccomp
 *
 * Every row of syscalls.def is named, also those that are denied, because each has its own
 * errno.  What has no row, and so every newer call, is ENOSYS.
 */
#include "runtime/backend/docker_seccomp.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"

#define PASS 0
#define SOCKET PASS

struct call {
	const char *name;
	unsigned int allowed_up_to;
	int errnum;
};

static const struct call calls[] = {
#define SYSCALL(name, nr, set, allowed_up_to, errno_value, reason) \
	{ #name, allowed_up_to, errno_value },
#include "runtime/spec/syscalls.def"
#undef SYSCALL
};

struct test {
	int arg; /* -1: always holds */
	uint32_t mask, value;
};

struct check {
	const char *name;
	unsigned int from, to;
	struct test first, second;
	int errnum; /* PASS: it is allowed */
};

#define IS(arg, value)                 \
	{                              \
		arg, UINT32_MAX, value \
	}
#define BITS(arg, mask, value)   \
	{                        \
		arg, mask, value \
	}
#define ANY              \
	{                \
		-1, 0, 0 \
	}
static const struct check checks[] = {
#define CHECK(name, from, to, first, second, errno_value, reason) \
	{ #name, from, to, first, second, errno_value },
#include "runtime/spec/syscalls.def"
#undef CHECK
};
#undef IS
#undef BITS
#undef ANY

static json_t *action_json(int errnum)
{
	return errnum == PASS
		       ? json_pack("{s:s}", "action", "SCMP_ACT_ALLOW")
		       : json_pack("{s:s, s:i}", "action", "SCMP_ACT_ERRNO", "errnoRet", errnum);
}

static void add_rule(json_t *rules, const char *name, int errnum, json_t *args)
{
	json_t *rule = action_json(errnum);

	json_object_set_new(rule, "names", json_pack("[s]", name));
	if (args)
		json_object_set_new(rule, "args", args);
	json_array_append_new(rules, rule);
}

/* The low 32 bits only, because that is what the kernel uses of an int. */
static json_t *test_json(const struct test *test)
{
	return json_pack("{s:i, s:I, s:I, s:s}", "index", test->arg, "value",
			 (json_int_t)test->mask, "valueTwo", (json_int_t)test->value, "op",
			 "SCMP_CMP_MASKED_EQ");
}

/* Holds for every call, and comes after all that is about arguments. */
static json_t *always(void)
{
	return json_pack("[{s:i, s:i, s:i, s:s}]", "index", 0, "value", 0, "valueTwo", 0, "op",
			 "SCMP_CMP_GE");
}

/* That of the two about the higher argument: alone it refuses more. */
static const struct test *higher(const struct check *check)
{
	return check->second.arg > check->first.arg ? &check->second : &check->first;
}

/* The library takes no rule that is wider than one it has, and forgets one that is narrower: so a
 * refusal is one test alone, and where all that is not let pass is refused it is left out unless it
 * is about an argument that comes before those of what is. */
static void add_check(json_t *rules, const struct check *check, int rest)
{
	json_t *args;

	if (check->errnum != PASS && rest != PASS && higher(check)->arg == 0)
		return;
	args = json_array();
	json_array_append_new(args,
			      test_json(check->errnum == PASS ? &check->first : higher(check)));
	if (check->errnum == PASS && check->second.arg >= 0)
		json_array_append_new(args, test_json(&check->second));
	add_rule(rules, check->name, check->errnum, args);
}

static bool is_about(const struct check *check, const struct call *call, unsigned int level)
{
	return strcmp(check->name, call->name) == 0 && level >= check->from && level <= check->to;
}

/* What becomes of arguments that no row is about. */
static int rest_of(const struct call *call, unsigned int level)
{
	for (size_t i = 0; i < N_ELEMENTS(checks); i++)
		if (is_about(&checks[i], call, level) && checks[i].first.arg < 0)
			return checks[i].errnum;
	return PASS;
}

/* What an allowed call's arguments decide: true when there is anything. */
static bool add_checks(json_t *rules, const struct call *call, unsigned int level)
{
	const int rest = rest_of(call, level);
	bool any = false;

	for (size_t i = 0; i < N_ELEMENTS(checks); i++) {
		if (!is_about(&checks[i], call, level))
			continue;
		any = true;
		if (checks[i].first.arg >= 0)
			add_check(rules, &checks[i], rest);
	}
	if (any)
		add_rule(rules, call->name, rest, always());
	return any;
}

json_t *mr_docker_seccomp(unsigned int level)
{
	json_t *rules = json_array();

	for (size_t i = 0; i < N_ELEMENTS(calls); i++) {
		const struct call *call = &calls[i];

		if (call->allowed_up_to < level)
			add_rule(rules, call->name, call->errnum ? call->errnum : ENOSYS, NULL);
		else if (!add_checks(rules, call, level))
			add_rule(rules, call->name, PASS, NULL);
	}
	return json_pack("{s:s, s:i, s:[s], s:o}", "defaultAction", "SCMP_ACT_ERRNO",
			 "defaultErrnoRet", ENOSYS, "architectures", "SCMP_ARCH_X86_64", "syscalls",
			 rules);
}

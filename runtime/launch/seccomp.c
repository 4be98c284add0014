/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seccomp: which system calls the payload may make
 *
 * Two uses of syscalls.def meet here: the compiled programs, which a run only
 * looks up and loads, and the rows, which tell the supervisor what a denied
 * call is called, what to answer and why.
 *
 * Where no listener can be had the program is copied to the stack and answers by
 * itself; the errno to answer with lies in the unused half of each USER_NOTIF.
 *
 * A policy document only ever takes away: its question comes after that of the level.
 */
#include "runtime/launch/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/hash.h"
#include "runtime/spec/policy.h"

#define X32_BIT 0x40000000

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* clang-format off */
enum {
#define SYSCALL(name, nr, set, allowed_up_to, errno_value, reason) NR_##name = (nr),
#include "runtime/spec/syscalls.def"
};

#define SYSCALL(name, nr, set, allowed_up_to, errno_value, reason) \
	static const char set_of_##name[] __attribute__((unused)) = #set;
#include "runtime/spec/syscalls.def"

/* By call number; a gap has no name. */
static const struct mr_seccomp_rule rows[] = {
#define SYSCALL(name, nr, set_, allowed, errno_value, reason_)                                    \
	[nr] = { .syscall = #name, .verdict = MR_SECCOMP_DENY, .errnum = (errno_value),           \
		 .reason = (reason_), .set = #set_, .allowed_up_to = (allowed) },
#include "runtime/spec/syscalls.def"
};

struct test {
	unsigned int arg;
	uint32_t mask, value;
};
static const struct check {
	int nr;
	unsigned int from, to;
	struct test tests[2];
	struct mr_seccomp_rule rule; /* errnum PASS: the call passes */
} checks[] = {
#define IS(arg, value) { (arg), 0xffffffffU, (value) }
#define BITS(arg, mask, value) { (arg), (mask), (value) }
#define ANY { 0, 0, 0 }
#define PASS 0
#define SOCKET (-1)
#define CHECK(name, from, to, first, second, errno_value, reason_)                                \
	{ NR_##name, (from), (to), { first, second },                                             \
	  { .syscall = #name,                                                                     \
	    .verdict = (errno_value) == SOCKET ? MR_SECCOMP_SOCKET : MR_SECCOMP_DENY,             \
	    .errnum = (errno_value) == SOCKET ? PASS : (errno_value),                             \
	    .reason = (reason_), .set = set_of_##name, .allowed_up_to = (from) - 1 } },
#include "runtime/spec/syscalls.def"
};

static const struct watch {
	int nr;
	struct mr_seccomp_rule rule;
} watches[] = {
#define WATCH(name, verdict_, non_null, errno_value, reason_)                                     \
	{ NR_##name,                                                                              \
	  { .syscall = #name, .verdict = MR_SECCOMP_##verdict_, .errnum = (errno_value),          \
	    .reason = (reason_), .set = set_of_##name, .allowed_up_to = 5 } },
#include "runtime/spec/syscalls.def"
};

/* What a policy document does not allow. */
static const struct mr_seccomp_rule unlisted[] = {
#define SYSCALL(name, nr, set_, allowed, errno_value, reason_)                                    \
	[nr] = { .syscall = #name, .verdict = MR_SECCOMP_DENY, .errnum = EPERM,                   \
		 .reason = "the policy does not list this system call", .set = "policy" },
#include "runtime/spec/syscalls.def"
};

static const struct mr_seccomp_path paths[] = {
#define PATH(name, dir, path, use) { NR_##name, (dir), (path), MR_PATH_##use },
#include "runtime/spec/syscalls.def"
};

/* clang-format on */

static const struct mr_seccomp_rule rule_path = {
	.syscall = "?",
	.verdict = MR_SECCOMP_PATH,
	.errnum = EACCES,
	.reason = "paths are watched",
	.set = "policy",
};
static const struct mr_seccomp_rule rule_record = {
	.syscall = "?",
	.verdict = MR_SECCOMP_RECORD,
	.errnum = EPERM,
	.reason = "system calls are recorded",
	.set = "policy",
};
static const struct mr_seccomp_rule rule_unknown = {
	.syscall = "?",
	.errnum = ENOSYS,
	.reason = "this system call is not known to the policy",
	.set = "unknown",
};
/* Should the supervisor ever be asked about a call that the policy lets pass. */
static const struct mr_seccomp_rule rule_unexpected = {
	.syscall = "?",
	.errnum = EPERM,
	.reason = "this notification is not one of the policy's",
	.set = "unknown",
};
static const struct mr_seccomp_rule rule_i386 = {
	.syscall = "?",
	.errnum = ENOSYS,
	.reason = "system calls of 32-bit programs are closed; build the program for x86_64",
	.set = "abi",
};
static const struct mr_seccomp_rule rule_x32 = {
	.syscall = "?",
	.errnum = ENOSYS,
	.reason = "system calls of the x32 ABI are closed; build the program for x86_64",
	.set = "abi",
};

const struct sock_fprog *mr_seccomp_program(const struct mr_seccomp_policy *policy)
{
	mr_assert(policy->level >= 1 && policy->level <= MR_SECCOMP_LEVELS);
	if (policy->program)
		return policy->program;
	return &mr_seccomp_programs[policy->level - 1][policy->net][policy->watch_opens];
}

void mr_seccomp_hash(const struct sock_fprog *prog, char ret_hex[65])
{
	mr_hash_hex(prog->filter, prog->len * sizeof(prog->filter[0]), ret_hex);
}

static int set_filter(unsigned long flags, const struct sock_fprog *prog)
{
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, prog);
}

/*
 * With WAIT_KILLABLE_RECV (Linux 5.19) a signal does not interrupt a call that the
 * supervisor has already taken, which would be restarted and recorded twice.
 */
static int set_filter_listening(const struct sock_fprog *prog)
{
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
	int fd = set_filter(flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, prog);

	if (fd < 0 && errno == EINVAL)
		fd = set_filter(flags, prog);
	return fd;
}

/* What a program without listener returns in place of ret; -1 if it cannot do without. */
static int64_t answer_alone(uint32_t ret)
{
	uint32_t data = ret & SECCOMP_RET_DATA;

	if ((ret & SECCOMP_RET_ACTION_FULL) != SECCOMP_RET_USER_NOTIF)
		return ret;
	if (data == MR_SECCOMP_ALONE_REFUSE)
		return -1;
	if (data == MR_SECCOMP_ALONE_ALLOW)
		return SECCOMP_RET_ALLOW;
	return SECCOMP_RET_ERRNO | data;
}

/* Its stack is for those alone who need it. */
__attribute__((noinline)) static int load_alone(const struct sock_fprog *prog, int why,
						struct mr_error *err)
{
	struct sock_filter insns[MR_SECCOMP_NARROWED_MAX];
	struct sock_fprog copy = { .len = prog->len, .filter = insns };

	mr_assert(prog->len <= N_ELEMENTS(insns));
	for (size_t i = 0; i < prog->len; i++) {
		int64_t ret;

		insns[i] = prog->filter[i];
		if (insns[i].code != (BPF_RET | BPF_K))
			continue;
		ret = answer_alone(insns[i].k);
		if (ret < 0)
			return mr_err(err, MR_E_KERNEL, why,
				      "seccomp: this level or policy needs a listener: %m");
		insns[i].k = (uint32_t)ret;
	}
	if (set_filter(0, &copy) < 0)
		return mr_err(err, MR_E_SYS, errno, "install seccomp filter without listener: %m");
	return 1;
}

int mr_seccomp_load(const struct sock_fprog *prog, int *ret_listener, struct mr_error *err)
{
	int fd = set_filter_listening(prog), r;

	if (fd >= 0) {
		*ret_listener = fd;
		return 0;
	}
	/* EBUSY: a listener is above us already.  EINVAL: Linux before 5.0. */
	if (errno != EBUSY && errno != EINVAL)
		return mr_err(err, MR_E_SYS, errno, "install seccomp filter: %m");
	r = load_alone(prog, errno, err);
	if (r == 1)
		*ret_listener = -1;
	return r;
}

static bool test_holds(const struct test *t, const struct seccomp_data *data)
{
	return ((uint32_t)data->args[t->arg] & t->mask) == t->value;
}

static bool watch_applies(const struct watch *w, const struct mr_seccomp_policy *policy)
{
	switch (w->rule.verdict) {
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

const struct mr_seccomp_path *mr_seccomp_paths(size_t *ret_n)
{
	*ret_n = N_ELEMENTS(paths);
	return paths;
}

bool mr_seccomp_is_open(int nr)
{
	for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
		if (paths[i].nr == nr && paths[i].use == MR_PATH_OPEN)
			return true;
	}
	return false;
}

/* What a program maps and changes in memory is none of them. */
const struct mr_seccomp_write *mr_seccomp_write(int nr)
{
	static const struct mr_seccomp_write writes[] = {
		{ NR_write, 0, -1, 2 },	     { NR_pwrite64, 0, 3, 2 },
		{ NR_writev, 0, -1, -1 },    { NR_pwritev, 0, 3, -1 },
		{ NR_pwritev2, 0, 3, -1 },   { NR_sendfile, 0, -1, -1 },
		{ NR_fsync, 0, -1, -1 },     { NR_fdatasync, 0, -1, -1 },
		{ NR_ftruncate, 0, -1, -1 }, { NR_fallocate, 0, -1, -1 },
		{ NR_splice, 2, -1, -1 },    { NR_copy_file_range, 2, -1, -1 },
	};

	for (size_t i = 0; i < N_ELEMENTS(writes); i++)
		if (writes[i].nr == nr)
			return &writes[i];
	return NULL;
}

bool mr_seccomp_level_allows(unsigned int level, unsigned int nr)
{
	return nr < N_ELEMENTS(rows) && rows[nr].syscall && level <= rows[nr].allowed_up_to;
}

static bool is_path_call(int nr)
{
	for (size_t i = 0; i < N_ELEMENTS(paths); i++) {
		if (paths[i].nr == nr)
			return true;
	}
	return false;
}

static const struct mr_seccomp_rule *find_watch(const struct mr_seccomp_policy *policy, int nr)
{
	for (size_t i = 0; i < N_ELEMENTS(watches); i++) {
		if (watches[i].nr == nr && watch_applies(&watches[i], policy))
			return &watches[i].rule;
	}
	return NULL;
}

/* The check that decides.  Without arguments: the last denial that this level has for the call. */
static const struct mr_seccomp_rule *find_check(const struct mr_seccomp_policy *policy, int nr,
						const struct seccomp_data *data)
{
	const struct mr_seccomp_rule *last = NULL;

	for (size_t i = 0; i < N_ELEMENTS(checks); i++) {
		const struct check *c = &checks[i];

		if (c->nr != nr || policy->level < c->from || policy->level > c->to)
			continue;
		if (data && test_holds(&c->tests[0], data) && test_holds(&c->tests[1], data))
			return &c->rule;
		if (c->rule.errnum != PASS)
			last = &c->rule;
	}
	return data ? NULL : last;
}

/* A call that passes is shown first. */
static bool is_asked(const struct mr_seccomp_policy *policy, const struct mr_seccomp_rule *rule)
{
	return rule->verdict == MR_SECCOMP_SOCKET && policy->net != MR_SECCOMP_NET_ALLOW;
}

static const struct mr_seccomp_rule *find_rule(const struct mr_seccomp_policy *policy,
					       uint32_t arch, int nr,
					       const struct seccomp_data *data)
{
	const struct mr_seccomp_rule *rule, *check;

	if (arch != AUDIT_ARCH_X86_64)
		return &rule_i386;
	if (nr >= X32_BIT)
		return &rule_x32;
	if (nr < 0 || (size_t)nr >= N_ELEMENTS(rows) || !rows[nr].syscall)
		return &rule_unknown;
	if (policy->level > rows[nr].allowed_up_to)
		return &rows[nr];
	if (policy->document && !mr_policy_allows_call(policy->document, (unsigned int)nr))
		return &unlisted[nr];
	check = find_check(policy, nr, data);
	/* A call that a document or a watch shows to us has not been through the level's checks. */
	if (data && check && check->verdict == MR_SECCOMP_DENY && check->errnum != PASS)
		return check;
	rule = find_watch(policy, nr);
	if (policy->watch_paths && is_path_call(nr) && (!rule || rule->verdict == MR_SECCOMP_OPEN))
		return &rule_path;
	if (!rule)
		rule = check;
	if (rule && (rule->errnum != PASS || is_asked(policy, rule)))
		return rule;
	return policy->record || (policy->watch_writes && mr_seccomp_write(nr)) ? &rule_record
										: &rule_unexpected;
}

const struct mr_seccomp_rule *mr_seccomp_rule(const struct mr_seccomp_policy *policy, uint32_t arch,
					      int nr)
{
	return find_rule(policy, arch, nr, NULL);
}

const struct mr_seccomp_rule *mr_seccomp_rule_for(const struct mr_seccomp_policy *policy,
						  const struct seccomp_data *data)
{
	return find_rule(policy, data->arch, data->nr, data);
}

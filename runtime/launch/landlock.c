/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: which paths may be written, whatever else goes wrong
 *
 * rights[] says which file rights exist from which ABI on, whether they make
 * sense for a single file (the kernel refuses the others in a rule on one) and
 * which kinds of access include them.  Everything else is computed from it.
 *
 * At ABI 1, where REFER does not exist, moves between folders are always refused.
 *
 * Network rights are not handled: the network is closed by its namespace and by
 * seccomp, and a rule on TCP ports would break the modes that open it.
 *
 * No allocation: this runs between clone and exec.
 */
#include "runtime/launch/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/spec/policy.h"

#define ABI_SCOPES 6

#define R (1U << MR_LANDLOCK_READ)
#define W (1U << MR_LANDLOCK_WRITE)
#define D (1U << MR_LANDLOCK_DEVICE)
#define X MR_POLICY_EXECUTE
#define M MR_POLICY_MAKE
#define NONE (~0U) /* no word of a policy is about it: left to the level */

/* clang-format off */
static const struct right {
	uint64_t bit;
	int since_abi;
	bool for_files;
	unsigned int in; /* accesses that include it */
	unsigned int policy; /* accesses of a policy that include it */
} rights[] = {
	{ LANDLOCK_ACCESS_FS_EXECUTE,     1, true,  R | W, X },
	{ LANDLOCK_ACCESS_FS_READ_FILE,   1, true,  R | W | D, MR_POLICY_READ | X },
	{ LANDLOCK_ACCESS_FS_READ_DIR,    1, false, R | W, MR_POLICY_LIST },
	{ LANDLOCK_ACCESS_FS_WRITE_FILE,  1, true,  W | D, MR_POLICY_WRITE },
	{ LANDLOCK_ACCESS_FS_REMOVE_DIR,  1, false, W, M },
	{ LANDLOCK_ACCESS_FS_REMOVE_FILE, 1, false, W, M },
	{ LANDLOCK_ACCESS_FS_MAKE_CHAR,   1, false, 0, 0 },
	{ LANDLOCK_ACCESS_FS_MAKE_DIR,    1, false, W, M },
	{ LANDLOCK_ACCESS_FS_MAKE_REG,    1, false, W, M },
	{ LANDLOCK_ACCESS_FS_MAKE_SOCK,   1, false, W, M },
	{ LANDLOCK_ACCESS_FS_MAKE_FIFO,   1, false, W, M },
	{ LANDLOCK_ACCESS_FS_MAKE_BLOCK,  1, false, 0, 0 },
	{ LANDLOCK_ACCESS_FS_MAKE_SYM,    1, false, W, M },
	{ LANDLOCK_ACCESS_FS_REFER,       2, false, W, M },
	{ LANDLOCK_ACCESS_FS_TRUNCATE,    3, true,  W, MR_POLICY_WRITE },
	{ LANDLOCK_ACCESS_FS_IOCTL_DEV,   5, true,  D, NONE },
};
/* clang-format on */

static uint64_t handled_rights(int abi)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < N_ELEMENTS(rights); i++) {
		if (rights[i].since_abi <= abi)
			bits |= rights[i].bit;
	}
	return bits;
}

static uint64_t granted_rights(int abi, enum mr_landlock_access access, bool is_directory)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < N_ELEMENTS(rights); i++) {
		const struct right *right = &rights[i];

		if (right->since_abi <= abi && right->in & 1U << access &&
		    (is_directory || right->for_files))
			bits |= right->bit;
	}
	return bits;
}

/* What a policy judges. */
static uint64_t policy_handled(int abi)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < N_ELEMENTS(rights); i++) {
		if (rights[i].since_abi <= abi && rights[i].policy != NONE)
			bits |= rights[i].bit;
	}
	return bits;
}

static uint64_t policy_granted(int abi, unsigned int access, bool is_directory)
{
	uint64_t bits = 0;

	for (size_t i = 0; i < N_ELEMENTS(rights); i++) {
		const struct right *right = &rights[i];

		if (right->since_abi <= abi && right->policy != NONE && right->policy & access &&
		    (is_directory || right->for_files))
			bits |= right->bit;
	}
	return bits;
}

static size_t ruleset_attr_size(int abi)
{
	if (abi >= ABI_SCOPES)
		return sizeof(struct mr_landlock_ruleset_attr);
	return offsetof(struct mr_landlock_ruleset_attr, scoped);
}

int mr_landlock_abi(int *ret_errno)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

	if (ret_errno)
		*ret_errno = abi < 0 ? errno : 0;
	return abi < 0 ? 0 : (int)abi;
}

enum scopes { SCOPED, NOT_SCOPED };

static int create_ruleset(int abi, uint64_t handled, enum scopes scopes, struct mr_error *err)
{
	struct mr_landlock_ruleset_attr attr = { .handled_access_fs = handled };
	size_t size = ruleset_attr_size(abi);
	int fd;

	if (abi >= ABI_SCOPES && scopes == SCOPED)
		attr.scoped = MR_LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | MR_LANDLOCK_SCOPE_SIGNAL;
	fd = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "create Landlock ruleset (ABI %d): %m", abi);
	return fd;
}

static int add_rule(int ruleset, int abi, const struct mr_landlock_rule *rule, struct mr_error *err)
{
	mr_auto_close int fd = open(rule->path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr attr = { .parent_fd = fd };
	struct stat st;

	if (fd < 0 && errno == ENOENT && rule->optional)
		return 0;
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", rule->path);
	if (fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "stat %s: %m", rule->path);
	attr.allowed_access = granted_rights(abi, rule->access, S_ISDIR(st.st_mode));
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) < 0)
		return mr_err(err, MR_E_SYS, errno, "add Landlock rule for %s: %m", rule->path);
	return 0;
}

static int need_landlock(int *ret_abi, struct mr_error *err)
{
	int why;

	*ret_abi = mr_landlock_abi(&why);
	if (*ret_abi > 0)
		return 0;
	return mr_err(err, MR_E_KERNEL, why,
		      "this kernel has no Landlock (not built in, or not in lsm=): %m");
}

int mr_landlock_restrict(const struct mr_landlock_rule *rules, size_t n, struct mr_error *err)
{
	mr_auto_close int ruleset = -1;
	int abi = 0, r = need_landlock(&abi, err);

	if (r < 0)
		return r;
	ruleset = create_ruleset(abi, handled_rights(abi), SCOPED, err);
	if (ruleset < 0)
		return ruleset;
	for (size_t i = 0; i < n; i++) {
		r = add_rule(ruleset, abi, &rules[i], err);
		if (r < 0)
			return r;
	}
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return mr_err(err, MR_E_SYS, errno, "restrict by Landlock: %m");
	return 0;
}

/* Open what a policy's path stands for; -ENOENT: not there, or not what its slash says. */
static int open_policy_path(const struct mr_policy_path *rule, struct stat *ret_st,
			    struct mr_error *err)
{
	const size_t n = strlen(rule->path);
	const bool is_folder = rule->path[n - 1] == '/';
	mr_auto_close int fd = open(rule->path, O_PATH | O_CLOEXEC);

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == ELOOP))
		return -ENOENT; /* what the payload cannot reach needs no rule */
	if (fd < 0 || fstat(fd, ret_st) < 0)
		return mr_err(err, MR_E_SYS, errno, "policy: open %s: %m", rule->path);
	if (S_ISDIR(ret_st->st_mode) && !is_folder)
		return mr_err(err, MR_E_USAGE, EISDIR,
			      "policy: %s is a folder inside; it is written with a slash at its "
			      "end",
			      rule->path);
	return mr_take_fd(fd);
}

static int add_policy_rule(int ruleset, int abi, const struct mr_policy_path *rule,
			   struct mr_error *err)
{
	struct stat st = { 0 };
	mr_auto_close int fd = open_policy_path(rule, &st, err);
	struct landlock_path_beneath_attr attr = { .parent_fd = fd };

	if (fd < 0)
		return fd == -ENOENT ? 1 : fd;
	attr.allowed_access = policy_granted(abi, rule->access, S_ISDIR(st.st_mode));
	if (attr.allowed_access &&
	    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) < 0)
		return mr_err(err, MR_E_SYS, errno, "policy: add Landlock rule for %s: %m",
			      rule->path);
	return 0;
}

int mr_landlock_narrow(const struct mr_policy_path *paths, size_t n, uint32_t *ret_missing,
		       struct mr_error *err)
{
	mr_auto_close int ruleset = -1;
	int abi = 0, r = need_landlock(&abi, err);

	if (r < 0)
		return mr_err_wrap(err, r, "policy");
	ruleset = create_ruleset(abi, policy_handled(abi), NOT_SCOPED, err);
	if (ruleset < 0)
		return ruleset;
	for (size_t i = 0; i < n; i++) {
		r = add_policy_rule(ruleset, abi, &paths[i], err);
		if (r < 0)
			return r;
		*ret_missing += r > 0;
	}
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return mr_err(err, MR_E_SYS, errno, "policy: restrict by Landlock: %m");
	return 0;
}

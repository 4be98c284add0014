/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock: which paths may be written, whatever else goes wrong
 *
 * The domain handles every right the running kernel knows; rules are anchored at
 * directories of the sandbox's own root, so a descriptor or magic link that leads
 * outside of it finds no rule and is refused.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mr_error;
struct mr_policy_path;

enum mr_landlock_access {
	MR_LANDLOCK_READ, /* read files and folders, execute */
	MR_LANDLOCK_WRITE, /* everything but device ioctls and making device nodes */
	MR_LANDLOCK_DEVICE, /* read, write and ioctl on device files */
};

struct mr_landlock_rule {
	const char *path; /* absolute, walked now; a missing path is skipped when optional is set */
	enum mr_landlock_access access;
	int optional;
};

/* ABI of the running kernel, 0 when it has no Landlock (errno kept in *ret_errno, may be NULL). */
int mr_landlock_abi(int *ret_errno);

/* Restrict the calling thread (no_new_privs must be set).  Also scopes signals and abstract
 * unix sockets where the ABI has it (>= 6).  Fails when the kernel has no Landlock.
 * Between clone and exec: no allocation. */
int mr_landlock_restrict(const struct mr_landlock_rule *rules, size_t n, struct mr_error *err);

/* Restrict it further, to what the paths of a policy grant: what is allowed is what both do.  A
 * path that is not there is skipped and counted in *ret_missing.  Called after the other. */
int mr_landlock_narrow(const struct mr_policy_path *paths, size_t n, uint32_t *ret_missing,
		       struct mr_error *err);

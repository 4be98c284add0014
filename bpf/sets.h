/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets: what is in the root, and how it goes
 */
#pragma once

#include <stdint.h>

struct mr_error;

/* Lock the root; *ret_fd is the lock. */
int mr_sets_lock(const char *root, int *ret_fd, struct mr_error *err);
/* What a killed process left, under names that begin with prefix. */
int mr_sets_remove_half_made(const char *path, const char *prefix, struct mr_error *err);
/* Remove each set that no run uses and none has used for idle_s, but for the one called `keep` (NULL:
 * none); the root is locked by the caller.  Their number; *ret_left (or NULL) gets that of the others. */
int mr_sets_purge(const char *root, const char *keep, uint64_t idle_s, int *ret_left,
		  struct mr_error *err);

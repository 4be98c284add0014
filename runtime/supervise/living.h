/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Living: the runs that go on at this moment, as far as the caller may see them
 *
 * Each leaves a locked lease in a folder of its user's.  An ordinary user has one such folder;
 * root looks into everybody's.
 */
#pragma once

#include <stddef.h>

#include "runtime/supervise/lease.h"

struct mr_error;

struct mr_living {
	struct mr_lease_info info;
	char *folder; /* of its lease */
};

/* *ret: malloc'd, oldest first; given back by mr_living_free(). */
int mr_living_list(struct mr_living **ret, size_t *ret_n, struct mr_error *err);
struct mr_living *mr_living_free(struct mr_living *list, size_t n);

/* Ask its supervisor for the events (follow.h): a connected socket, or negative errno; 1: it has
 * ended.  Waits up to timeout_ms; a signal that ends us waits no longer than a moment. */
int mr_living_follow(const struct mr_living *run, int timeout_ms, int *ret_fd,
		     struct mr_error *err);

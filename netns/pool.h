/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pool: network namespaces used again for the next run
 *
 * Making one and tearing it down costs more than all other namespaces together.
 * A namespace without a link that is up, in which nobody had a capability, is as
 * good as new once its processes are gone; that is looked at, not assumed, and
 * what does not look new is thrown away.
 *
 * The calling process must be single-threaded: it enters the namespaces to make
 * and to inspect them, and goes home again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct mr_error;
struct mr_netns_pool;

/* How many descriptors each namespace takes that may be kept; one that may not takes one. */
size_t mr_netns_pool_fds(void);

/*
 * At most `max` namespaces are kept.  *ret is NULL where this process could not come back to the
 * namespace that it is in, which takes CAP_SYS_ADMIN over its owner: a run makes one of its own then.
 */
int mr_netns_pool_new(size_t max, struct mr_netns_pool **ret, struct mr_error *err);
/* From now on that many, which are no fewer. */
void mr_netns_pool_keep(struct mr_netns_pool *pool, size_t max);
/* Is any kept at all? */
bool mr_netns_pool_keeps(const struct mr_netns_pool *pool);
/* NULL is accepted.  Returns NULL. */
struct mr_netns_pool *mr_netns_pool_free(struct mr_netns_pool *pool);

/* A clean namespace: its descriptor (close-on-exec, the caller's), or negative errno.  With too few
 * descriptors left to look into it one still is, which is not kept. */
int mr_netns_pool_take(struct mr_netns_pool *pool, struct mr_error *err);
/* Give one back whose processes are gone; closes it unless it is clean and there is room.
 * Returns 1 when it was kept, 0 when it was thrown away. */
int mr_netns_pool_give(struct mr_netns_pool *pool, int fd);

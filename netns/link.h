/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links of a network namespace
 */
#pragma once

#include <stdint.h>

struct mr_error;
struct mr_rtnl;

/* Set a link of the calling task's namespace up.  Needs CAP_NET_ADMIN over it. */
int mr_link_up(const char *name, struct mr_error *err);

/* Bytes of a packet at most, and packets in one that segmentation offload makes. */
struct mr_link_sizes {
	uint32_t mtu, gso_max_segs;
};
/* Set both and read them back; another value in the kernel is an error. */
int mr_link_set_sizes(struct mr_rtnl *rtnl, int ifindex, const struct mr_link_sizes *sizes,
		      struct mr_error *err);

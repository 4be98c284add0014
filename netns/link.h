/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links of a network namespace
 */
#pragma once

#include <stdint.h>

struct mr_attr;
struct mr_error;
struct mr_rtnl;

/* Set a link of the calling task's namespace up.  Needs CAP_NET_ADMIN over it. */
int mr_link_up(const char *name, struct mr_error *err);

struct mr_link_address {
	int family; /* AF_INET, AF_INET6 */
	uint8_t bytes[16]; /* the first 4 for AF_INET */
	unsigned int length; /* bits of its network */
};
/* One more address, of this host alone; its network has no route by it in IPv6.  -EACCES or -EOPNOTSUPP
 * where IPv6 is switched off. */
int mr_link_add_address(struct mr_rtnl *rtnl, int ifindex, const struct mr_link_address *address,
			struct mr_error *err);

/* Bytes of a packet at most, and packets in one that segmentation offload makes. */
struct mr_link_sizes {
	uint32_t mtu, gso_max_segs;
};
/* Set both and read them back; another value in the kernel is an error. */
int mr_link_set_sizes(struct mr_rtnl *rtnl, int ifindex, const struct mr_link_sizes *sizes,
		      struct mr_error *err);

/* Each attribute of a link as the kernel shows it; none where there is no such link. */
typedef void mr_link_take_fn(void *owner, const struct mr_attr *attr);
int mr_link_show(struct mr_rtnl *rtnl, int ifindex, mr_link_take_fn *take, void *owner,
		 struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links
 *
 * Setting one up is two ioctls, which cost less than a netlink socket: most runs need
 * no more of it.
 */
#include "netns/link.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "netns/attrs.h"
#include "netns/rtnl.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

int mr_link_up(const char *name, struct mr_error *err)
{
	mr_auto_close int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq req = { 0 };

	if (sock < 0)
		return mr_err(err, MR_E_SYS, errno, "socket for link %s: %m", name);
	snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", name);
	if (ioctl(sock, SIOCGIFFLAGS, &req) < 0)
		return mr_err(err, MR_E_SYS, errno, "flags of link %s: %m", name);
	req.ifr_flags |= IFF_UP;
	if (ioctl(sock, SIOCSIFFLAGS, &req) < 0)
		return mr_err(err, MR_E_SYS, errno, "set link %s up: %m", name);
	return 0;
}

static void free_msg(struct nl_msg **msg)
{
	nlmsg_free(*msg);
}
#define auto_msg mr_cleanup(free_msg)

static struct nl_msg *link_msg(int type, int ifindex)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, 0);
	struct ifinfomsg info = { .ifi_family = AF_UNSPEC, .ifi_index = ifindex };

	mr_assert(msg && nlmsg_append(msg, &info, sizeof(info), NLMSG_ALIGNTO) == 0);
	return msg;
}

struct look {
	int ifindex;
	struct mr_link_sizes sizes;
};

static int read_link(const struct nlmsghdr *message, void *owner, struct mr_error *err)
{
	const size_t head = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct ifinfomsg));
	struct look *look = owner;
	struct ifinfomsg info;
	struct mr_attr attr;
	size_t at = 0;
	int r;

	if (message->nlmsg_type != RTM_NEWLINK || message->nlmsg_len < head)
		return 0;
	memcpy(&info, (const char *)message + NLMSG_HDRLEN, sizeof(info));
	if (info.ifi_index != look->ifindex)
		return 0;
	while ((r = mr_attrs_next((const char *)message + head, message->nlmsg_len - head, &at,
				  &attr)) > 0) {
		if (attr.type == IFLA_MTU)
			mr_attr_copy(&attr, &look->sizes.mtu, sizeof(uint32_t));
		if (attr.type == IFLA_GSO_MAX_SEGS)
			mr_attr_copy(&attr, &look->sizes.gso_max_segs, sizeof(uint32_t));
	}
	return r < 0 ? mr_err(err, MR_E_PROTO, EBADMSG, "a link as the kernel shows it: malformed")
		     : 0;
}

int mr_link_set_sizes(struct mr_rtnl *rtnl, int ifindex, const struct mr_link_sizes *sizes,
		      struct mr_error *err)
{
	auto_msg struct nl_msg *set = link_msg(RTM_NEWLINK, ifindex);
	auto_msg struct nl_msg *get = link_msg(RTM_GETLINK, ifindex);
	struct look look = { .ifindex = ifindex };
	int r;

	mr_assert(nla_put_u32(set, IFLA_MTU, sizes->mtu) == 0);
	mr_assert(nla_put_u32(set, IFLA_GSO_MAX_SEGS, sizes->gso_max_segs) == 0);
	r = mr_rtnl_request(rtnl, set, "set the size of packets", err);
	if (r == 0)
		r = mr_rtnl_dump(rtnl, get, "show the links", read_link, &look, err);
	if (r < 0)
		return r;
	if (look.sizes.mtu != sizes->mtu || look.sizes.gso_max_segs != sizes->gso_max_segs)
		return mr_err(err, MR_E_KERNEL, EPROTO,
			      "packets have %u bytes, %u at once, not %u bytes, %u at once",
			      look.sizes.mtu, look.sizes.gso_max_segs, sizes->mtu,
			      sizes->gso_max_segs);
	return 0;
}

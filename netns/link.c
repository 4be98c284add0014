/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links
 *
 * Setting one up is two ioctls, which cost less than a netlink socket: most runs need
 * no more of it.
 */
#include "netns/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
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

int mr_link_add_address(struct mr_rtnl *rtnl, int ifindex, const struct mr_link_address *address,
			struct mr_error *err)
{
	const int size = address->family == AF_INET ? 4 : 16;
	auto_msg struct nl_msg *add = nlmsg_alloc_simple(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
	struct ifaddrmsg info = { .ifa_family = (unsigned char)address->family,
				  .ifa_prefixlen = (unsigned char)address->length,
				  .ifa_scope = RT_SCOPE_HOST,
				  .ifa_index = (unsigned int)ifindex };
	char what[96], text[INET6_ADDRSTRLEN];

	mr_assert(add && nlmsg_append(add, &info, sizeof(info), NLMSG_ALIGNTO) == 0);
	mr_assert(nla_put(add, IFA_LOCAL, size, address->bytes) == 0);
	mr_assert(nla_put(add, IFA_ADDRESS, size, address->bytes) == 0);
	mr_assert(nla_put_u32(add, IFA_FLAGS, IFA_F_NODAD | IFA_F_NOPREFIXROUTE) == 0);
	mr_assert(inet_ntop(address->family, address->bytes, text, sizeof(text)));
	snprintf(what, sizeof(what), "give the link the address %s", text);
	return mr_rtnl_request(rtnl, add, what, err);
}

struct look {
	int ifindex;
	mr_link_take_fn *take;
	void *owner;
};

static int read_link(const struct nlmsghdr *message, void *owner, struct mr_error *err)
{
	const size_t head = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct ifinfomsg));
	const struct look *look = owner;
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
				  &attr)) > 0)
		look->take(look->owner, &attr);
	return r < 0 ? mr_err(err, MR_E_PROTO, EBADMSG, "a link as the kernel shows it: malformed")
		     : 0;
}

int mr_link_show(struct mr_rtnl *rtnl, int ifindex, mr_link_take_fn *take, void *owner,
		 struct mr_error *err)
{
	auto_msg struct nl_msg *get = link_msg(RTM_GETLINK, ifindex);
	struct look look = { .ifindex = ifindex, .take = take, .owner = owner };

	return mr_rtnl_dump(rtnl, get, "show the links", read_link, &look, err);
}

static void take_size(void *owner, const struct mr_attr *attr)
{
	struct mr_link_sizes *sizes = owner;

	if (attr->type == IFLA_MTU)
		mr_attr_copy(attr, &sizes->mtu, sizeof(sizes->mtu));
	if (attr->type == IFLA_GSO_MAX_SEGS)
		mr_attr_copy(attr, &sizes->gso_max_segs, sizeof(sizes->gso_max_segs));
}

int mr_link_set_sizes(struct mr_rtnl *rtnl, int ifindex, const struct mr_link_sizes *sizes,
		      struct mr_error *err)
{
	auto_msg struct nl_msg *set = link_msg(RTM_NEWLINK, ifindex);
	struct mr_link_sizes shown = { 0 };
	int r;

	mr_assert(nla_put_u32(set, IFLA_MTU, sizes->mtu) == 0);
	mr_assert(nla_put_u32(set, IFLA_GSO_MAX_SEGS, sizes->gso_max_segs) == 0);
	r = mr_rtnl_request(rtnl, set, "set the size of packets", err);
	if (r == 0)
		r = mr_link_show(rtnl, ifindex, take_size, &shown, err);
	if (r < 0)
		return r;
	if (shown.mtu != sizes->mtu || shown.gso_max_segs != sizes->gso_max_segs)
		return mr_err(err, MR_E_KERNEL, EPROTO,
			      "packets have %u bytes, %u at once, not %u bytes, %u at once",
			      shown.mtu, shown.gso_max_segs, sizes->mtu, sizes->gso_max_segs);
	return 0;
}

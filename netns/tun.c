/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tun
 *
 * A packet on lo brings the route along on which it was sent.  One that was outside has none, so
 * the kernel looks for it, and on lo it would take a packet of a local source for a false
 * one: accept_local and route_localnet are what says that it is right.  IPv6 asks no such thing.
 *
 * The device has no address and makes none for itself; that it were to be asked for neighbours the
 * guard prevents.
 */
#include "netns/tun.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/ip.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "netns/attrs.h"
#include "netns/cls.h"
#include "netns/link.h"
#include "netns/qdisc.h"
#include "netns/relay_code.h"
#include "netns/relay_wire.h"
#include "netns/rtnl.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#define DEVICE "/dev/net/tun"

static const struct place {
	int ifindex;
	struct mr_cls_program program;
} places[] = {
	/* The guard first: nothing is to pass before it stands there. */
	{ MR_RELAY_IFINDEX,
	  { "menace_guard", MR_CLS_LEAVING, 1, mr_relay_guard, sizeof(mr_relay_guard) } },
	{ MR_RELAY_IFINDEX,
	  { "menace_back", MR_CLS_ARRIVING, 1, mr_relay_back, sizeof(mr_relay_back) } },
	{ MR_RELAY_LO,
	  { "menace_round", MR_CLS_LEAVING, 9, mr_relay_round, sizeof(mr_relay_round) } },
};

static void free_msg(struct nl_msg **msg)
{
	nlmsg_free(*msg);
}
#define auto_msg mr_cleanup(free_msg)

static struct nl_msg *link_msg(int type, const struct ifinfomsg *info)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, 0);

	mr_assert(msg &&
		  nlmsg_append(msg, (void *)(uintptr_t)info, sizeof(*info), NLMSG_ALIGNTO) == 0);
	return msg;
}

static int make_device(int fd, struct mr_error *err)
{
	struct ifreq req = { .ifr_name = MR_TUN_NAME };
	const unsigned int number = MR_RELAY_IFINDEX;

	/* Frames as lo has them, with the head of an Ethernet: the protocol stands there. */
	req.ifr_flags = IFF_TAP | IFF_NO_PI;
	if (ioctl(fd, TUNSETIFINDEX, &number) < 0)
		return mr_err(err, MR_E_SYS, errno, "tun: number of the device: %m");
	if (ioctl(fd, TUNSETIFF, &req) < 0)
		return mr_err(err, MR_E_SYS, errno, "tun: make " MR_TUN_NAME ": %m");
	return 0;
}

static int set_up(struct mr_rtnl *rtnl, struct mr_error *err)
{
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC,
					.ifi_index = MR_RELAY_IFINDEX,
					.ifi_flags = IFF_UP,
					.ifi_change = IFF_UP };
	auto_msg struct nl_msg *msg = link_msg(RTM_NEWLINK, &info);
	struct nlattr *families, *family;

	mr_assert(nla_put_u32(msg, IFLA_TXQLEN, MR_TUN_WAITING) == 0);
	families = nla_nest_start(msg, IFLA_AF_SPEC);
	family = nla_nest_start(msg, AF_INET6);
	mr_assert(families && family);
	mr_assert(nla_put_u8(msg, IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE) == 0);
	nla_nest_end(msg, family);
	nla_nest_end(msg, families);
	return mr_rtnl_request(rtnl, msg, "tun: set " MR_TUN_NAME " up", err);
}

static int accept_own(struct mr_rtnl *rtnl, struct mr_error *err)
{
	static const int settings[] = { IPV4_DEVCONF_ACCEPT_LOCAL, IPV4_DEVCONF_ROUTE_LOCALNET };
	const struct ifinfomsg info = { .ifi_family = AF_UNSPEC, .ifi_index = MR_RELAY_LO };
	auto_msg struct nl_msg *msg = link_msg(RTM_NEWLINK, &info);
	struct nlattr *nests[3];

	nests[0] = nla_nest_start(msg, IFLA_AF_SPEC);
	nests[1] = nla_nest_start(msg, AF_INET);
	nests[2] = nla_nest_start(msg, IFLA_INET_CONF);
	mr_assert(nests[0] && nests[1] && nests[2]);
	for (size_t i = 0; i < N_ELEMENTS(settings); i++)
		mr_assert(nla_put_u32(msg, settings[i], 1) == 0);
	for (size_t i = N_ELEMENTS(nests); i > 0; i--)
		nla_nest_end(msg, nests[i - 1]);
	return mr_rtnl_request(rtnl, msg, "tun: let lo take its own packets back", err);
}

int mr_tun_open(struct mr_rtnl *rtnl, struct mr_error *err)
{
	mr_auto_close int fd = open(DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	int r;

	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "tun: open " DEVICE ": %m");
	r = make_device(fd, err);
	if (r == 0)
		r = set_up(rtnl, err);
	if (r == 0)
		r = accept_own(rtnl, err);
	return r < 0 ? r : mr_take_fd(fd);
}

int mr_tun_attach(struct mr_rtnl *rtnl, struct mr_error *err)
{
	int r = mr_qdisc_add(rtnl, MR_RELAY_IFINDEX, MR_QDISC_CLSACT, "clsact", NULL, err);

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(places); i++)
		r = mr_cls_attach(rtnl, places[i].ifindex, &places[i].program, -1, err);
	return r;
}

struct look {
	bool found;
	struct rtnl_link_stats64 stats;
};

static void take_stats(void *owner, const struct mr_attr *attr)
{
	struct look *look = owner;

	if (attr->type != IFLA_STATS64)
		return;
	mr_attr_copy(attr, &look->stats, sizeof(look->stats));
	look->found = true;
}

static int read_stats(struct mr_rtnl *rtnl, struct rtnl_link_stats64 *ret, struct mr_error *err)
{
	struct look look = { .found = false };
	int r = mr_link_show(rtnl, MR_RELAY_IFINDEX, take_stats, &look, err);

	if (r < 0)
		return r;
	if (!look.found)
		return mr_err(err, MR_E_KERNEL, ENODEV, MR_TUN_NAME " is no longer there");
	*ret = look.stats;
	return 0;
}

int mr_tun_passed(struct mr_rtnl *rtnl, uint64_t *ret, struct mr_error *err)
{
	struct rtnl_link_stats64 stats = { 0 };
	int r = read_stats(rtnl, &stats, err);

	if (r == 0)
		*ret = stats.rx_packets;
	return r;
}

int mr_tun_lost(struct mr_rtnl *rtnl, uint64_t *ret, struct mr_error *err)
{
	struct rtnl_link_stats64 stats = { 0 };
	int r = read_stats(rtnl, &stats, err);

	if (r == 0)
		*ret = stats.tx_dropped;
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doors
 *
 * Where a datagram was for comes beside it: IP_RECVORIGDSTADDR tells address and port for
 * both families, each in its own way.  The answer names its source with a PKTINFO.
 */
#include "netns/doors.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns/link.h"
#include "netns/rtnl.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#ifndef IPV6_RECVORIGDSTADDR
#define IPV6_ORIGDSTADDR 74
#define IPV6_RECVORIGDSTADDR IPV6_ORIGDSTADDR
#endif
#define BACKLOG 128

static const struct door {
	const char *name;
	int type;
	uint16_t port; /* 0: the kernel chooses */
} doors_made[MR_DOORS] = {
	[MR_DOOR_TCP] = { "tcp", SOCK_STREAM, 0 },
	[MR_DOOR_UDP] = { "udp", SOCK_DGRAM, 0 },
	[MR_DOOR_DNS_TCP] = { "dns_tcp", SOCK_STREAM, MR_DOORS_DNS_PORT },
	[MR_DOOR_DNS_UDP] = { "dns_udp", SOCK_DGRAM, MR_DOORS_DNS_PORT },
};

static int set_options(int fd, int type)
{
	const int on = 1, off = 0;

	if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0)
		return -1;
	if (type == SOCK_STREAM)
		return 0;
	if (setsockopt(fd, IPPROTO_IPV6, IPV6_RECVORIGDSTADDR, &on, sizeof(on)) < 0)
		return -1;
	return setsockopt(fd, IPPROTO_IP, IP_RECVORIGDSTADDR, &on, sizeof(on));
}

static int open_door(const struct door *door, struct mr_error *err)
{
	mr_auto_close int fd = socket(AF_INET6, door->type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(door->port) };

	if (fd < 0)
		return mr_err(err, MR_E_KERNEL, errno, "socket %s in the sandbox: %m", door->name);
	if (set_options(fd, door->type) < 0 ||
	    bind(fd, (const struct sockaddr *)&any, sizeof(any)) < 0 ||
	    (door->type == SOCK_STREAM && listen(fd, BACKLOG) < 0))
		return mr_err(err, MR_E_SYS, errno, "socket %s in the sandbox: %m", door->name);
	return mr_take_fd(fd);
}

static int add_seen(struct mr_rtnl *rtnl, int family, struct mr_error *err)
{
	const bool ipv4 = family == AF_INET;
	struct mr_link_address address = { .family = family, .length = ipv4 ? 8 : 128 };
	int r;

	mr_assert(inet_pton(family, ipv4 ? MR_DOORS_SEEN4 : MR_DOORS_SEEN6, address.bytes) == 1);
	r = mr_link_add_address(rtnl, (int)if_nametoindex("lo"), &address, err);
	return !ipv4 && (r == -EACCES || r == -EOPNOTSUPP) ? 0 : r;
}

/* Who asks for a name says AI_ADDRCONFIG as a rule: no addresses of a family in which this host has
 * none.  glibc counts neither 127.0.0.1 nor ::1 as one. */
static int be_seen(struct mr_error *err)
{
	struct mr_rtnl *rtnl = NULL;
	int r = mr_rtnl_open(&rtnl, err);

	if (r == 0)
		r = add_seen(rtnl, AF_INET, err);
	if (r == 0)
		r = add_seen(rtnl, AF_INET6, err);
	mr_rtnl_free(rtnl);
	return r;
}

static int open_inside(const struct mr_anyip_prefix *prefixes, size_t n, struct mr_doors *doors,
		       struct mr_error *err)
{
	unsigned int expected = (unsigned int)n;
	int r = mr_link_up("lo", err);

	if (r == 0)
		r = be_seen(err);
	if (r == 0)
		r = mr_anyip_add(prefixes, n, err);
	if (r < 0)
		return r;
	doors->without_ipv6 = r;
	for (size_t i = 0; r > 0 && i < n; i++)
		expected -= prefixes[i].family == AF_INET6;
	r = mr_anyip_count(&doors->n_routes, err);
	if (r == 0 && doors->n_routes != expected)
		r = mr_err(err, MR_E_KERNEL, EINVAL, "the kernel shows %u routes to lo, not %u",
			   doors->n_routes, expected);
	for (int i = 0; r >= 0 && i < MR_DOORS; i++)
		r = doors->fds[i] = open_door(&doors_made[i], err);
	return r < 0 ? r : 0;
}

int mr_doors_open(pid_t pid, const struct mr_anyip_prefix *prefixes, size_t n, struct mr_doors *ret,
		  struct mr_error *err)
{
	mr_auto_close int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	struct mr_doors doors = MR_DOORS_INIT;
	char path[40];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	doors.netns_fd = home < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (doors.netns_fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", path);
	if (setns(doors.netns_fd, CLONE_NEWNET) < 0) {
		r = mr_err(err, errno == EPERM ? MR_E_DENIED : MR_E_SYS, errno,
			   "enter the sandbox's network namespace: %m%s",
			   errno == EPERM ? " (this needs root)" : "");
	} else {
		r = open_inside(prefixes, n, &doors, err);
		/* Staying in a sandbox's namespace would be worse than ending. */
		mr_assert(setns(home, CLONE_NEWNET) == 0);
	}
	if (r < 0) {
		mr_doors_close(&doors);
		return r;
	}
	*ret = doors;
	return 0;
}

void mr_doors_close(struct mr_doors *doors)
{
	for (int i = 0; i < MR_DOORS; i++)
		doors->fds[i] = mr_close(doors->fds[i]);
	doors->netns_fd = mr_close(doors->netns_fd);
}

/* Where it was for, from what came beside it. */
static bool read_destination(struct msghdr *msg, struct sockaddr_in6 *ret)
{
	struct sockaddr_in in;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_ORIGDSTADDR &&
		    c->cmsg_len >= CMSG_LEN(sizeof(*ret))) {
			memcpy(ret, CMSG_DATA(c), sizeof(*ret));
			return true;
		}
		if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_ORIGDSTADDR &&
		    c->cmsg_len >= CMSG_LEN(sizeof(in))) {
			memcpy(&in, CMSG_DATA(c), sizeof(in));
			*ret = (struct sockaddr_in6){ .sin6_family = AF_INET6,
						      .sin6_port = in.sin_port };
			ret->sin6_addr.s6_addr[10] = ret->sin6_addr.s6_addr[11] = 0xff;
			memcpy(&ret->sin6_addr.s6_addr[12], &in.sin_addr, sizeof(in.sin_addr));
			return true;
		}
	}
	return false;
}

ssize_t mr_doors_receive(int fd, void *buf, size_t size, struct sockaddr_in6 *ret_from,
			 struct sockaddr_in6 *ret_to)
{
	union {
		char buf[256];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = buf, .iov_len = size };
	struct msghdr msg = { .msg_name = ret_from,
			      .msg_namelen = sizeof(*ret_from),
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.buf,
			      .msg_controllen = sizeof(control.buf) };
	ssize_t n;

	do
		n = recvmsg(fd, &msg, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return read_destination(&msg, ret_to) ? n : -EPROTO;
}

int mr_doors_reply(int fd, const void *buf, size_t size, const struct sockaddr_in6 *from,
		   const struct sockaddr_in6 *to)
{
	union {
		char buf[CMSG_SPACE(sizeof(struct in6_pktinfo))];
		struct cmsghdr align;
	} control = { { 0 } };
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = size };
	struct sockaddr_in6 peer = *from;
	struct msghdr msg = { .msg_name = &peer,
			      .msg_namelen = sizeof(peer),
			      .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control.buf };
	struct cmsghdr *c;

	msg.msg_controllen = sizeof(control.buf);
	c = CMSG_FIRSTHDR(&msg);
	c->cmsg_level = IPPROTO_IPV6;
	c->cmsg_type = IPV6_PKTINFO;
	c->cmsg_len = CMSG_LEN(sizeof(struct in6_pktinfo));
	memcpy(CMSG_DATA(c), &(struct in6_pktinfo){ .ipi6_addr = to->sin6_addr },
	       sizeof(struct in6_pktinfo));
	return sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

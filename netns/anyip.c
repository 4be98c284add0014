/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AnyIP
 *
 * A route of type "local" in the local table: whatever goes to the prefix arrives on lo, as if
 * the address were ours, with no address assigned.  Few messages of a fixed shape: they are
 * written by hand, and each is acknowledged.
 */
#include "netns/anyip.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#define ROUTE_PROTOCOL 231 /* marks our routes; above all that iproute2 names */
#define REPLY_MAX 16384

struct request {
	struct nlmsghdr head;
	struct rtmsg route;
	char attributes[64];
};

static void add_attribute(struct request *request, unsigned short type, const void *data,
			  size_t size)
{
	struct rtattr attr = { .rta_type = type, .rta_len = (unsigned short)RTA_LENGTH(size) };
	size_t at = NLMSG_ALIGN(request->head.nlmsg_len);
	char *end = (char *)request + at;

	mr_assert(at + RTA_SPACE(size) <= sizeof(*request));
	memcpy(end, &attr, sizeof(attr));
	memcpy(end + RTA_LENGTH(0), data, size);
	request->head.nlmsg_len = (uint32_t)(at + RTA_SPACE(size));
}

static int open_route_socket(struct mr_error *err)
{
	int sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return sock < 0 ? mr_err(err, MR_E_SYS, errno, "netlink socket: %m") : sock;
}

/* Send it and return what the kernel says: 0 or negative errno. */
static int exchange(int sock, const struct request *request)
{
	char reply[1024];
	struct nlmsghdr head;
	struct nlmsgerr answer;
	ssize_t n;

	if (send(sock, request, request->head.nlmsg_len, 0) < 0)
		return -errno;
	do
		n = recv(sock, reply, sizeof(reply), 0);
	while (n < 0 && errno == EINTR);
	if (n < (ssize_t)(NLMSG_HDRLEN + sizeof(answer)))
		return n < 0 ? -errno : -EPROTO;
	memcpy(&head, reply, sizeof(head));
	memcpy(&answer, reply + NLMSG_HDRLEN, sizeof(answer));
	return head.nlmsg_type == NLMSG_ERROR ? answer.error : -EPROTO;
}

static int add_route(int sock, const struct mr_anyip_prefix *prefix)
{
	int link = (int)if_nametoindex("lo");
	struct request request = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
			  .nlmsg_type = RTM_NEWROUTE,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK },
		.route = { .rtm_family = (unsigned char)prefix->family,
			   .rtm_dst_len = (unsigned char)prefix->length,
			   .rtm_table = RT_TABLE_LOCAL,
			   .rtm_protocol = ROUTE_PROTOCOL,
			   .rtm_scope = RT_SCOPE_HOST,
			   .rtm_type = RTN_LOCAL },
	};

	if (prefix->length > 0)
		add_attribute(&request, RTA_DST, prefix->address,
			      prefix->family == AF_INET ? 4 : 16);
	add_attribute(&request, RTA_OIF, &link, sizeof(link));
	/* What goes to it comes from ::1, whatever other addresses lo has; in IPv4 from the address itself. */
	if (prefix->family == AF_INET6)
		add_attribute(&request, RTA_PREFSRC, &in6addr_loopback, sizeof(in6addr_loopback));
	return exchange(sock, &request);
}

int mr_anyip_add(const struct mr_anyip_prefix *prefixes, size_t n, struct mr_error *err)
{
	mr_auto_close int sock = open_route_socket(err);
	int without = 0;

	if (sock < 0)
		return sock;
	for (size_t i = 0; i < n; i++) {
		int r = add_route(sock, &prefixes[i]);

		if (prefixes[i].family == AF_INET6 && (r == -EACCES || r == -EOPNOTSUPP))
			without = 1;
		else if (r < 0)
			return mr_err(err, MR_E_SYS, -r, "route of addresses to lo: %m");
	}
	return without;
}

/* Count in one answer; true when it was the last. */
static bool count_in(const char *buf, size_t size, unsigned int *n, int *error)
{
	size_t at = 0;

	while (size - at >= NLMSG_HDRLEN) {
		struct nlmsghdr head;
		struct rtmsg route;

		memcpy(&head, buf + at, sizeof(head));
		if (head.nlmsg_len < NLMSG_HDRLEN || head.nlmsg_len > size - at) {
			*error = -EPROTO;
			return true;
		}
		if (head.nlmsg_type == NLMSG_ERROR)
			*error = -EIO;
		if (head.nlmsg_type == NLMSG_DONE || head.nlmsg_type == NLMSG_ERROR)
			return true;
		if (head.nlmsg_len >= NLMSG_LENGTH(sizeof(route))) {
			memcpy(&route, buf + at + NLMSG_HDRLEN, sizeof(route));
			*n += route.rtm_protocol == ROUTE_PROTOCOL && route.rtm_type == RTN_LOCAL;
		}
		at += NLMSG_ALIGN(head.nlmsg_len);
		if (at >= size)
			break;
	}
	return false;
}

int mr_anyip_count(unsigned int *ret, struct mr_error *err)
{
	struct request request = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
			  .nlmsg_type = RTM_GETROUTE,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.route = { .rtm_family = AF_UNSPEC },
	};
	mr_auto_close int sock = open_route_socket(err);
	char buf[REPLY_MAX];
	unsigned int n = 0;
	int error = 0;
	bool done = false;

	if (sock < 0)
		return sock;
	if (send(sock, &request, request.head.nlmsg_len, 0) < 0)
		return mr_err(err, MR_E_SYS, errno, "ask for routes: %m");
	while (!done) {
		ssize_t got = recv(sock, buf, sizeof(buf), 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return mr_err(err, MR_E_SYS, got < 0 ? errno : EPROTO, "read routes: %m");
		done = count_in(buf, (size_t)got, &n, &error);
	}
	if (error < 0)
		return mr_err(err, MR_E_SYS, -error, "list of routes: %m");
	*ret = n;
	return 0;
}

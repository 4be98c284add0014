/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pool
 *
 * "Clean" is that everything which can be left in a namespace reads, byte for byte, as it did when the
 * namespace was new: files[] for sockets, counters and settings, dumps[] of rtnetlink for
 * links, addresses, routes, rules, neighbours and qdiscs.  A counter that moved is enough to
 * throw a namespace away.
 *
 * Each namespace is looked into through descriptors that were opened in it when it was made and
 * belong to it wherever they are used: to enter it and go home again would cost more than all
 * the looking.  Only as many namespaces as may be kept have them; one beyond, and one for which they
 * could not all be had, is blind: it has none, and is thrown away after its use.
 *
 * What is not looked at are settings that only whoever has a capability over the namespace can
 * change, and nobody in one of ours has: of those the files that say most stand here, for the
 * 580 of /proc/sys/net take a hundred times as long.
 */
#include "netns/pool.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "netns/rtnl.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#define FILE_MAX 4096

static const struct file {
	const char *path;
	bool shared; /* some of its words are of all namespaces together */
} files[] = {
	/* Counts of all sockets, not lists: those walk the host's whole hash tables. */
	{ "/proc/thread-self/net/sockstat", true },
	{ "/proc/thread-self/net/sockstat6", false },
	{ "/proc/thread-self/net/dev", false },
	{ "/proc/thread-self/net/dev_mcast", false },
	{ "/proc/thread-self/net/ip6_flowlabel", false },
	{ "/proc/sys/net/netfilter/nf_conntrack_count", false },
	{ "/proc/sys/net/ipv4/ip_local_port_range", false },
	{ "/proc/sys/net/ipv4/ip_unprivileged_port_start", false },
	{ "/proc/sys/net/ipv4/ip_nonlocal_bind", false },
	{ "/proc/sys/net/ipv4/ping_group_range", false },
	{ "/proc/sys/net/ipv6/bindv6only", false },
	{ "/proc/sys/net/core/somaxconn", false },
	{ "/proc/sys/net/unix/max_dgram_qlen", false },
};

static const struct ndmsg proxies = { .ndm_flags = NTF_PROXY };

static const struct dump {
	int type;
	size_t size; /* of the request behind its head */
	const void *request; /* NULL: zeros */
} dumps[] = {
	{ RTM_GETLINK, sizeof(struct ifinfomsg), NULL },
	{ RTM_GETADDR, sizeof(struct ifaddrmsg), NULL },
	{ RTM_GETROUTE, sizeof(struct rtmsg), NULL },
	{ RTM_GETRULE, sizeof(struct rtmsg), NULL },
	{ RTM_GETNEIGH, sizeof(struct ndmsg), NULL },
	{ RTM_GETQDISC, sizeof(struct tcmsg), NULL },
	{ RTM_GETNEIGH, sizeof(proxies), &proxies },
	{ RTM_GETNSID, sizeof(struct rtgenmsg), NULL },
	{ RTM_GETNETCONF, sizeof(struct netconfmsg), NULL },
};

/* A namespace, and what it is looked into by. */
struct place {
	int ns_fd;
	struct mr_rtnl *rtnl;
	int files[N_ELEMENTS(files)]; /* -1: this kernel has none */
	bool free; /* in the pool */
	bool blind; /* nothing of the above is open: it is never looked into */
};

struct mr_netns_pool {
	int home_fd;
	size_t max;
	size_t n, n_free, n_blind;
	struct place *places; /* those in the pool, and those that were handed out */
	struct mr_buf clean; /* the print of a new namespace; empty until the first is made */
	struct mr_buf print; /* of the one that is looked at */
};

size_t mr_netns_pool_fds(void)
{
	return 1 + 1 + N_ELEMENTS(files);
}

int mr_netns_pool_new(size_t max, struct mr_netns_pool **ret, struct mr_error *err)
{
	struct mr_netns_pool *pool = calloc(1, sizeof(*pool));

	mr_assert(pool);
	*ret = NULL;
	pool->max = max;
	pool->home_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (pool->home_fd < 0) {
		int r = mr_err(err, MR_E_SYS, errno, "open our network namespace: %m");

		mr_netns_pool_free(pool);
		return r;
	}
	/* Root of a user namespace may leave one that is not its own, and not come back. */
	if (setns(pool->home_fd, CLONE_NEWNET) < 0)
		mr_netns_pool_free(pool);
	else
		*ret = pool;
	return 0;
}

void mr_netns_pool_keep(struct mr_netns_pool *pool, size_t max)
{
	mr_assert(max >= pool->max);
	pool->max = max;
}

bool mr_netns_pool_keeps(const struct mr_netns_pool *pool)
{
	return pool->max > 0;
}

static void close_all(struct place *place)
{
	place->rtnl = mr_rtnl_free(place->rtnl);
	for (size_t i = 0; i < N_ELEMENTS(files); i++)
		place->files[i] = mr_close(place->files[i]);
}

/* All but the namespace's own descriptor, which may be somebody's. */
static void forget(struct mr_netns_pool *pool, struct place *place)
{
	close_all(place);
	pool->n_blind -= place->blind;
	*place = pool->places[--pool->n];
}

struct mr_netns_pool *mr_netns_pool_free(struct mr_netns_pool *pool)
{
	if (!pool)
		return NULL;
	while (pool->n > 0) {
		struct place *place = &pool->places[pool->n - 1];

		if (place->free)
			mr_close(place->ns_fd);
		forget(pool, place);
	}
	mr_close(pool->home_fd);
	mr_buf_deinit(&pool->clean);
	mr_buf_deinit(&pool->print);
	free(pool->places);
	free(pool);
	return NULL;
}

/* --- what is in one --------------------------------------------------------------------- */

/* "orphan 3", "alloc 3" and "mem 3" are the host's; the numbers go. */
static void blot_shared(char *text)
{
	static const char *const words[] = { "orphan ", "alloc ", "mem " };

	for (size_t i = 0; i < N_ELEMENTS(words); i++)
		for (char *at = strstr(text, words[i]); at; at = strstr(at, words[i])) {
			char *to = at + strlen(words[i]), *rest = to;

			while (isdigit((unsigned char)*rest))
				rest++;
			memmove(to, rest, strlen(rest) + 1);
			at = to;
		}
}

static bool print_file(const struct place *place, size_t i, struct mr_buf *print)
{
	char text[FILE_MAX];
	ssize_t n;

	if (place->files[i] < 0)
		return true;
	n = pread(place->files[i], text, sizeof(text) - 1, 0);
	if (n < 0 || (size_t)n == sizeof(text) - 1)
		return false;
	text[n] = '\0';
	if (files[i].shared)
		blot_shared(text);
	mr_buf_add(print, text);
	mr_buf_addn(print, "", 1);
	return true;
}

/* What of a link's IPv6 moves by itself: times, and counts that dev has as well. */
static bool is_lively(unsigned int type)
{
	return type == IFLA_INET6_CACHEINFO || type == IFLA_INET6_STATS ||
	       type == IFLA_INET6_ICMP6STATS;
}

static void print_attr(const struct rtattr *attr, struct mr_buf *print)
{
	mr_buf_addn(print, (const char *)attr, attr->rta_len);
}

/* A link's settings of its protocols. */
static void print_protocols(struct rtattr *all, struct mr_buf *print)
{
	struct rtattr *protocol = RTA_DATA(all), *attr;
	int left = (int)RTA_PAYLOAD(all), rest;

	for (; RTA_OK(protocol, left); protocol = RTA_NEXT(protocol, left)) {
		if ((protocol->rta_type & NLA_TYPE_MASK) != AF_INET6) {
			print_attr(protocol, print);
			continue;
		}
		attr = RTA_DATA(protocol);
		rest = (int)RTA_PAYLOAD(protocol);
		for (; RTA_OK(attr, rest); attr = RTA_NEXT(attr, rest))
			if (!is_lively(attr->rta_type & NLA_TYPE_MASK))
				print_attr(attr, print);
	}
}

static void print_link(struct nlmsghdr *message, struct mr_buf *print)
{
	struct rtattr *attr = IFLA_RTA(NLMSG_DATA(message));
	int left = (int)IFLA_PAYLOAD(message);

	mr_buf_addn(print, NLMSG_DATA(message), sizeof(struct ifinfomsg));
	for (; RTA_OK(attr, left); attr = RTA_NEXT(attr, left)) {
		if ((attr->rta_type & NLA_TYPE_MASK) == IFLA_AF_SPEC)
			print_protocols(attr, print);
		else
			print_attr(attr, print);
	}
}

static int print_message(const struct nlmsghdr *given, void *owner, struct mr_error *err)
{
	struct nlmsghdr *message = (struct nlmsghdr *)(uintptr_t)given; /* the macros want it so */
	struct mr_buf *print = owner;

	(void)err;
	mr_buf_addn(print, (const char *)&message->nlmsg_type, sizeof(message->nlmsg_type));
	if (message->nlmsg_type == RTM_NEWLINK)
		print_link(message, print);
	else
		mr_buf_addn(print, NLMSG_DATA(message), NLMSG_PAYLOAD(message, 0));
	return 0;
}

static bool print_dump(const struct place *place, const struct dump *dump, struct mr_buf *print)
{
	static const char nothing[sizeof(struct tcmsg) + sizeof(struct rtmsg)];
	void *request = (void *)(uintptr_t)(dump->request ? dump->request : nothing);
	struct nl_msg *msg = nlmsg_alloc_simple(dump->type, NLM_F_DUMP);
	struct mr_error err;
	bool good;

	mr_assert(msg && nlmsg_append(msg, request, dump->size, 4) == 0);
	good = mr_rtnl_dump(place->rtnl, msg, "look", print_message, print, &err) >= 0;
	nlmsg_free(msg);
	return good;
}

static bool read_print(const struct place *place, struct mr_buf *print)
{
	bool good = !place->blind;

	mr_buf_clear(print);
	for (size_t i = 0; good && i < N_ELEMENTS(files); i++)
		good = print_file(place, i, print);
	for (size_t i = 0; good && i < N_ELEMENTS(dumps); i++)
		good = print_dump(place, &dumps[i], print);
	return good && print->len > 0;
}

/* --- making one ------------------------------------------------------------------------- */

static void go_home(struct mr_netns_pool *pool)
{
	/* Staying in a sandbox's namespace would be worse than ending. */
	mr_assert(setns(pool->home_fd, CLONE_NEWNET) == 0);
}

/* In the new namespace: all, or nothing. */
static void open_all(struct place *place)
{
	struct mr_error err;

	place->blind = mr_rtnl_open(&place->rtnl, &err) < 0;
	for (size_t i = 0; i < N_ELEMENTS(files) && !place->blind; i++) {
		place->files[i] = open(files[i].path, O_RDONLY | O_CLOEXEC);
		place->blind = place->files[i] < 0 && errno != ENOENT;
	}
	if (place->blind)
		close_all(place);
}

static struct place *add_place(struct mr_netns_pool *pool, int ns_fd)
{
	struct place *place;

	pool->places = reallocarray(pool->places, pool->n + 1, sizeof(*pool->places));
	mr_assert(pool->places);
	place = &pool->places[pool->n++];
	*place = (struct place){ .ns_fd = ns_fd, .blind = true };
	for (size_t i = 0; i < N_ELEMENTS(files); i++)
		place->files[i] = -1;
	return place;
}

static int make_one(struct mr_netns_pool *pool, struct mr_error *err)
{
	const bool may_be_kept = pool->n - pool->n_blind < pool->max;
	struct place *place;
	int fd, errnum;

	if (unshare(CLONE_NEWNET) < 0)
		return mr_err(err, errno == ENOSPC ? MR_E_BUSY : MR_E_SYS, errno,
			      "make a network namespace: %m%s",
			      errno == ENOSPC ? " (their limit is reached: sysctl "
						"user.max_net_namespaces)"
					      : "");
	fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	errnum = errno;
	if (fd < 0) {
		go_home(pool);
		return mr_err(err, MR_E_SYS, errnum, "open a new network namespace: %m");
	}
	place = add_place(pool, fd);
	if (may_be_kept)
		open_all(place);
	go_home(pool);
	pool->n_blind += place->blind;
	if (!pool->clean.len && !read_print(place, &pool->clean))
		mr_buf_clear(&pool->clean);
	return place->ns_fd;
}

int mr_netns_pool_take(struct mr_netns_pool *pool, struct mr_error *err)
{
	for (size_t i = pool->n; i > 0; i--) {
		struct place *place = &pool->places[i - 1];

		if (!place->free)
			continue;
		place->free = false;
		pool->n_free--;
		return place->ns_fd;
	}
	return make_one(pool, err);
}

static struct place *find_place(struct mr_netns_pool *pool, int fd)
{
	for (size_t i = 0; i < pool->n; i++)
		if (pool->places[i].ns_fd == fd && !pool->places[i].free)
			return &pool->places[i];
	return NULL;
}

static bool is_clean(struct mr_netns_pool *pool, const struct place *place)
{
	return pool->clean.len && read_print(place, &pool->print) &&
	       pool->print.len == pool->clean.len &&
	       memcmp(pool->print.text, pool->clean.text, pool->clean.len) == 0;
}

int mr_netns_pool_give(struct mr_netns_pool *pool, int fd)
{
	struct place *place = find_place(pool, fd);

	if (place && pool->n_free < pool->max && is_clean(pool, place)) {
		place->free = true;
		pool->n_free++;
		return 1;
	}
	if (place)
		forget(pool, place);
	mr_close(fd);
	return 0;
}

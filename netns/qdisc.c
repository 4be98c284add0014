/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qdisc
 *
 * The library's own objects know few kinds and lose on the way back what they do not
 * know: messages are made here, from options that are bytes.
 */
#include "netns/qdisc.h"

#include <errno.h>
#include <linux/gen_stats.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <stdio.h>
#include <stdbool.h>
#include <string.h>

#include "netns/rtnl.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

_Static_assert(MR_QDISC_ROOT == TC_H_ROOT && MR_QDISC_CLSACT == TC_H_CLSACT, "parents");

static void free_msg(struct nl_msg **msg)
{
	nlmsg_free(*msg);
}
#define auto_msg mr_cleanup(free_msg)

static struct nl_msg *new_msg(int type, int flags, int ifindex, uint32_t parent, const char *kind,
			      const struct mr_attrs *options)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, flags);
	struct tcmsg tc = { .tcm_family = AF_UNSPEC, .tcm_ifindex = ifindex, .tcm_parent = parent };

	mr_assert(msg);
	/* Programs have a handle of their own: the same 16 bits as the place. */
	if (parent == MR_QDISC_CLSACT)
		tc.tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
	mr_assert(nlmsg_append(msg, &tc, sizeof(tc), NLMSG_ALIGNTO) == 0);
	if (kind)
		mr_assert(nla_put_string(msg, TCA_KIND, kind) == 0);
	if (options)
		mr_assert(nla_put(msg, TCA_OPTIONS, (int)options->n, options->bytes) == 0);
	return msg;
}

static int put(struct mr_rtnl *rtnl, int flags, int ifindex, uint32_t parent, const char *kind,
	       const struct mr_attrs *options, struct mr_error *err)
{
	auto_msg struct nl_msg *msg = new_msg(RTM_NEWQDISC, flags, ifindex, parent, kind, options);
	char what[64];

	snprintf(what, sizeof(what), "%s qdisc %s", flags & NLM_F_CREATE ? "add" : "change", kind);
	return mr_rtnl_request(rtnl, msg, what, err);
}

int mr_qdisc_add(struct mr_rtnl *rtnl, int ifindex, uint32_t parent, const char *kind,
		 const struct mr_attrs *options, struct mr_error *err)
{
	return put(rtnl, NLM_F_CREATE | NLM_F_EXCL, ifindex, parent, kind, options, err);
}

int mr_qdisc_change(struct mr_rtnl *rtnl, int ifindex, uint32_t parent, const char *kind,
		    const struct mr_attrs *options, struct mr_error *err)
{
	return put(rtnl, 0, ifindex, parent, kind, options, err);
}

int mr_qdisc_delete(struct mr_rtnl *rtnl, int ifindex, uint32_t parent, struct mr_error *err)
{
	auto_msg struct nl_msg *msg = new_msg(RTM_DELQDISC, 0, ifindex, parent, NULL, NULL);
	int r = mr_rtnl_request(rtnl, msg, "delete a qdisc", err);

	/* ENOENT: the default one, which cannot be deleted; EINVAL: none at all. */
	return r == -ENOENT || r == -EINVAL ? 0 : r;
}

static int malformed(struct mr_error *err)
{
	return mr_err(err, MR_E_PROTO, EBADMSG, "a qdisc as the kernel shows it: malformed");
}

static int read_stats(const struct mr_attr *nest, struct mr_qdisc_stats *ret)
{
	struct gnet_stats_basic basic;
	struct gnet_stats_queue queue;
	struct mr_attr attr;
	size_t at = 0;
	int r;

	while ((r = mr_attrs_next(nest->data, nest->size, &at, &attr)) > 0) {
		if (attr.type == TCA_STATS_BASIC) {
			mr_attr_copy(&attr, &basic, sizeof(basic));
			ret->bytes = basic.bytes;
			/* 64 bits of it, where the kernel has them, follow as TCA_STATS_PKT64. */
			if (ret->packets < basic.packets)
				ret->packets = basic.packets;
		} else if (attr.type == TCA_STATS_PKT64 && attr.size == sizeof(uint64_t)) {
			mr_attr_copy(&attr, &ret->packets, sizeof(ret->packets));
		} else if (attr.type == TCA_STATS_QUEUE) {
			mr_attr_copy(&attr, &queue, sizeof(queue));
			ret->drops = queue.drops;
			ret->overlimits = queue.overlimits;
			ret->requeues = queue.requeues;
			ret->backlog_bytes = queue.backlog;
			ret->backlog_packets = queue.qlen;
		}
	}
	return r;
}

static int read_attr(const struct mr_attr *attr, struct mr_qdisc *ret)
{
	switch (attr->type) {
	case TCA_KIND:
		if (attr->size == 0 || attr->size > sizeof(ret->kind) ||
		    !memchr(attr->data, '\0', attr->size))
			return -EBADMSG;
		memcpy(ret->kind, attr->data, attr->size);
		return 0;
	case TCA_OPTIONS:
		/* Longer ones are of kinds that are none of ours. */
		if (attr->size <= sizeof(ret->options.bytes) - NLA_ALIGNTO) {
			ret->options.n = attr->size;
			memcpy(ret->options.bytes, attr->data, attr->size);
		}
		return 0;
	case TCA_STATS2:
		return read_stats(attr, &ret->stats);
	default:
		return 0;
	}
}

int mr_qdisc_read(const struct nlmsghdr *message, struct mr_qdisc *ret, struct mr_error *err)
{
	const size_t head = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct tcmsg));
	struct mr_qdisc qdisc = { .kind = "" };
	struct mr_attr attr;
	struct tcmsg tc;
	size_t at = 0;
	int r;

	if (message->nlmsg_type != RTM_NEWQDISC)
		return 1;
	if (message->nlmsg_len < head)
		return malformed(err);
	memcpy(&tc, (const char *)message + NLMSG_HDRLEN, sizeof(tc));
	qdisc.ifindex = tc.tcm_ifindex;
	qdisc.handle = tc.tcm_handle;
	qdisc.parent = tc.tcm_parent;
	while ((r = mr_attrs_next((const char *)message + head, message->nlmsg_len - head, &at,
				  &attr)) > 0) {
		r = read_attr(&attr, &qdisc);
		if (r < 0)
			break;
	}
	if (r < 0)
		return malformed(err);
	*ret = qdisc;
	return 0;
}

struct search {
	int ifindex;
	uint32_t parent;
	const char *kind;
	struct mr_qdisc qdisc;
	int found;
};

static int look_at(const struct nlmsghdr *message, void *owner, struct mr_error *err)
{
	struct search *s = owner;
	struct mr_qdisc qdisc;
	int r = mr_qdisc_read(message, &qdisc, err);

	if (r != 0)
		return r < 0 ? r : 0;
	if (qdisc.ifindex != s->ifindex || qdisc.parent != s->parent ||
	    strcmp(qdisc.kind, s->kind) != 0)
		return 0;
	s->qdisc = qdisc;
	s->found = 1;
	return 0;
}

int mr_qdisc_find(struct mr_rtnl *rtnl, int ifindex, uint32_t parent, const char *kind,
		  struct mr_qdisc *ret, struct mr_error *err)
{
	auto_msg struct nl_msg *msg = new_msg(RTM_GETQDISC, 0, ifindex, 0, NULL, NULL);
	struct search s = { .ifindex = ifindex, .parent = parent, .kind = kind };
	int r = mr_rtnl_dump(rtnl, msg, "show the qdiscs", look_at, &s, err);

	if (r < 0)
		return r;
	if (s.found)
		*ret = s.qdisc;
	return s.found;
}

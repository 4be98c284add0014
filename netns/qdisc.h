/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qdisc: queueing disciplines of a link, put in place, shown and counted
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "netns/attrs.h"

struct mr_error;
struct mr_rtnl;
struct nlmsghdr;

#define MR_QDISC_LO 1 /* the loopback is the first link of every namespace */
#define MR_QDISC_ROOT 0xFFFFFFFFU /* parents: of what leaves by the link ... */
#define MR_QDISC_CLSACT 0xFFFFFFF1U /* ... and where programs sit */

struct mr_qdisc_stats {
	uint64_t bytes, packets; /* that left it */
	uint64_t drops; /* of any cause */
	uint64_t overlimits, requeues;
	uint64_t backlog_bytes, backlog_packets; /* that still wait */
};

struct mr_qdisc {
	char kind[16];
	int ifindex;
	uint32_t handle, parent;
	struct mr_attrs options; /* what stands in TCA_OPTIONS */
	struct mr_qdisc_stats stats;
};

/* One message of a dump: 0, 1 when it is about something else, -EBADMSG when malformed. */
int mr_qdisc_read(const struct nlmsghdr *message, struct mr_qdisc *ret, struct mr_error *err);

/* Add one where there is none; options may be NULL.  -ENOENT: this kernel does not have that kind. */
int mr_qdisc_add(struct mr_rtnl *rtnl, int ifindex, uint32_t parent, const char *kind,
		 const struct mr_attrs *options, struct mr_error *err);
/* Give the same one other options. */
int mr_qdisc_change(struct mr_rtnl *rtnl, int ifindex, uint32_t parent, const char *kind,
		    const struct mr_attrs *options, struct mr_error *err);
/* Take it away, if there is one. */
int mr_qdisc_delete(struct mr_rtnl *rtnl, int ifindex, uint32_t parent, struct mr_error *err);
/* 1 with the one of this kind at that place, 0 when there is none. */
int mr_qdisc_find(struct mr_rtnl *rtnl, int ifindex, uint32_t parent, const char *kind,
		  struct mr_qdisc *ret, struct mr_error *err);

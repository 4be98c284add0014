/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnl: requests to rtnetlink, one at a time
 *
 * A socket speaks for the network namespace it was made in, whoever holds it: what a
 * sandbox's side opens can be read by its supervisor when the sandbox is long gone.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mr_error;
struct mr_rtnl;
struct nl_msg;
struct nlmsghdr;

/* A socket in the calling task's network namespace. */
int mr_rtnl_open(struct mr_rtnl **ret, struct mr_error *err);
/* Around a socket that somebody else opened; takes fd, also on failure. */
int mr_rtnl_adopt(int fd, struct mr_rtnl **ret, struct mr_error *err);
/* NULL is accepted.  Returns NULL. */
struct mr_rtnl *mr_rtnl_free(struct mr_rtnl *rtnl);
/* Its descriptor, close-on-exec, borrowed. */
int mr_rtnl_fd(const struct mr_rtnl *rtnl);

/* Send a request and wait for the kernel's word; msg stays the caller's.  `what` ("add qdisc
 * netem to lo") stands in front of the errno and, where the kernel gives one, its own text. */
int mr_rtnl_request(struct mr_rtnl *rtnl, struct nl_msg *msg, const char *what,
		    struct mr_error *err);

/* Called for each answer of a dump; a negative value ends it. */
typedef int mr_rtnl_each(const struct nlmsghdr *message, void *owner, struct mr_error *err);
/* `each` has the answers of a dump during which nothing changed; MR_E_BUSY with EAGAIN when there was
 * none in several tries. */
int mr_rtnl_dump(struct mr_rtnl *rtnl, struct nl_msg *msg, const char *what, mr_rtnl_each *each,
		 void *owner, struct mr_error *err);

/* One datagram of answers to the request `seq`: 1 when it was the last one, 0 when there is more to
 * come, negative errno for the kernel's refusal and for what is malformed, MR_E_BUSY with EAGAIN for what
 * changed while it was read.  each may be NULL. */
int mr_rtnl_walk(const void *data, size_t size, uint32_t seq, const char *what, mr_rtnl_each *each,
		 void *owner, struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnl
 *
 * libnl makes the messages.  Answers are walked here, because libnl turns the
 * kernel's errno into a number of its own and drops the text that explains it.
 * Everything of an answer is checked against its length: nothing is trusted to be
 * well-formed.
 *
 * What is dumped may change meanwhile, and the kernel says so.  Such a dump is read to its end, so that
 * the next one can begin, and asked for again: whoever wants it sees a whole one or none.
 */
#include "netns/rtnl.h"

#include <errno.h>
#include <linux/netlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/patience.h"

#define ANSWER_MAX 32768
#define EXTACK_MAX 160
#define DUMPS_MAX 8 /* of one that changes each time */

struct mr_rtnl {
	struct nl_sock *sock;
};

static int explain(struct mr_error *err, int nlerr, const char *what)
{
	return mr_err(err, MR_E_SYS, errno ? errno : EIO, "%s: %s", what, nl_geterror(nlerr));
}

static int configure(struct mr_rtnl *rtnl, struct mr_error *err)
{
	const struct timeval patience = { .tv_sec = (time_t)MR_PATIENCE_S(RTNL_ANSWER) };
	const int fd = nl_socket_get_fd(rtnl->sock), on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0)
		return mr_err(err, MR_E_SYS, errno, "rtnetlink: SO_RCVTIMEO: %m");
	/* Text beside the errno, and no copy of the request; both may be missing. */
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on));
	(void)setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &on, sizeof(on));
	return 0;
}

static struct mr_rtnl *new_rtnl(void)
{
	struct mr_rtnl *rtnl = calloc(1, sizeof(*rtnl));

	mr_assert(rtnl);
	rtnl->sock = nl_socket_alloc();
	mr_assert(rtnl->sock);
	return rtnl;
}

int mr_rtnl_open(struct mr_rtnl **ret, struct mr_error *err)
{
	struct mr_rtnl *rtnl = new_rtnl();
	int r;

	errno = 0;
	r = nl_connect(rtnl->sock, NETLINK_ROUTE);
	r = r < 0 ? explain(err, r, "open rtnetlink") : configure(rtnl, err);
	if (r < 0) {
		mr_rtnl_free(rtnl);
		return r;
	}
	*ret = rtnl;
	return 0;
}

int mr_rtnl_adopt(int fd, struct mr_rtnl **ret, struct mr_error *err)
{
	struct mr_rtnl *rtnl = new_rtnl();
	int r;

	errno = 0;
	r = nl_socket_set_fd(rtnl->sock, NETLINK_ROUTE, fd);
	if (r < 0) {
		r = explain(err, r, "take over rtnetlink");
		mr_close(fd);
		mr_rtnl_free(rtnl);
		return r;
	}
	*ret = rtnl;
	return 0;
}

struct mr_rtnl *mr_rtnl_free(struct mr_rtnl *rtnl)
{
	if (!rtnl)
		return NULL;
	nl_socket_free(rtnl->sock);
	free(rtnl);
	return NULL;
}

int mr_rtnl_fd(const struct mr_rtnl *rtnl)
{
	return nl_socket_get_fd(rtnl->sock);
}

static const void *data_of(const struct nlmsghdr *message)
{
	return (const char *)message + NLMSG_HDRLEN;
}

/* The kernel's text in the attributes behind an error; "" without one. */
static void read_extack(const struct nlmsghdr *message, char text[EXTACK_MAX])
{
	const struct nlmsgerr *error = data_of(message);
	size_t at = NLMSG_HDRLEN + sizeof(*error);
	const size_t size = message->nlmsg_len;

	text[0] = '\0';
	if (!(message->nlmsg_flags & NLM_F_ACK_TLVS))
		return;
	if (!(message->nlmsg_flags & NLM_F_CAPPED)) {
		if (error->msg.nlmsg_len < NLMSG_HDRLEN || error->msg.nlmsg_len > size)
			return;
		at += NLMSG_ALIGN(error->msg.nlmsg_len - NLMSG_HDRLEN);
	}
	while (at + NLA_HDRLEN <= size) {
		const struct nlattr *attr = (const void *)((const char *)message + at);

		if (attr->nla_len < NLA_HDRLEN || attr->nla_len > size - at)
			return;
		if ((attr->nla_type & NLA_TYPE_MASK) == NLMSGERR_ATTR_MSG) {
			snprintf(text, EXTACK_MAX, "%.*s", (int)(attr->nla_len - NLA_HDRLEN),
				 (const char *)attr + NLA_HDRLEN);
			return;
		}
		at += NLA_ALIGN(attr->nla_len);
	}
}

/* 1: an acknowledgement. */
static int read_error(const struct nlmsghdr *message, const char *what, struct mr_error *err)
{
	const struct nlmsgerr *error = data_of(message);
	char text[EXTACK_MAX];

	if (message->nlmsg_len < NLMSG_HDRLEN + sizeof(*error))
		return mr_err(err, MR_E_PROTO, EBADMSG, "%s: the kernel's answer is cut short",
			      what);
	if (error->error == 0)
		return 1;
	if (error->error > 0 || error->error < -4095)
		return mr_err(err, MR_E_PROTO, EBADMSG, "%s: the kernel's answer has error %d",
			      what, error->error);
	read_extack(message, text);
	return mr_err(err, MR_E_SYS, -error->error, text[0] ? "%s: %m (%s)" : "%s: %m", what, text);
}

int mr_rtnl_walk(const void *data, size_t size, uint32_t seq, const char *what, mr_rtnl_each *each,
		 void *owner, struct mr_error *err)
{
	size_t at = 0;

	while (at + NLMSG_HDRLEN <= size) {
		const struct nlmsghdr *message = (const void *)((const char *)data + at);
		int r = 0;

		if (message->nlmsg_len < NLMSG_HDRLEN || message->nlmsg_len > size - at)
			return mr_err(err, MR_E_PROTO, EBADMSG,
				      "%s: the kernel's answer is malformed", what);
		if (message->nlmsg_seq == seq) {
			if (message->nlmsg_flags & NLM_F_DUMP_INTR)
				return mr_err(err, MR_E_BUSY, EAGAIN,
					      "%s: it changed while it was read", what);
			if (message->nlmsg_type == NLMSG_ERROR)
				return read_error(message, what, err);
			if (message->nlmsg_type == NLMSG_DONE)
				return 1;
			if (each && message->nlmsg_type >= NLMSG_MIN_TYPE)
				r = each(message, owner, err);
		}
		if (r < 0)
			return r;
		at += NLMSG_ALIGN(message->nlmsg_len);
	}
	return 0;
}

/* Is nothing more to come?  Of what is malformed, too: where its next message begins is not known. */
static bool is_last(const char *data, size_t size, uint32_t seq)
{
	size_t at = 0;

	while (at + NLMSG_HDRLEN <= size) {
		const struct nlmsghdr *message = (const void *)(data + at);

		if (message->nlmsg_len < NLMSG_HDRLEN || message->nlmsg_len > size - at)
			return true;
		if (message->nlmsg_seq == seq &&
		    (message->nlmsg_type == NLMSG_DONE || message->nlmsg_type == NLMSG_ERROR))
			return true;
		at += NLMSG_ALIGN(message->nlmsg_len);
	}
	return false;
}

static bool is_interrupted(int r, const struct mr_error *err)
{
	return r == -EAGAIN && err->code == MR_E_BUSY;
}

static int transact(struct mr_rtnl *rtnl, struct nl_msg *msg, const char *what, mr_rtnl_each *each,
		    void *owner, struct mr_error *err)
{
	_Alignas(struct nlmsghdr) char answer[ANSWER_MAX];
	bool interrupted = false;
	int r;

	errno = 0;
	r = nl_send_auto(rtnl->sock, msg);
	if (r < 0)
		return explain(err, r, what);
	do {
		ssize_t n = recv(mr_rtnl_fd(rtnl), answer, sizeof(answer), MSG_TRUNC);

		if (n < 0 && errno == EINTR) {
			r = 0;
			continue;
		}
		if (n < 0)
			return mr_err(err, MR_E_SYS, errno, "%s: the kernel's answer: %m", what);
		if ((size_t)n > sizeof(answer))
			return mr_err(err, MR_E_PROTO, EMSGSIZE,
				      "%s: the kernel's answer has %zd bytes", what, n);
		r = mr_rtnl_walk(answer, (size_t)n, nlmsg_hdr(msg)->nlmsg_seq, what, each, owner,
				 err);
		interrupted |= is_interrupted(r, err);
		if (interrupted)
			r = is_last(answer, (size_t)n, nlmsg_hdr(msg)->nlmsg_seq) ? -EAGAIN : 0;
	} while (r == 0);
	return r < 0 ? r : 0;
}

int mr_rtnl_request(struct mr_rtnl *rtnl, struct nl_msg *msg, const char *what,
		    struct mr_error *err)
{
	nlmsg_hdr(msg)->nlmsg_flags |= NLM_F_ACK;
	return transact(rtnl, msg, what, NULL, NULL, err);
}

static int keep(const struct nlmsghdr *message, void *owner, struct mr_error *err)
{
	static const char padding[NLMSG_ALIGNTO];
	const size_t size = message->nlmsg_len;

	(void)err;
	mr_buf_addn(owner, (const char *)message, size);
	mr_buf_addn(owner, padding, NLMSG_ALIGN(size) - size);
	return 0;
}

/* They were checked when they were kept. */
static int hand_out(const struct mr_buf *kept, mr_rtnl_each *each, void *owner,
		    struct mr_error *err)
{
	int r = 0;

	for (size_t at = 0; r >= 0 && at < kept->len;) {
		const struct nlmsghdr *message = (const void *)(kept->text + at);

		at += NLMSG_ALIGN(message->nlmsg_len);
		r = each(message, owner, err);
	}
	return r < 0 ? r : 0;
}

int mr_rtnl_dump(struct mr_rtnl *rtnl, struct nl_msg *msg, const char *what, mr_rtnl_each *each,
		 void *owner, struct mr_error *err)
{
	mr_auto_buf struct mr_buf kept = { .text = NULL };
	int r;

	nlmsg_hdr(msg)->nlmsg_flags |= NLM_F_DUMP;
	for (unsigned int i = 0;; i++) {
		mr_buf_clear(&kept);
		nlmsg_hdr(msg)->nlmsg_seq = NL_AUTO_SEQ;
		r = transact(rtnl, msg, what, keep, &kept, err);
		if (!is_interrupted(r, err) || i + 1 == DUMPS_MAX)
			break;
	}
	return r < 0 ? r : hand_out(&kept, each, owner, err);
}

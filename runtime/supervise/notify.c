/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notify
 *
 * One verdict of a rule is one row of the answers table.  A notification whose
 * sender is gone (ENOENT) is no error.  Memory of the payload is read with
 * process_vm_readv, and what was read counts only if the notification is still
 * valid afterwards, since otherwise the pid may be another process's.  What is said of
 * paths is in notify_paths.c.
 */
#include "runtime/supervise/notify.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "netns/mock.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/spec/policy.h"
#include "runtime/spec/spec.h"
#include "runtime/supervise/notify_paths.h"
#include "runtime/supervise/recorder.h"

#define TASK_FORKED_ONLY 0x40U /* PF_FORKNOEXEC in the flags of /proc/PID/stat */
#define PROTOCOL_L2TP 115
#define BATCH_MAX 64 /* notifications in one turn of the loop: a flood must not starve a deadline */

bool mr_notify_is_valid(const struct mr_notify *notify)
{
	return ioctl(notify->fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &notify->req->id) == 0;
}

/* Bytes at addr of the caller; those read, or -1. */
ssize_t mr_notify_read_memory(const struct mr_notify *notify, uint64_t addr, void *buf, size_t size)
{
	struct iovec local = { .iov_base = buf, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)addr, .iov_len = size };
	ssize_t n = process_vm_readv((pid_t)notify->req->pid, &local, 1, &remote, 1, 0);

	return n > 0 && mr_notify_is_valid(notify) ? n : -1;
}

/* A string that may end right before an unmapped page: page by page. */
bool mr_notify_read_string(const struct mr_notify *notify, uint64_t addr, char *buf, size_t size)
{
	size_t done = 0;

	while (done < size - 1) {
		size_t chunk = 4096 - ((addr + done) & 4095);
		ssize_t n;

		if (chunk > size - 1 - done)
			chunk = size - 1 - done;
		n = mr_notify_read_memory(notify, addr + done, buf + done, chunk);
		if (n <= 0)
			return false;
		if (memchr(buf + done, '\0', (size_t)n))
			return true;
		done += (size_t)n;
	}
	buf[done] = '\0';
	return true;
}

static void read_comm(pid_t pid, char comm[17])
{
	char path[40];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	n = mr_read_file_at(AT_FDCWD, path, comm, 17);
	comm[n > 0 ? n : 0] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
}

void mr_notify_record(struct mr_notify *notify, struct mr_denial *denial)
{
	char comm[17];

	read_comm((pid_t)notify->req->pid, comm);
	denial->pid = (pid_t)notify->req->pid;
	denial->comm = comm[0] ? comm : NULL;
	denial->time_ns = mr_now_ns();
	mr_denials_add(notify->denials, denial);
	denial->comm = NULL;
}

static void answer(struct mr_notify *notify, int errnum)
{
	notify->resp->error = -errnum;
	notify->resp->flags = 0;
}

void mr_notify_let_pass(struct mr_notify *notify)
{
	notify->resp->error = 0;
	notify->resp->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
}

/* Is this task still our own code, before the exec that starts the program?  The kernel marks who
 * was forked and has not executed anything since; everybody may see that mark, and nobody gets it
 * back. */
static bool is_our_code(const struct mr_notify *notify)
{
	char path[40], text[1024];
	const char *end;
	unsigned int flags = 0;

	if ((pid_t)notify->req->pid != notify->payload_pid)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/stat", notify->req->pid);
	if (mr_read_file_at(AT_FDCWD, path, text, sizeof(text)) < 0)
		return false;
	end = strrchr(text, ')'); /* of the name, which may hold anything */
	return end && sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       (flags & TASK_FORKED_ONLY) && mr_notify_is_valid(notify);
}

/* Once a call was not ours none is: there is one exec that starts the program. */
static bool is_own_call(struct mr_notify *notify)
{
	if (!notify->started && !is_our_code(notify))
		notify->started = true;
	return !notify->started;
}

static void deny(struct mr_notify *notify, const struct mr_seccomp_rule *rule)
{
	const bool by_policy = strcmp(rule->set, "policy") == 0;
	char allow[64];
	struct mr_denial denial = { .layer = MR_DENIAL_SECCOMP,
				    .what = rule->syscall,
				    .errnum = rule->errnum,
				    .rule = rule->set,
				    .reason = rule->reason };

	if (by_policy && is_own_call(notify)) {
		mr_notify_let_pass(notify);
		if (notify->policy.watch_paths)
			mr_notify_judge_path(notify, rule, true);
		return;
	}
	if (by_policy) {
		snprintf(allow, sizeof(allow), "\"%s\" in \"syscalls\" of the policy",
			 rule->syscall);
		denial.allow = allow;
	} else if (rule->allowed_up_to >= 2) {
		snprintf(allow, sizeof(allow), "--level %u", rule->allowed_up_to);
		denial.allow = allow;
	}
	mr_notify_record(notify, &denial);
	answer(notify, rule->errnum);
}

void mr_notify_format_address(const void *addr, size_t len, char *buf, size_t size)
{
	char text[INET6_ADDRSTRLEN];
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	sa_family_t family;

	snprintf(buf, size, "?");
	if (len < sizeof(family))
		return;
	memcpy(&family, addr, sizeof(family));
	if (family == AF_INET && len >= sizeof(in)) {
		memcpy(&in, addr, sizeof(in));
		inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
		snprintf(buf, size, "%s:%u", text, ntohs(in.sin_port));
	} else if (family == AF_INET6 && len >= 24) {
		memset(&in6, 0, sizeof(in6));
		memcpy(&in6, addr, len < sizeof(in6) ? len : sizeof(in6));
		inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof(text));
		snprintf(buf, size, "[%s]:%u", text, ntohs(in6.sin6_port));
	}
}

/* The members of a denial that name an address of these families, text in buf. */
static void set_address(struct mr_denial *denial, const void *addr, size_t len,
			char buf[INET6_ADDRSTRLEN])
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6 = { 0 };

	memcpy(&in6, addr, len < sizeof(in6) ? len : sizeof(in6));
	memcpy(&in, &in6, sizeof(in));
	if (in.sin_family == AF_INET)
		inet_ntop(AF_INET, &in.sin_addr, buf, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, &in6.sin6_addr, buf, INET6_ADDRSTRLEN);
	denial->address = buf;
	denial->port = ntohs(in.sin_port); /* lies at the same place in both */
}

/* Binding to every address or to loopback is harmless without a link. */
static bool is_local_address(const void *addr, size_t len)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6 = { 0 };

	memcpy(&in6, addr, len < sizeof(in6) ? len : sizeof(in6));
	memcpy(&in, &in6, sizeof(in));
	if (in.sin_family == AF_INET)
		return in.sin_addr.s_addr == htonl(INADDR_ANY) ||
		       (ntohl(in.sin_addr.s_addr) >> 24) == 127;
	return IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr) || IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
}

/* Among mocks the network itself is what decides (nothing else has a route), so it does not matter
 * that the memory of what passes may change meanwhile. */
static bool is_mocked(const struct mr_mocks *mocks, const void *addr, size_t len)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6 = { 0 };
	struct in6_addr address = { .s6_addr = { [10] = 0xff, [11] = 0xff } };

	memcpy(&in6, addr, len < sizeof(in6) ? len : sizeof(in6));
	memcpy(&in, &in6, sizeof(in));
	if (in.sin_family == AF_INET6)
		address = in6.sin6_addr;
	else
		memcpy(&address.s6_addr[12], &in.sin_addr, sizeof(in.sin_addr));
	memcpy(&in.sin_addr, &address.s6_addr[12], sizeof(in.sin_addr));
	if (IN6_IS_ADDR_V4MAPPED(&address) &&
	    (in.sin_addr.s_addr == htonl(INADDR_ANY) || ntohl(in.sin_addr.s_addr) >> 24 == 127))
		return true;
	return mr_mocks_name(mocks, &address) != NULL;
}

struct mr_denial mr_notify_no_route(unsigned int net_mode, bool is_local)
{
	static const struct {
		const char *rule, *reason, *allow;
	} modes[] = {
		[MR_NET_NONE] = { "net.mode=none", "safe mode: the sandbox has no network",
				  "--net host" },
		[MR_NET_LOOPBACK] = { "net.mode=loopback",
				      "the sandbox's network is loopback alone", "--net host" },
		[MR_NET_STUB] = { "net.mode=stub", "no mock has this address",
				  "--mock TARGET=ACTION" },
		[MR_NET_ALLOWLIST] = { "net.mode=allowlist", "nothing leads there", NULL },
		[MR_NET_HOST] = { "net.mode=host", "nothing leads there", NULL },
	};

	mr_assert(net_mode < N_ELEMENTS(modes));
	return (struct mr_denial){ .layer = MR_DENIAL_NETWORK,
				   .errnum = ENETUNREACH,
				   .rule = modes[net_mode].rule,
				   .reason = modes[net_mode].reason,
				   .allow = is_local ? "--net loopback" : modes[net_mode].allow };
}

/* Refused here, for what is let through the guard would tell once more (datagrams.h). */
static void refuse_address(struct mr_notify *notify, const char *call, const void *addr, size_t len)
{
	const bool is_stub = notify->mocks != NULL;
	char text[80], address[INET6_ADDRSTRLEN];
	struct mr_denial denial = mr_notify_no_route(notify->net_mode, is_local_address(addr, len));

	denial.what = call;
	denial.object = text;
	if (strcmp(call, "bind") == 0) {
		denial.errnum = EADDRNOTAVAIL;
		denial.reason = is_stub ? "the sandbox has no such address" : denial.reason;
		denial.allow = is_stub ? NULL : denial.allow;
	}
	mr_notify_format_address(addr, len, text, sizeof(text));
	set_address(&denial, addr, len, address);
	mr_notify_record(notify, &denial);
	answer(notify, denial.errnum);
}

static void judge_address(struct mr_notify *notify, const struct mr_seccomp_rule *rule)
{
	const bool is_sendto = strcmp(rule->syscall, "sendto") == 0;
	const bool is_bind = strcmp(rule->syscall, "bind") == 0;
	const __u64 *args = notify->req->data.args;
	uint64_t at = is_sendto ? args[4] : args[1];
	uint32_t len = (uint32_t)(is_sendto ? args[5] : args[2]);
	unsigned char addr[128];
	sa_family_t family;
	ssize_t n =
		mr_notify_read_memory(notify, at, addr, len < sizeof(addr) ? len : sizeof(addr));

	mr_notify_let_pass(
		notify); /* there is no link: the kernel itself refuses what we cannot read */
	if (n < (ssize_t)sizeof(family))
		return;
	memcpy(&family, addr, sizeof(family));
	if (family != AF_INET && family != AF_INET6)
		return;
	if ((notify->mocks || is_bind) && is_local_address(addr, (size_t)n))
		return;
	if (!notify->mocks || !is_mocked(notify->mocks, addr, (size_t)n))
		refuse_address(notify, rule->syscall, addr, (size_t)n);
}

/* Sockets that the kernel refuses in a namespace of their own, and such whose datagrams no hook
 * sees. */
static const struct closed {
	int domain, type, protocol; /* -1: any */
	int errnum;
	const char *name;
	const char *allow; /* NULL: nothing does, for it takes a capability */
	bool on_loopback; /* of use there */
} closed_sockets[] = {
	{ AF_PACKET, -1, -1, EPERM, "packet", NULL, false },
	{ -1, SOCK_DGRAM, IPPROTO_ICMP, EACCES, "ICMP", "--net host", false },
	{ -1, SOCK_DGRAM, IPPROTO_ICMPV6, EACCES, "ICMPv6", "--net host", false },
	{ -1, SOCK_RAW, -1, EPERM, "raw", NULL, false },
	{ -1, SOCK_DGRAM, PROTOCOL_L2TP, EPROTONOSUPPORT, "L2TP", "--net host", true },
	{ -1, -1, IPPROTO_SCTP, EPROTONOSUPPORT, "SCTP", "--net host", true },
};

static bool is_any_or(int wanted, int is)
{
	return wanted < 0 || wanted == is;
}

/* What is looked at are registers, which are what the kernel will use. */
static const struct closed *find_closed(const struct mr_notify *notify)
{
	const __u64 *args = notify->req->data.args;

	for (size_t i = 0; i < N_ELEMENTS(closed_sockets); i++) {
		const struct closed *c = &closed_sockets[i];

		if (c->on_loopback && notify->net_mode == MR_NET_LOOPBACK)
			continue;
		if (is_any_or(c->domain, (int)args[0]) &&
		    is_any_or(c->type, (int)(args[1] & 0xf)) &&
		    is_any_or(c->protocol, (int)args[2]))
			return c;
	}
	return NULL;
}

static void judge_socket(struct mr_notify *notify, const struct mr_seccomp_rule *rule)
{
	const struct closed *c = find_closed(notify);
	struct mr_denial denial = mr_notify_no_route(notify->net_mode, false);

	if (!c) {
		mr_notify_let_pass(notify);
		if (notify->on_socket)
			notify->on_socket(notify->socket_owner);
		return;
	}
	denial.what = rule->syscall;
	denial.object = c->name;
	denial.errnum = c->errnum;
	denial.reason = "without the host's network there are TCP and UDP sockets alone";
	denial.allow = c->allow;
	mr_notify_record(notify, &denial);
	answer(notify, c->errnum);
}

/* Level 4: the exec that starts the program is ours (it may try several folders of PATH), none
 * after it. */
static void judge_exec(struct mr_notify *notify, const struct mr_seccomp_rule *rule)
{
	char path[MR_NOTIFY_PATH_MAX] = "";
	struct mr_denial denial = { .layer = MR_DENIAL_SECCOMP,
				    .what = rule->syscall,
				    .errnum = EPERM,
				    .rule = rule->set,
				    .reason = rule->reason,
				    .allow = "--level 3" };

	if (is_own_call(notify)) {
		mr_notify_let_pass(notify);
		if (notify->policy.watch_paths)
			mr_notify_judge_path(notify, rule, true);
		return;
	}
	if (mr_notify_read_string(notify,
				  notify->req->data.args[strcmp(rule->syscall, "execveat") == 0],
				  path, sizeof(path)))
		denial.object = path;
	mr_notify_record(notify, &denial);
	answer(notify, EPERM);
}

static void watch_path(struct mr_notify *notify, const struct mr_seccomp_rule *rule)
{
	mr_notify_let_pass(notify);
	mr_notify_judge_path(notify, rule, is_own_call(notify));
}

static void watch_open(struct mr_notify *notify, const struct mr_seccomp_rule *rule)
{
	mr_notify_let_pass(notify);
	mr_notify_explain_open(notify, rule->syscall);
}

static void let_pass_by(struct mr_notify *notify, const struct mr_seccomp_rule *rule)
{
	(void)rule;
	mr_notify_let_pass(notify);
}

static void (*const answers[])(struct mr_notify *, const struct mr_seccomp_rule *) = {
	[MR_SECCOMP_DENY] = deny,	    [MR_SECCOMP_NET] = judge_address,
	[MR_SECCOMP_OPEN] = watch_open,	    [MR_SECCOMP_EXEC] = judge_exec,
	[MR_SECCOMP_PATH] = watch_path,	    [MR_SECCOMP_RECORD] = let_pass_by,
	[MR_SECCOMP_SOCKET] = judge_socket,
};

/* One notification. False when there is none left to take. */
static bool serve(struct mr_notify *notify)
{
	const struct mr_seccomp_rule *rule;

	memset(notify->req, 0, notify->req_size);
	if (ioctl(notify->fd, SECCOMP_IOCTL_NOTIF_RECV, notify->req) < 0)
		return errno == EINTR;
	rule = mr_seccomp_rule_for(&notify->policy, &notify->req->data);
	memset(notify->resp, 0, notify->resp_size);
	notify->resp->id = notify->req->id;
	notify->handled++;
	answers[rule->verdict](notify, rule);
	if (notify->recorder && notify->resp->flags && !is_own_call(notify))
		mr_recorder_note_call(notify->recorder, notify);
	if (notify->on_pass && notify->resp->flags && !is_own_call(notify) &&
	    notify->on_pass(notify->pass_owner, notify))
		return true;
	if (ioctl(notify->fd, SECCOMP_IOCTL_NOTIF_SEND, notify->resp) < 0)
		return errno == ENOENT || errno == EINTR; /* the caller was killed meanwhile */
	return true;
}

static bool is_pending(const struct mr_notify *notify)
{
	struct pollfd poll_fd = { .fd = notify->fd, .events = POLLIN };

	return poll(&poll_fd, 1, 0) == 1 && (poll_fd.revents & POLLIN);
}

static void on_notification(struct mr_source *source, uint32_t events)
{
	struct mr_notify *notify = source->owner;

	if (!(events & EPOLLIN)) { /* EPOLLHUP: no task has the filter any more */
		mr_loop_remove(notify->loop, &notify->source);
		return;
	}
	for (int i = 0; i < BATCH_MAX; i++) {
		if (!serve(notify) || !is_pending(notify))
			return;
	}
}

void mr_notify_watch(struct mr_notify *notify,
		     bool (*on_pass)(void *owner, struct mr_notify *notify), void *owner)
{
	notify->on_pass = on_pass;
	notify->pass_owner = owner;
}

void mr_notify_refuse(struct mr_notify *notify, int errnum)
{
	answer(notify, errnum);
}

void mr_notify_release(struct mr_notify *notify, uint64_t id)
{
	memset(notify->resp, 0, notify->resp_size);
	notify->resp->id = id;
	mr_notify_let_pass(notify);
	/* ENOENT: its caller was killed meanwhile. */
	(void)ioctl(notify->fd, SECCOMP_IOCTL_NOTIF_SEND, notify->resp);
}

int mr_notify_start(struct mr_notify *notify, struct mr_loop *loop, int listener_fd, int root_fd,
		    const struct mr_seccomp_policy *policy, const struct mr_notify_payload *payload,
		    struct mr_denials *denials, struct mr_error *err)
{
	struct seccomp_notif_sizes sizes = { 0 };

	*notify = (struct mr_notify){ .loop = loop,
				      .source.fd = -1,
				      .fd = listener_fd,
				      .root_fd = root_fd,
				      .policy = *policy,
				      .uid = payload->uid,
				      .gid = payload->gid,
				      .payload_pid = payload->pid,
				      .recorder = payload->recorder,
				      .mocks = payload->mocks,
				      .net_mode = payload->net_mode,
				      .on_socket = payload->on_socket,
				      .socket_owner = payload->socket_owner,
				      .denials = denials };

	if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0)
		return mr_err(err, MR_E_KERNEL, errno, "seccomp notification sizes: %m");
	notify->req_size = sizes.seccomp_notif > sizeof(*notify->req) ? sizes.seccomp_notif
								      : sizeof(*notify->req);
	notify->resp_size = sizes.seccomp_notif_resp > sizeof(*notify->resp)
				    ? sizes.seccomp_notif_resp
				    : sizeof(*notify->resp);
	notify->req = calloc(1, notify->req_size);
	notify->resp = calloc(1, notify->resp_size);
	mr_assert(notify->req && notify->resp);
	if (payload->paths_of)
		mr_notify_take_rules(notify, payload->paths_of);
	/* From 6.6: hand over the CPU with the answer. An older kernel is slower, no more. */
	if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) <
	    0)
		errno = 0;
	return mr_loop_add(loop, &notify->source, listener_fd, EPOLLIN, on_notification, notify,
			   err);
}

void mr_notify_stop(struct mr_notify *notify)
{
	if (!notify->loop)
		return;
	mr_loop_remove(notify->loop, &notify->source);
	notify->fd = mr_close(notify->fd);
	free(notify->req);
	free(notify->resp);
	mr_notify_drop_rules(notify);
	notify->req = NULL;
	notify->resp = NULL;
	notify->loop = NULL;
}

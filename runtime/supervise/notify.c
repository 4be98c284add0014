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
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/spec/policy.h"
#include "runtime/supervise/notify_paths.h"
#include "runtime/supervise/recorder.h"

#define TASK_FORKED_ONLY 0x40U /* PF_FORKNOEXEC in the flags of /proc/PID/stat */
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

/* Among mocks the network itself is what decides (nothing else has a route): this only tells of
 * what it will refuse, so it does not matter that the memory may change meanwhile. */
static bool is_mocked(const struct mr_mocks *mocks, const void *addr, size_t len)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6 = { 0 };
	uint32_t address;

	memcpy(&in6, addr, len < sizeof(in6) ? len : sizeof(in6));
	memcpy(&in, &in6, sizeof(in));
	if (in.sin_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr))
		return false;
	if (in.sin_family == AF_INET6)
		memcpy(&in.sin_addr, &in6.sin6_addr.s6_addr[12], sizeof(in.sin_addr));
	address = ntohl(in.sin_addr.s_addr);
	return address == INADDR_ANY || address >> 24 == 127 || mr_mocks_name(mocks, address);
}

static void judge_among_mocks(struct mr_notify *notify, const char *call, const void *addr,
			      size_t len)
{
	char text[80], address[INET6_ADDRSTRLEN];
	struct mr_denial denial = { .layer = MR_DENIAL_NETWORK,
				    .what = call,
				    .object = text,
				    .errnum = ENETUNREACH,
				    .rule = "net.mode=stub",
				    .reason = "no mock has this address",
				    .allow = "--mock TARGET=ACTION" };

	if (is_local_address(addr, len) || is_mocked(notify->mocks, addr, len))
		return;
	if (strcmp(call, "bind") == 0) {
		denial.errnum = EADDRNOTAVAIL;
		denial.reason = "the sandbox has no such address";
		denial.allow = NULL;
	}
	mr_notify_format_address(addr, len, text, sizeof(text));
	set_address(&denial, addr, len, address);
	mr_notify_record(notify, &denial);
}

static void judge_address(struct mr_notify *notify, const struct mr_seccomp_rule *rule)
{
	const bool is_sendto = strcmp(rule->syscall, "sendto") == 0;
	const bool is_bind = strcmp(rule->syscall, "bind") == 0;
	const __u64 *args = notify->req->data.args;
	uint64_t at = is_sendto ? args[4] : args[1];
	uint32_t len = (uint32_t)(is_sendto ? args[5] : args[2]);
	struct mr_denial denial = { .layer = MR_DENIAL_NETWORK,
				    .what = rule->syscall,
				    .rule = "net.mode=none",
				    .allow = "--net host",
				    .reason = "safe mode: the sandbox has no network" };
	unsigned char addr[128];
	sa_family_t family;
	char text[80], address[INET6_ADDRSTRLEN];
	ssize_t n =
		mr_notify_read_memory(notify, at, addr, len < sizeof(addr) ? len : sizeof(addr));

	mr_notify_let_pass(
		notify); /* there is no link: the kernel itself refuses what we cannot read */
	if (n < (ssize_t)sizeof(family))
		return;
	memcpy(&family, addr, sizeof(family));
	if (family != AF_INET && family != AF_INET6)
		return;
	if (notify->mocks) {
		judge_among_mocks(notify, rule->syscall, addr, (size_t)n);
		return;
	}
	if (is_bind && is_local_address(addr, (size_t)n))
		return;
	mr_notify_format_address(addr, (size_t)n, text, sizeof(text));
	if (is_local_address(addr, (size_t)n))
		denial.allow = "--net loopback";
	denial.object = text;
	set_address(&denial, addr, (size_t)n, address);
	denial.errnum = is_bind ? EADDRNOTAVAIL : ENETUNREACH;
	mr_notify_record(notify, &denial);
	answer(notify, denial.errnum);
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
	[MR_SECCOMP_DENY] = deny,	[MR_SECCOMP_NET] = judge_address,
	[MR_SECCOMP_OPEN] = watch_open, [MR_SECCOMP_EXEC] = judge_exec,
	[MR_SECCOMP_PATH] = watch_path, [MR_SECCOMP_RECORD] = let_pass_by,
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

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notify
 *
 * One verdict of a rule is one row of the answers table.  A notification whose
 * sender is gone (ENOENT) is no error.  Memory of the payload is read with
 * process_vm_readv, and what was read counts only if the notification is still
 * valid afterwards, since otherwise the pid may be another process's.
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

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"

#define PATH_READ_MAX 4096
#define BATCH_MAX 64 /* notifications in one turn of the loop: a flood must not starve a deadline */

static bool still_valid(const struct mr_notify *notify)
{
	return ioctl(notify->fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &notify->req->id) == 0;
}

/* Bytes at addr of the caller; those read, or -1. */
static ssize_t read_memory(const struct mr_notify *notify, uint64_t addr, void *buf, size_t size)
{
	struct iovec local = { .iov_base = buf, .iov_len = size };
	struct iovec remote = { .iov_base = (void *)(uintptr_t)addr, .iov_len = size };
	ssize_t n = process_vm_readv((pid_t)notify->req->pid, &local, 1, &remote, 1, 0);

	return n > 0 && still_valid(notify) ? n : -1;
}

/* A string that may end right before an unmapped page: page by page. */
static bool read_string(const struct mr_notify *notify, uint64_t addr, char *buf, size_t size)
{
	size_t done = 0;

	while (done < size - 1) {
		size_t chunk = 4096 - ((addr + done) & 4095);
		ssize_t n;

		if (chunk > size - 1 - done)
			chunk = size - 1 - done;
		n = read_memory(notify, addr + done, buf + done, chunk);
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

static void record(struct mr_notify *notify, struct mr_denial *denial)
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

static void let_pass(struct mr_notify *notify)
{
	notify->resp->error = 0;
	notify->resp->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
}

static void deny(struct mr_notify *notify, const struct mr_seccomp_rule *rule)
{
	char allow[64];
	struct mr_denial denial = { .layer = MR_DENIAL_SECCOMP,
				    .what = rule->syscall,
				    .errnum = rule->errnum,
				    .rule = rule->set,
				    .reason = rule->reason };

	if (rule->allowed_up_to >= 2) {
		snprintf(allow, sizeof(allow), "--level %u", rule->allowed_up_to);
		denial.allow = allow;
	}
	record(notify, &denial);
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
	char text[80];
	ssize_t n = read_memory(notify, at, addr, len < sizeof(addr) ? len : sizeof(addr));

	let_pass(notify); /* there is no link: the kernel itself refuses what we cannot read */
	if (n < (ssize_t)sizeof(family))
		return;
	memcpy(&family, addr, sizeof(family));
	if (family != AF_INET && family != AF_INET6)
		return;
	if (is_bind && is_local_address(addr, (size_t)n))
		return;
	mr_notify_format_address(addr, (size_t)n, text, sizeof(text));
	if (is_local_address(addr, (size_t)n))
		denial.allow = "--net loopback";
	denial.object = text;
	denial.errnum = is_bind ? EADDRNOTAVAIL : ENETUNREACH;
	record(notify, &denial);
	answer(notify, denial.errnum);
}

/* Where a relative path of the caller begins: its descriptor or its working directory. */
static int open_base(const struct mr_notify *notify, int dir_fd)
{
	char path[64];

	if (dir_fd == AT_FDCWD)
		snprintf(path, sizeof(path), "/proc/%u/cwd", notify->req->pid);
	else
		snprintf(path, sizeof(path), "/proc/%u/fd/%d", notify->req->pid, dir_fd);
	return open(path, O_PATH | O_CLOEXEC);
}

/* Open the object a path stands for in the sandbox; -ENOENT and the like where there is none. */
static int open_inside(const struct mr_notify *notify, int dir_fd, const char *path)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
	mr_auto_close int base = -1;
	int fd;

	if (path[0] == '/') {
		fd = (int)syscall(SYS_openat2, notify->root_fd, path, &how, sizeof(how));
		return fd < 0 ? -errno : fd;
	}
	base = open_base(notify, dir_fd);
	how.resolve = RESOLVE_NO_MAGICLINKS; /* ".." is the caller's own, above its root it stops */
	fd = base < 0 ? -1 : (int)syscall(SYS_openat2, base, path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

static bool may_access(const struct mr_notify *notify, const struct stat *st, unsigned int want)
{
	unsigned int bits = st->st_mode & 7;

	if (st->st_uid == notify->uid)
		bits = (st->st_mode >> 6) & 7;
	else if (st->st_gid == notify->gid)
		bits = (st->st_mode >> 3) & 7;
	return (bits & want) == want;
}

/* What the kernel is about to say to an open, as far as we can tell; text for the denial. */
struct forecast {
	int errnum; /* 0: fine */
	const char *rule, *reason;
	char allow[PATH_READ_MAX + 8]; /* "": nothing to suggest */
};

static void forecast_is(struct forecast *f, int errnum, const char *rule, const char *reason)
{
	f->errnum = errnum;
	f->rule = rule;
	f->reason = reason;
}

static void suggest(struct forecast *f, const char *option, const char *path)
{
	if (path[0] == '/')
		snprintf(f->allow, sizeof(f->allow), "%s %s", option, path);
}

/* Can something be made in, or written to, this object? */
static void forecast_write(const struct mr_notify *notify, int fd, const char *path,
			   unsigned int want, struct forecast *f)
{
	struct statvfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || fstatvfs(fd, &fs) < 0)
		return;
	if ((want & 2) && (fs.f_flag & ST_RDONLY) && !S_ISCHR(st.st_mode)) {
		forecast_is(f, EROFS, "read-only mount",
			    "only /work, /tmp, /dev/shm and what is mounted with --rw or --tmpfs "
			    "can be "
			    "written");
		suggest(f, "--rw", path);
	} else if (!may_access(notify, &st, want)) {
		forecast_is(f, EACCES, "file permissions", "the payload's user has no right to it");
	}
}

/* O_CREAT of something that is not there: what counts is the folder. */
static void forecast_create(const struct mr_notify *notify, int dir_fd, const char *path,
			    struct forecast *f)
{
	char parent[PATH_READ_MAX];
	mr_auto_close int fd = -1;
	char *slash;

	snprintf(parent, sizeof(parent), "%s", path);
	slash = strrchr(parent, '/');
	if (slash == parent)
		slash++;
	if (slash)
		*slash = '\0';
	fd = open_inside(notify, dir_fd, slash ? parent : ".");
	if (fd >= 0)
		forecast_write(notify, fd, slash ? parent : ".", 2, f);
}

static void forecast_open(const struct mr_notify *notify, int dir_fd, const char *path, int flags,
			  struct forecast *f)
{
	const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC));
	const unsigned int want = (writes ? 2U : 0U) | ((flags & O_ACCMODE) == O_WRONLY ? 0U : 4U);
	mr_auto_close int fd = open_inside(notify, dir_fd, path);
	struct stat st;

	if (fd >= 0) {
		forecast_write(notify, fd, path, want, f);
	} else if (fd == -ENOENT && (flags & O_CREAT)) {
		forecast_create(notify, dir_fd, path, f);
	} else if (fd == -ENOENT && path[0] == '/' && lstat(path, &st) == 0) {
		forecast_is(f, ENOENT, "not in the sandbox",
			    "the host has it, the sandbox's root does not");
		suggest(f, "--ro", path);
	}
}

struct open_args {
	int dir_fd, flags;
	uint64_t path;
};

static struct open_args open_arguments(const struct mr_notify *notify, const char *syscall_name)
{
	const __u64 *args = notify->req->data.args;
	struct open_args a = { .dir_fd = (int)args[0], .path = args[1], .flags = (int)args[2] };
	uint64_t flags = 0;

	if (strcmp(syscall_name, "open") == 0)
		a = (struct open_args){ .dir_fd = AT_FDCWD,
					.path = args[0],
					.flags = (int)args[1] };
	else if (strcmp(syscall_name, "creat") == 0)
		a = (struct open_args){ .dir_fd = AT_FDCWD,
					.path = args[0],
					.flags = O_CREAT | O_WRONLY | O_TRUNC };
	else if (strcmp(syscall_name, "openat2") == 0 &&
		 read_memory(notify, args[2], &flags, sizeof(flags)) == sizeof(flags))
		a.flags = (int)flags;
	return a;
}

static void watch_open(struct mr_notify *notify, const struct mr_seccomp_rule *rule)
{
	struct open_args a = open_arguments(notify, rule->syscall);
	struct forecast f = { 0 };
	char path[PATH_READ_MAX];
	struct mr_denial denial = { .layer = MR_DENIAL_MOUNT,
				    .what = rule->syscall,
				    .object = path };

	let_pass(notify);
	if (!read_string(notify, a.path, path, sizeof(path)) || (a.flags & O_PATH))
		return;
	if (strncmp(path, "/proc/", 6) == 0)
		return; /* its links mean something else to us than to the payload */
	forecast_open(notify, a.dir_fd, path, a.flags, &f);
	if (!f.errnum)
		return;
	denial.errnum = f.errnum;
	denial.rule = f.rule;
	denial.reason = f.reason;
	denial.allow = f.allow[0] ? f.allow : NULL;
	record(notify, &denial);
}

/* Is this task still our own code, before the exec that starts the program? */
static bool is_our_code(const struct mr_notify *notify)
{
	struct stat own, theirs;
	char path[40];

	if ((pid_t)notify->req->pid != notify->payload_pid)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/exe", notify->req->pid);
	return stat("/proc/self/exe", &own) == 0 && stat(path, &theirs) == 0 &&
	       own.st_dev == theirs.st_dev && own.st_ino == theirs.st_ino && still_valid(notify);
}

/* Level 4: the exec that starts the program is ours (it may try several folders of PATH), none
 * after it. */
static void judge_exec(struct mr_notify *notify, const struct mr_seccomp_rule *rule)
{
	char path[PATH_READ_MAX] = "";
	struct mr_denial denial = { .layer = MR_DENIAL_SECCOMP,
				    .what = rule->syscall,
				    .errnum = EPERM,
				    .rule = rule->set,
				    .reason = rule->reason,
				    .allow = "--level 3" };

	if (!notify->started && is_our_code(notify)) {
		let_pass(notify);
		return;
	}
	notify->started = true;
	if (read_string(notify, notify->req->data.args[strcmp(rule->syscall, "execveat") == 0],
			path, sizeof(path)))
		denial.object = path;
	record(notify, &denial);
	answer(notify, EPERM);
}

static void (*const answers[])(struct mr_notify *, const struct mr_seccomp_rule *) = {
	[MR_SECCOMP_DENY] = deny,
	[MR_SECCOMP_NET] = judge_address,
	[MR_SECCOMP_OPEN] = watch_open,
	[MR_SECCOMP_EXEC] = judge_exec,
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
	notify->req = NULL;
	notify->resp = NULL;
	notify->loop = NULL;
}

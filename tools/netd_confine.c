/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confine
 *
 * One row of allowed[] is one system call.  Sockets can be made of the internet families
 * alone, memory never becomes code, and nothing opens a file, starts a process, or
 * looks at one.
 */
#include "tools/netd_confine.h"

#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netns/netd.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/launch/caps.h"
#include "runtime/launch/landlock.h"

#define OWN_ID_BASE 0x5f000000u /* + pid: no payload's (idmap.c), no other run's, no person's */
#define NOBODY 65534u
#define MEMORY_MAX (256u << 20)
#define FDS_MAX 2048

/* A build that watches its own memory maps a lot of it, and writes what it has found. */
#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif
#ifndef WATCHED
#define WATCHED 0
#endif

static const unsigned int allowed[] = {
	/* bytes */
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_splice,
	SYS_pipe2,
	SYS_close,
	SYS_fcntl,
	/* sockets; socket() itself is judged by its family */
	SYS_accept4,
	SYS_connect,
	SYS_bind,
	SYS_getsockname,
	SYS_getpeername,
	SYS_getsockopt,
	SYS_setsockopt,
	SYS_sendto,
	SYS_sendmsg,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_shutdown,
	/* waiting */
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_wait,
	SYS_epoll_pwait,
	SYS_poll,
	SYS_ppoll,
	SYS_timerfd_create,
	SYS_timerfd_settime,
	SYS_clock_gettime,
	SYS_restart_syscall,
	/* memory and the end; mmap and mprotect are judged by what they ask */
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_brk,
	SYS_futex,
	SYS_getrandom,
	SYS_getpid,
	SYS_rt_sigreturn,
	SYS_rt_sigprocmask,
	SYS_rt_sigaction,
	SYS_exit,
	SYS_exit_group,
#if WATCHED
	SYS_sigaltstack,
	SYS_gettid,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_prctl,
	SYS_readlink,
#endif
};

#define FILTER_MAX (2 * N_ELEMENTS(allowed) + 24)
#define LOAD(member) \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, member))
#define IF_EQUAL(value, then, otherwise) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (then), (otherwise))
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSE(errnum) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (errnum))
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* What comes before the list: the ABI, and the calls that are judged by an argument. */
static const struct sock_filter judged[] = {
	LOAD(arch),
	IF_EQUAL(AUDIT_ARCH_X86_64, 1, 0),
	KILL,
	LOAD(nr),
	IF_EQUAL(SYS_socket, 0, 5),
	LOAD(args[0]),
	IF_EQUAL(AF_INET, 2, 0),
	IF_EQUAL(AF_INET6, 1, 0),
	REFUSE(EAFNOSUPPORT),
	ALLOW,
	IF_EQUAL(SYS_mmap, 1, 0),
	IF_EQUAL(SYS_mprotect, 0, 4),
	LOAD(args[2]),
	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
	REFUSE(EPERM),
	ALLOW,
};

static int install_filter(struct mr_error *err)
{
	struct sock_filter f[FILTER_MAX];
	struct sock_fprog prog = { .filter = f };

	memcpy(f, judged, sizeof(judged));
	prog.len = N_ELEMENTS(judged);
	for (size_t i = 0; i < N_ELEMENTS(allowed); i++) {
		f[prog.len++] = (struct sock_filter)IF_EQUAL(allowed[i], 0, 1);
		f[prog.len++] = (struct sock_filter)ALLOW;
	}
	f[prog.len++] = (struct sock_filter)KILL;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return mr_err(err, MR_E_SYS, errno, "install seccomp filter: %m");
	return 0;
}

static int set_limits(struct mr_error *err)
{
	static const struct {
		int which;
		rlim_t value;
	} limits[] = {
		{ RLIMIT_DATA, MEMORY_MAX }, { RLIMIT_NOFILE, FDS_MAX }, { RLIMIT_CORE, 0 },
		{ RLIMIT_FSIZE, 0 },	     { RLIMIT_NPROC, 0 },	 { RLIMIT_MEMLOCK, 0 },
	};

	/* Where memory is watched, without the limit of it, which is the first. */
	for (size_t i = WATCHED; i < N_ELEMENTS(limits); i++) {
		struct rlimit limit = { limits[i].value, limits[i].value }, now;

		if (getrlimit(limits[i].which, &now) < 0)
			return mr_err(err, MR_E_SYS, errno, "read limit %d: %m", limits[i].which);
		if (now.rlim_max < limit.rlim_max) /* tighter already */
			limit.rlim_cur = limit.rlim_max = now.rlim_max;
		if (setrlimit(limits[i].which, &limit) < 0)
			return mr_err(err, MR_E_SYS, errno, "set limit %d: %m", limits[i].which);
	}
	return 0;
}

/* Inside a container the high ids may not be mapped; then it is nobody's. */
static int become_nobody(struct mr_error *err)
{
	uid_t id = OWN_ID_BASE + (uid_t)getpid();

	if (geteuid() != 0)
		return 0;
	/* The capabilities outlive the change: dropping the last of them needs one. */
	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) < 0)
		return mr_err(err, MR_E_SYS, errno, "securebits: %m");
	if (setgroups(0, NULL) < 0)
		return mr_err(err, MR_E_SYS, errno, "drop groups: %m");
	if (setresgid(id, id, id) < 0 && setresgid(NOBODY, NOBODY, NOBODY) < 0)
		return mr_err(err, MR_E_SYS, errno, "become group %u: %m", id);
	if (setresuid(id, id, id) < 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return mr_err(err, MR_E_SYS, errno, "become user %u: %m", id);
	return 0;
}

int mr_netd_confine(int32_t *ret_landlock_abi, struct mr_error *err)
{
	int32_t abi = mr_landlock_abi(NULL);
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return mr_err(err, MR_E_SYS, errno, "no_new_privs: %m");
	r = set_limits(err);
	if (r == 0)
		r = become_nobody(err);
	/* After the change of the user, which undoes it. */
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		r = mr_err(err, MR_E_SYS, errno, "not dumpable: %m");
	if (r == 0 && abi > 0)
		r = mr_landlock_restrict(NULL, 0, err);
	if (r == 0)
		r = mr_caps_drop_all(err);
	if (r == 0)
		r = install_filter(err);
	if (r == 0)
		*ret_landlock_abi = abi;
	return r < 0 ? mr_err_wrap(err, r, MR_NETD_PROGRAM ": confine") : 0;
}

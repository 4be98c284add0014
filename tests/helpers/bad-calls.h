/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad calls: what a payload must not get, and the errno it gets instead
 *
 * One row is one call with arguments so wrong that it does no harm where it is
 * not denied: the kernel then refuses it with another errno.  Shared by the
 * unit test of the filter and by probe-syscalls, which runs inside a sandbox.
 */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define X32_GETPID (0x40000000L | SYS_getpid)
#define I386_GETPID 20
#define AFTER_THE_LAST_CALL 600

static sigjmp_buf bad_call_fault;

static inline void leave_fault(int sig)
{
	siglongjmp(bad_call_fault, sig);
}

/* A kernel without 32-bit support answers with a fault, which is as good as ENOSYS. */
static inline long call_i386(void)
{
	struct sigaction act = { .sa_handler = leave_fault }, old;
	long ret = -ENOSYS;

	if (sigaction(SIGSEGV, &act, &old) < 0)
		return -1;
	if (sigsetjmp(bad_call_fault, 1) == 0)
		__asm__ volatile("int $0x80"
				 : "=a"(ret)
				 : "a"(I386_GETPID)
				 : "r8", "r9", "r10", "r11", "memory");
	sigaction(SIGSEGV, &old, NULL);
	if (ret >= 0)
		return ret;
	errno = (int)-ret;
	return -1;
}

struct bad_call {
	const char *name;
	int expected; /* errno at level 3 */
	long nr; /* -1: by int 0x80 */
	long args[6];
};

/* clang-format off */
#define BAD_BITS 0x7fffffffL
#define CALL(name, expected, ...) { #name, (expected), SYS_##name, { __VA_ARGS__ } }
#define VARIANT(label, name, expected, ...) { label, (expected), SYS_##name, { __VA_ARGS__ } }
#define NUMBER(label, nr, expected) { label, (expected), (nr), { 0 } }

static const struct bad_call bad_calls[] = {
	CALL(mount, EPERM, 0, 0, 0, 0, 0),
	CALL(umount2, EPERM, 0, BAD_BITS),
	CALL(pivot_root, EPERM, 0, 0),
	CALL(chroot, EPERM, 0),
	CALL(move_mount, EPERM, -1, 0, -1, 0, BAD_BITS),
	CALL(open_tree, EPERM, -1, 0, BAD_BITS),
	CALL(fsopen, EPERM, 0, BAD_BITS),
	CALL(fsconfig, EPERM, -1, BAD_BITS, 0, 0, 0),
	CALL(fsmount, EPERM, -1, BAD_BITS, 0),
	CALL(fspick, EPERM, -1, 0, BAD_BITS),
	CALL(mount_setattr, EPERM, -1, 0, BAD_BITS, 0, 0),
	NUMBER("open_tree_attr", 467, EPERM),
	NUMBER("statmount", 457, ENOSYS),
	NUMBER("listmount", 458, ENOSYS),
	/* CLONE_FS with a new user or mount namespace is invalid */
	VARIANT("clone_newuser", clone, EPERM, 0x10000200),
	VARIANT("clone_newns", clone, EPERM, 0x00020200),
	CALL(clone3, ENOSYS, 0, 0),
	CALL(unshare, EPERM, BAD_BITS),
	CALL(setns, EPERM, -1, 0),
	CALL(sethostname, EPERM, 0, -1),
	CALL(keyctl, EPERM, BAD_BITS),
	CALL(add_key, EPERM, 0, 0, 0, 0, 0),
	CALL(request_key, EPERM, 0, 0, 0, 0),
	CALL(bpf, EPERM, BAD_BITS, 0, 0),
	CALL(perf_event_open, EPERM, 0, 0, -1, -1, BAD_BITS),
	CALL(userfaultfd, EPERM, BAD_BITS),
	CALL(io_uring_setup, EPERM, 0, 0),
	CALL(io_uring_enter, EPERM, -1, 0, 0, BAD_BITS),
	CALL(io_uring_register, EPERM, -1, BAD_BITS, 0, 0),
	CALL(ptrace, EPERM, BAD_BITS, -1, 0, 0),
	CALL(process_vm_readv, EPERM, -1, 0, 0, 0, 0, BAD_BITS),
	CALL(process_vm_writev, EPERM, -1, 0, 0, 0, 0, BAD_BITS),
	CALL(pidfd_getfd, EPERM, -1, -1, BAD_BITS),
	CALL(kcmp, EPERM, -1, -1, BAD_BITS, 0, 0),
	CALL(init_module, EPERM, 0, 0, 0),
	CALL(finit_module, EPERM, -1, 0, BAD_BITS),
	CALL(delete_module, EPERM, 0, 0),
	CALL(kexec_load, EPERM, 0, BAD_BITS, 0, BAD_BITS),
	CALL(reboot, EPERM, 0, 0, 0, 0),
	CALL(swapon, EPERM, 0, BAD_BITS),
	CALL(swapoff, EPERM, 0),
	CALL(clock_settime, EPERM, BAD_BITS, 0),
	CALL(clock_adjtime, EPERM, BAD_BITS, 0),
	CALL(adjtimex, EPERM, 0),
	CALL(settimeofday, EPERM, 1, 0),
	CALL(name_to_handle_at, EPERM, -1, 0, 0, 0, BAD_BITS),
	CALL(open_by_handle_at, EPERM, -1, 0, 0),
	CALL(fanotify_init, EPERM, BAD_BITS, 0),
	CALL(quotactl, EPERM, BAD_BITS, 0, 0, 0),
	CALL(acct, EPERM, 1),
	CALL(syslog, EPERM, BAD_BITS, 0, 0),
	CALL(iopl, EPERM, 99),
	CALL(ioperm, EPERM, -1, -1, 1),
	CALL(modify_ldt, EPERM, 99, 0, 0),
	/* PER_MASK holds no such personality; READ_IMPLIES_EXEC */
	CALL(personality, EPERM, 0x0400000),
	VARIANT("prctl_set_mm", prctl, EPERM, 35, 99, 0, 0, 0),
	VARIANT("ioctl_tiocsti", ioctl, EPERM, -1, 0x5412, 0),
	VARIANT("ioctl_tiocsti_high", ioctl, EPERM, -1, 0x100005412, 0),
	VARIANT("ioctl_tioclinux", ioctl, EPERM, -1, 0x541c, 0),
	VARIANT("ioctl_tioclinux_high", ioctl, EPERM, -1, 0x7fffffff0000541c, 0),
	VARIANT("ioctl_tiocsetd", ioctl, EPERM, -1, 0x5423, 0),
	VARIANT("socket_packet", socket, EAFNOSUPPORT, AF_PACKET, SOCK_DGRAM, 0),
	VARIANT("socket_vsock", socket, EAFNOSUPPORT, AF_VSOCK, SOCK_STREAM, 0),
	VARIANT("socket_alg", socket, EAFNOSUPPORT, AF_ALG, SOCK_SEQPACKET, 0),
	VARIANT("socket_bluetooth", socket, EAFNOSUPPORT, AF_BLUETOOTH, SOCK_STREAM, 0),
	VARIANT("socket_raw", socket, EPERM, AF_INET, SOCK_RAW, 1),
	VARIANT("socket_raw6", socket, EPERM, AF_INET6, SOCK_RAW | SOCK_CLOEXEC, 58),
	VARIANT("socket_sctp", socket, EPROTONOSUPPORT, AF_INET, SOCK_STREAM, 132),
	VARIANT("socket_netlink_audit", socket, EPROTONOSUPPORT, AF_NETLINK, SOCK_RAW, 9),
	VARIANT("socketpair_tipc", socketpair, EAFNOSUPPORT, 30, SOCK_STREAM, 0, 0),
	NUMBER("after_the_last", AFTER_THE_LAST_CALL, ENOSYS),
	NUMBER("x32_getpid", X32_GETPID, ENOSYS),
	NUMBER("i386_getpid", -1, ENOSYS),
};

/* clang-format on */

#define N_BAD_CALLS (sizeof(bad_calls) / sizeof(bad_calls[0]))

/* 0 where the call succeeded, else its errno. */
static inline int try_bad_call(const struct bad_call *c)
{
	const long *a = c->args;
	long r;

	r = c->nr < 0 ? call_i386() : syscall(c->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	return r < 0 ? errno : 0;
}

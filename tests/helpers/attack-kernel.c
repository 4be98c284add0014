/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack-kernel: the calls that the known ways out begin with, made in earnest
 *
 * probe-syscalls asks whether a call is denied; this one asks whether it works, with good
 * arguments, whoever denies it: filter, capability or kernel.  Each call is made in a child of
 * its own, so that one that works does not help the next.  One line a call: name, "OK" or the
 * errno.  Exit status 1 if any worked.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEW_TIME 0x00000080

static long try_clone(long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(0);
	return pid;
}

static long try_clone3(void)
{
	uint64_t args[11] = { CLONE_NEWUSER, 0, 0, 0, SIGCHLD };
	long pid = syscall(SYS_clone3, args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return pid;
}

static long try_setns(const char *path, int type)
{
	int fd = open(path, O_RDONLY);

	return fd < 0 ? -1 : setns(fd, type);
}

static long try_fsopen(const char *name)
{
	return syscall(SYS_fsopen, name, 0);
}

static long try_mount_rw(void)
{
	uint64_t attr[4] = { 0, 1 /* clear MOUNT_ATTR_RDONLY */, 0, 0 };

	return syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, attr, sizeof(attr));
}

static long try_bpf(void)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY };

	attr.key_size = 4;
	attr.value_size = 4;
	attr.max_entries = 1;
	return syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
}

static long try_perf(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK };

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

static long try_io_uring(void)
{
	char params[120] = { 0 };

	return syscall(SYS_io_uring_setup, 4, params);
}

static long try_read_memory(void)
{
	char here[8];
	struct iovec local = { here, sizeof(here) }, remote = { environ, sizeof(here) };

	return syscall(SYS_process_vm_readv, getppid(), &local, 1, &remote, 1, 0);
}

static long try_steal_fd(void)
{
	long pidfd = syscall(SYS_pidfd_open, getppid(), 0);

	return pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, 1, 0);
}

static long try_netfilter(void)
{
	struct {
		struct nlmsghdr head;
		unsigned char gen[4];
	} msg = { { sizeof(msg), 10 << 8 /* NFNL_SUBSYS_NFTABLES, NFT_MSG_NEWTABLE */, 5, 1, 0 },
		  { 1, 0, 0, 0 } };
	struct {
		struct nlmsghdr head;
		int error;
	} reply = { .error = -EPROTO };
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);

	if (fd < 0 || send(fd, &msg, sizeof(msg), 0) < 0 || recv(fd, &reply, sizeof(reply), 0) < 0)
		return -1;
	errno = -reply.error;
	/* Anything but a refusal means that the code behind was reached. */
	return reply.error == -EPERM || reply.error == -EACCES ? -1 : 0;
}

static long try_link_up(void)
{
	struct ifreq ifr = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return fd < 0 ? -1 : ioctl(fd, SIOCSIFFLAGS, &ifr);
}

static long try_capset(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 1U << CAP_NET_RAW, 1U << CAP_NET_RAW, 0 } };

	return syscall(SYS_capset, &head, data);
}

static long try_realtime(void)
{
	struct sched_param param = { .sched_priority = 1 };

	return sched_setscheduler(0, SCHED_FIFO, &param);
}

static long try_handle(void)
{
	struct {
		unsigned int bytes;
		int type;
		unsigned char f[128];
	} handle = { .bytes = 128 };
	int mount_id, fd = open("/", O_RDONLY | O_DIRECTORY);

	if (syscall(SYS_name_to_handle_at, AT_FDCWD, "/", &handle, &mount_id, 0) < 0)
		return -1;
	return syscall(SYS_open_by_handle_at, fd, &handle, O_RDONLY | O_DIRECTORY);
}

static long try_ptrace(void)
{
	return ptrace(PTRACE_SEIZE, getppid(), NULL, NULL);
}

/* clang-format off */
#define ATTEMPT(name, expr) static long call_##name(void) { return (expr); }
#define ATTEMPTS(X) \
	X(unshare_user, unshare(CLONE_NEWUSER)) \
	X(unshare_mnt, unshare(CLONE_NEWNS)) \
	X(unshare_net, unshare(CLONE_NEWNET)) \
	X(unshare_pid, unshare(CLONE_NEWPID)) \
	X(unshare_ipc, unshare(CLONE_NEWIPC)) \
	X(unshare_uts, unshare(CLONE_NEWUTS)) \
	X(unshare_cgroup, unshare(CLONE_NEWCGROUP)) \
	X(unshare_time, unshare(NEW_TIME)) \
	X(clone_user, try_clone(CLONE_NEWUSER)) \
	X(clone_user_mnt, try_clone(CLONE_NEWUSER | CLONE_NEWNS)) \
	X(clone_net, try_clone(CLONE_NEWNET)) \
	X(clone3_user, try_clone3()) \
	X(setns_mnt, try_setns("/proc/self/ns/mnt", CLONE_NEWNS)) \
	X(setns_net, try_setns("/proc/self/ns/net", CLONE_NEWNET)) \
	X(mount_tmpfs, mount("t", "/tmp", "tmpfs", 0, NULL)) \
	X(mount_proc, mount("p", "/tmp", "proc", 0, NULL)) \
	X(mount_cgroup2, mount("c", "/tmp", "cgroup2", 0, NULL)) \
	X(mount_cgroup1, mount("c", "/tmp", "cgroup", 0, "memory")) \
	X(mount_bind, mount("/", "/tmp", NULL, MS_BIND, NULL)) \
	X(remount_rw, mount(NULL, "/proc", NULL, MS_REMOUNT | MS_BIND, NULL)) \
	X(umount_proc, umount2("/proc", MNT_DETACH)) \
	X(chroot_tmp, chroot("/tmp")) \
	X(fsopen_tmpfs, try_fsopen("tmpfs")) \
	X(fsopen_cgroup2, try_fsopen("cgroup2")) \
	X(fsopen_overlay, try_fsopen("overlay")) \
	X(open_tree, syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */)) \
	X(mount_setattr, try_mount_rw()) \
	X(add_key, syscall(SYS_add_key, "user", "menace-attack", "x", 1, -2)) \
	X(keyctl_session, syscall(SYS_keyctl, 1, NULL)) \
	X(bpf_map, try_bpf()) \
	X(perf_event, try_perf()) \
	X(userfaultfd, syscall(SYS_userfaultfd, 0)) \
	X(io_uring, try_io_uring()) \
	X(ptrace_parent, try_ptrace()) \
	X(read_parent, try_read_memory()) \
	X(steal_fd, try_steal_fd()) \
	X(sethostname, sethostname("attacked", 8)) \
	X(syslog, syscall(SYS_syslog, 10 /* SIZE_BUFFER */, NULL, 0)) \
	X(socket_packet, socket(AF_PACKET, SOCK_RAW, 0)) \
	X(socket_raw, socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)) \
	X(netfilter, try_netfilter()) \
	X(link_up, try_link_up()) \
	X(mknod_mem, mknod("/tmp/menace-mem", S_IFCHR | 0600, makedev(1, 1))) \
	X(mknod_null, mknod("/dev/shm/menace-null", S_IFCHR | 0600, makedev(1, 3))) \
	X(by_handle, try_handle()) \
	X(setuid_other, setuid(getuid() ? 0 : 1)) \
	X(setgid_other, setgid(getgid() ? 0 : 1)) \
	X(capset_raw, try_capset()) \
	X(ambient_raise, prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_RAW, 0, 0)) \
	X(nice_up, setpriority(PRIO_PROCESS, 0, -1)) \
	X(realtime, try_realtime()) \
	X(io_port, syscall(SYS_ioperm, 0x80, 1, 1))
ATTEMPTS(ATTEMPT)

#define ROW(name, expr) { #name, call_##name },
static const struct attempt {
	const char *name;
	long (*call)(void);
} attempts[] = { ATTEMPTS(ROW) };
/* clang-format on */

/* The errno of the call, 0 if it worked. */
static int attempt(const struct attempt *a)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(a->call() < 0 ? errno : 0);
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return EIO;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EFAULT;
}

int main(void)
{
	int worked = 0;

	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		int errnum = attempt(&attempts[i]);

		worked += errnum == 0;
		printf("%s %s\n", attempts[i].name, errnum ? strerrorname_np(errnum) : "OK");
		fflush(stdout);
	}
	return worked > 0;
}

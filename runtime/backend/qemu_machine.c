/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine
 *
 * One row of given[] is one descriptor with its number in the new process.  The command line is
 * an array; nothing of the run's is in it but numbers.
 */
#include "runtime/backend/qemu_machine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"

#define OWN_ID_BASE 0x5e000000u /* + pid: nobody else's */
#define NOBODY 65534u
#define ARGS_MAX 64
#define FIRST_FD 3 /* of given[] in the new process; the command line has the numbers, too */
#define ABOVE_ALL 32

static const char *const names[] = { [MR_ACCEL_TCG] = "tcg", [MR_ACCEL_KVM] = "kvm" };

const char *mr_machine_accel_name(enum mr_machine_accel accel)
{
	return names[accel];
}

const char *mr_machine_find(struct mr_error *err)
{
	static const char *const places[] = { "/usr/bin/" MR_MACHINE_PROGRAM,
					      "/usr/local/bin/" MR_MACHINE_PROGRAM };

	const char *named = getenv(MR_MACHINE_VARIABLE);

	if (named && named[0]) {
		if (named[0] == '/' && access(named, X_OK) == 0)
			return named;
		mr_err(err, MR_E_KERNEL, ENOENT,
		       "qemu missing: " MR_MACHINE_VARIABLE
		       "=%.200s is no program by its whole path",
		       named);
		return NULL;
	}
	for (size_t i = 0; i < N_ELEMENTS(places); i++)
		if (access(places[i], X_OK) == 0)
			return places[i];
	mr_err(err, MR_E_KERNEL, ENOENT,
	       "qemu missing: no " MR_MACHINE_PROGRAM " in /usr/bin or /usr/local/bin; install "
	       "qemu-system-x86");
	return NULL;
}

/* --- the command line ----------------------------------------------------------------- */

/* A panic ends QEMU (-no-reboot). */
static const char kernel_line[] = "console=ttyS0 quiet panic=-1 cryptomgr.notests "
				  "lsm=landlock,lockdown,yama,apparmor,bpf";

struct args {
	char *v[ARGS_MAX + 1];
	size_t n;
};

static void add(struct args *args, const char *text)
{
	mr_assert(args->n < ARGS_MAX);
	args->v[args->n++] = mr_str_dup(text);
}

static void add_pair(struct args *args, const char *option, char *value)
{
	add(args, option);
	mr_assert(args->n < ARGS_MAX);
	args->v[args->n++] = value;
}

static void fill_args(struct args *args, const char *path, const struct mr_machine_opts *opts)
{
	static const char *const fixed[] = {
		"-nodefaults",
		"-no-user-config",
		"-no-reboot",
		"-display",
		"none",
		"-nic",
		"none",
		"-sandbox",
		"on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
		"-chardev",
		"socket,id=console,fd=3",
		"-serial",
		"chardev:console",
		"-device",
		"virtio-serial-pci,max_ports=2",
		"-chardev",
		"socket,id=channel,fd=4",
		"-device",
		"virtserialport,chardev=channel,name=menace",
		"-chardev",
		"socket,id=qmp,fd=5",
		"-mon",
		"chardev=qmp,mode=control",
		"-chardev",
		"socket,id=files,fd=6",
		"-device",
		"vhost-user-fs-pci,chardev=files,tag=host",
		"-kernel",
		"/proc/self/fd/7",
		"-initrd",
		"/proc/self/fd/8",
		"-append",
		kernel_line,
	};

	add(args, path);
	add_pair(args, "-machine",
		 mr_str_format("q35,accel=%s,memory-backend=memory", names[opts->accel]));
	add_pair(args, "-object",
		 mr_str_format("memory-backend-memfd,id=memory,share=on,size=%" PRIu64 "M",
			       opts->memory_mib));
	add_pair(args, "-m", mr_str_format("%" PRIu64 "M", opts->memory_mib));
	add_pair(args, "-smp", mr_str_format("%u", opts->cpus));
	add_pair(args, "-cpu", mr_str_dup(opts->accel == MR_ACCEL_KVM ? "host" : "qemu64"));
	for (size_t i = 0; i < N_ELEMENTS(fixed); i++)
		add(args, fixed[i]);
}

/* --- the new process ------------------------------------------------------------------ */

static int set_limits(struct mr_error *err)
{
	const struct rlimit none = { 0, 0 }, files = { 256, 256 };

	if (setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_NOFILE, &files) < 0)
		return mr_err(err, MR_E_SYS, errno, "limits of QEMU: %m");
	return 0;
}

/* /dev/kvm has a group, the only one that is kept. */
static int keep_groups(enum mr_machine_accel accel)
{
	struct stat st;

	if (accel == MR_ACCEL_KVM && stat("/dev/kvm", &st) == 0 && st.st_gid != 0)
		return setgroups(1, &st.st_gid);
	return setgroups(0, NULL);
}

static int become_nobody(enum mr_machine_accel accel, struct mr_error *err)
{
	uid_t id = OWN_ID_BASE + (uid_t)getpid();

	if (geteuid() != 0)
		return 0;
	if (unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) < 0)
		return mr_err(err, MR_E_KERNEL, errno, "namespaces of QEMU: %m");
	if (keep_groups(accel) < 0)
		return mr_err(err, MR_E_SYS, errno, "groups of QEMU: %m");
	/* Inside a container the high ids may not be mapped; then it is nobody's. */
	if ((setresgid(id, id, id) < 0 && setresgid(NOBODY, NOBODY, NOBODY) < 0) ||
	    (setresuid(id, id, id) < 0 && setresuid(NOBODY, NOBODY, NOBODY) < 0))
		return mr_err(err, MR_E_SYS, errno, "user of QEMU: %m");
	return 0;
}

/* First above all the numbers that are given out, so that none is in another's way. */
static int place_fds(const int *given, size_t n, int log_fd, struct mr_error *err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), lifted[8];

	mr_assert(n <= N_ELEMENTS(lifted));
	if (null < 0 || dup2(null, 0) < 0 || dup2(log_fd, 1) < 0 || dup2(log_fd, 2) < 0)
		return mr_err(err, MR_E_SYS, errno, "descriptors of QEMU: %m");
	for (size_t i = 0; i < n; i++) {
		lifted[i] = fcntl(given[i], F_DUPFD_CLOEXEC, ABOVE_ALL);
		if (lifted[i] < 0)
			return mr_err(err, MR_E_SYS, errno, "descriptors of QEMU: %m");
	}
	for (size_t i = 0; i < n; i++)
		if (dup2(lifted[i], FIRST_FD + (int)i) < 0)
			return mr_err(err, MR_E_SYS, errno, "descriptors of QEMU: %m");
	if (close_range(FIRST_FD + (unsigned int)n, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno, "close descriptors for QEMU: %m");
	return 0;
}

static int become_qemu(char *const *argv, const struct mr_machine_opts *opts, const int *given,
		       size_t n, pid_t parent, struct mr_error *err)
{
	char *env[] = { NULL };
	sigset_t none;
	int r;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	r = set_limits(err);
	if (r == 0)
		r = become_nobody(opts->accel, err);
	/* After the change of the user, which undoes it. */
	if (r == 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0))
		r = mr_err(err, MR_E_SYS, errno, "QEMU: %m");
	if (r == 0 && getppid() != parent)
		r = mr_err(err, MR_E_SYS, ESRCH, "menace-qemu is gone");
	if (r == 0)
		r = place_fds(given, n, opts->log_fd, err);
	if (r < 0)
		return r;
	execve(argv[0], argv, env);
	return mr_err(err, MR_E_KERNEL, errno, "start %s: %m", argv[0]);
}

static int fork_qemu(char *const *argv, const struct mr_machine_opts *opts, pid_t *ret,
		     struct mr_error *err)
{
	const int given[] = { opts->console_fd, opts->channel_fd, opts->qmp_fd,
			      opts->files_fd,	opts->kernel_fd,  opts->initramfs_fd };
	mr_auto_close int report = -1, its = -1;
	struct mr_error why = MR_ERROR_INIT;
	pid_t parent = getpid(), pid;
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno, "pipe: %m");
	report = pair[0];
	its = fcntl(pair[1], F_DUPFD_CLOEXEC, 2 * ABOVE_ALL);
	mr_close(pair[1]);
	pid = fork();
	if (pid < 0)
		return mr_err(err, MR_E_SYS, errno, "fork: %m");
	if (pid == 0) {
		become_qemu(argv, opts, given, N_ELEMENTS(given), parent, &why);
		mr_write_full(its, &why, sizeof(why));
		_exit(1);
	}
	its = mr_close(its);
	if (mr_read_full(report, &why, sizeof(why)) == 0) {
		*ret = pid;
		return 0;
	}
	waitpid(pid, NULL, 0);
	*err = why;
	return -(why.errnum ? why.errnum : EINVAL);
}

int mr_machine_start(const struct mr_machine_opts *opts, pid_t *ret, struct mr_error *err)
{
	const char *path = mr_machine_find(err);
	struct args args = { .n = 0 };
	int r;

	if (!path)
		return -ENOENT;
	fill_args(&args, path, opts);
	r = fork_qemu(args.v, opts, ret, err);
	for (size_t i = 0; i < args.n; i++)
		mr_freep(&args.v[i]);
	return r;
}

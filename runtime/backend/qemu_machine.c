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
#include <libgen.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/backend/qemu_group.h"
#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"
#include "runtime/base/wait.h"
#include "runtime/launch/landlock.h"

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

static void add_files(struct args *args, const struct mr_machine_opts *opts)
{
	if (opts->files_fd >= 0)
		add_pair(args, "-chardev", mr_str_dup("socket,id=" MR_MACHINE_FILES ",fd=6"));
	if (opts->memory_fd >= 0)
		add_pair(args, "-device",
			 mr_str_dup("pcie-root-port,chassis=1,id=" MR_MACHINE_SLOT));
	else
		add_pair(args, "-device",
			 mr_str_dup("vhost-user-fs-pci,chardev=" MR_MACHINE_FILES
				    ",tag=" MR_MACHINE_TAG));
	if (opts->state_fd >= 0)
		add_pair(args, "-incoming", mr_str_dup("defer"));
}

/* What an emulated machine of one processor is spared: to measure by emulated timers how fast its counter
 * and the timer beside it are, which HPET does for, and then to doubt the counter whenever this host is
 * busy; and to write its code anew for one processor, which is no faster once it is translated. */
static void add_plain_words(struct mr_buf *line, const struct mr_machine_opts *opts)
{
	if (opts->accel == MR_ACCEL_TCG && opts->cpus == 1 && opts->tsc_khz > 0)
		mr_buf_printf(line,
			      " tsc_early_khz=%" PRIu64 " tsc=reliable nolapic_timer "
			      "noreplace-smp",
			      opts->tsc_khz);
}

/* A restored machine has it in its memory. */
static void add_kernel(struct args *args, const struct mr_machine_opts *opts)
{
	struct mr_buf line = { 0 };

	mr_buf_printf(&line, "%s " MR_MACHINE_WORD_PROBES "%d", kernel_line, (int)opts->probes);
	add_plain_words(&line, opts);
	if (opts->memory_fd >= 0)
		mr_buf_printf(&line, " " MR_MACHINE_WORD_DEAF " " MR_MACHINE_WORD_KEPT);
	add_pair(args, "-kernel", mr_str_dup("/proc/self/fd/7"));
	add_pair(args, "-initrd", mr_str_dup("/proc/self/fd/8"));
	add_pair(args, "-append", mr_str_dup(line.text));
	mr_buf_deinit(&line);
}

static void fill_args(struct args *args, const char *path, const struct mr_machine_opts *opts)
{
	static const char *const fixed[] = {
		MR_MACHINE_FENCE,
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
	};

	add(args, path);
	add_pair(args, "-machine",
		 mr_str_format("q35,accel=%s,memory-backend=memory", names[opts->accel]));
	add_pair(args, "-object",
		 mr_str_format("%s,id=memory,share=on,size=%" PRIu64 "M",
			       opts->memory_fd >= 0 ? "memory-backend-file,mem-path=/proc/self/fd/9"
						    : "memory-backend-memfd",
			       opts->memory_mib));
	add_pair(args, "-m", mr_str_format("%" PRIu64 "M", opts->memory_mib));
	add_pair(args, "-smp", mr_str_format("%u", opts->cpus));
	add_pair(args, "-cpu", mr_str_dup(opts->accel == MR_ACCEL_KVM ? "host" : "qemu64"));
	for (size_t i = 0; i < N_ELEMENTS(fixed); i++)
		add(args, fixed[i]);
	if (opts->state_fd < 0)
		add_kernel(args, opts);
	add_files(args, opts);
}

/* --- the new process ------------------------------------------------------------------ */

/* A write beyond the size of a file fails, and does not kill: it is the guest's to be told of. */
static int set_limits(uint64_t file_max_bytes, struct mr_error *err)
{
	const struct rlimit none = { 0, 0 }, files = { 256, 256 };
	const struct rlimit size = { file_max_bytes, file_max_bytes };

	if (setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_NOFILE, &files) < 0)
		return mr_err(err, MR_E_SYS, errno, "limits of QEMU: %m");
	if (file_max_bytes > 0 &&
	    (signal(SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit(RLIMIT_FSIZE, &size) < 0))
		return mr_err(err, MR_E_SYS, errno, "limits of QEMU: %m");
	return 0;
}

static int fence(const char *program, struct mr_error *err)
{
	mr_auto_free char *copy = mr_str_dup(program);
	const struct mr_landlock_rule rules[] = {
		{ dirname(copy), MR_LANDLOCK_READ, 1 },
		{ "/usr", MR_LANDLOCK_READ, 1 },
		{ "/lib", MR_LANDLOCK_READ, 1 },
		{ "/lib64", MR_LANDLOCK_READ, 1 },
		{ "/etc/ld.so.cache", MR_LANDLOCK_READ, 1 },
		{ "/dev/null", MR_LANDLOCK_DEVICE, 1 },
		{ "/dev/urandom", MR_LANDLOCK_DEVICE, 1 },
		{ "/dev/kvm", MR_LANDLOCK_DEVICE, 1 },
		/* Of processors; QEMU asks for them. */
		{ "/sys/devices/system", MR_LANDLOCK_READ, 1 },
	};

	if (mr_landlock_abi(NULL) == 0)
		return 0;
	return mr_landlock_restrict(rules, N_ELEMENTS(rules), err);
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

/* First above all the numbers that are given out, so that none is in another's way; what there is
 * none of is /dev/null. */
static int place_fds(const int *given, size_t n, int log_fd, struct mr_error *err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), lifted[8];

	mr_assert(n <= N_ELEMENTS(lifted));
	if (null < 0 || dup2(null, 0) < 0 || dup2(log_fd, 1) < 0 || dup2(log_fd, 2) < 0)
		return mr_err(err, MR_E_SYS, errno, "descriptors of QEMU: %m");
	for (size_t i = 0; i < n; i++) {
		lifted[i] = fcntl(given[i] < 0 ? null : given[i], F_DUPFD_CLOEXEC, ABOVE_ALL);
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

static int become_qemu(const struct mr_machine_process *p, pid_t parent, struct mr_error *err)
{
	char *env[] = { NULL };
	sigset_t none;
	int r;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	r = set_limits(p->file_max_bytes, err);
	if (r == 0)
		r = become_nobody(p->accel, err);
	/* After the change of the user, which undoes it. */
	if (r == 0 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0))
		r = mr_err(err, MR_E_SYS, errno, "QEMU: %m");
	if (r == 0 && getppid() != parent)
		r = mr_err(err, MR_E_SYS, ESRCH, "menace-qemu is gone");
	if (r == 0)
		r = place_fds(p->given, p->n_given, p->log_fd, err);
	if (r == 0 && p->is_fenced)
		r = fence(p->argv[0], err);
	if (r < 0)
		return r;
	execve(p->argv[0], p->argv, env);
	return mr_err(err, MR_E_KERNEL, errno, "start %s: %m", p->argv[0]);
}

int mr_machine_spawn(const struct mr_machine_process *process, pid_t *ret, struct mr_error *err)
{
	mr_auto_close int report = -1, its = -1;
	struct mr_error why = MR_ERROR_INIT;
	pid_t parent = getpid(), pid = -1;
	int pair[2], r;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno, "make the pipe that qemu is started with: %m");
	report = pair[0];
	its = fcntl(pair[1], F_DUPFD_CLOEXEC, 2 * ABOVE_ALL);
	mr_close(pair[1]);
	r = mr_machine_fork(process->group, &pid, &why);
	if (pid == 0) {
		if (r == 0)
			become_qemu(process, parent, &why);
		mr_write_full(its, &why, sizeof(why));
		_exit(1);
	}
	its = mr_close(its);
	if (r < 0) {
		*err = why;
		return r;
	}
	if (mr_read_full(report, &why, sizeof(why)) == 0) {
		*ret = pid;
		return 0;
	}
	mr_wait(pid);
	*err = why;
	return -(why.errnum ? why.errnum : EINVAL);
}

int mr_machine_start(const struct mr_machine_opts *opts, pid_t *ret, struct mr_error *err)
{
	const int given[] = {
		opts->console_fd, opts->channel_fd,   opts->qmp_fd,    opts->files_fd,
		opts->kernel_fd,  opts->initramfs_fd, opts->memory_fd, opts->state_fd
	};
	const char *path = mr_machine_find(err);
	struct args args = { .n = 0 };
	const struct mr_machine_process process = {
		.argv = args.v,
		.accel = opts->accel,
		.given = given,
		.n_given = N_ELEMENTS(given),
		.log_fd = opts->log_fd,
		.group = opts->group,
	};
	int r;

	_Static_assert(FIRST_FD + N_ELEMENTS(given) - 1 == 10, MR_MACHINE_STATE);
	if (!path)
		return -ENOENT;
	fill_args(&args, path, opts);
	r = mr_machine_spawn(&process, ret, err);
	for (size_t i = 0; i < args.n; i++)
		mr_freep(&args.v[i]);
	return r;
}

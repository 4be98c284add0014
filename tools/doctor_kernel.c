/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doctor: probes of single features of the kernel
 *
 * Each runs in a child that ends with it.  Who is not root first makes a user namespace,
 * as his runs do.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/io.h"
#include "runtime/base/wait.h"
#include "runtime/launch/landlock.h"
#include "runtime/launch/mountfd.h"
#include "runtime/launch/steps.h"
#include "tools/doctor.h"

static bool is_root(void)
{
	return geteuid() == 0;
}

/* 0 or -errno. */
static int wait_for(pid_t pid)
{
	int status;

	if (pid < 0)
		return -errno;
	status = mr_wait(pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -ECHILD;
}

/* --- namespaces ---------------------------------------------------------------------------- */

static int map_ourselves(uid_t uid, gid_t gid)
{
	char map[40];
	int r = mr_write_file_at(AT_FDCWD, "/proc/self/setgroups", "deny");

	snprintf(map, sizeof(map), "0 %u 1", uid);
	if (r == 0)
		r = mr_write_file_at(AT_FDCWD, "/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	return r == 0 ? mr_write_file_at(AT_FDCWD, "/proc/self/gid_map", map) : r;
}

static int enter_userns(int more)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();

	return unshare(CLONE_NEWUSER | more) < 0 ? -errno : map_ourselves(uid, gid);
}

/* Into namespaces as a run of this caller would be. */
static int enter(int flags)
{
	if (!is_root())
		return enter_userns(flags);
	return unshare(flags) < 0 ? -errno : 0;
}

static void say(struct mr_doctor_answer *answer, int r)
{
	if (r < 0)
		mr_doctor_say_missing(answer, -r, NULL);
	else
		mr_doctor_say_ok(answer, NULL);
}

void mr_doctor_userns(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	(void)check;
	say(answer, enter_userns(0));
}

void mr_doctor_namespace(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	int r = enter((int)check->number);
	pid_t pid;

	if (r == 0 && check->number == CLONE_NEWPID) {
		pid = mr_doctor_fork();
		if (pid == 0)
			_exit(getpid() == 1 ? 0 : 1);
		r = wait_for(pid);
	}
	say(answer, r);
}

/* --- processes ----------------------------------------------------------------------------- */

void mr_doctor_clone3(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	int pidfd = -1;
	struct mr_clone_args args = { .flags = CLONE_PIDFD,
				      .pidfd = (uintptr_t)&pidfd,
				      .exit_signal = SIGCHLD };
	pid_t pid = (pid_t)mr_clone3(&args);

	(void)check;
	if (pid == 0)
		_exit(0);
	say(answer, wait_for(pid));
}

void mr_doctor_pidfd(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	pid_t pid = mr_doctor_fork();
	siginfo_t info;
	mr_auto_close int fd = -1;

	(void)check;
	if (pid == 0) {
		pause();
		_exit(1);
	}
	fd = pid < 0 ? -1 : mr_pidfd_open(pid, 0);
	if (fd < 0 || mr_pidfd_send_signal(fd, SIGKILL) < 0) {
		mr_doctor_say_missing(answer, errno, NULL);
		if (pid > 0)
			kill(pid, SIGKILL);
		return;
	}
	say(answer, waitid(P_PIDFD, (id_t)fd, &info, WEXITED) < 0 ? -errno : 0);
}

void mr_doctor_openat2(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	mr_auto_close int fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

	(void)check;
	say(answer, fd < 0 ? -errno : 0);
}

/* --- mounts --------------------------------------------------------------------------------- */

/* Where a user's pid namespace is ours too: the first process made in it. */
static void mount_file_system(const char *type, struct mr_doctor_answer *answer)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_close int fd = mr_mountfd_new(type, NULL, 0, 0, &err);

	if (fd < 0)
		mr_doctor_say_error(answer, &err);
	else
		mr_doctor_say_ok(answer, NULL);
}

void mr_doctor_filesystem(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	int r = enter(CLONE_NEWNS | CLONE_NEWPID);
	pid_t pid;

	if (r < 0) {
		say(answer, r);
		return;
	}
	pid = mr_doctor_fork();
	if (pid == 0) {
		mount_file_system(check->word, answer); /* in memory shared with our parent */
		_exit(0);
	}
	r = wait_for(pid);
	if (r < 0)
		say(answer, r);
}

/* A tmpfs that nobody else sees, entered. */
static int enter_tmpfs(struct mr_error *err)
{
	static const struct mr_fsopt opts[] = { { "mode", "0700" } };
	mr_auto_close int fd = mr_mountfd_new("tmpfs", opts, N_ELEMENTS(opts), 0, err);
	mr_auto_close int place = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = fd;

	if (fd >= 0 && place < 0)
		r = mr_err(err, MR_E_SYS, errno, "open /tmp: %m");
	if (r >= 0)
		r = mr_mountfd_attach(fd, place, "a tmpfs", err);
	if (r == 0 && fchdir(fd) < 0)
		r = mr_err(err, MR_E_SYS, errno, "enter a tmpfs: %m");
	return r;
}

/* As the /dev of root's runs is made; others bind the host's nodes. */
void mr_doctor_devices(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	struct mr_error err = MR_ERROR_INIT;

	(void)check;
	if (!is_root()) {
		mr_doctor_say_ok(answer, "not needed: the nodes are the host's");
		return;
	}
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		say(answer, -errno);
	else if (enter_tmpfs(&err) < 0)
		mr_doctor_say_error(answer, &err);
	else
		say(answer, mknod("null", S_IFCHR | 0600, makedev(1, 3)) < 0 ? -errno : 0);
}

static int mount_overlay(bool userns, struct mr_error *err)
{
	const struct mr_fsopt
		opts
			[] = {
				{ "source", "menace" },	 { "lowerdir", "lower" },
				{ "upperdir", "upper" }, { "workdir", "work" },
				{ "userxattr", NULL }, /* last: for a user namespace alone */
			};
	mr_auto_close int fd = -1;
	int r = enter_tmpfs(err);

	if (r == 0 &&
	    (mkdir("lower", 0700) < 0 || mkdir("upper", 0700) < 0 || mkdir("work", 0700) < 0))
		r = mr_err(err, MR_E_SYS, errno, "mkdir: %m");
	if (r < 0)
		return r;
	fd = mr_mountfd_new("overlay", opts, N_ELEMENTS(opts) - !userns, 0, err);
	return fd < 0 ? fd : 0;
}

void mr_doctor_overlay(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	struct mr_error err = MR_ERROR_INIT;
	bool userns = check->number || !is_root();
	int r = userns ? enter_userns(CLONE_NEWNS) : enter(CLONE_NEWNS);

	/* Nothing that is mounted here comes back to where we came from. */
	if (r == 0)
		r = mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0;
	if (r < 0) {
		say(answer, r);
		return;
	}
	if (mount_overlay(userns, &err) < 0)
		mr_doctor_say_error(answer, &err);
	else if (userns && setxattr("upper", "user.overlay.menace", "y", 1, 0) < 0)
		mr_doctor_say_degraded(answer, "a folder made in the place of another shows what "
					       "the other held (tmpfs without user.*, Linux 6.6)");
	else
		mr_doctor_say_ok(answer, NULL);
}

void mr_doctor_idmapped(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_close int tree = -1, userns = -1;
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP };

	(void)check;
	if (!is_root()) {
		mr_doctor_say_ok(answer, "not needed: files are the caller's own");
		return;
	}
	tree = mr_mountfd_clone(AT_FDCWD, ".", 0, &err);
	userns = tree < 0 ? -1 : mr_idmap_userns_fd(0, 1, 0, 1, &err);
	if (userns < 0) {
		mr_doctor_say_error(answer, &err);
		return;
	}
	attr.userns_fd = (uint64_t)userns;
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		mr_doctor_say_missing(answer, errno, "the file system of this folder: %m");
	else
		mr_doctor_say_ok(answer, "on the file system of this folder");
}

/* --- seccomp and Landlock --------------------------------------------------------------------- */

/* A descriptor when a listener is asked for. */
static int set_filter(unsigned long flags)
{
	struct sock_filter allow[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	const struct sock_fprog prog = { N_ELEMENTS(allow), allow };
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	r = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog);
	return r < 0 ? -errno : r;
}

void mr_doctor_seccomp_filter(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	say(answer, set_filter(check->number));
}

void mr_doctor_seccomp_sync(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	int fd = set_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER);

	(void)check;
	if (fd >= 0 &&
	    ioctl(fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP) < 0)
		fd = -errno;
	say(answer, fd);
}

void mr_doctor_landlock(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	int errnum = 0, abi = mr_landlock_abi(&errnum);

	if (abi <= 0)
		mr_doctor_say_missing(answer, errnum, NULL);
	else if (abi < (int)check->number)
		mr_doctor_say_degraded(answer,
				       "ABI %d; from 6 on signals and abstract sockets are "
				       "fenced in too",
				       abi);
	else
		mr_doctor_say_ok(answer, "ABI %d", abi);
}

void mr_doctor_landlock_use(const struct mr_doctor_check *check, struct mr_doctor_answer *answer)
{
	struct mr_error err = MR_ERROR_INIT;

	(void)check;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		say(answer, -errno);
	else if (mr_landlock_restrict(NULL, 0, &err) < 0)
		mr_doctor_say_error(answer, &err);
	else if (open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0 || errno != EACCES)
		mr_doctor_say_missing(answer, EBADE, "it restricts nothing");
	else
		mr_doctor_say_ok(answer, NULL);
}

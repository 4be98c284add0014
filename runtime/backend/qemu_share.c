/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Share
 *
 * The tree is put together in the new process, in a mount namespace of its own, so that it goes
 * with it: every path is taken as a mount first, then a tmpfs hides /tmp there and the mounts
 * are laid out in it.  What went wrong comes back through a pipe that exec closes.
 */
#include "runtime/backend/qemu_share.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "runtime/backend/qemu_group.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/str.h"
#include "runtime/base/wait.h"
#include "runtime/launch/steps.h"

#define VIRTIOFSD "/usr/lib/qemu/virtiofsd"
#define TREE "/tmp" /* in the mount namespace of virtiofsd; always there */
#define LISTEN_FD 3

void mr_share_deinit(struct mr_share *share)
{
	mr_strv_clear(&share->paths);
	free(share->workspace);
	share->workspace = NULL;
}

/* --- which paths ---------------------------------------------------------------------- */

/* Its folder canonical, its last name as it is: a link is shown under its own name.  NULL: errno. */
static char *settle(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	mr_auto_free char *folder = NULL, *above = NULL;
	struct stat st;

	if (stat(path, &st) < 0)
		return NULL;
	if (S_ISDIR(st.st_mode))
		return realpath(path, NULL);
	above = slash ? mr_str_ndup(path, (size_t)(slash - path) + 1) : mr_str_dup(".");
	folder = realpath(above, NULL);
	if (!folder)
		return NULL;
	return mr_str_format("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, name);
}

void mr_share_add(struct mr_share *share, const char *path)
{
	mr_strv_add(&share->paths, path);
}

/* Share what a member of the spec names, and let it have the name that is shared. */
static int add_member(struct mr_share *share, char **member, const char *what, struct mr_error *err)
{
	char *settled;

	if (!*member || !(*member)[0])
		return 0;
	settled = settle(*member);
	if (!settled)
		return mr_err(err, MR_E_USAGE, errno, "%s %s: %m", what, *member);
	free(*member);
	*member = settled;
	mr_share_add(share, settled);
	return 0;
}

static int add_mount(struct mr_share *share, struct mr_spec_mount *mount, struct mr_error *err)
{
	if (mount->kind == MR_MOUNT_RW)
		return mr_err(err, MR_E_KERNEL, EROFS,
			      "--rw %s: a virtual machine sees the files of this host read-only",
			      mount->source);
	return mount->kind == MR_MOUNT_RO ? add_member(share, &mount->source, "mount", err) : 0;
}

int mr_share_add_spec(struct mr_share *share, struct mr_spec *spec, struct mr_error *err)
{
	int r = 0;

	if (spec->sandbox_keep_changes[0])
		return mr_err(err, MR_E_KERNEL, EROFS,
			      "sandbox.keep_changes: a virtual machine sees the files of this host "
			      "read-only");
	r = add_member(share, &spec->sandbox_workspace, "workspace", err);
	if (r == 0 && share->has_ids && spec->sandbox_workspace[0])
		share->workspace = mr_str_dup(spec->sandbox_workspace);
	share->bears_owner = mr_spec_tolerates(spec, "workspace-idmap");
	if (r == 0)
		r = add_member(share, &spec->sandbox_root, "root", err);
	if (r == 0)
		r = add_member(share, &spec->snippet_path, "snippet", err);
	for (size_t i = 0; r == 0 && i < spec->n_mounts; i++)
		r = add_mount(share, &spec->mounts[i], err);
	for (size_t i = 0; r == 0 && i < spec->mocks.n; i++)
		r = add_member(share, &spec->mocks.v[i].file, "file of a mock", err);
	return r;
}

/* --- the tree, in the new process ----------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Who owns the workspace is shown as the payload by this kernel; the guest's may be older.  Where
 * this one does not know how, the guest tries by itself, and refuses the run or is told to bear it. */
static int show_owner(int tree, const struct mr_share *share, struct mr_error *err)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP };
	const struct mr_ids *ids = &share->ids;
	mr_auto_close int userns = -1;
	struct stat st;

	if (fstat(tree, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "stat %s: %m", share->workspace);
	if (st.st_uid == ids->host_uid && st.st_gid == ids->host_gid)
		return 0;
	userns = mr_idmap_userns_fd(st.st_uid, ids->host_uid, st.st_gid, ids->host_gid, err);
	if (userns < 0)
		return mr_err_wrap(err, userns, "show the owner of %s", share->workspace);
	attr.userns_fd = (uint64_t)userns;
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
		    sizeof(attr)) < 0 &&
	    errno != EINVAL && !share->bears_owner)
		return mr_err(err, MR_E_SYS, errno,
			      "%s: this kernel cannot show its owner as the payload (idmapped "
			      "mount): %m; use a directory of another mount, --uid %u --gid %u, or "
			      "--best-effort workspace-idmap",
			      share->workspace, st.st_uid, st.st_gid);
	return 0;
}

/* A mount of its own, read-only all through; a link: -1 and its text in target. */
static int take_path(const char *path, char target[PATH_MAX], struct mr_error *err)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV |
					       MOUNT_ATTR_NOSUID };
	ssize_t n = readlink(path, target, PATH_MAX - 1);
	struct stat st;
	int fd;

	target[n < 0 ? 0 : n] = '\0';
	if (n > 0 && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return -1; /* /bin -> usr/bin; what it leads to is shared by itself or not at all */
	target[0] = '\0';
	fd = (int)syscall(SYS_open_tree, AT_FDCWD, path,
			  OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "share %s: %m", path);
	if (syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) <
	    0)
		return mr_err(err, MR_E_SYS, errno, "make %s read-only: %m", path);
	return fd;
}

static int make_folders(const char *path, struct mr_error *err)
{
	mr_auto_free char *text = mr_str_dup(path);

	for (char *p = strchr(text + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		if (mkdir(text, 0755) < 0 && errno != EEXIST)
			return mr_err(err, MR_E_SYS, errno, "make %s: %m", text);
		*p = '/';
	}
	return 0;
}

static int show_path(const char *path, int fd, const char *target, struct mr_error *err)
{
	mr_auto_free char *place = mr_str_format(TREE "%s", path);
	struct stat st;
	int r = make_folders(place, err);

	if (r < 0)
		return r;
	if (target[0])
		return symlink(target, place) < 0 && errno != EEXIST
			       ? mr_err(err, MR_E_SYS, errno, "link %s: %m", path)
			       : 0;
	if (fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "stat %s: %m", path);
	if (S_ISDIR(st.st_mode) ? mkdir(place, 0755) < 0 && errno != EEXIST
				: mknod(place, S_IFREG | 0444, 0) < 0 && errno != EEXIST)
		return mr_err(err, MR_E_SYS, errno, "make a place for %s: %m", path);
	if (syscall(SYS_move_mount, fd, "", AT_FDCWD, place, MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return mr_err(err, MR_E_SYS, errno, "show %s: %m", path);
	return 0;
}

static bool is_shown_already(const struct mr_strv *sorted, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (mr_str_is_under(sorted->v[i], sorted->v[j]))
			return true;
	return false;
}

/* Places for what the guest mounts by itself. */
static int make_places(struct mr_error *err)
{
	static const struct {
		const char *path;
		mode_t mode;
	} places[] = {
		{ TREE "/dev", 0755 }, { TREE "/proc", 0755 },	   { TREE "/sys", 0755 },
		{ TREE "/run", 0755 }, { TREE "/root", 0700 },	   { TREE "/tmp", 01777 },
		{ TREE "/var", 0755 }, { TREE "/var/tmp", 01777 },
	};

	for (size_t i = 0; i < N_ELEMENTS(places); i++)
		if ((mkdir(places[i].path, 0755) < 0 && errno != EEXIST) ||
		    chmod(places[i].path, places[i].mode) < 0)
			return mr_err(err, MR_E_SYS, errno, "make %s: %m", places[i].path);
	return 0;
}

static bool is_workspace(const struct mr_share *share, const char *path)
{
	return share->workspace && strcmp(share->workspace, path) == 0;
}

static int make_tree(const struct mr_share *share, struct mr_error *err)
{
	const struct mr_strv *sorted = &share->paths;
	char(*targets)[PATH_MAX] = mr_str_alloc((sorted->n + 1) * sizeof(*targets));
	int *fds = mr_str_alloc((sorted->n + 1) * sizeof(*fds));
	int r = 0;

	for (size_t i = 0; r == 0 && i < sorted->n; i++) {
		fds[i] =
			is_shown_already(sorted, i) ? -2 : take_path(sorted->v[i], targets[i], err);
		if (fds[i] < 0 && fds[i] != -2 && !targets[i][0])
			r = fds[i];
		if (r == 0 && fds[i] >= 0 && is_workspace(share, sorted->v[i]))
			r = show_owner(fds[i], share, err);
	}
	if (r == 0 && mount("tree", TREE, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=4m") < 0)
		r = mr_err(err, MR_E_SYS, errno, "mount a tmpfs: %m");
	if (r == 0)
		r = make_places(err);
	for (size_t i = 0; r == 0 && i < sorted->n; i++)
		if (fds[i] != -2)
			r = show_path(sorted->v[i], fds[i], targets[i], err);
	if (r == 0 && mount(NULL, TREE, NULL, MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV,
			    "mode=0755,size=4m") < 0)
		r = mr_err(err, MR_E_SYS, errno, "make the tree read-only: %m");
	free(targets);
	free(fds);
	return r;
}

static int become_server(const struct mr_share *share, int listen_fd, int log_fd, pid_t parent,
			 struct mr_error *err)
{
	char *argv[] = { (char *)(uintptr_t) "virtiofsd",
			 (char *)(uintptr_t) "--fd=3",
			 (char *)(uintptr_t) "-o",
			 (char *)(uintptr_t) "source=" TREE,
			 (char *)(uintptr_t) "-o",
			 (char *)(uintptr_t) "sandbox=chroot",
			 (char *)(uintptr_t) "-o",
			 (char *)(uintptr_t) "cache=always",
			 (char *)(uintptr_t) "-o",
			 (char *)(uintptr_t) "log_level=err",
			 (char *)(uintptr_t) "--rlimit-nofile=0",
			 NULL };
	sigset_t none;
	int null, r;

	sigemptyset(&none);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
	    sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return mr_err(err, MR_E_SYS, ESRCH, "menace-qemu is gone");
	if (unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return mr_err(err, MR_E_KERNEL, errno, "namespaces for virtiofsd: %m");
	r = make_tree(share, err);
	if (r < 0)
		return r;
	null = open("/dev/null", O_RDWR);
	if (null < 0 || dup2(null, 0) < 0 || dup2(log_fd, 1) < 0 || dup2(log_fd, 2) < 0 ||
	    dup2(listen_fd, LISTEN_FD) < 0 ||
	    close_range(LISTEN_FD + 1, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno, "descriptors of virtiofsd: %m");
	execv(VIRTIOFSD, argv);
	return mr_err(err, MR_E_KERNEL, errno, "start " VIRTIOFSD ": %m");
}

/* --- starting it ---------------------------------------------------------------------- */

int mr_share_can_virtiofs(struct mr_error *err)
{
	if (geteuid() != 0)
		return mr_err(err, MR_E_KERNEL, EPERM, "virtiofsd needs root");
	if (access(VIRTIOFSD, X_OK) < 0)
		return mr_err(err, MR_E_KERNEL, errno,
			      VIRTIOFSD ": %m; it is in the package qemu-system-common");
	return 0;
}

/* A listening socket that nobody but us has connected to, and no name of it is left.  The folder is
 * drawn by mkdtemp and ours alone; an abstract name would be anybody's to connect to. */
static int make_socket(int *ret_listen, int *ret_connected, struct mr_error *err)
{
	char folder[] = "/tmp/menace-qemu.XXXXXX";
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mr_auto_close int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	mr_auto_close int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int errnum = 0;

	if (listener < 0 || client < 0 || !mkdtemp(folder))
		return mr_err(err, MR_E_SYS, errno, "socket for virtiofsd: %m");
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
	if (bind(listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 1) < 0 ||
	    connect(client, (const struct sockaddr *)&address, sizeof(address)) < 0)
		errnum = errno;
	if ((unlink(address.sun_path) < 0 && errno != ENOENT) || rmdir(folder) < 0)
		errnum = errnum ? errnum : errno;
	if (errnum)
		return mr_err(err, MR_E_SYS, errnum, "socket for virtiofsd in %s: %m", folder);
	*ret_listen = mr_take_fd(listener);
	*ret_connected = mr_take_fd(client);
	return 0;
}

/* Returns when it was started, or with what it said. */
static int wait_for_exec(int report, pid_t pid, struct mr_error *err)
{
	struct mr_error why;
	ssize_t n = mr_read_full(report, &why, sizeof(why));

	if (n == 0)
		return 0;
	mr_wait(pid);
	if (n != sizeof(why))
		return mr_err(err, MR_E_SYS, EPROTO, "virtiofsd was not started");
	*err = why;
	return mr_err_wrap(err, -(why.errnum ? why.errnum : EINVAL), "share files");
}

int mr_share_start_virtiofs(const struct mr_share *share, const struct mr_cgroup *group, int log_fd,
			    int *ret_socket, pid_t *ret_pid, struct mr_error *err)
{
	mr_auto_close int listener = -1, client = -1, report = -1, its = -1;
	struct mr_error why = MR_ERROR_INIT;
	pid_t parent = getpid(), pid = -1;
	int pair[2];
	int r = make_socket(&listener, &client, err);

	if (r < 0)
		return r;
	if (pipe2(pair, O_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno,
			      "make the pipe that the sharer of files is started with: %m");
	report = pair[0];
	its = pair[1];
	qsort(share->paths.v, share->paths.n, sizeof(*share->paths.v), by_name);
	r = mr_machine_fork(group, &pid, &why);
	if (pid == 0) {
		if (r == 0)
			become_server(share, listener, log_fd, parent, &why);
		mr_write_full(its, &why, sizeof(why));
		_exit(1);
	}
	its = mr_close(its);
	if (r < 0) {
		*err = why;
		return r;
	}
	r = wait_for_exec(report, pid, err);
	if (r < 0)
		return r;
	*ret_socket = mr_take_fd(client);
	*ret_pid = pid;
	return 0;
}

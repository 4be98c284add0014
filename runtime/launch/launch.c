/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launch: the parent's side
 *
 * Everything that can be computed is computed before the clone: program, arguments,
 * environment, filter.  Then one clone3 makes all namespaces and puts the child into
 * its control group at birth.  As root the trees of the spec's own places are made
 * here, where an idmapped mount may be; without root the child makes them in its
 * own user namespace with the caller's own rights.
 *
 * Undo: the child and all it made live exactly as long as sync_fd, so on any failure
 * closing the descriptors is enough; pid and cgroup are the caller's to wait for.
 */
#include "runtime/launch/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "cgroups/cgroup.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/compat.h"
#include "runtime/base/die_at.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/wait.h"
#include "runtime/launch/mountfd.h"
#include "runtime/launch/steps.h"
#include "runtime/spec/policy.h"
#include "runtime/spec/failures.h"
#include "runtime/spec/spec.h"

#define OWN_FD_MIN 1024

static const struct ns_row {
	const char *name;
	uint64_t flag;
} ns_rows[] = {
	[MR_NS_USER] = { "user", CLONE_NEWUSER }, [MR_NS_MNT] = { "mnt", CLONE_NEWNS },
	[MR_NS_PID] = { "pid", CLONE_NEWPID },	  [MR_NS_IPC] = { "ipc", CLONE_NEWIPC },
	[MR_NS_UTS] = { "uts", CLONE_NEWUTS },	  [MR_NS_CGROUP] = { "cgroup", CLONE_NEWCGROUP },
	[MR_NS_NET] = { "net", CLONE_NEWNET },	  [MR_NS_TIME] = { "time", CLONE_NEWTIME },
};

const char *mr_ns_name(enum mr_ns ns)
{
	return ns_rows[ns].name;
}

static enum mr_seccomp_net seccomp_net(const struct mr_spec *spec)
{
	switch ((enum mr_net_mode)spec->net_mode) {
	case MR_NET_NONE:
	case MR_NET_STUB:
		return MR_SECCOMP_NET_DENY;
	case MR_NET_LOOPBACK:
	case MR_NET_ALLOWLIST:
		return MR_SECCOMP_NET_OWN;
	case MR_NET_HOST:
		break;
	}
	return MR_SECCOMP_NET_ALLOW;
}

struct mr_seccomp_policy mr_launch_policy(const struct mr_spec *spec)
{
	const uint32_t failures = mr_spec_failures(spec);

	return (struct mr_seccomp_policy){
		.level = (unsigned int)spec->sandbox_level,
		.net = seccomp_net(spec),
		.watch_opens = spec->sandbox_explain_denials || spec->sandbox_level >= 5,
		.document = spec->policy && spec->policy->has_syscalls ? spec->policy : NULL,
		.watch_paths =
			spec->sandbox_record_access || (spec->policy && spec->policy->has_paths),
		/* Whoever asks about what a call has done asks at the caller's next call. */
		.record = spec->sandbox_record_access ||
			  (failures & MR_FAILURE_BIT(MR_FAILURE_disk_corruption)),
		.watch_writes = failures & MR_FAILURE_BIT(MR_FAILURE_disk),
	};
}

/* File systems that are the kernel's controls rather than data: shown inside they would be a way
 * around the masks. */
static const struct pseudo_fs {
	unsigned long magic;
	const char *name;
} pseudo_fs[] = {
	{ PROC_SUPER_MAGIC, "proc" },
	{ SYSFS_MAGIC, "sysfs" },
	{ CGROUP_SUPER_MAGIC, "cgroup" },
	{ CGROUP2_SUPER_MAGIC, "cgroup2" },
	{ DEBUGFS_MAGIC, "debugfs" },
	{ TRACEFS_MAGIC, "tracefs" },
	{ SECURITYFS_MAGIC, "securityfs" },
	{ BPF_FS_MAGIC, "bpf" },
	{ DEVPTS_SUPER_MAGIC, "devpts" },
	{ EFIVARFS_MAGIC, "efivarfs" },
	{ NSFS_MAGIC, "nsfs" },
};

static int check_fs(int fd, const char *path, const char *what, struct mr_error *err)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return mr_err(err, MR_E_SYS, errno, "%s %s: %m", what, path);
	for (size_t i = 0; i < N_ELEMENTS(pseudo_fs); i++) {
		if ((unsigned long)fs.f_type == pseudo_fs[i].magic)
			return mr_err(err, MR_E_USAGE, EPERM,
				      "%s %s: is on %s, a control of the kernel; it is not shown "
				      "inside",
				      what, path, pseudo_fs[i].name);
	}
	return 0;
}

static int check_path(const char *path, const char *what, mode_t type, struct mr_error *err)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_MAGICLINKS };
	mr_auto_close int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	struct stat st;

	if (fd < 0 && errno == ELOOP)
		return mr_err(err, MR_E_USAGE, errno, "%s %s: leads through a magic link of /proc",
			      what, path);
	if (fd < 0)
		return mr_err(err, MR_E_USAGE, errno, "%s %s: %m", what, path);
	if (fstat(fd, &st) < 0)
		return mr_err(err, MR_E_SYS, errno, "%s %s: %m", what, path);
	if (type && (st.st_mode & S_IFMT) != type)
		return mr_err(err, MR_E_USAGE, type == S_IFDIR ? ENOTDIR : EINVAL,
			      "%s %s: is not a %s", what, path,
			      type == S_IFDIR ? "directory" : "regular file");
	if (!type && !S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "%s %s: neither a regular file nor a directory", what, path);
	return check_fs(fd, path, what, err);
}

int mr_launch_check(const struct mr_spec *spec, struct mr_error *err)
{
	int r = 0;

	if (spec->sandbox_root[0])
		r = check_path(spec->sandbox_root, "root", S_IFDIR, err);
	if (r == 0 && spec->sandbox_workspace[0])
		r = check_path(spec->sandbox_workspace, "workspace", S_IFDIR, err);
	if (r == 0 && spec->snippet_path)
		r = check_path(spec->snippet_path, "snippet", S_IFREG, err);
	for (size_t i = 0; r == 0 && i < spec->n_mounts; i++) {
		if (spec->mounts[i].source)
			r = check_path(spec->mounts[i].source, "mount", 0, err);
	}
	return r;
}

/* A tree in which the owner of its top shows as the payload and what the payload makes is the
 * owner's.  The kernel or the file system may not know idmapped mounts. */
static int idmap_tree(int tree, const struct stat *top, const struct mr_ids *ids, const char *path,
		      struct mr_error *err)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP };
	mr_auto_close int userns = -1;

	userns = mr_idmap_userns_fd(top->st_uid, ids->host_uid, top->st_gid, ids->host_gid, err);
	if (userns < 0)
		return userns;
	attr.userns_fd = (uint64_t)userns;
	if (syscall(SYS_mount_setattr, tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr,
		    sizeof(attr)) < 0)
		return mr_err(err, errno == EINVAL ? MR_E_KERNEL : MR_E_SYS, errno,
			      "%s: its file system cannot show its owner as the payload (idmapped "
			      "mount): %m",
			      path);
	return 0;
}

/* What the spec tolerates is told of the first folder: the others are no better off. */
static int refuse_idmap(const struct mr_spec *spec, const struct stat *top, struct mr_launched *l,
			struct mr_error *err)
{
	const struct mr_error why = *err;

	if (mr_spec_tolerates(spec, "workspace-idmap")) {
		if (!l->no_idmap[0])
			snprintf(l->no_idmap, sizeof(l->no_idmap), "%.199s", why.msg);
		return 0;
	}
	return mr_err(err, why.code, why.errnum,
		      "%s; use a directory on another file system, --uid %u --gid %u, or "
		      "--best-effort workspace-idmap",
		      why.msg, top->st_uid, top->st_gid);
}

static int make_tree(const struct mr_child *c, struct mr_launched *l, const char *path,
		     uint64_t attrs, bool idmapped, struct mr_error *err)
{
	mr_auto_close int tree = mr_mountfd_clone(AT_FDCWD, path, attrs, err);
	struct stat top;
	int r;

	if (tree < 0 || !idmapped)
		return tree < 0 ? tree : mr_take_fd(tree);
	if (fstat(tree, &top) < 0)
		return mr_err(err, MR_E_SYS, errno, "stat %s: %m", path);
	if (top.st_uid == c->ids.host_uid && top.st_gid == c->ids.host_gid)
		return mr_take_fd(tree);
	r = idmap_tree(tree, &top, &c->ids, path, err);
	if (r < 0)
		r = refuse_idmap(c->spec, &top, l, err);
	return r < 0 ? r : mr_take_fd(tree);
}

static int make_trees(struct mr_child *c, struct mr_launched *l, struct mr_error *err)
{
	const uint64_t rw = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, ro = rw | MOUNT_ATTR_RDONLY;

	c->trees = calloc(c->spec->n_mounts + 1, sizeof(int));
	mr_assert(c->trees);
	for (size_t i = 0; i < c->spec->n_mounts; i++)
		c->trees[i] = -1;
	if (geteuid() != 0)
		return 0;
	for (size_t i = 0; i < c->spec->n_mounts; i++) {
		const struct mr_spec_mount *m = &c->spec->mounts[i];
		bool writable = m->kind == MR_MOUNT_RW;

		if (!m->source)
			continue;
		c->trees[i] = make_tree(c, l, m->source, writable ? rw : ro, writable, err);
		if (c->trees[i] < 0)
			return mr_err_wrap(err, c->trees[i], "mount");
	}
	if (c->spec->sandbox_workspace[0]) {
		c->workspace_tree = make_tree(c, l, c->spec->sandbox_workspace, ro, true, err);
		if (c->workspace_tree < 0)
			return mr_err_wrap(err, c->workspace_tree, "workspace");
	}
	return 0;
}

static void free_child(struct mr_child *c)
{
	for (size_t i = 0; c->trees && i < c->spec->n_mounts; i++)
		mr_close(c->trees[i]);
	free(c->trees);
	mr_close(c->workspace_tree);
	mr_close(c->sync_fd);
	mr_close(c->go_fd);
	for (size_t i = 0; c->envp && c->envp[i]; i++)
		free(c->envp[i]);
	free(c->envp);
	mr_program_release(c);
}

static uint64_t wanted_namespaces(const struct mr_child *c)
{
	uint64_t mask = (1U << MR_NS_COUNT_) - 1;

	if (!c->ids.userns)
		mask &= ~(1U << MR_NS_USER);
	if (c->spec->net_mode == MR_NET_HOST)
		mask &= ~(1U << MR_NS_NET);
	return mask;
}

/* One that others had only where the payload can do nothing to it: no link, no capability over it. */
static bool shares_netns(const struct mr_child *c)
{
	return c->opts->gives_netns && !c->ids.userns && c->spec->net_mode == MR_NET_NONE;
}

bool mr_launch_shares_root(const struct mr_spec *spec, const struct mr_ids *ids)
{
	return !ids->userns && spec->net_mode == MR_NET_NONE && !spec->sandbox_root[0] &&
	       !spec->n_mounts && !spec->snippet_path && !spec->snippet_code;
}

static uint64_t clone_flags(const struct mr_child *c, uint64_t namespaces)
{
	uint64_t flags = 0;

	for (unsigned int i = 0; i < MR_NS_COUNT_; i++) {
		if (namespaces & (1U << i))
			flags |= ns_rows[i].flag;
	}
	/* Made by the child, once it is in the group that shall be its "/" */
	flags &= ~(uint64_t)CLONE_NEWCGROUP;
	if (c->takes_netns)
		flags &= ~(uint64_t)CLONE_NEWNET;
	return flags;
}

static int explain_clone(struct mr_child *c, int errnum, struct mr_error *err)
{
	if (errnum == EPERM && c->ids.userns)
		return mr_err(err, MR_E_KERNEL, errnum,
			      "user namespaces are refused here (%m): a sysctl such as "
			      "kernel.unprivileged_userns_clone or "
			      "kernel.apparmor_restrict_unprivileged_userns, or a container's "
			      "seccomp "
			      "profile forbids them; run as root or allow them");
	if (errnum == EPERM)
		return mr_err(err, MR_E_DENIED, errnum,
			      "root without CAP_SYS_ADMIN cannot make "
			      "namespaces (%m): start as a full root or as an ordinary user");
	if (errnum == EINVAL)
		return mr_err(err, MR_E_KERNEL, errnum,
			      "clone3: %m (a kind of namespace is missing in "
			      "this kernel; --best-effort time-ns does without the newest)");
	if (errnum == ENOSPC)
		return mr_err(err, MR_E_BUSY, errnum,
			      "clone3: the limit of namespaces is reached "
			      "(sysctl user.max_*_namespaces)");
	return mr_err(err, MR_E_SYS, errnum, "start the sandbox's first process: clone3: %m");
}

/* Never returns in the child. */
static int clone_child(struct mr_child *c, struct mr_launched *l, struct mr_error *err)
{
	struct mr_clone_args args = {
		.flags = CLONE_PIDFD | clone_flags(c, l->namespaces),
		.exit_signal = SIGCHLD,
		.pidfd = (uint64_t)(uintptr_t)&l->pidfd,
	};
	uint64_t then = mr_now_ns();
	long pid;

	if (c->opts->cgroup) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)mr_cgroup_v2_fd(c->opts->cgroup);
	}
	pid = mr_clone3(&args);
	if (pid < 0 && errno == EINVAL && mr_spec_tolerates(c->spec, "time-ns")) {
		l->namespaces &= ~(1U << MR_NS_TIME);
		args.flags &= ~(uint64_t)CLONE_NEWTIME;
		pid = mr_clone3(&args);
		l->no_time_ns = pid >= 0;
	}
	if (pid < 0)
		return explain_clone(c, errno, err);
	if (pid == 0)
		mr_child_main(c);
	l->clone_ns = mr_now_ns() - then;
	l->init_pid = (pid_t)pid;
	return 0;
}

/* Beyond what we have open ourselves, so that a request has one program. */
int mr_launch_own_fd(const struct mr_spec *spec, unsigned int slot)
{
	const uint64_t least = spec->limits_nofile > OWN_FD_MIN ? spec->limits_nofile : OWN_FD_MIN;

	return (int)(least + slot);
}

/* Give a descriptor a number that is no lower than what the payload may have: with a narrowed policy
 * a sendmsg on it is allowed, and the payload must never come to have it. */
static int lift_fd(int *fd, const struct mr_child *c, struct mr_error *err)
{
	const uint64_t wanted = (uint64_t)mr_launch_own_fd(c->spec, c->opts->slot);
	struct rlimit old, raised;
	int lifted = -1, r = 0;

	if (getrlimit(RLIMIT_NOFILE, &old) < 0)
		return mr_err(err, MR_E_SYS, errno, "RLIMIT_NOFILE: %m");
	raised = (struct rlimit){ .rlim_cur = old.rlim_max, .rlim_max = old.rlim_max };
	if (geteuid() == 0 && raised.rlim_cur <= wanted)
		raised.rlim_cur = raised.rlim_max = wanted + 1;
	if (setrlimit(RLIMIT_NOFILE, &raised) == 0)
		lifted = fcntl(*fd, F_DUPFD_CLOEXEC, (int)wanted);
	if (lifted < 0) /* any number beyond the limit will do */
		lifted = fcntl(*fd, F_DUPFD_CLOEXEC, (int)c->spec->limits_nofile);
	if (lifted < 0)
		return mr_err(err, MR_E_KERNEL, errno,
			      "limits.nofile=%ju leaves no descriptor to us beyond it, which a "
			      "policy "
			      "without sendmsg and a recording need: %m; set it lower",
			      (uintmax_t)c->spec->limits_nofile);
	if (setrlimit(RLIMIT_NOFILE, &old) < 0)
		r = mr_err(err, MR_E_SYS, errno, "RLIMIT_NOFILE=%ju: %m", (uintmax_t)old.rlim_cur);
	mr_close(*fd);
	*fd = lifted;
	return r;
}

/* The program of a policy that is only known now, and what it needs. */
static int narrow(struct mr_child *c, struct mr_launched *l, struct mr_error *err)
{
	int r = mr_seccomp_needs_own_fd(&l->policy) ? lift_fd(&c->sync_fd, c, err) : 0;

	if (r < 0)
		return r;
	l->policy.own_fd = c->sync_fd;
	l->narrowed = mr_seccomp_narrow(&l->policy);
	l->policy.program = l->narrowed;
	return 0;
}

static int open_channels(struct mr_child *c, struct mr_launched *l, struct mr_error *err)
{
	int pair[2], on = 1;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return mr_err(err, MR_E_SYS, errno,
			      "make the channel to the sandbox: socketpair: %m");
	l->sync_fd = pair[0];
	c->sync_fd = pair[1];
	if (setsockopt(l->sync_fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return mr_err(err, MR_E_SYS, errno, "SO_PASSCRED: %m");
	if (pipe2(pair, O_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno,
			      "make the pipe that keeps the sandbox alive: %m");
	c->go_fd = pair[0];
	l->go_fd = pair[1];
	return 0;
}

/* After the clone: identity, then the word that it is there. */
static int introduce(struct mr_child *c, struct mr_launched *l, struct mr_error *err)
{
	struct mr_sync_msg msg = { .type = MR_SYNC_MAPPED };
	int r;

	if (!c->ids.userns)
		return 0;
	r = mr_idmap_write(l->init_pid, &c->ids, err);
	if (r < 0)
		return r;
	r = mr_sync_send(l->sync_fd, &msg, NULL, 0);
	return r < 0 ? mr_err(err, MR_E_SYS, -r, "tell the child its ids: %m") : 0;
}

static int choose_ids(struct mr_child *c, struct mr_launched *l, struct mr_error *err)
{
	int r = mr_launch_ids(c->spec, c->opts->slot, &c->ids, err);

	l->ids = c->ids;
	return r;
}

static int resolve_program(struct mr_child *c, struct mr_launched *l, struct mr_error *err)
{
	(void)l;
	c->envp = mr_env_build(c->spec);
	return mr_program_resolve(c, err);
}

/* A child that is killed says nothing: where it was is read here. */
static int share_progress(struct mr_child *c, struct mr_launched *l, struct mr_error *err)
{
	void *memory = mmap(NULL, sizeof(*l->progress), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return mr_err(err, MR_E_SYS, errno, "share memory with the sandbox: mmap: %m");
	l->progress = c->progress = memory;
	return 0;
}

static int make_policy(struct mr_child *c, struct mr_launched *l, struct mr_error *err)
{
	int r;

	l->policy = mr_launch_policy(c->spec);
	r = mr_seccomp_is_narrowed(&l->policy) ? narrow(c, l, err) : 0;
	c->policy = l->policy;
	c->filter = mr_seccomp_program(&c->policy);
	return r;
}

static int choose_namespaces(struct mr_child *c, struct mr_launched *l, struct mr_error *err)
{
	(void)err;
	l->takes_netns = c->takes_netns = shares_netns(c);
	l->namespaces = wanted_namespaces(c);
	return 0;
}

static const struct parent_step {
	const char *name;
	int (*run)(struct mr_child *c, struct mr_launched *l, struct mr_error *err);
} steps[] = {
	{ "ids", choose_ids }, /* the trees are shown as theirs */
	{ "program", resolve_program },
	{ "trees", make_trees },
	{ "channels", open_channels },
	{ "progress", share_progress },
	{ "policy", make_policy }, /* may name the channel's descriptor */
	{ "namespaces", choose_namespaces },
	{ "clone", clone_child }, /* nothing that could fail before it is left for the child */
	{ "introduce", introduce },
};
MR_DIE_TABLE(parent, steps[0], N_ELEMENTS(steps));

static int start(struct mr_child *c, struct mr_launched *l, struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(steps); i++) {
		MR_DIE_AT(parent, steps[i].name);
		r = steps[i].run(c, l, err);
	}
	return r;
}

int mr_launch_start(const struct mr_launch_opts *opts, struct mr_launched *ret,
		    struct mr_error *err)
{
	struct mr_child c = { .opts = opts,
			      .spec = opts->spec,
			      .sync_fd = -1,
			      .go_fd = -1,
			      .workspace_tree = -1,
			      .old_root_fd = -1,
			      .host_view_fd = -1,
			      .root_fd = -1,
			      .root_copy_fd = -1,
			      .pool_fd = -1,
			      .upper_fd = -1,
			      .lower_fd = -1,
			      .shape_fds = { .rtnl = -1, .drop_map = -1 },
			      .pty_fd = -1,
			      .listener_fd = -1 };
	struct mr_launched l = { .pidfd = -1, .sync_fd = -1, .go_fd = -1 };
	int r = start(&c, &l, err);

	free_child(&c);
	if (r < 0) {
		mr_launched_find_cause(&l, err);
		mr_launched_kill(&l);
		mr_launched_deinit(&l);
		return r;
	}
	*ret = l;
	return 0;
}

int mr_launch_give_netns(const struct mr_launched *launched, int netns_fd, struct mr_error *err)
{
	const struct mr_sync_msg msg = { .type = MR_SYNC_NETWORK, .fds = MR_SYNC_FD_NETNS };
	int r = mr_sync_send(launched->sync_fd, &msg, &netns_fd, 1);

	/* Gone already: what it has said before tells why. */
	if (r < 0 && r != -EPIPE && r != -ECONNRESET)
		return mr_err(err, MR_E_SYS, -r, "give the child its network namespace: %m");
	return 0;
}

int mr_launch_go(struct mr_launched *launched, struct mr_error *err)
{
	ssize_t n;

	do
		n = write(launched->go_fd, "g", 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		return mr_err(err, MR_E_SYS, errno, "start the payload: %m");
	launched->go_fd = mr_close(launched->go_fd);
	return 0;
}

int mr_launch_signal(const struct mr_launched *launched, int sig, struct mr_error *err)
{
	struct mr_sync_msg msg = { .type = MR_SYNC_SIGNAL, .signal = sig };
	int r = mr_sync_send(launched->sync_fd, &msg, NULL, 0);

	return r < 0 ? mr_err(err, MR_E_SYS, -r, "forward signal %d: %m", sig) : 0;
}

void mr_launched_kill(struct mr_launched *launched)
{
	if (launched->pidfd < 0)
		return;
	mr_pidfd_send_signal(launched->pidfd, SIGKILL);
	mr_wait(launched->init_pid);
}

static const char *last_step(const struct mr_launched *launched)
{
	const uint32_t number =
		launched->progress ? __atomic_load_n(launched->progress, __ATOMIC_RELAXED) : 0;
	const char *name = NULL;

	if (number >= MR_PROGRESS_PAYLOAD)
		name = mr_init_step_name(number - MR_PROGRESS_PAYLOAD);
	else if (number > 0)
		name = mr_launch_step_name(number - 1);
	return name ? name : "none";
}

int mr_launched_killed(const struct mr_launched *launched, const char *who, struct mr_error *err)
{
	return mr_err(err, MR_E_SYS, ESRCH, "%s was killed during set-up, at step %s", who,
		      last_step(launched));
}

/* In the kernel's exit already (PF_EXITING), whatever made it end. */
static bool is_exiting(pid_t pid)
{
	const unsigned int exiting = 0x4;
	char path[32], text[1024];
	const char *end;
	unsigned int flags = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	if (mr_read_file_at(AT_FDCWD, path, text, sizeof(text)) <= 0)
		return false;
	end = strrchr(text, ')'); /* of the name, which may hold anything */
	return end && sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       (flags & exiting);
}

/* A process that exits leaves its namespaces before its sockets are closed, so who does not find these
 * may be too early for the end of file. */
static void await_end(const struct mr_launched *launched)
{
	struct pollfd p = { .fd = launched->sync_fd, .events = POLLIN };

	while (is_exiting(launched->init_pid) && poll(&p, 1, -1) < 0 && errno == EINTR)
		;
}

void mr_launched_find_cause(const struct mr_launched *launched, struct mr_error *err)
{
	struct mr_error unused;
	struct mr_sync_msg msg;
	int fds[8], r;

	while (launched->init_pid > 0 && launched->sync_fd >= 0) {
		await_end(launched);
		r = mr_sync_recv(launched->sync_fd, &msg, MSG_DONTWAIT, fds, NULL, &unused);
		if (r == 0)
			mr_launched_killed(launched, "the sandbox's init", err);
		if (r <= 0)
			return;
		for (size_t i = 0; i < N_ELEMENTS(fds); i++)
			mr_close(fds[i]);
		if (msg.type == MR_SYNC_EXITED)
			mr_launched_killed(launched, "the program's process", err);
		if (msg.type == MR_SYNC_FAILED)
			*err = msg.error;
		if (msg.type == MR_SYNC_EXITED || msg.type == MR_SYNC_FAILED)
			return;
	}
}

void mr_launched_deinit(struct mr_launched *launched)
{
	if (launched->progress)
		munmap(launched->progress, sizeof(*launched->progress));
	launched->progress = NULL;
	launched->pidfd = mr_close(launched->pidfd);
	launched->sync_fd = mr_close(launched->sync_fd);
	launched->go_fd = mr_close(launched->go_fd);
	launched->narrowed = mr_seccomp_free(launched->narrowed);
	launched->policy.program = NULL;
}

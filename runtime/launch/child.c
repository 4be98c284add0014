/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child: what happens between clone3 and the payload
 *
 * The table below is the whole of it, in the order that is the security argument.
 * Everything that needs privilege comes before the ids are changed, everything that
 * restricts comes after what it would restrict, and nothing of the payload runs
 * before the last row.  Each row's time goes to the result.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cgroups/cgroup.h"
#include "netns/link.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/compat.h"
#include "runtime/base/die_at.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/launch/caps.h"
#include "runtime/launch/landlock.h"
#include "runtime/launch/mountfd.h"
#include "runtime/launch/steps.h"
#include "runtime/spec/net.h"
#include "runtime/spec/policy.h"
#include "runtime/spec/spec.h"

static int close_inherited(struct mr_child *c, struct mr_error *err)
{
	const struct mr_launch_opts *o = c->opts;
	const int fixed[] = { c->sync_fd,  c->go_fd,	 o->stdio[0],	   o->stdio[1],
			      o->stdio[2], o->kept_root, c->workspace_tree };
	const size_t n = N_ELEMENTS(fixed);
	mr_auto_free int *keep = calloc(n + c->spec->n_mounts, sizeof(*keep));

	mr_assert(keep);
	memcpy(keep, fixed, sizeof(fixed));
	for (size_t i = 0; i < c->spec->n_mounts; i++)
		keep[n + i] = c->trees[i];
	return mr_stdio_close_except(keep, n + c->spec->n_mounts, err);
}

static int join_cgroups(struct mr_child *c, struct mr_error *err)
{
	return c->opts->cgroup ? mr_cgroup_enter_v1(c->opts->cgroup, err) : 0;
}

static int wait_for_maps(struct mr_child *c, struct mr_error *err)
{
	struct mr_sync_msg msg;
	int fds[8], r;

	if (!c->ids.userns)
		return 0;
	r = mr_sync_recv(c->sync_fd, &msg, 0, fds, NULL, err);
	if (r == 0)
		_exit(125); /* the supervisor died */
	if (r > 0 && msg.type != MR_SYNC_MAPPED)
		return mr_err(err, MR_E_PROTO, EPROTO, "message %u instead of the id maps",
			      msg.type);
	return r < 0 ? r : mr_idmap_become(c, err);
}

static int more_namespaces(struct mr_child *c, struct mr_error *err)
{
	(void)c;
	if (unshare(CLONE_NEWCGROUP) < 0)
		return mr_err(err, MR_E_SYS, errno, "unshare the cgroup namespace: %m");
	return 0;
}

static int join_network(struct mr_child *c, struct mr_error *err)
{
	struct mr_sync_msg msg;
	int fds[8], r;

	if (!c->takes_netns)
		return 0;
	r = mr_sync_recv(c->sync_fd, &msg, 0, fds, NULL, err);
	if (r == 0)
		_exit(125); /* the supervisor died */
	if (r < 0)
		return r;
	if (msg.type != MR_SYNC_NETWORK)
		r = mr_err(err, MR_E_PROTO, EPROTO, "message %u instead of the network namespace",
			   msg.type);
	else if (setns(fds[0], CLONE_NEWNET) < 0)
		r = mr_err(err, MR_E_SYS, errno, "join the prepared network namespace: %m");
	for (size_t i = 0; i < N_ELEMENTS(fds); i++)
		mr_close(fds[i]);
	return r;
}

static int set_hostname(struct mr_child *c, struct mr_error *err)
{
	const char *name = c->spec->sandbox_hostname;

	if (sethostname(name, strlen(name)) < 0)
		return mr_err(err, MR_E_SYS, errno, "set host name %s: %m", name);
	return 0;
}

static int set_links(struct mr_child *c, struct mr_error *err)
{
	return mr_spec_has_link(c->spec) ? mr_link_up("lo", err) : 0;
}

/* Trees of the spec's mounts: as root the parent has made them, idmapped where needed. */
static int clone_trees(struct mr_child *c, struct mr_error *err)
{
	const uint64_t rw = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, ro = rw | MOUNT_ATTR_RDONLY;

	for (size_t i = 0; i < c->spec->n_mounts; i++) {
		const struct mr_spec_mount *m = &c->spec->mounts[i];

		if (c->trees[i] >= 0 || !m->source)
			continue;
		c->trees[i] = mr_mountfd_clone(AT_FDCWD, m->source,
					       m->kind == MR_MOUNT_RW ? rw : ro, err);
		if (c->trees[i] < 0)
			return c->trees[i];
	}
	if (c->workspace_tree < 0 && c->spec->sandbox_workspace[0]) {
		c->workspace_tree = mr_mountfd_clone(AT_FDCWD, c->spec->sandbox_workspace, ro, err);
		if (c->workspace_tree < 0)
			return mr_err_wrap(err, c->workspace_tree, "workspace");
	}
	return 0;
}

static int no_new_privs(struct mr_child *c, struct mr_error *err)
{
	(void)c;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return mr_err(err, MR_E_SYS, errno, "no_new_privs: %m");
	return 0;
}

static int restrict_to_places(struct mr_child *c, struct mr_error *err)
{
	static const struct mr_landlock_rule fixed[] = {
		{ "/", MR_LANDLOCK_READ, 0 },	   { "/dev", MR_LANDLOCK_DEVICE, 0 },
		{ "/tmp", MR_LANDLOCK_WRITE, 0 },  { "/dev/shm", MR_LANDLOCK_WRITE, 0 },
		{ "/work", MR_LANDLOCK_WRITE, 0 },
	};
	mr_auto_free struct mr_landlock_rule *rules = NULL;
	size_t n = N_ELEMENTS(fixed);

	rules = calloc(n + c->spec->n_mounts, sizeof(*rules));
	mr_assert(rules);
	memcpy(rules, fixed, sizeof(fixed));
	for (size_t i = 0; i < c->spec->n_mounts; i++) {
		const struct mr_spec_mount *m = &c->spec->mounts[i];

		if (m->kind != MR_MOUNT_RW && m->kind != MR_MOUNT_TMPFS)
			continue;
		rules[n++] = (struct mr_landlock_rule){ m->dest, MR_LANDLOCK_WRITE, 0 };
	}
	return mr_landlock_restrict(rules, n, err);
}

/* The program itself can be run whatever the policy says: the caller asked for it. */
static int restrict_to_policy(struct mr_child *c, struct mr_error *err)
{
	const struct mr_policy *policy = c->spec->policy;
	mr_auto_free char(*files)[MR_PROGRAM_PATH_MAX] = calloc(MR_PROGRAM_FILES, sizeof(*files));
	mr_auto_free struct mr_policy_path *rules = NULL;
	uint32_t missing = 0;
	size_t n = policy->n_paths, floor;
	int r;

	mr_assert(files);
	/* Names without a slash at the beginning are the program's own working directory's. */
	if (chdir(c->spec->sandbox_cwd) < 0 && errno != ENOENT && errno != EACCES &&
	    errno != ENOTDIR)
		return mr_err(err, MR_E_SYS, errno, "working directory %s: %m",
			      c->spec->sandbox_cwd);
	floor = mr_program_files(c->argv, c->envp, files);
	rules = calloc(n + floor + MR_POLICY_FLOOR_PATHS, sizeof(*rules));
	mr_assert(rules);
	memcpy(rules, policy->paths, n * sizeof(*rules));
	for (size_t i = 0; i < floor; i++)
		rules[n + i] =
			(struct mr_policy_path){ .path = files[i], .access = MR_POLICY_EXECUTE };
	c->built.built.policy_floor = (uint32_t)floor;
	floor += mr_policy_floor_paths(c->spec, rules + n + floor);
	r = mr_landlock_narrow(rules, n + floor, &missing, err);
	if (r < 0)
		return r;
	c->built.built.policy_missing = missing;
	c->built.built.policy_rules = (uint32_t)n - missing;
	return chdir("/") < 0 ? mr_err(err, MR_E_SYS, errno, "chdir /: %m") : 0;
}

static int restrict_paths(struct mr_child *c, struct mr_error *err)
{
	const bool by_level = c->spec->sandbox_level >= 3;
	const bool by_policy = c->spec->policy && c->spec->policy->has_paths;
	int r = 0;

	if (!by_level && !by_policy)
		return 0;
	if (mr_landlock_abi(NULL) == 0 && mr_spec_tolerates(c->spec, "landlock"))
		return 0; /* the receipt says so */
	if (by_level)
		r = restrict_to_places(c, err);
	if (r == 0 && by_policy)
		r = restrict_to_policy(c, err);
	c->built.built.landlock_abi = mr_landlock_abi(NULL);
	return r;
}

static int become_payload(struct mr_child *c, struct mr_error *err)
{
	return mr_idmap_become(c, err);
}

/* Level 1 keeps the capabilities of its user namespace. */
static int drop_capabilities(struct mr_child *c, struct mr_error *err)
{
	return c->spec->sandbox_level == 1 ? 0 : mr_caps_drop_all(err);
}

static const struct mr_step steps[] = {
	{ "join_cgroups",
	  join_cgroups }, /* before anything is allocated; its descriptors go next */
	{ "close_inherited", close_inherited }, /* no descriptor of another run or of the caller */
	{ "maps", wait_for_maps }, /* nothing can be made before our ids exist */
	{ "namespaces", more_namespaces }, /* after join_cgroups: the cgroup seen as "/" is ours */
	{ "hostname", set_hostname },
	{ "links", set_links },
	{ "shape", mr_shape_link }, /* while we may: the payload has no capability to change it */
	{ "root", mr_rootfs_begin }, /* private propagation before the first mount */
	{ "trees", clone_trees }, /* while host paths still mean what the caller meant */
	{ "system", mr_rootfs_system },
	{ "etc", mr_rootfs_etc },
	{ "dev", mr_rootfs_dev },
	{ "proc", mr_rootfs_proc },
	{ "pool", mr_pool_fill },
	{ "workspace", mr_mounts_workspace },
	{ "snippet", mr_rootfs_snippet }, /* while no place of the caller's can stand in for ours */
	{ "mounts", mr_mounts_spec }, /* over ours: the caller has the last word ... */
	{ "hide", mr_mounts_hide }, /* ... and hiding the very last */
	{ "enter", mr_rootfs_enter }, /* the host's tree is gone from here on */
	{ "network", join_network }, /* as late as may be: it is made while all above is */
	{ "no_new_privs", no_new_privs },
	{ "ids", become_payload },
	{ "landlock", restrict_paths }, /* as the payload; anchored at the new root */
	{ "capabilities", drop_capabilities }, /* last: nothing after it needs any */
};
_Static_assert(N_ELEMENTS(steps) <= MR_SYNC_MAX_STEPS, "sync message holds every step's time");
MR_DIE_TABLE(child, steps[0], N_ELEMENTS(steps));

const char *mr_launch_step_name(size_t i)
{
	return i < N_ELEMENTS(steps) ? steps[i].name : NULL;
}

static int report_built(struct mr_child *c, struct mr_error *err)
{
	const int shape[] = { c->shape_fds.rtnl, c->shape_fds.drop_map };
	int fds[MR_MSG_MAX_FDS] = { c->root_fd, c->pool_fd };
	unsigned int n = 2;
	int r;

	c->built.type = MR_SYNC_BUILT;
	c->built.fds = MR_SYNC_FD_ROOT | MR_SYNC_FD_POOL;
	if (c->upper_fd >= 0) {
		c->built.fds |= MR_SYNC_FD_UPPER | MR_SYNC_FD_LOWER;
		fds[n++] = c->upper_fd;
		fds[n++] = c->lower_fd;
	}
	if (c->root_copy_fd >= 0) {
		c->built.fds |= MR_SYNC_FD_ROOT_COPY;
		fds[n++] = c->root_copy_fd;
	}
	for (size_t i = 0; i < N_ELEMENTS(shape); i++) {
		if (shape[i] < 0)
			continue;
		c->built.fds |= MR_SYNC_FD_RTNL << i;
		fds[n++] = shape[i];
	}
	r = mr_sync_send(c->sync_fd, &c->built, fds, n);
	return r < 0 ? mr_err(err, MR_E_SYS, -r, "report to the supervisor: %m") : 0;
}

_Noreturn void mr_child_main(struct mr_child *c)
{
	struct mr_sync_msg failed = { .type = MR_SYNC_FAILED };
	uint64_t then = mr_now_ns();
	int r = 0;

	for (size_t i = 0; r >= 0 && i < N_ELEMENTS(steps); i++) {
		uint64_t now;

		mr_progress_note(c, i + 1);
		MR_DIE_AT(child, steps[i].name);
		r = steps[i].run(c, &failed.error);
		now = mr_now_ns();
		c->built.built.took_ns[i] = (uint32_t)(now - then);
		c->built.built.n = (uint32_t)i + 1;
		then = now;
		if (r < 0)
			mr_err_wrap(&failed.error, r, "%s", steps[i].name);
	}
	if (r >= 0)
		r = report_built(c, &failed.error);
	if (r >= 0)
		mr_init_main(c);
	mr_sync_send(c->sync_fd, &failed, NULL, 0);
	_exit(125);
}

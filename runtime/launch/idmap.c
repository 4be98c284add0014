/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identity: who the payload is, outside and inside
 *
 * As root each run gets a host user id of its own, HOST_ID_BASE + pid * 64 + slot:
 * unique among living runs, so that per-user kernel limits (inotify, pipe
 * memory, message queues, pending signals) of one run are not another's.  With a user
 * namespace exactly one id is mapped.
 *
 * The second use of user namespaces here is an idmapped mount: the owner of a
 * workspace on disk appears as the payload, and files it makes there are the
 * owner's on disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <grp.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/compat.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/wait.h"
#include "runtime/launch/steps.h"
#include "runtime/spec/spec.h"

#define SLOTS 64 /* ids of one supervisor */
#define HOST_ID_BASE 0x60000000u /* above any allocated range: pid < 2^22, 64 slots: < 2^31 */
#define HOST_ID_NOBODY 65534u
#define INSIDE_ID 1000u

/* Is this id mapped where we are?  Inside a container the high ids may not be. */
static bool id_is_mapped(const char *map_file, uint64_t id)
{
	mr_auto_fclose FILE *f = fopen(map_file, "re");
	uint64_t inside, outside, count;

	if (!f)
		return false;
	while (fscanf(f, "%" SCNu64 " %" SCNu64 " %" SCNu64, &inside, &outside, &count) == 3) {
		if (id >= inside && id - inside < count)
			return true;
	}
	return false;
}

/* What our user namespace maps is decided once in its life, so each slot's id is looked up once. */
static uint32_t pick_host_id(unsigned int slot)
{
	static uint32_t mapped[SLOTS];
	const uint32_t id = HOST_ID_BASE + (uint32_t)getpid() * SLOTS + slot;

	if (mapped[slot % SLOTS] == id)
		return id;
	if (!id_is_mapped("/proc/self/uid_map", id) || !id_is_mapped("/proc/self/gid_map", id))
		return HOST_ID_NOBODY;
	mapped[slot % SLOTS] = id;
	return id;
}

static uint32_t choose(uint64_t wanted, uint32_t otherwise)
{
	return wanted == MR_UNSET ? otherwise : (uint32_t)wanted;
}

int mr_launch_ids(const struct mr_spec *spec, unsigned int slot, struct mr_ids *ret,
		  struct mr_error *err)
{
	const bool root = geteuid() == 0;
	const bool userns =
		!root || spec->sandbox_userns == MR_USERNS_ALWAYS || spec->sandbox_level == 1;
	const uint32_t inside = spec->sandbox_level == 1 ? 0 : INSIDE_ID;
	struct mr_ids ids = { .userns = userns };

	if (root)
		ids.host_uid = ids.host_gid = pick_host_id(slot);
	if (!root) {
		ids.host_uid = getuid();
		ids.host_gid = getgid();
	}
	if (userns) {
		ids.uid = choose(spec->sandbox_uid, inside);
		ids.gid =
			choose(spec->sandbox_gid, spec->sandbox_uid == MR_UNSET ? inside : ids.uid);
	} else {
		ids.uid = ids.host_uid = choose(spec->sandbox_uid, ids.host_uid);
		ids.gid = ids.host_gid = choose(spec->sandbox_gid, ids.host_gid);
		if (ids.uid == 0 || ids.gid == 0)
			return mr_err(err, MR_E_USAGE, EINVAL,
				      "sandbox.uid=0: without a user namespace this would be the "
				      "host's "
				      "root; add --set sandbox.userns=always");
	}
	*ret = ids;
	return 0;
}

static int write_map(int proc_fd, const char *file, uint32_t inside, uint32_t outside,
		     struct mr_error *err)
{
	char line[64];
	int r;

	snprintf(line, sizeof(line), "%u %u 1\n", inside, outside);
	r = mr_write_file_at(proc_fd, file, line);
	return r < 0 ? mr_err(err, MR_E_SYS, -r, "write \"%.*s\" to %s: %m",
			      (int)strcspn(line, "\n"), line, file)
		     : 0;
}

/* /proc/PID of the real procfs: a fake one could swallow what we write (CVE-2025-52881). */
static int open_proc_pid(pid_t pid, struct mr_error *err)
{
	mr_auto_close int fd = -1;
	char path[32];
	struct statfs st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", path);
	if (fstatfs(fd, &st) < 0 || st.f_type != PROC_SUPER_MAGIC)
		return mr_err(err, MR_E_KERNEL, EINVAL, "%s is not on a proc file system", path);
	return mr_take_fd(fd);
}

int mr_idmap_write(pid_t pid, const struct mr_ids *ids, struct mr_error *err)
{
	mr_auto_close int proc = open_proc_pid(pid, err);
	int r;

	if (proc < 0)
		return proc;
	if (geteuid() != 0) {
		/* Unprivileged: group ids may only be mapped when setgroups is off. */
		r = mr_write_file_at(proc, "setgroups", "deny");
		if (r < 0)
			return mr_err(err, MR_E_SYS, -r, "write \"deny\" to setgroups: %m");
	}
	r = write_map(proc, "uid_map", ids->uid, ids->host_uid, err);
	return r < 0 ? r : write_map(proc, "gid_map", ids->gid, ids->host_gid, err);
}

/* Change to the payload's ids and keep the capabilities for the steps that still need them.
 * mr_caps_drop_all() ends that. */
int mr_idmap_become(struct mr_child *c, struct mr_error *err)
{
	if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP) < 0)
		return mr_err(err, MR_E_SYS, errno, "securebits: %m");
	/* In an unprivileged user namespace setgroups is denied by design. */
	if (setgroups(0, NULL) < 0 && !(c->ids.userns && errno == EPERM))
		return mr_err(err, MR_E_SYS, errno, "drop supplementary groups: %m");
	if (setresgid(c->ids.gid, c->ids.gid, c->ids.gid) < 0)
		return mr_err(err, MR_E_SYS, errno, "setresgid %u: %m", c->ids.gid);
	if (setresuid(c->ids.uid, c->ids.uid, c->ids.uid) < 0)
		return mr_err(err, MR_E_SYS, errno, "setresuid %u: %m", c->ids.uid);
	/* Changing ids may have made us dumpable again, which would open /proc/1 to the payload. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return mr_err(err, MR_E_SYS, errno, "PR_SET_DUMPABLE: %m");
	return 0;
}

/* Identity for every id but `from`, which shows as `to`; `to` itself is left out so that no two
 * ids show as one. */
static int format_idmap(char *buf, size_t size, uint32_t from, uint32_t to)
{
	const uint32_t last = 4294967294u;
	const uint32_t lo = from < to ? from : to, hi = from < to ? to : from;
	int n = 0;

	if (lo > 0)
		n += snprintf(buf + n, size - (size_t)n, "0 0 %u\n", lo);
	n += snprintf(buf + n, size - (size_t)n, "%u %u 1\n", from, to);
	if (hi > lo + 1)
		n += snprintf(buf + n, size - (size_t)n, "%u %u %u\n", lo + 1, lo + 1, hi - lo - 1);
	if (hi < last)
		n += snprintf(buf + n, size - (size_t)n, "%u %u %u\n", hi + 1, hi + 1, last - hi);
	return n;
}

static int fill_idmap(pid_t pid, const char *uid_map, const char *gid_map, struct mr_error *err)
{
	mr_auto_close int proc = open_proc_pid(pid, err);
	int r;

	if (proc < 0)
		return proc;
	r = mr_write_file_at(proc, "uid_map", uid_map);
	if (r == 0)
		r = mr_write_file_at(proc, "gid_map", gid_map);
	return r < 0 ? mr_err(err, MR_E_SYS, -r, "write the map of an idmapped mount: %m") : 0;
}

/* Hold the new user namespace until the supervisor has it, or is dead. Nothing else of the
 * supervisor's is kept: its lease must end with it. */
_Noreturn static void hold_userns(int pipe_fd)
{
	struct mr_error err;
	char byte;

	if (mr_stdio_close_except(&pipe_fd, 1, &err) < 0)
		_exit(125);
	while (read(pipe_fd, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/* A process in a new user namespace with these maps; it ends with the pipe's other end. */
static int start_holder(pid_t *ret_pid, int *ret_pipe, struct mr_error *err)
{
	struct mr_clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	int pipe_fds[2];
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return mr_err(err, MR_E_SYS, errno, "make a pipe to a holder of identities: %m");
	pid = (pid_t)mr_clone3(&args);
	if (pid == 0)
		hold_userns(pipe_fds[0]);
	mr_close(pipe_fds[0]);
	if (pid < 0) {
		int r = mr_err(err, MR_E_SYS, errno, "clone3 for an idmapped mount: %m");

		mr_close(pipe_fds[1]);
		return r;
	}
	*ret_pid = pid;
	*ret_pipe = pipe_fds[1];
	return 0;
}

int mr_idmap_userns_fd(uid_t from_uid, uid_t to_uid, gid_t from_gid, gid_t to_gid,
		       struct mr_error *err)
{
	char uid_map[160], gid_map[160], path[64];
	int pipe_fd = -1, fd = -1, r;
	pid_t pid = 0;

	format_idmap(uid_map, sizeof(uid_map), from_uid, to_uid);
	format_idmap(gid_map, sizeof(gid_map), from_gid, to_gid);
	r = start_holder(&pid, &pipe_fd, err);
	if (r < 0)
		return r;
	r = fill_idmap(pid, uid_map, gid_map, err);
	if (r == 0) {
		snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			r = mr_err(err, MR_E_SYS, errno, "open %s: %m", path);
	}
	mr_close(pipe_fd);
	mr_wait(pid);
	return r < 0 ? r : fd;
}

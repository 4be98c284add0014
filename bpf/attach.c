/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attach
 *
 * BPF_LINK_CREATE for hooks of a control group, BPF_RAW_TRACEPOINT_OPEN for
 * tracepoints.  Several programs may be on one hook; ours only look.
 *
 * A hook of a control group is the run's own.  A tracepoint is the host's: attached once more for
 * another run, a program would count every call of both of them twice (since 6.10; before that the
 * kernel refuses it).  So those who want it at the same time hold descriptors of one link, found by
 * its number in the map `links`.  It goes with the last of them, also when that was killed.
 */
#include "bpf/attach.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "bpf/sys.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"

static const struct hook {
	const char *name;
	enum bpf_attach_type type;
} hooks[] = {
	{ "sock_create", BPF_CGROUP_INET_SOCK_CREATE },
	{ "connect4", BPF_CGROUP_INET4_CONNECT },
	{ "connect6", BPF_CGROUP_INET6_CONNECT },
	{ "bind4", BPF_CGROUP_INET4_BIND },
	{ "bind6", BPF_CGROUP_INET6_BIND },
	{ "sendmsg4", BPF_CGROUP_UDP4_SENDMSG },
	{ "sendmsg6", BPF_CGROUP_UDP6_SENDMSG },
	{ "ingress", BPF_CGROUP_INET_INGRESS },
	{ "egress", BPF_CGROUP_INET_EGRESS },
	{ "sockops", BPF_CGROUP_SOCK_OPS },
};

static int link_cgroup(int prog_fd, const char *target, int cgroup_fd)
{
	union bpf_attr attr;

	for (size_t i = 0; i < N_ELEMENTS(hooks); i++) {
		if (strcmp(hooks[i].name, target) != 0)
			continue;
		memset(&attr, 0, sizeof(attr));
		attr.link_create.prog_fd = (uint32_t)prog_fd;
		attr.link_create.target_fd = (uint32_t)cgroup_fd;
		attr.link_create.attach_type = hooks[i].type;
		return mr_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
	}
	errno = ENOENT;
	return -1;
}

static int link_tracepoint(int prog_fd, const char *target)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.name = (uintptr_t)target;
	attr.raw_tracepoint.prog_fd = (uint32_t)prog_fd;
	return mr_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));
}

/* --- a link for all ------------------------------------------------------------------- */

/* Numbers of links come round again. */
static bool is_link_of(int link, int prog)
{
	struct bpf_link_info of_link = { 0 };
	struct bpf_prog_info of_prog = { 0 };

	return mr_bpf_info(link, &of_link, sizeof(of_link)) >= 0 &&
	       mr_bpf_info(prog, &of_prog, sizeof(of_prog)) >= 0 && of_link.prog_id == of_prog.id;
}

/* The link that others hold, or -1. */
static int find_link(int links, uint32_t row, int prog)
{
	mr_auto_close int fd = -1;
	union bpf_attr attr;
	uint32_t id = 0;

	if (mr_bpf_map_lookup(links, &row, &id) < 0 || !id)
		return -1;
	memset(&attr, 0, sizeof(attr));
	attr.link_id = id;
	fd = mr_bpf(BPF_LINK_GET_FD_BY_ID, &attr, sizeof(attr));
	return fd >= 0 && is_link_of(fd, prog) ? mr_take_fd(fd) : -1;
}

static int make_link(int links, uint32_t row, int prog, const char *target)
{
	mr_auto_close int fd = link_tracepoint(prog, target);
	struct bpf_link_info info = { 0 };

	if (fd < 0)
		return -1;
	/* One that nobody could find must not be there. */
	if (mr_bpf_info(fd, &info, sizeof(info)) < 0 ||
	    mr_bpf_map_update(links, &row, &info.id) < 0)
		return -1;
	return mr_take_fd(fd);
}

static int lock_object(const char *set_path, const struct mr_probe_row *row, int *ret_fd,
		       struct mr_error *err)
{
	char dir[MR_PINS_PATH_MAX];
	int r = mr_pins_join(dir, set_path, row->object, err);

	if (r == 0)
		r = mr_pins_lock(dir, true, ret_fd, err);
	return r > 0 ? mr_err(err, MR_E_BUSY, ESTALE, "%s is being removed", dir) : r;
}

static int share_link(const char *set_path, const struct mr_probe_row *row, int prog,
		      struct mr_error *err)
{
	mr_auto_close int lock = -1, links = -1;
	char path[MR_PINS_PATH_MAX];
	size_t n;
	const uint32_t key = (uint32_t)(row - mr_probe_rows(&n));
	int r = mr_pins_join(path, set_path, "links", err), fd;

	if (r == 0)
		r = lock_object(set_path, row, &lock, err);
	if (r < 0)
		return r;
	links = mr_bpf_get(path);
	if (links < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", path);
	fd = find_link(links, key, prog);
	if (fd < 0)
		fd = make_link(links, key, prog, row->target);
	return fd < 0 ? mr_err(err, MR_E_KERNEL, errno, "attach %s: %m", row->name) : fd;
}

/* --- rows ----------------------------------------------------------------------------- */

int mr_attach_row(const char *set_path, const struct mr_probe_row *row, int cgroup_fd,
		  struct mr_error *err)
{
	char dir[MR_PINS_PATH_MAX], path[MR_PINS_PATH_MAX];
	mr_auto_close int prog = -1;
	int r = mr_pins_join(dir, set_path, row->object, err), fd;

	if (r == 0)
		r = mr_pins_join(path, dir, row->program, err);
	if (r < 0)
		return r;
	prog = mr_bpf_get(path);
	if (prog < 0)
		return mr_err(err, MR_E_SYS, errno, "open %s: %m", path);
	if (row->kind != MR_PROBE_CGROUP)
		return share_link(set_path, row, prog, err);
	fd = link_cgroup(prog, row->target, cgroup_fd);
	return fd < 0 ? mr_err(err, MR_E_KERNEL, errno, "attach %s: %m", row->name) : fd;
}

void mr_detach_row(const char *set_path, const struct mr_probe_row *row, int fd)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_close int lock = -1;

	if (fd < 0)
		return;
	/* The kernel forgets its number before it takes the program off: nobody is to attach it in
	 * between. */
	if (row->kind != MR_PROBE_CGROUP && lock_object(set_path, row, &lock, &err) < 0)
		mr_log_warn("telemetry: %s", err.msg);
	mr_close(fd);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attach
 *
 * BPF_LINK_CREATE for hooks of a control group, BPF_RAW_TRACEPOINT_OPEN for
 * tracepoints.  Several programs may be on one hook; ours only look.
 */
#include "bpf/attach.h"

#include <errno.h>
#include <string.h>

#include "bpf/sys.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

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
	fd = row->kind == MR_PROBE_CGROUP ? link_cgroup(prog, row->target, cgroup_fd)
					  : link_tracepoint(prog, row->target);
	return fd < 0 ? mr_err(err, MR_E_KERNEL, errno, "attach %s: %m", row->name) : fd;
}

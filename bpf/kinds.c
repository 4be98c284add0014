/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds
 *
 * "r0 = 0 or 1; exit" of each kind.  Those that are attached to a function of the kernel
 * need its number in the kernel's types to be loaded at all.
 */
#include "bpf/kinds.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/io.h"
#include "runtime/base/units.h"

static const struct kind {
	const char *name;
	enum bpf_prog_type type;
	enum bpf_attach_type attach;
	int answer;
	const char *function; /* of the kernel, or NULL */
} kinds[] = {
	{ "raw_tracepoint", BPF_PROG_TYPE_RAW_TRACEPOINT, 0, 0, NULL },
	{ "tracepoint", BPF_PROG_TYPE_TRACEPOINT, 0, 0, NULL },
	{ "kprobe", BPF_PROG_TYPE_KPROBE, 0, 0, NULL },
	{ "perf_event", BPF_PROG_TYPE_PERF_EVENT, 0, 0, NULL },
	{ "tp_btf", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, 0, "sched_process_exec" },
	{ "fentry", BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, 0, "vfs_open" },
	{ "lsm", BPF_PROG_TYPE_LSM, BPF_LSM_MAC, 0, "file_open" },
	{ "cgroup_sock", BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE, 1, NULL },
	{ "cgroup_sock_addr", BPF_PROG_TYPE_CGROUP_SOCK_ADDR, BPF_CGROUP_INET4_CONNECT, 1, NULL },
	{ "cgroup_skb", BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_INGRESS, 1, NULL },
	{ "sock_ops", BPF_PROG_TYPE_SOCK_OPS, BPF_CGROUP_SOCK_OPS, 1, NULL },
	{ "sched_cls", BPF_PROG_TYPE_SCHED_CLS, 0, 0, NULL },
	{ "xdp", BPF_PROG_TYPE_XDP, 0, 1, NULL },
};

static int say_nothing(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

/* A probe in the kernel's code, as kprobe programs are attached to. */
static int try_probe(void)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .disabled = 1 };
	mr_auto_close int fd = -1;
	char type[16];
	uint64_t number;

	if (mr_read_file_at(AT_FDCWD, "/sys/bus/event_source/devices/kprobe/type", type,
			    sizeof(type)) <= 0)
		return errno;
	type[strcspn(type, "\n")] = '\0';
	if (mr_units_parse_count(type, &number, NULL) < 0)
		return EBADMSG;
	attr.type = (uint32_t)number;
	attr.config1 = (uintptr_t) "vfs_open";
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? errno : 0;
}

/* Loading says that it is a program; whether it may be attached is a question of its own. */
static int attach(const struct kind *kind, int prog)
{
	int fd;

	if (kind->type == BPF_PROG_TYPE_KPROBE)
		return try_probe();
	if (!kind->function)
		return 0;
	fd = bpf_raw_tracepoint_open(NULL, prog);
	if (fd < 0)
		return errno;
	mr_close(fd);
	return 0;
}

static int try_kind(const struct kind *kind)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = kind->answer },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = kind->attach);
	mr_auto_close int fd = -1;
	int id = kind->function ? libbpf_find_vmlinux_btf_id(kind->function, kind->attach) : 0;

	if (id < 0)
		return -id;
	opts.attach_btf_id = (uint32_t)id;
	fd = bpf_prog_load(kind->type, "menace_try", "GPL", insns, N_ELEMENTS(insns), &opts);
	return fd < 0 ? errno : attach(kind, fd);
}

void mr_kinds_try(void (*take)(void *owner, const char *name, int errnum), void *owner)
{
	libbpf_set_print(say_nothing);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	for (size_t i = 0; i < N_ELEMENTS(kinds); i++)
		take(owner, kinds[i].name, try_kind(&kinds[i]));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cls
 *
 * Programs are compiled with the rest and lie in ours as the bytes of their
 * instructions.  A program has at most one map, so to load one is to write that map's
 * descriptor into each instruction that has a place for one.
 */
#include "netns/cls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netns/attrs.h"
#include "netns/rtnl.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

_Static_assert(MR_CLS_LEAVING == TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS) &&
		       MR_CLS_ARRIVING == TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS),
	       "parents");

static void free_msg(struct nl_msg **msg)
{
	nlmsg_free(*msg);
}
#define auto_msg mr_cleanup(free_msg)

static void write_map(struct bpf_insn *code, size_t n, int map)
{
	for (size_t i = 0; i + 1 < n; i++) {
		if (code[i].code != (BPF_LD | BPF_IMM | BPF_DW))
			continue;
		if (!code[i].imm && !code[i + 1].imm) {
			code[i].src_reg = BPF_PSEUDO_MAP_FD;
			code[i].imm = map;
		}
		i++;
	}
}

static int load(const struct mr_cls_program *program, int map, struct mr_error *err)
{
	struct bpf_insn code[MR_CLS_CODE_MAX / sizeof(struct bpf_insn)];
	union bpf_attr attr;
	int fd;

	mr_assert(program->size <= sizeof(code));
	memcpy(code, program->code, program->size);
	if (map >= 0)
		write_map(code, program->size / sizeof(*code), map);
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_SCHED_CLS;
	attr.insns = (uintptr_t)code;
	attr.insn_cnt = (uint32_t)(program->size / sizeof(*code));
	attr.license = (uintptr_t) "Dual BSD/GPL";
	strncpy(attr.prog_name, program->name, sizeof(attr.prog_name) - 1);
	fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	return fd < 0 ? mr_err(err, MR_E_SYS, errno, "tc-BPF: load %s: %m", program->name) : fd;
}

int mr_cls_attach(struct mr_rtnl *rtnl, int ifindex, const struct mr_cls_program *program, int map,
		  struct mr_error *err)
{
	struct tcmsg tc = {
		.tcm_family = AF_UNSPEC,
		.tcm_ifindex = ifindex,
		.tcm_parent = program->parent,
		.tcm_info = TC_H_MAKE(program->turn << 16, htons(ETH_P_ALL)),
	};
	auto_msg struct nl_msg *msg = nlmsg_alloc_simple(RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL);
	mr_auto_close int loaded = load(program, map, err);
	const uint32_t fd = (uint32_t)loaded, flags = TCA_BPF_FLAG_ACT_DIRECT;
	struct mr_attrs options = { .n = 0 };

	if (loaded < 0)
		return loaded;
	mr_assert(msg);
	mr_attrs_put(&options, TCA_BPF_FD, &fd, sizeof(fd));
	mr_attrs_put(&options, TCA_BPF_NAME, program->name, strlen(program->name) + 1);
	mr_attrs_put(&options, TCA_BPF_FLAGS, &flags, sizeof(flags));
	mr_assert(nlmsg_append(msg, &tc, sizeof(tc), NLMSG_ALIGNTO) == 0);
	mr_assert(nla_put_string(msg, TCA_KIND, "bpf") == 0);
	mr_assert(nla_put(msg, TCA_OPTIONS, (int)options.n, options.bytes) == 0);
	return mr_rtnl_request(rtnl, msg, "attach tc-BPF", err);
}

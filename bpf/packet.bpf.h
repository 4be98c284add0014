/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * What the hooks of a control group share: whose run a socket is
 */
#pragma once

#include "bpf/common.bpf.h"

#define ALLOW 1
#define AF_INET 2
#define AF_INET6 10

/* Whoever happens to run when something is sent or comes in, the socket's group tells. */
static __always_inline struct mr_wire_run *run_of(struct __sk_buff *skb)
{
	struct mr_wire_control *c = bpf_map_lookup_elem(&control, &(u32){ 0 });
	struct bpf_sock *sk = skb->sk;
	struct mr_wire_run *run = NULL;
	u64 id;

	if (!c || !sk)
		return NULL;
	for (int i = 0; i < MR_WIRE_DEPTHS && !run; i++) {
		if (!c->depths[i])
			break;
		id = bpf_sk_ancestor_cgroup_id(sk, (int)c->depths[i]);
		run = bpf_map_lookup_elem(&runs, &id);
	}
	return run;
}

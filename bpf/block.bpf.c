/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * What do devices read and write for it, and how long does that take?
 *
 * From the moment a request is given to a device to its end.  Whose it is, is in the request: the
 * group that made the pages dirty, whoever writes them back.  That is so where control groups
 * have a block controller beside the memory, of version 2; elsewhere what is written back is
 * nobody's.
 */
#include "bpf/common.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct cgroup_root {
	int hierarchy_id;
};
struct cgroup___rooted {
	struct cgroup_root *root;
};
struct cgroup_subsys_state {
	struct cgroup *cgroup;
};
struct blkcg {
	struct cgroup_subsys_state css;
};
struct blkcg_gq {
	struct blkcg *blkcg;
};
struct bio {
	struct blkcg_gq *bi_blkg;
};
struct request {
	unsigned int cmd_flags;
	unsigned int __data_len;
	struct bio *bio;
};
#pragma clang attribute pop

#define OP_MASK 0xff
#define OP_READ 0
#define OP_WRITE 1

struct issued {
	u64 began_ns;
	u64 generation;
	u32 slot;
	u32 reserved;
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u64);
	__type(value, struct issued);
} issues SEC(".maps");

/* Groups of version 1 have numbers of their own, which are those of others here. */
static __always_inline struct mr_wire_run *run_of_request(struct request *rq)
{
	struct cgroup *cgrp = BPF_CORE_READ(rq, bio, bi_blkg, blkcg, css.cgroup);
	struct cgroup___rooted *rooted = (void *)cgrp;

	if (!cgrp || BPF_CORE_READ(rooted, root, hierarchy_id) != 0)
		return NULL;
	return find_run_above(cgrp);
}

SEC("raw_tp/block_rq_issue")
int on_issue(struct bpf_raw_tracepoint_args *ctx)
{
	struct request *rq = (void *)ctx->args[0];
	u64 key = (u64)rq;
	u32 op = BPF_CORE_READ(rq, cmd_flags) & OP_MASK;
	struct issued entry = {};
	struct served s;

	/* What is not counted would stay noted, and the next to get this request be taken for it. */
	if (op != OP_READ && op != OP_WRITE)
		return 0;
	s.began_ns = bpf_ktime_get_ns();
	if (!serve_run(run_of_request(rq), &s) || !wants(s.rows, MR_ROW_on_issue))
		return 0;
	entry.began_ns = bpf_ktime_get_ns();
	entry.generation = s.generation;
	entry.slot = s.index;
	bpf_map_update_elem(&issues, &key, &entry, BPF_ANY);
	return served(&s);
}

/* A request can be done in parts; nr_bytes is the part, and its last part ends it. */
SEC("raw_tp/block_rq_complete")
int on_complete(struct bpf_raw_tracepoint_args *ctx)
{
	struct request *rq = (void *)ctx->args[0];
	u32 bytes = (u32)ctx->args[2], op = BPF_CORE_READ(rq, cmd_flags) & OP_MASK;
	u64 key = (u64)rq, now = bpf_ktime_get_ns();
	struct issued *entry = bpf_map_lookup_elem(&issues, &key);
	struct mr_wire_slot *slot;

	if (!entry || (op != OP_READ && op != OP_WRITE))
		return 0;
	slot = bpf_map_lookup_elem(&slots, &entry->slot);
	if (!slot || slot->generation != entry->generation)
		return 0;
	add(&slot->counters[op == OP_READ ? MR_COUNTER_block_read_bytes
					  : MR_COUNTER_block_written_bytes],
	    bytes);
	if (bytes < BPF_CORE_READ(rq, __data_len))
		return 0;
	add(&slot->counters[op == OP_READ ? MR_COUNTER_block_reads : MR_COUNTER_block_writes], 1);
	add(&slot->histogram[MR_HIST_BLOCK][bucket_of(now - entry->began_ns)], 1);
	bpf_map_delete_elem(&issues, &key);
	add(&slot->programs_ns, bpf_ktime_get_ns() - now);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * How much was said on each TCP connection, and how well did it get through?
 *
 * A hook of the run's own control group, told of a connection when it is asked for or accepted, and
 * of its changes of state from then on.  What the kernel counted of it is handed over
 * when it begins to close, for a peer may take longer than the run to answer, and again when it is
 * closed: that is final.
 *
 * How long a connection took to come to be, and its smoothed round trip as it began to close, are
 * counted here: no lost record takes anything from a distribution.  When a connection was
 * asked for is kept with its socket, and goes with it.
 */
#include "bpf/common.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define AF_INET 2

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct sock_cgroup_data {
	struct cgroup *cgroup;
};
struct sock_common {
	unsigned long skc_flags;
};
struct sock {
	struct sock_common __sk_common;
	struct sock_cgroup_data sk_cgrp_data;
	int sk_err;
};
struct tcp_sock {
	u64 bytes_sent, bytes_retrans, bytes_received;
};
#pragma clang attribute pop

#define SOCK_DONE 1 /* bit of skc_flags: the peer has said that it sends no more */
#define STATE_ESTABLISHED 1
#define STATE_SYN_SENT 2
#define STATE_FIN_WAIT1 4
#define STATE_CLOSE 7
#define STATE_CLOSE_WAIT 8
#define STATE_LAST_ACK 9

/* What happened that is counted, and told to nobody. */
#define OPENED (MR_WIRE_TCP_WHAT_COUNT_ + 1)
#define BEGINS_TO_CLOSE 256 /* beside what happened: now, and only once for each that was open */

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64); /* when it was asked for */
} asked SEC(".maps");

static __always_inline void fill_ends(struct mr_wire_tcp *e, struct bpf_sock_ops *ctx)
{
	e->family = ctx->family;
	e->local_port = ctx->local_port;
	e->remote_port = __builtin_bswap32(ctx->remote_port);
	if (ctx->family == AF_INET) {
		*(__u32 *)e->local = ctx->local_ip4;
		*(__u32 *)e->remote = ctx->remote_ip4;
		return;
	}
	((__u32 *)e->local)[0] = ctx->local_ip6[0];
	((__u32 *)e->local)[1] = ctx->local_ip6[1];
	((__u32 *)e->local)[2] = ctx->local_ip6[2];
	((__u32 *)e->local)[3] = ctx->local_ip6[3];
	((__u32 *)e->remote)[0] = ctx->remote_ip6[0];
	((__u32 *)e->remote)[1] = ctx->remote_ip6[1];
	((__u32 *)e->remote)[2] = ctx->remote_ip6[2];
	((__u32 *)e->remote)[3] = ctx->remote_ip6[3];
}

static __always_inline void fill_amounts(struct mr_wire_tcp *e, struct bpf_sock_ops *ctx,
					 struct tcp_sock *tcp)
{
	e->segments_out = ctx->segs_out;
	e->segments_in = ctx->segs_in;
	e->retransmits = ctx->total_retrans;
	e->rtt_us = ctx->srtt_us >> 3;
	e->error = (u32)BPF_CORE_READ((struct sock *)tcp, sk_err);
	e->sent_bytes = BPF_CORE_READ(tcp, bytes_sent) - BPF_CORE_READ(tcp, bytes_retrans);
	e->received_bytes = BPF_CORE_READ(tcp, bytes_received);
	/* The kernel counts the end of what is sent as a byte. */
	if (e->received_bytes &&
	    BPF_CORE_READ((struct sock *)tcp, __sk_common.skc_flags) >> SOCK_DONE & 1)
		e->received_bytes--;
}

/* By the state before: what was cut off had not begun to close. */
static __always_inline u32 what_ended(u32 old)
{
	if (old == STATE_SYN_SENT)
		return MR_WIRE_TCP_FAILED;
	if (old == STATE_ESTABLISHED || old == STATE_CLOSE_WAIT)
		return MR_WIRE_TCP_CLOSED | BEGINS_TO_CLOSE;
	return MR_WIRE_TCP_CLOSED;
}

/* What is to be told; MR_WIRE_TCP_WHAT_COUNT_: nothing.  Neither inlined nor static, so that the
 * verifier does not follow each answer through what comes after. */
__noinline u32 what_happened(u32 op, u32 old, u32 new)
{
	if (op == BPF_SOCK_OPS_TCP_CONNECT_CB)
		return MR_WIRE_TCP_ASKED;
	if (op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB)
		return MR_WIRE_TCP_ACCEPTED;
	if (op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB)
		return OPENED;
	if (op == BPF_SOCK_OPS_STATE_CB && new == STATE_CLOSE)
		return what_ended(old);
	if (op == BPF_SOCK_OPS_STATE_CB && (new == STATE_FIN_WAIT1 || new == STATE_LAST_ACK))
		return MR_WIRE_TCP_CLOSING | BEGINS_TO_CLOSE;
	return MR_WIRE_TCP_WHAT_COUNT_;
}

/* In whose name a connection is asked for is known; it is accepted by the kernel alone, and
 * closed by whoever runs. */
static __always_inline void fill_asker(struct mr_wire_tcp *e, const struct served *s)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	fill(&e->h, MR_WIRE_TCP, sizeof(*e), s, task);
	if (e->what == MR_WIRE_TCP_ASKED)
		BPF_CORE_READ_STR_INTO(&e->comm, task, comm);
	else
		e->h.pid = e->h.tid = e->h.inner_pid = 0;
}

static __always_inline void count(const struct mr_wire_tcp *e, const struct served *s)
{
	COUNT(s, tcp_closed, 1);
	COUNT(s, tcp_sent_bytes, e->sent_bytes);
	COUNT(s, tcp_received_bytes, e->received_bytes);
	COUNT(s, tcp_retransmits, e->retransmits);
}

/* Where there is no room for it, what is not known is counted when the connection is there. */
static __always_inline void note_asked(struct bpf_sock *sk, const struct served *s)
{
	u64 *at = bpf_sk_storage_get(&asked, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);

	if (at)
		*at = s->began_ns;
}

static __always_inline void count_opened(struct bpf_sock *sk, const struct served *s)
{
	u64 *at = bpf_sk_storage_get(&asked, sk, NULL, 0);

	COUNT(s, tcp_connected, 1);
	if (!at) {
		COUNT(s, tcp_untimed, 1);
		return;
	}
	add(&s->slot->histogram[MR_HIST_CONNECT][bucket_of(s->began_ns - *at)], 1);
	bpf_sk_storage_delete(&asked, sk);
}

/* The kernel keeps eight times the microseconds; 0: it measured none. */
static __always_inline void count_rtt(u32 srtt, const struct served *s)
{
	if (srtt)
		add(&s->slot->histogram[MR_HIST_RTT][bucket_of((u64)srtt * 125)], 1);
	else
		COUNT(s, tcp_unmeasured, 1);
}

SEC("sockops")
int on_tcp(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct mr_wire_tcp e = {};
	struct tcp_sock *tcp;
	struct served s;
	u32 op = ctx->op, what = what_happened(op, ctx->args[0], ctx->args[1]);

	e.what = what & ~BEGINS_TO_CLOSE;
	if (!sk || what == MR_WIRE_TCP_WHAT_COUNT_)
		return 1;
	s.began_ns = bpf_ktime_get_ns();
	tcp = bpf_skc_to_tcp_sock(sk);
	/* Whoever runs may be anybody: the socket's group tells. */
	if (!tcp ||
	    !serve_run(find_run_above(BPF_CORE_READ((struct sock *)tcp, sk_cgrp_data.cgroup)), &s))
		return 1;
	if (what == OPENED) {
		count_opened(sk, &s);
		served(&s);
		return 1;
	}
	if (what == MR_WIRE_TCP_ASKED)
		note_asked(sk, &s);
	if (what & BEGINS_TO_CLOSE)
		count_rtt(ctx->srtt_us, &s);
	if (what == MR_WIRE_TCP_FAILED)
		COUNT(&s, tcp_failed, 1);
	fill_asker(&e, &s);
	if (op == BPF_SOCK_OPS_STATE_CB)
		fill_amounts(&e, ctx, tcp);
	else if (bpf_sock_ops_cb_flags_set(ctx, BPF_SOCK_OPS_STATE_CB_FLAG))
		add(&s.slot->failures, 1);
	if (e.what == MR_WIRE_TCP_CLOSED)
		count(&e, &s);
	e.cookie = bpf_get_socket_cookie(ctx);
	fill_ends(&e, ctx);
	emit(&s, MR_RING_EVENTS, MR_WIRE_TCP, &e, sizeof(e));
	served(&s);
	return 1;
}

/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * How much was said on each TCP connection, and how well did it get through?
 *
 * A hook of the run's own control group, told of a connection when it is asked for or accepted, and
 * of its changes of state from then on.  What the kernel counted of it is handed over
 * when it begins to close, for a peer may take longer than the run to answer, and again when it is
 * closed: that is final.
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
#define STATE_SYN_SENT 2
#define STATE_FIN_WAIT1 4
#define STATE_CLOSE 7
#define STATE_LAST_ACK 9

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

static __always_inline void hand_over(struct mr_wire_tcp *e, struct bpf_sock_ops *ctx,
				      const struct served *s)
{
	e->cookie = bpf_get_socket_cookie(ctx);
	fill_ends(e, ctx);
	emit(s, MR_RING_EVENTS, MR_WIRE_TCP, e, sizeof(*e));
}

/* In whose name a connection is asked for is known; it is accepted by the kernel alone. */
static __always_inline void begin(struct bpf_sock_ops *ctx, u32 what, const struct served *s)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct mr_wire_tcp e = { .what = what };

	fill(&e.h, MR_WIRE_TCP, sizeof(e), s, task);
	if (what == MR_WIRE_TCP_ASKED)
		BPF_CORE_READ_STR_INTO(&e.comm, task, comm);
	else
		e.h.pid = e.h.tid = e.h.inner_pid = 0;
	hand_over(&e, ctx, s);
	if (bpf_sock_ops_cb_flags_set(ctx, BPF_SOCK_OPS_STATE_CB_FLAG))
		add(&s->slot->failures, 1);
}

static __always_inline void change(struct bpf_sock_ops *ctx, struct tcp_sock *tcp,
				   const struct served *s)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	u32 old = ctx->args[0], new = ctx->args[1];
	struct mr_wire_tcp e = { .what = MR_WIRE_TCP_CLOSING };

	if (new == STATE_CLOSE)
		e.what = old == STATE_SYN_SENT ? MR_WIRE_TCP_FAILED : MR_WIRE_TCP_CLOSED;
	else if (new != STATE_FIN_WAIT1 &&new != STATE_LAST_ACK)
		return;
	fill(&e.h, MR_WIRE_TCP, sizeof(e), s, task);
	e.h.pid = e.h.tid = e.h.inner_pid = 0;
	fill_amounts(&e, ctx, tcp);
	if (e.what == MR_WIRE_TCP_CLOSED) {
		COUNT(s, tcp_closed, 1);
		COUNT(s, tcp_sent_bytes, e.sent_bytes);
		COUNT(s, tcp_received_bytes, e.received_bytes);
		COUNT(s, tcp_retransmits, e.retransmits);
	}
	hand_over(&e, ctx, s);
}

SEC("sockops")
int on_tcp(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct tcp_sock *tcp;
	struct served s;
	u32 op = ctx->op;

	if (!sk || (op != BPF_SOCK_OPS_TCP_CONNECT_CB &&
		    op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB && op != BPF_SOCK_OPS_STATE_CB))
		return 1;
	s.began_ns = bpf_ktime_get_ns();
	tcp = bpf_skc_to_tcp_sock(sk);
	/* Whoever runs may be anybody: the socket's group tells. */
	if (!tcp ||
	    !serve_run(find_run_above(BPF_CORE_READ((struct sock *)tcp, sk_cgrp_data.cgroup)), &s))
		return 1;
	if (op == BPF_SOCK_OPS_STATE_CB)
		change(ctx, tcp, &s);
	else
		begin(ctx,
		      op == BPF_SOCK_OPS_TCP_CONNECT_CB ? MR_WIRE_TCP_ASKED : MR_WIRE_TCP_ACCEPTED,
		      &s);
	served(&s);
	return 1;
}

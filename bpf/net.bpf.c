/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * With whom does it want to speak?
 *
 * Hooks of the run's own control group: they cost nothing outside of it, and see what is
 * done through io_uring too.  What they see is the wish, before the kernel acts on it.
 */
#include "bpf/common.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define ALLOW 1

static __always_inline bool begin(struct served *s, struct mr_wire_net *e, enum mr_wire_type type,
				  enum mr_wire_row row)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (!serve(s, row))
		return false;
	fill(&e->h, type, sizeof(*e), s, task);
	BPF_CORE_READ_STR_INTO(&e->comm, task, comm);
	return true;
}

static __always_inline void end(struct served *s, struct mr_wire_net *e, enum mr_wire_type type)
{
	emit(s, MR_RING_EVENTS, type, e, sizeof(*e));
	served(s);
}

SEC("cgroup/sock_create")
int on_socket(struct bpf_sock *ctx)
{
	struct mr_wire_net e = {};
	struct served s;

	if (!begin(&s, &e, MR_WIRE_SOCKET, MR_ROW_on_socket))
		return ALLOW;
	COUNT(&s, sockets, 1);
	e.family = ctx->family;
	e.kind = ctx->type;
	e.protocol = ctx->protocol;
	end(&s, &e, MR_WIRE_SOCKET);
	return ALLOW;
}

/* Each member by an instruction of its own: the kernel rewrites them one by one. */
#define FILL_ADDRESS(e, ctx)                                            \
	do {                                                            \
		(e)->family = (ctx)->user_family;                       \
		(e)->kind = (ctx)->type;                                \
		(e)->protocol = (ctx)->protocol;                        \
		(e)->port = __builtin_bswap16((__u16)(ctx)->user_port); \
	} while (0)
#define FILL_IP4(e, ctx) (*(__u32 *)(e)->address = (ctx)->user_ip4)
#define FILL_IP6(e, ctx)                                         \
	do {                                                     \
		((__u32 *)(e)->address)[0] = (ctx)->user_ip6[0]; \
		((__u32 *)(e)->address)[1] = (ctx)->user_ip6[1]; \
		((__u32 *)(e)->address)[2] = (ctx)->user_ip6[2]; \
		((__u32 *)(e)->address)[3] = (ctx)->user_ip6[3]; \
	} while (0)

#define ADDRESS_HOOK(section, name, wire_type, counter, fill_ip) \
	SEC(section)                                             \
	int name(struct bpf_sock_addr *ctx)                      \
	{                                                        \
		struct mr_wire_net e = {};                       \
		struct served s;                                 \
                                                                 \
		if (!begin(&s, &e, wire_type, MR_ROW_##name))    \
			return ALLOW;                            \
		COUNT(&s, counter, 1);                           \
		FILL_ADDRESS(&e, ctx);                           \
		fill_ip(&e, ctx);                                \
		end(&s, &e, wire_type);                          \
		return ALLOW;                                    \
	}

ADDRESS_HOOK("cgroup/connect4", on_connect4, MR_WIRE_CONNECT, connects, FILL_IP4)
ADDRESS_HOOK("cgroup/connect6", on_connect6, MR_WIRE_CONNECT, connects, FILL_IP6)
ADDRESS_HOOK("cgroup/bind4", on_bind4, MR_WIRE_BIND, binds, FILL_IP4)
ADDRESS_HOOK("cgroup/bind6", on_bind6, MR_WIRE_BIND, binds, FILL_IP6)
ADDRESS_HOOK("cgroup/sendmsg4", on_sendmsg4, MR_WIRE_SENDMSG, datagrams, FILL_IP4)
ADDRESS_HOOK("cgroup/sendmsg6", on_sendmsg6, MR_WIRE_SENDMSG, datagrams, FILL_IP6)

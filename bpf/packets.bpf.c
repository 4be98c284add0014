/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * How much came in, how much left?
 *
 * Hooks of the run's own control group: every packet of its sockets that passed.
 */
#include "bpf/packet.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

SEC("cgroup_skb/ingress")
int on_packet_in(struct __sk_buff *skb)
{
	struct served s;

	if (serve_run(run_of(skb), &s)) {
		COUNT(&s, packets_in, 1);
		COUNT(&s, packet_bytes_in, skb->len);
	}
	return ALLOW;
}

SEC("cgroup_skb/egress")
int on_packet_out(struct __sk_buff *skb)
{
	struct served s;

	if (serve_run(run_of(skb), &s)) {
		COUNT(&s, packets_out, 1);
		COUNT(&s, packet_bytes_out, skb->len);
	}
	return ALLOW;
}

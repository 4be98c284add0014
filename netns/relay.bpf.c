/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * The way round: what leaves by lo goes to the relay's device, what comes from there arrives on lo
 *
 * No address, route or packet looks any different for it: a packet is taken where it would
 * have gone over lo, and put where it would have come from lo.  Only what was taken there
 * passes to the relay: a payload may bind a socket to the device, but marks no packet.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include "netns/relay_wire.h"

#define SECTION(name) __attribute__((section(name), used))

static long (*const redirect)(__u32, __u64) = (void *)BPF_FUNC_redirect;

SECTION("round")
int when_leaving_lo(struct __sk_buff *skb)
{
	skb->mark = MR_RELAY_MARK;
	return (int)redirect(MR_RELAY_IFINDEX, 0);
}

SECTION("guard")
int when_leaving_tun(struct __sk_buff *skb)
{
	if (skb->mark != MR_RELAY_MARK)
		return TC_ACT_SHOT;
	skb->mark = 0;
	return TC_ACT_OK;
}

SECTION("back")
int when_arriving_from_tun(struct __sk_buff *skb)
{
	(void)skb;
	return (int)redirect(MR_RELAY_LO, BPF_F_INGRESS);
}

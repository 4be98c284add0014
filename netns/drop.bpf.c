/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * Doubles packets that leave, loses and damages packets that arrive
 *
 * Lost where they arrive, packets are to their sender as gone as on a wire; refused
 * where they leave, TCP would only wait and send again.  Doubled where they leave,
 * because there both keep the route that a loopback's packet needs to be taken in.
 *
 * Random numbers are xorshift64 in memory that all CPUs share; a step is a
 * compare-and-swap, so that two at a time never get the same number.  Which packets
 * are hit depends on the seed and on the order of packets alone.
 *
 * A damaged packet gets another IP version: the receiver throws it away as one with a
 * broken header.  Flipping any bit would do worse than a wire, because on a loopback
 * nobody computes the checksum that a receiver would find wrong.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include "netns/drop_wire.h"

#define OWN_IPV4 0x7f000001U
#define RESOLVER_IPV4 0x7f000035U
#define PROBES 4 /* places for a destination */
#define SWAPS 4 /* tries against other CPUs; then the number is used all the same */

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

static void *(*const lookup)(void *, const void *) = (void *)BPF_FUNC_map_lookup_elem;
static long (*const load_bytes)(const void *, __u32, void *,
				__u32) = (void *)BPF_FUNC_skb_load_bytes;
static long (*const store_bytes)(struct __sk_buff *, __u32, const void *, __u32,
				 __u64) = (void *)BPF_FUNC_skb_store_bytes;
static long (*const clone_redirect)(struct __sk_buff *, __u32,
				    __u64) = (void *)BPF_FUNC_clone_redirect;

/* Stands for the one map; drop.c puts its descriptor wherever the address of this is taken. */
char state SECTION("map");

INLINE __u32 next(__u64 *prng)
{
	__u64 x = 0, seen = *prng;

	for (int i = 0; i < SWAPS; i++) {
		__u64 old = seen;

		x = old;
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		seen = __sync_val_compare_and_swap(prng, old, x);
		if (seen == old)
			break;
	}
	/* The upper half of a product: the lower bits of the state alone are poor. */
	return (__u32)((x * 0x2545F4914F6CDD1DULL) >> 32);
}

INLINE int happens(__u64 *prng, __u32 chance)
{
	return chance && next(prng) <= chance;
}

/* Two states; which one a packet meets was decided by those before it. */
INLINE int is_lost_by_state(struct mr_drop_state *s)
{
	if (s->ge_bad) {
		if (happens(&s->prng_arriving, s->ge_r))
			s->ge_bad = 0;
		return happens(&s->prng_arriving, s->ge_bad_loss);
	}
	if (happens(&s->prng_arriving, s->ge_p))
		s->ge_bad = 1;
	return happens(&s->prng_arriving, s->ge_good_loss);
}

INLINE void damage(struct __sk_buff *skb, struct mr_drop_state *s)
{
	__u8 byte;

	if (load_bytes(skb, ETH_HLEN, &byte, 1) < 0)
		return;
	byte ^= 0x80;
	if (store_bytes(skb, ETH_HLEN, &byte, 1, 0) == 0)
		__sync_fetch_and_add(&s->corrupted, 1);
}

INLINE __u64 scatter(__u64 x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ (x >> 33);
}

struct remote {
	__u64 hash;
	int own, resolver;
};

/* The other end of an IPv4 packet: whichever address is not 127.0.0.1, the one that it came from
 * first. */
INLINE int find_remote4(struct __sk_buff *skb, __u64 seed, struct remote *ret)
{
	__u32 pair[2], host;

	if (load_bytes(skb, ETH_HLEN + 12, pair, sizeof(pair)) < 0)
		return 0;
	host = __builtin_bswap32(pair[0]);
	if (host == OWN_IPV4)
		host = __builtin_bswap32(pair[1]);
	ret->own = host == OWN_IPV4;
	ret->resolver = host == RESOLVER_IPV4;
	ret->hash = scatter(seed ^ host);
	return 1;
}

INLINE int find_remote6(struct __sk_buff *skb, __u64 seed, struct remote *ret)
{
	const __u64 one = __builtin_bswap64(1);
	__u64 pair[4], high, low;

	if (load_bytes(skb, ETH_HLEN + 8, pair, sizeof(pair)) < 0)
		return 0;
	high = pair[0];
	low = pair[1];
	if (high == 0 && low == one) {
		high = pair[2];
		low = pair[3];
	}
	ret->own = high == 0 && low == one;
	ret->resolver = 0;
	ret->hash = scatter(scatter(seed ^ high) ^ low);
	return 1;
}

INLINE void count_host(struct mr_drop_state *s, __u64 hash, int cut)
{
	const __u64 key = hash | 1; /* 0 is no one */

	for (__u32 i = 0; i < PROBES; i++) {
		__u64 *place = &s->host_hashes[((__u32)(hash >> 8) + i) & (MR_DROP_HOSTS - 1)];
		const __u64 seen = *place ? *place : __sync_val_compare_and_swap(place, 0, key);

		if (seen == key)
			return;
		if (seen != 0)
			continue;
		__sync_fetch_and_add(&s->hosts, 1);
		if (cut)
			__sync_fetch_and_add(&s->hosts_cut, 1);
		return;
	}
}

/* Is the packet cut off from where it goes? */
INLINE int is_cut(struct __sk_buff *skb, struct mr_drop_state *s)
{
	struct remote remote = { 0 };
	__u8 version = 0;
	int cut;

	if (load_bytes(skb, ETH_HLEN, &version, 1) < 0)
		return 0;
	if (version >> 4 == 4 ? !find_remote4(skb, s->part_seed, &remote)
			      : !find_remote6(skb, s->part_seed, &remote))
		return 0;
	if (remote.own && s->spare_own)
		return 0;
	if ((s->cuts & MR_DROP_DESTINATIONS) && !(remote.resolver && s->spare_own)) {
		cut = s->part && (__u32)(remote.hash >> 32) <= s->part;
		__sync_fetch_and_add(&s->part_seen, 1);
		count_host(s, remote.hash, cut);
		if (cut) {
			__sync_fetch_and_add(&s->part_lost, 1);
			return 1;
		}
	}
	if (!(s->cuts & MR_DROP_PACKETS))
		return 0;
	__sync_fetch_and_add(&s->cut_seen, 1);
	if (!happens(&s->prng_cut, s->cut))
		return 0;
	__sync_fetch_and_add(&s->cut_lost, 1);
	return 1;
}

SECTION("leaving")
int when_leaving(struct __sk_buff *skb)
{
	const __u32 key = 0;
	struct mr_drop_state *s = lookup(&state, &key);

	if (!s)
		return TC_ACT_SHOT;
	if (skb->mark == MR_DROP_MARK) {
		skb->mark = 0;
		return TC_ACT_OK;
	}
	if (happens(&s->prng_leaving, s->duplicate)) {
		skb->mark = MR_DROP_MARK;
		if (clone_redirect(skb, skb->ifindex, 0) == 0)
			__sync_fetch_and_add(&s->duplicated, 1);
		skb->mark = 0;
	}
	return TC_ACT_OK;
}

SECTION("arriving")
int when_arriving(struct __sk_buff *skb)
{
	const __u32 key = 0;
	struct mr_drop_state *s = lookup(&state, &key);

	if (!s)
		return TC_ACT_SHOT;
	if (s->cuts && is_cut(skb, s))
		return TC_ACT_SHOT;
	__sync_fetch_and_add(&s->seen, 1);
	if (s->ge_p ? is_lost_by_state(s) : happens(&s->prng_arriving, s->loss)) {
		__sync_fetch_and_add(&s->lost, 1);
		return TC_ACT_SHOT;
	}
	if (happens(&s->prng_arriving, s->corrupt))
		damage(skb, s);
	return TC_ACT_OK;
}

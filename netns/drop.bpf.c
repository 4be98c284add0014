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
 *
 * A connection is refused by turning its first packet round, into the reset that would have come
 * back: on a loopback it goes up to whoever sent it.  Its length and options stay, so that nothing
 * but the addresses, ports, numbers and flags is to be changed.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>

#include "netns/drop_wire.h"

#define OWN_IPV4 0x7f000001U
#define RESOLVER_IPV4 0x7f000035U
#define PROBES 4 /* places for a destination */
#define SWAPS 4 /* tries against other CPUs; then the number is used all the same */

#define PROTOCOL_ICMP 1
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define PROTOCOL_ICMPV6 58
#define TCP_SYN 0x02
#define TCP_RESET 0x14 /* with an acknowledgement */
#define TCP_ACK 0x10

#define SECTION(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

static void *(*const lookup)(void *, const void *) = (void *)BPF_FUNC_map_lookup_elem;
static long (*const load_bytes)(const void *, __u32, void *,
				__u32) = (void *)BPF_FUNC_skb_load_bytes;
static long (*const store_bytes)(struct __sk_buff *, __u32, const void *, __u32,
				 __u64) = (void *)BPF_FUNC_skb_store_bytes;
static __u64 (*const monotonic_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
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

/* The sandbox's own side of a packet to somewhere else. */
INLINE int is_near(__u32 host)
{
	return host >> 24 == 127;
}

/* Both ends: the program chooses the address that it sends from as well, so one that is not cut off
 * saves none that is. */
struct ends {
	__u64 hashes[2]; /* of those that are destinations, else 0 */
	int own, resolver; /* the sandbox with itself; with its resolver */
};

/* An end is no destination where it is 127.0.0.1, unless both are, nor where the other is farther. */
INLINE int find_ends4(struct __sk_buff *skb, __u64 seed, struct ends *ret)
{
	__u32 pair[2], from, to;

	if (load_bytes(skb, ETH_HLEN + 12, pair, sizeof(pair)) < 0)
		return 0;
	from = __builtin_bswap32(pair[0]);
	to = __builtin_bswap32(pair[1]);
	ret->own = from == OWN_IPV4 && to == OWN_IPV4;
	ret->resolver =
		is_near(from) && is_near(to) && (from == RESOLVER_IPV4 || to == RESOLVER_IPV4);
	if (ret->own || (from != OWN_IPV4 && (!is_near(from) || is_near(to))))
		ret->hashes[0] = scatter(seed ^ from);
	if (to != OWN_IPV4 && (!is_near(to) || is_near(from)))
		ret->hashes[1] = scatter(seed ^ to);
	return 1;
}

INLINE int find_ends6(struct __sk_buff *skb, __u64 seed, struct ends *ret)
{
	const __u64 one = __builtin_bswap64(1);
	__u64 pair[4];
	int from_own, to_own;

	if (load_bytes(skb, ETH_HLEN + 8, pair, sizeof(pair)) < 0)
		return 0;
	from_own = pair[0] == 0 && pair[1] == one;
	to_own = pair[2] == 0 && pair[3] == one;
	ret->own = from_own && to_own;
	ret->resolver = 0;
	if (ret->own || !from_own)
		ret->hashes[0] = scatter(scatter(seed ^ pair[0]) ^ pair[1]);
	if (!to_own)
		ret->hashes[1] = scatter(scatter(seed ^ pair[2]) ^ pair[3]);
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

INLINE int is_cut_off(struct mr_drop_state *s, __u64 hash)
{
	const int cut = s->part && (__u32)(hash >> 32) <= s->part;

	if (!hash)
		return 0;
	count_host(s, hash, cut);
	return cut;
}

/* Is the packet cut off from where it goes? */
INLINE int is_cut(struct __sk_buff *skb, struct mr_drop_state *s)
{
	struct ends ends = { .own = 0 };
	__u8 version = 0;

	if (load_bytes(skb, ETH_HLEN, &version, 1) < 0)
		return 0;
	if (version >> 4 == 4 ? !find_ends4(skb, s->part_seed, &ends)
			      : !find_ends6(skb, s->part_seed, &ends))
		return 0;
	if (ends.own && s->spare_own)
		return 0;
	if ((s->cuts & MR_DROP_DESTINATIONS) && !(ends.resolver && s->spare_own)) {
		__sync_fetch_and_add(&s->part_seen, 1);
		if (is_cut_off(s, ends.hashes[0]) | is_cut_off(s, ends.hashes[1])) {
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

#define PACKET_IPV4 1
#define PACKET_ANY_PORT 2 /* which it has is not known: it is of all of them */
#define PACKET_REQUEST 4 /* the first of a TCP connection */

/* What a window's rules look at.  No member is smaller than a register of the verifier's. */
struct packet {
	__u64 from[2], to[2]; /* as in the memory of struct mr_drop_rule */
	__u64 transport; /* where it begins */
	__u64 ports; /* as in its head: from, to; network byte order */
	__u64 flags;
	__u64 exempt; /* from rules with these flags */
	__u64 protocol;
};

struct ipv4_head {
	__u8 version_size, service;
	__u16 size, id, fragment;
	__u8 ttl, protocol;
	__u16 checksum;
	__u32 from, to;
};

struct ipv6_head {
	__u32 version;
	__u16 size;
	__u8 next, hops;
	__u64 from[2], to[2];
};

struct tcp_head {
	__u16 from_port, to_port;
	__u32 number, acknowledged;
	__u8 size, flags;
	__u16 window;
};

INLINE __u64 mapped(__u32 address)
{
	return (__u64)address << 32 | 0xffff0000U;
}

/* Ports, where they are; an address alone counts where they are none. */
INLINE void read_transport(struct __sk_buff *skb, struct packet *p)
{
	struct tcp_head head = { 0 };
	__u32 ports = 0;

	if ((p->flags & PACKET_ANY_PORT) || p->protocol == PROTOCOL_ICMP ||
	    p->protocol == PROTOCOL_ICMPV6)
		return;
	if (load_bytes(skb, p->transport, &ports, sizeof(ports)) < 0) {
		p->flags |= PACKET_ANY_PORT;
		return;
	}
	p->ports = ports;
	if (p->protocol != PROTOCOL_TCP)
		return;
	if (load_bytes(skb, p->transport, &head, sizeof(head)) < 0)
		return;
	if ((head.flags & (TCP_SYN | TCP_ACK)) == TCP_SYN)
		p->flags |= PACKET_REQUEST;
}

INLINE int read_ipv4(struct __sk_buff *skb, struct packet *p)
{
	struct ipv4_head head;

	if (load_bytes(skb, ETH_HLEN, &head, sizeof(head)) < 0)
		return 0;
	p->from[1] = mapped(head.from);
	p->to[1] = mapped(head.to);
	p->protocol = head.protocol;
	p->flags = PACKET_IPV4;
	if (head.fragment & __builtin_bswap16(0x1fff))
		p->flags |= PACKET_ANY_PORT;
	p->transport = ETH_HLEN + (head.version_size & 15) * 4;
	return 1;
}

INLINE int read_ipv6(struct __sk_buff *skb, struct packet *p)
{
	struct ipv6_head head;

	if (load_bytes(skb, ETH_HLEN, &head, sizeof(head)) < 0)
		return 0;
	p->from[0] = head.from[0];
	p->from[1] = head.from[1];
	p->to[0] = head.to[0];
	p->to[1] = head.to[1];
	p->protocol = head.next;
	/* Behind another header there may be any. */
	if (head.next != PROTOCOL_TCP && head.next != PROTOCOL_UDP && head.next != PROTOCOL_ICMPV6)
		p->flags |= PACKET_ANY_PORT;
	p->transport = ETH_HLEN + sizeof(head);
	return 1;
}

INLINE int is_own(const __u64 address[2])
{
	return address[0] == 0 && (address[1] == mapped(__builtin_bswap32(OWN_IPV4)) ||
				   address[1] == __builtin_bswap64(1));
}

/* The bodies of the two loops below have no branches: the verifier would follow each of them through
 * all turns that are left. */

/* 0 or 1, where the compiler sees neither and makes no branch of it. */
INLINE __u64 is_set(__u64 x)
{
	x |= -x;
	__asm__ volatile("" : "+r"(x));
	return x >> 63;
}

/* Of times, which are all below 2^63. */
INLINE __u64 is_before(__u64 a, __u64 b)
{
	__u64 x = a - b;

	__asm__ volatile("" : "+r"(x));
	return x >> 63;
}

/* With 1 for b, else a. */
INLINE __u64 choose(__u64 a, __u64 b, __u64 one)
{
	__u64 mask = -one;

	__asm__ volatile("" : "+r"(mask));
	return (a & ~mask) | (b & mask);
}

INLINE __u64 differs(const struct mr_drop_rule *rule, const __u64 address[2])
{
	return ((address[0] ^ rule->address[0]) & rule->mask[0]) |
	       ((address[1] ^ rule->address[1]) & rule->mask[1]);
}

/* From the resolver to the sandbox, or back: the program can have an address that is either's, but not
 * reach anything else with both. */
INLINE int is_of_resolver(const struct packet *p)
{
	const __u64 resolver = mapped(__builtin_bswap32(RESOLVER_IPV4));

	return (p->flags & PACKET_IPV4) && (p->from[1] == resolver || p->to[1] == resolver) &&
	       is_near(__builtin_bswap32((__u32)(p->from[1] >> 32))) &&
	       is_near(__builtin_bswap32((__u32)(p->to[1] >> 32)));
}

/* What no rule without a host is about. */
INLINE __u64 exemptions(const struct packet *p)
{
	__u64 flags = p->flags & PACKET_IPV4 ? MR_DROP_RULE_IPV6 : 0;

	if (is_own(p->from) && is_own(p->to))
		flags |= MR_DROP_RULE_NOT_OWN;
	if (is_of_resolver(p))
		flags |= MR_DROP_RULE_NOT_RESOLVER;
	return flags;
}

/* Mask of the windows that the packet is of. */
INLINE __u64 find_windows(const struct mr_drop_state *s, const struct packet *p)
{
	const __u64 from_port = (p->ports & 0xffff) ^ s->nothing;
	const __u64 to_port = (p->ports >> 16) ^ s->nothing;
	const __u64 has_port = is_set(p->flags & PACKET_ANY_PORT) - 1;
	__u64 mask = s->nothing;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MR_DROP_RULES; i++) {
		const struct mr_drop_rule *rule = &s->rules[i];
		/* First, because it is stored last (drop.c): what is read after it is whole.  No
		 * processor that this runs on takes the one load before the other. */
		const __u64 window_bit = *(const volatile __u64 *)&rule->window_bit;
		__u64 port_mask, to, from, spared;

		__asm__ volatile("" ::: "memory");
		port_mask = rule->port_mask & has_port;
		if (i % MR_DROP_RULES_TURN == 0 && i >= s->n_rules)
			break;
		to = differs(rule, p->to) | ((to_port ^ rule->port) & port_mask);
		from = differs(rule, p->from) | ((from_port ^ rule->port) & port_mask);
		spared = is_set(rule->flags & p->exempt);
		mask |= window_bit & (((is_set(to) & is_set(from)) | spared) - 1);
	}
	return mask;
}

/* What one window says of a packet that it is of (1) or not (0), and whether it is told to it. */
INLINE __u64 ask(struct mr_drop_window *w, __u64 is_of, __u64 free, __u64 now)
{
	struct mr_drop_met *met = &w->met;
	const __u64 before = is_of & is_before(now, w->from_ns);
	const __u64 after = is_of & (is_before(now, w->to_ns) ^ 1);
	const __u64 within = is_of & (before ^ 1) & (after ^ 1);
	const __u64 taken = within & free;

	__sync_fetch_and_add(&met->before, before);
	__sync_fetch_and_add(&met->after, after);
	__sync_fetch_and_add(&met->within, within);
	__sync_fetch_and_add(&met->taken, taken);
	met->last_before_ns = choose(met->last_before_ns, now, before);
	met->first_after_ns =
		choose(met->first_after_ns, now, after & (is_set(met->first_after_ns) ^ 1));
	met->last_taken_ns = choose(met->last_taken_ns, now, taken);
	met->first_taken_ns =
		choose(met->first_taken_ns, now, taken & (is_set(met->first_taken_ns) ^ 1));
	return taken;
}

/* What the windows say of a packet, the first of those in force: enum mr_drop_act, or 0. */
INLINE __u64 judge(struct mr_drop_state *s, const struct packet *p, __u64 mask, __u64 now)
{
	const __u64 no_request = is_set(p->flags & PACKET_REQUEST) ^ 1;
	__u64 act = s->nothing, free = s->nothing ^ 1;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < MR_DROP_WINDOWS; i++) {
		struct mr_drop_window *w = &s->windows[i];
		const __u64 can = is_set(w->act) & ((w->act >> 1 & no_request) ^ 1);
		const __u64 taken = ask(w, mask >> i & can & 1, free, now);

		act |= w->act & -taken;
		free ^= taken;
	}
	return act;
}

INLINE int swap_addresses(struct __sk_buff *skb, const struct packet *p)
{
	const __u32 pair[2] = { (__u32)(p->to[1] >> 32), (__u32)(p->from[1] >> 32) };
	const __u64 long_pair[4] = { p->to[0], p->to[1], p->from[0], p->from[1] };

	if (p->flags & PACKET_IPV4)
		return store_bytes(skb, ETH_HLEN + 12, pair, sizeof(pair), 0) == 0;
	return store_bytes(skb, ETH_HLEN + 8, long_pair, sizeof(long_pair), 0) == 0;
}

/* It goes on, as what its sender is told.  0: it cannot. */
INLINE int turn_round(struct __sk_buff *skb, const struct packet *p)
{
	struct tcp_head head;

	if (load_bytes(skb, p->transport, &head, sizeof(head)) < 0)
		return 0;
	head.from_port = (__u16)(p->ports >> 16);
	head.to_port = (__u16)p->ports;
	head.acknowledged = __builtin_bswap32(__builtin_bswap32(head.number) + 1);
	head.number = 0;
	head.flags = TCP_RESET;
	return swap_addresses(skb, p) &&
	       store_bytes(skb, p->transport, &head, sizeof(head), 0) == 0;
}

/* To the verifier all packets look alike from here on, whichever way they were read: what it knows
 * of one it would follow through every turn of the loops. */
INLINE void forget(struct packet *p, const struct mr_drop_state *s)
{
	const __u64 nothing = s->nothing;

	p->from[0] ^= nothing;
	p->from[1] ^= nothing;
	p->to[0] ^= nothing;
	p->to[1] ^= nothing;
	p->transport ^= nothing;
	p->ports ^= nothing;
	p->flags ^= nothing;
	p->exempt ^= nothing;
}

/* Windows of time: what has nothing to say of a packet leaves it to the next program. */
SECTION("windows")
int when_arriving_in_time(struct __sk_buff *skb)
{
	const __u32 key = 0;
	struct mr_drop_state *s = lookup(&state, &key);
	struct packet p = { 0 };
	__u64 now = monotonic_ns();
	__u64 mask, act;
	__u8 version = 0;

	if (!s)
		return TC_ACT_SHOT;
	if (load_bytes(skb, ETH_HLEN, &version, 1) < 0)
		return TC_ACT_UNSPEC;
	if (version >> 4 == 4 ? !read_ipv4(skb, &p) : !read_ipv6(skb, &p))
		return TC_ACT_UNSPEC;
	read_transport(skb, &p);
	p.exempt = exemptions(&p);
	/* Until it has begun it is the first instant of it, which is 1, for 0 is never. */
	now = s->begin_ns && now > s->begin_ns ? now - s->begin_ns : 1;
	now ^= s->nothing;
	forget(&p, s);
	if (!s->n_windows)
		return TC_ACT_UNSPEC;
	mask = find_windows(s, &p);
	act = mask ? judge(s, &p, mask, now) : 0;
	if (!act)
		return TC_ACT_UNSPEC;
	return act == MR_DROP_REFUSE && turn_round(skb, &p) ? TC_ACT_OK : TC_ACT_SHOT;
}

/* Where packets take a way round (relay.bpf.c), the program behind this one sends them there. */
SECTION("leaving")
int when_leaving(struct __sk_buff *skb)
{
	const __u32 key = 0;
	struct mr_drop_state *s = lookup(&state, &key);

	if (!s)
		return TC_ACT_SHOT;
	if (skb->mark == MR_DROP_MARK) {
		skb->mark = 0;
		return TC_ACT_UNSPEC;
	}
	if (happens(&s->prng_leaving, s->duplicate)) {
		skb->mark = MR_DROP_MARK;
		if (clone_redirect(skb, skb->ifindex, 0) == 0)
			__sync_fetch_and_add(&s->duplicated, 1);
		skb->mark = 0;
	}
	return TC_ACT_UNSPEC;
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

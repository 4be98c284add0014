/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only OR BSD-2-Clause */
/*
 * Which names does it ask for?
 *
 * Packets of the run on their way to port 53, before they are cut into fragments.  Of each query
 * the question is handed over as it lies on the wire; reading the name is left to those who can
 * afford it.  By TCP a query may lie anywhere in the stream: what is sent is followed from the first
 * segment on, and a question of which a segment has only a part is counted as not read.
 *
 * Who asks is known of datagrams, which are sent by whoever asks; segments are sent by
 * whoever runs when there is room.
 */
#include "bpf/packet.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define DNS_PORT 53
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define TCP_SYN 2
#define MESSAGES_MAX 4 /* of one segment */
#define EXTENSIONS_MAX 4

/* How far the queries of one connection were followed. */
struct stream {
	u32 next; /* sequence number of the first byte not seen */
	u32 skip; /* bytes of a message still to come */
	u16 length; /* of the next message, as far as it was sent */
	u8 have; /* bytes of it: 0, 1 or 2 */
	u8 lost; /* no longer known where a message begins */
};
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, u64);
	__type(value, struct stream);
} streams SEC(".maps");

struct packet {
	u32 at; /* of the transport's header, then of what is sent */
	u32 seq;
	u8 family, transport, flags;
	u8 address[16];
};

static __always_inline bool load(struct __sk_buff *skb, u32 at, void *to, u32 size)
{
	return bpf_skb_load_bytes(skb, at, to, size) == 0;
}

static __always_inline bool find_ip4(struct __sk_buff *skb, struct packet *p)
{
	u8 head[20];

	if (!load(skb, 0, head, sizeof(head)))
		return false;
	p->family = AF_INET;
	p->transport = head[9];
	p->at = (head[0] & 15) * 4;
	__builtin_memcpy(p->address, head + 16, 4);
	return true;
}

static __always_inline bool find_ip6(struct __sk_buff *skb, struct packet *p)
{
	u8 head[2];

	if (!load(skb, 6, &p->transport, 1) || !load(skb, 24, p->address, 16))
		return false;
	p->family = AF_INET6;
	p->at = 40;
	for (int i = 0; i < EXTENSIONS_MAX; i++) {
		/* Hop-by-hop options, routing, destination options. */
		if (p->transport != 0 && p->transport != 43 && p->transport != 60)
			break;
		if (!load(skb, p->at, head, sizeof(head)))
			return false;
		p->transport = head[0];
		p->at += 8 * (head[1] + 1U);
	}
	return true;
}

/* This and what follows that is neither inlined nor static is looked at by the verifier once, and not
 * for each way to it.
 *
 * false: nothing that is sent to a name server. */
__noinline int find_payload(struct __sk_buff *skb, struct packet *p)
{
	u8 head[14];

	if (!p || (skb->family == AF_INET ? !find_ip4(skb, p) : !find_ip6(skb, p)))
		return false;
	if (p->transport == IPPROTO_UDP) {
		if (!load(skb, p->at, head, 4))
			return false;
		p->at += 8;
	} else if (p->transport == IPPROTO_TCP) {
		if (!load(skb, p->at, head, sizeof(head)))
			return false;
		p->seq = (u32)head[4] << 24 | (u32)head[5] << 16 | (u32)head[6] << 8 | head[7];
		p->flags = head[13];
		p->at += (head[12] >> 4) * 4;
	} else {
		return false;
	}
	return head[2] == 0 && head[3] == DNS_PORT;
}

/* Of the run that whoever runs is in; 0: none. */
__noinline u64 current_generation(void)
{
	struct mr_wire_run *run = find_run((void *)bpf_get_current_task());

	return run ? run->generation : 0;
}

static __always_inline void fill_asker(struct mr_wire_dns *e, const struct served *s)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	fill(&e->h, MR_WIRE_DNS, sizeof(*e), s, task);
	BPF_CORE_READ_STR_INTO(&e->comm, task, comm);
	if (e->transport == IPPROTO_UDP && current_generation() == s->generation)
		return;
	e->h.pid = e->h.tid = e->h.inner_pid = 0;
	e->comm[0] = '\0';
}

/* Of the size that is handed over: too large for the stack, and whoever is put in our place while
 * we run would use the same place for the whole CPU. */
static __always_inline void hand_over(struct __sk_buff *skb, const struct packet *p, u32 kept,
				      u32 questions, const struct served *s)
{
	void *ring = ring_of(s, MR_RING_EVENTS, MR_WIRE_DNS);
	struct mr_wire_dns *e = ring ? bpf_ringbuf_reserve(ring, sizeof(*e), 0) : NULL;
	u32 last = kept - 1;

	if (!e) {
		if (ring)
			add(&s->slot->lost_full[MR_WIRE_DNS], 1);
		return;
	}
	e->transport = p->transport;
	e->family = p->family;
	e->questions = (u16)questions;
	e->kept = (u16)kept;
	__builtin_memcpy(e->address, p->address, sizeof(e->address));
	fill_asker(e, s);
	/* Older verifiers take only this for a size that is not 0. */
	__asm__ volatile("" : "+r"(last));
	if (last >= MR_WIRE_DNS_MAX ||
	    !load(skb, p->at + MR_WIRE_DNS_HEADER, e->question, last + 1)) {
		e->kept = 0;
		add(&s->slot->failures, 1);
	}
	bpf_ringbuf_submit(e, wake_up(ring, MR_RING_EVENTS));
}

/* A message, or the part of it that lies in a packet. */
struct message {
	struct packet p;
	u64 generation;
	u32 slot;
	u32 size; /* bytes in the packet */
	u32 length; /* bytes in all */
};

/* The slot of its run, unless that is another's by now. */
static __always_inline bool find_slot(const struct message *m, struct served *s)
{
	s->index = m->slot;
	s->generation = m->generation;
	s->slot = bpf_map_lookup_elem(&slots, &s->index);
	return s->slot && s->slot->generation == s->generation;
}

__noinline int take_message(struct __sk_buff *skb, struct message *m)
{
	u8 head[MR_WIRE_DNS_HEADER];
	struct served s = {};
	u32 kept;

	if (!m)
		return 0;
	kept = m->size - sizeof(head);
	if (!find_slot(m, &s))
		return 0;
	/* A part that may not have all of the question is as good as none. */
	if (m->size <= sizeof(head) || (m->size < m->length && kept < MR_WIRE_DNS_MAX) ||
	    !load(skb, m->p.at, head, sizeof(head)) || head[2] & 0x80) {
		COUNT(&s, dns_unread, 1);
		return 0;
	}
	COUNT(&s, dns_queries, 1);
	hand_over(skb, &m->p, kept < MR_WIRE_DNS_MAX ? kept : MR_WIRE_DNS_MAX,
		  (u32)head[4] << 8 | head[5], &s);
	return 0;
}

static __always_inline void take_datagram(struct __sk_buff *skb, struct message *m,
					  const struct served *s)
{
	u32 segments = skb->gso_segs;

	m->size = skb->len > m->p.at ? skb->len - m->p.at : 0;
	m->length = m->size;
	take_message(skb, m);
	/* Many datagrams of one size, sent as one. */
	if (segments > 1)
		COUNT(s, dns_unread, segments - 1);
}

/* false: what is to come was sent before. */
static __always_inline bool follow(struct stream *t, struct packet *p, u32 end)
{
	u32 begin = p->at, seen;

	if (p->flags & TCP_SYN)
		t->next = ++p->seq;
	seen = t->next - p->seq;
	if (begin >= end)
		return false;
	if ((int)seen < 0)
		seen = 0;
	if (seen >= end - begin)
		return false;
	p->at = begin + seen;
	t->next = p->seq + (end - begin);
	return true;
}

/* The next message of a segment; its bytes, 0: there is none. */
__noinline u32 next_message(struct __sk_buff *skb, struct stream *t, struct packet *p, u32 end)
{
	u32 left, n;
	u8 byte;

	if (!t || !p)
		return 0;
	left = end - p->at;
	n = t->skip < left ? t->skip : left;
	t->skip -= n;
	p->at += n;
	for (int i = 0; i < 2; i++) {
		if (t->have == 2 || p->at >= end)
			break;
		if (!load(skb, p->at, &byte, 1))
			return 0;
		t->length = (u16)(t->length << 8 | byte);
		t->have++;
		p->at++;
	}
	if (t->have != 2 || p->at >= end)
		return 0;
	t->have = 0;
	t->skip = t->length;
	left = end - p->at;
	return t->skip < left ? t->skip : left;
}

__noinline int take_segment(struct __sk_buff *skb, struct message *m)
{
	u64 cookie = bpf_get_socket_cookie(skb);
	struct stream fresh = {}, *t;
	struct served s = {};
	struct packet *p;
	u32 end = skb->len;

	if (!m || !find_slot(m, &s))
		return 0;
	p = &m->p;
	fresh.next = p->seq;
	t = bpf_map_lookup_elem(&streams, &cookie);
	if (!t) {
		bpf_map_update_elem(&streams, &cookie, &fresh, BPF_ANY);
		t = bpf_map_lookup_elem(&streams, &cookie);
	}
	if (!t || !follow(t, p, end))
		return 0;
	for (int i = 0; i < MESSAGES_MAX && !t->lost; i++) {
		m->size = next_message(skb, t, p, end);
		m->length = t->skip;
		if (m->size)
			take_message(skb, m);
		if (p->at + t->skip >= end)
			break;
	}
	if (!t->lost && p->at + t->skip >= end) {
		t->skip -= end - p->at;
		return 0;
	}
	t->lost = 1;
	COUNT(&s, dns_unread, 1);
	return 0;
}

SEC("cgroup_skb/egress")
int on_query(struct __sk_buff *skb)
{
	struct message m = {};
	struct served s;

	if (!find_payload(skb, &m.p))
		return ALLOW;
	s.began_ns = bpf_ktime_get_ns();
	if (!serve_run(run_of(skb), &s))
		return ALLOW;
	m.slot = s.index;
	m.generation = s.generation;
	if (m.p.transport == IPPROTO_UDP)
		take_datagram(skb, &m, &s);
	else
		take_segment(skb, &m);
	served(&s);
	return ALLOW;
}

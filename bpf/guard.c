/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guard
 *
 * Four programs of one shape.  On the stack is the key of the map: a length of 128 bits and
 * the address as IPv6, IPv4 as ::ffff:a.b.c.d, whichever hook it came by.
 */
#include "bpf/guard.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "bpf/asm.h"
#include "bpf/sys.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#define RING_BYTES 65536
#define NETWORKS_MAX 4096
#define CTX(member) ((int)offsetof(struct bpf_sock_addr, member))
#define EVENT(member) ((int)offsetof(struct mr_guard_event, member))
#define VALUE(member) ((int)offsetof(struct value, member))
/* The key: length, then four words of address. */
#define KEY (-24)
#define WORD(i) (KEY + 4 + 4 * (i))
#define MAPPED ((int32_t)0xffff0000) /* the third word of ::ffff:a.b.c.d, little-endian */

struct key {
	uint32_t length;
	struct in6_addr address;
};

struct value {
	uint32_t n; /* 0: every port */
	uint16_t ports[MR_GUARD_PORTS_MAX]; /* network byte order */
};

enum { L_MAPPED, L_JUDGE, L_DENY, L_FULL, L_DONE, L_ALLOW };

static const struct hook {
	enum bpf_attach_type type;
	enum mr_guard_hook hook;
	int family;
	const char *name;
} hooks[MR_GUARD_HOOKS] = {
	{ BPF_CGROUP_INET4_CONNECT, MR_GUARD_CONNECT, AF_INET, "menace_connect4" },
	{ BPF_CGROUP_INET6_CONNECT, MR_GUARD_CONNECT, AF_INET6, "menace_connect6" },
	{ BPF_CGROUP_UDP4_SENDMSG, MR_GUARD_SENDMSG, AF_INET, "menace_send4" },
	{ BPF_CGROUP_UDP6_SENDMSG, MR_GUARD_SENDMSG, AF_INET6, "menace_send6" },
};

/* The address to the stack.  r6 is the context. */
static void read_key(struct mr_asm *a, int family)
{
	mr_asm_store_imm(a, BPF_W, BPF_REG_10, KEY, 128);
	if (family == AF_INET6) {
		for (int i = 0; i < 4; i++) {
			mr_asm_load(a, BPF_W, BPF_REG_1, BPF_REG_6, CTX(user_ip6[0]) + 4 * i);
			mr_asm_store(a, BPF_W, BPF_REG_10, WORD(i), BPF_REG_1);
		}
		return;
	}
	mr_asm_store_imm(a, BPF_W, BPF_REG_10, WORD(0), 0);
	mr_asm_store_imm(a, BPF_W, BPF_REG_10, WORD(1), 0);
	mr_asm_store_imm(a, BPF_W, BPF_REG_10, WORD(2), MAPPED);
	mr_asm_load(a, BPF_W, BPF_REG_1, BPF_REG_6, CTX(user_ip4));
	mr_asm_store(a, BPF_W, BPF_REG_10, WORD(3), BPF_REG_1);
}

/* Loopback is the sandbox's own; the unspecified address means it. */
static void allow_loopback(struct mr_asm *a)
{
	for (int i = 0; i < 2; i++) {
		mr_asm_load(a, BPF_W, BPF_REG_1, BPF_REG_10, WORD(i));
		mr_asm_jump(a, BPF_JNE, BPF_REG_1, 0, L_JUDGE);
	}
	mr_asm_load(a, BPF_W, BPF_REG_1, BPF_REG_10, WORD(2));
	mr_asm_load(a, BPF_W, BPF_REG_2, BPF_REG_10, WORD(3));
	/* A move of 32 bits, so that the upper half is zero as that of a word loaded is. */
	mr_asm_add(a, BPF_ALU | BPF_MOV | BPF_K, BPF_REG_3, 0, 0, MAPPED);
	mr_asm_jump_reg(a, BPF_JEQ, BPF_REG_1, BPF_REG_3, L_MAPPED);
	mr_asm_jump(a, BPF_JNE, BPF_REG_1, 0, L_JUDGE);
	mr_asm_jump(a, BPF_JEQ, BPF_REG_2, 0, L_ALLOW);
	mr_asm_jump(a, BPF_JEQ, BPF_REG_2, (int32_t)htonl(1), L_ALLOW);
	mr_asm_jump(a, BPF_JA, 0, 0, L_JUDGE);
	mr_asm_label(a, L_MAPPED);
	mr_asm_jump(a, BPF_JEQ, BPF_REG_2, 0, L_ALLOW);
	mr_asm_math(a, BPF_AND, BPF_REG_2, 0xff);
	mr_asm_jump(a, BPF_JEQ, BPF_REG_2, IN_LOOPBACKNET, L_ALLOW);
	mr_asm_label(a, L_JUDGE);
}

static void look_up(struct mr_asm *a, int map_fd, int key)
{
	mr_asm_map(a, BPF_REG_1, map_fd);
	mr_asm_move(a, BPF_REG_2, BPF_REG_10);
	mr_asm_math(a, BPF_ADD, BPF_REG_2, key);
	mr_asm_call(a, BPF_FUNC_map_lookup_elem);
}

static void allow_listed(struct mr_asm *a, int map_fd)
{
	look_up(a, map_fd, KEY);
	mr_asm_jump(a, BPF_JEQ, BPF_REG_0, 0, L_DENY);
	/* Connecting a datagram socket sends nothing: libraries learn a source address so. */
	mr_asm_load(a, BPF_W, BPF_REG_1, BPF_REG_6, CTX(type));
	mr_asm_jump(a, BPF_JEQ, BPF_REG_1, SOCK_DGRAM, L_ALLOW);
	mr_asm_load(a, BPF_W, BPF_REG_1, BPF_REG_0, VALUE(n));
	mr_asm_jump(a, BPF_JEQ, BPF_REG_1, 0, L_ALLOW);
	mr_asm_load(a, BPF_W, BPF_REG_2, BPF_REG_6, CTX(user_port));
	for (int i = 0; i < MR_GUARD_PORTS_MAX; i++) {
		mr_asm_load(a, BPF_H, BPF_REG_1, BPF_REG_0, VALUE(ports[0]) + 2 * i);
		mr_asm_jump_reg(a, BPF_JEQ, BPF_REG_1, BPF_REG_2, L_ALLOW);
	}
}

/* r7 is the record. */
static void fill_event(struct mr_asm *a, enum mr_guard_hook hook)
{
	for (int i = 0; i < 4; i++) {
		mr_asm_load(a, BPF_W, BPF_REG_1, BPF_REG_10, WORD(i));
		mr_asm_store(a, BPF_W, BPF_REG_7, EVENT(address) + 4 * i, BPF_REG_1);
	}
	mr_asm_load(a, BPF_W, BPF_REG_1, BPF_REG_6, CTX(user_port));
	mr_asm_store(a, BPF_W, BPF_REG_7, EVENT(port), BPF_REG_1);
	mr_asm_load(a, BPF_W, BPF_REG_1, BPF_REG_6, CTX(type));
	mr_asm_store(a, BPF_W, BPF_REG_7, EVENT(type), BPF_REG_1);
	mr_asm_store_imm(a, BPF_W, BPF_REG_7, EVENT(hook), (int32_t)hook);
	mr_asm_call(a, BPF_FUNC_get_current_pid_tgid);
	mr_asm_math(a, BPF_RSH, BPF_REG_0, 32);
	mr_asm_store(a, BPF_W, BPF_REG_7, EVENT(pid), BPF_REG_0);
	mr_asm_move(a, BPF_REG_1, BPF_REG_7);
	mr_asm_math(a, BPF_ADD, BPF_REG_1, EVENT(comm));
	mr_asm_set(a, BPF_REG_2, sizeof(((struct mr_guard_event *)NULL)->comm));
	mr_asm_call(a, BPF_FUNC_get_current_comm);
}

static void deny(struct mr_asm *a, const struct mr_guard *g, enum mr_guard_hook hook)
{
	mr_asm_label(a, L_DENY);
	mr_asm_map(a, BPF_REG_1, g->ring.fd);
	mr_asm_set(a, BPF_REG_2, sizeof(struct mr_guard_event));
	mr_asm_set(a, BPF_REG_3, 0);
	mr_asm_call(a, BPF_FUNC_ringbuf_reserve);
	mr_asm_jump(a, BPF_JEQ, BPF_REG_0, 0, L_FULL);
	mr_asm_move(a, BPF_REG_7, BPF_REG_0);
	fill_event(a, hook);
	mr_asm_move(a, BPF_REG_1, BPF_REG_7);
	mr_asm_set(a, BPF_REG_2, 0);
	mr_asm_call(a, BPF_FUNC_ringbuf_submit);
	mr_asm_jump(a, BPF_JA, 0, 0, L_DONE);
	mr_asm_label(a, L_FULL);
	mr_asm_store_imm(a, BPF_W, BPF_REG_10, -4, (int32_t)hook);
	look_up(a, g->lost_fd, -4);
	mr_asm_jump(a, BPF_JEQ, BPF_REG_0, 0, L_DONE);
	mr_asm_set(a, BPF_REG_1, 1);
	mr_asm_add(a, BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD);
	mr_asm_label(a, L_DONE);
	mr_asm_set(a, BPF_REG_1, -ENETUNREACH);
	mr_asm_call(a, BPF_FUNC_set_retval);
	mr_asm_exit(a, 0);
}

static int load_program(const struct mr_guard *g, enum mr_guard_kind kind, const struct hook *hook,
			struct mr_error *err)
{
	struct mr_asm a = { .n = 0 };

	mr_asm_move(&a, BPF_REG_6, BPF_REG_1);
	read_key(&a, hook->family);
	if (kind != MR_GUARD_NOTHING)
		allow_loopback(&a);
	if (kind == MR_GUARD_LISTED ||
	    (kind == MR_GUARD_CONNECTS && hook->hook == MR_GUARD_CONNECT))
		allow_listed(&a, g->map_fd);
	deny(&a, g, hook->hook);
	if (kind != MR_GUARD_NOTHING) {
		mr_asm_label(&a, L_ALLOW);
		mr_asm_exit(&a, 1);
	}
	return mr_asm_program(&a, BPF_PROG_TYPE_CGROUP_SOCK_ADDR, hook->type, hook->name, err);
}

static int make_maps(struct mr_guard *g, enum mr_guard_kind kind, struct mr_error *err)
{
	const bool lists = kind != MR_GUARD_NOTHING;
	int ring;

	if (lists)
		g->map_fd = mr_bpf_map_create(BPF_MAP_TYPE_LPM_TRIE, sizeof(struct key),
					      sizeof(struct value), NETWORKS_MAX, BPF_F_NO_PREALLOC,
					      -1, "menace_allow");
	g->lost_fd = mr_bpf_map_create(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(uint64_t),
				       MR_GUARD_HOOK_KINDS_, 0, -1, "menace_lost");
	ring = mr_bpf_map_create(BPF_MAP_TYPE_RINGBUF, 0, 0, RING_BYTES, 0, -1, "menace_denied");
	if ((lists && g->map_fd < 0) || g->lost_fd < 0 || ring < 0) {
		int r = mr_err(err, MR_E_KERNEL, errno, "make the guard's maps: %m");

		mr_close(ring);
		return r;
	}
	return mr_ring_open(&g->ring, ring, RING_BYTES, err);
}

static int attach(struct mr_guard *g, enum mr_guard_kind kind, int cgroup_fd, struct mr_error *err)
{
	int r = make_maps(g, kind, err);

	for (size_t i = 0; r >= 0 && i < MR_GUARD_HOOKS; i++) {
		mr_auto_close int prog = load_program(g, kind, &hooks[i], err);
		union bpf_attr attr;

		if (prog < 0)
			return prog;
		memset(&attr, 0, sizeof(attr));
		attr.link_create.prog_fd = (uint32_t)prog;
		attr.link_create.target_fd = (uint32_t)cgroup_fd;
		attr.link_create.attach_type = hooks[i].type;
		r = g->links[i] = mr_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
		if (r < 0)
			return mr_err(err, MR_E_KERNEL, errno, "attach %s: %m", hooks[i].name);
	}
	return r < 0 ? r : 0;
}

int mr_guard_attach(struct mr_guard *guard, enum mr_guard_kind kind, int cgroup_fd,
		    struct mr_error *err)
{
	struct mr_guard g = MR_GUARD_INIT;
	int r = attach(&g, kind, cgroup_fd, err);

	if (r < 0) {
		mr_guard_detach(&g);
		return mr_err_wrap(err, r, "guard connections of the control group");
	}
	*guard = g;
	return 0;
}

int mr_guard_verify(const struct mr_guard *guard, uint64_t cgroup_id, struct mr_error *err)
{
	for (size_t i = 0; i < MR_GUARD_HOOKS; i++) {
		struct bpf_link_info info = { 0 };

		if (mr_bpf_info(guard->links[i], &info, sizeof(info)) < 0)
			return mr_err(err, MR_E_KERNEL, errno, "where %s hangs: %m", hooks[i].name);
		if (info.type != BPF_LINK_TYPE_CGROUP || info.cgroup.cgroup_id != cgroup_id ||
		    info.cgroup.attach_type != hooks[i].type)
			return mr_err(err, MR_E_KERNEL, EPERM,
				      "%s hangs at %u of control group %llu, not at %u of %llu",
				      hooks[i].name, info.cgroup.attach_type,
				      (unsigned long long)info.cgroup.cgroup_id, hooks[i].type,
				      (unsigned long long)cgroup_id);
	}
	return 0;
}

int mr_guard_allow(struct mr_guard *guard, const struct in6_addr *address, unsigned int length,
		   const uint16_t *ports, size_t n, struct mr_error *err)
{
	const struct key key = { .length = length, .address = *address };
	struct value value = { .n = (uint32_t)n };

	mr_assert(n <= MR_GUARD_PORTS_MAX);
	for (size_t i = 0; i < n; i++)
		value.ports[i] = htons(ports[i]);
	if (mr_bpf_map_update(guard->map_fd, &key, &value) < 0)
		return mr_err(err, MR_E_KERNEL, errno, "allow an address: %m");
	return 0;
}

struct reading {
	void (*take)(void *owner, const struct mr_guard_event *event);
	void *owner;
};

static void take_record(void *owner, const void *record, size_t size)
{
	const struct reading *reading = owner;
	struct mr_guard_event event;

	if (size != sizeof(event))
		return;
	memcpy(&event, record, sizeof(event));
	reading->take(reading->owner, &event);
}

void mr_guard_read(struct mr_guard *guard,
		   void (*take)(void *owner, const struct mr_guard_event *event), void *owner)
{
	struct reading reading = { take, owner };

	if (guard->ring.fd >= 0)
		mr_ring_read(&guard->ring, take_record, &reading);
}

const char *mr_guard_call(enum mr_guard_hook hook)
{
	return hook == MR_GUARD_SENDMSG ? "sendto" : "connect";
}

uint64_t mr_guard_lost(const struct mr_guard *guard, enum mr_guard_hook hook)
{
	const uint32_t key = (uint32_t)hook;
	uint64_t lost = 0;

	if (guard->lost_fd >= 0 && mr_bpf_map_lookup(guard->lost_fd, &key, &lost) < 0)
		lost = 0;
	return lost;
}

void mr_guard_detach(struct mr_guard *guard)
{
	for (size_t i = 0; i < MR_GUARD_HOOKS; i++)
		guard->links[i] = mr_close(guard->links[i]);
	mr_ring_close(&guard->ring);
	guard->map_fd = mr_close(guard->map_fd);
	guard->lost_fd = mr_close(guard->lost_fd);
}

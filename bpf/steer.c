/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Steer
 *
 * The kernel asks the program for each new connection and each datagram that no connected
 * socket is waiting for, before it looks for a socket bound to the port.  So what the payload
 * itself listens on at other addresses than loopback is out of its own reach, which is
 * harmless.
 */
#include "bpf/steer.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#include "bpf/asm.h"
#include "bpf/sys.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#define DNS_PORT 53
#define CTX(member) ((int)offsetof(struct bpf_sk_lookup, member))

enum { SLOT_TCP, SLOT_UDP, SLOTS_ };
enum { L_UDP, L_FIND, L_V6, L_STEER, L_PASS };

/* r6 is the context, r7 the slot. */
static void leave_loopback(struct mr_asm *a)
{
	mr_asm_load(a, BPF_W, BPF_REG_1, BPF_REG_6, CTX(local_port));
	mr_asm_jump(a, BPF_JEQ, BPF_REG_1, DNS_PORT, L_PASS);
	mr_asm_load(a, BPF_W, BPF_REG_1, BPF_REG_6, CTX(family));
	mr_asm_jump(a, BPF_JNE, BPF_REG_1, AF_INET, L_V6);
	/* Network byte order on a little-endian machine: the first byte is the lowest. */
	mr_asm_load(a, BPF_W, BPF_REG_1, BPF_REG_6, CTX(local_ip4));
	mr_asm_math(a, BPF_AND, BPF_REG_1, 0xff);
	mr_asm_jump(a, BPF_JEQ, BPF_REG_1, IN_LOOPBACKNET, L_PASS);
	mr_asm_jump(a, BPF_JA, 0, 0, L_STEER);
	mr_asm_label(a, L_V6);
	for (int i = 0; i < 3; i++) {
		mr_asm_load(a, BPF_W, BPF_REG_1, BPF_REG_6, CTX(local_ip6[0]) + 4 * i);
		mr_asm_jump(a, BPF_JNE, BPF_REG_1, 0, L_STEER);
	}
	mr_asm_load(a, BPF_W, BPF_REG_1, BPF_REG_6, CTX(local_ip6[3]));
	mr_asm_jump(a, BPF_JEQ, BPF_REG_1, (int32_t)htonl(1), L_PASS);
}

static int load_program(int map_fd, struct mr_error *err)
{
	struct mr_asm a = { .n = 0 };

	mr_asm_move(&a, BPF_REG_6, BPF_REG_1);
	mr_asm_load(&a, BPF_W, BPF_REG_1, BPF_REG_6, CTX(protocol));
	mr_asm_set(&a, BPF_REG_7, SLOT_TCP);
	mr_asm_jump(&a, BPF_JEQ, BPF_REG_1, IPPROTO_TCP, L_FIND);
	mr_asm_jump(&a, BPF_JNE, BPF_REG_1, IPPROTO_UDP, L_PASS);
	mr_asm_set(&a, BPF_REG_7, SLOT_UDP);
	mr_asm_label(&a, L_FIND);
	leave_loopback(&a);
	mr_asm_label(&a, L_STEER);
	mr_asm_store(&a, BPF_W, BPF_REG_10, -4, BPF_REG_7);
	mr_asm_map(&a, BPF_REG_1, map_fd);
	mr_asm_move(&a, BPF_REG_2, BPF_REG_10);
	mr_asm_math(&a, BPF_ADD, BPF_REG_2, -4);
	mr_asm_call(&a, BPF_FUNC_map_lookup_elem);
	mr_asm_jump(&a, BPF_JEQ, BPF_REG_0, 0, L_PASS);
	mr_asm_move(&a, BPF_REG_7, BPF_REG_0);
	mr_asm_move(&a, BPF_REG_1, BPF_REG_6);
	mr_asm_move(&a, BPF_REG_2, BPF_REG_7);
	mr_asm_set(&a, BPF_REG_3, 0);
	mr_asm_call(&a, BPF_FUNC_sk_assign);
	mr_asm_move(&a, BPF_REG_1, BPF_REG_7);
	mr_asm_call(&a, BPF_FUNC_sk_release);
	mr_asm_label(&a, L_PASS);
	mr_asm_exit(&a, SK_PASS);
	return mr_asm_program(&a, BPF_PROG_TYPE_SK_LOOKUP, BPF_SK_LOOKUP, "menace_steer", err);
}

static int put_sockets(int map_fd, int tcp_fd, int udp_fd, struct mr_error *err)
{
	const int fds[] = { [SLOT_TCP] = tcp_fd, [SLOT_UDP] = udp_fd };

	for (uint32_t i = 0; i < SLOTS_; i++) {
		uint64_t fd = (uint64_t)fds[i];

		if (mr_bpf_map_update(map_fd, &i, &fd) < 0)
			return mr_err(err, MR_E_KERNEL, errno, "hand the kernel socket %u: %m", i);
	}
	return 0;
}

static int read_prog_id(int prog_fd, uint32_t *ret, struct mr_error *err)
{
	struct bpf_prog_info info = { 0 };

	if (mr_bpf_info(prog_fd, &info, sizeof(info)) < 0)
		return mr_err(err, MR_E_KERNEL, errno, "id of a program of the kernel: %m");
	*ret = info.id;
	return 0;
}

static int attach(struct mr_steer *s, int netns_fd, int tcp_fd, int udp_fd, struct mr_error *err)
{
	union bpf_attr attr;
	int r;

	s->map_fd = mr_bpf_map_create(BPF_MAP_TYPE_SOCKMAP, sizeof(uint32_t), sizeof(uint64_t),
				      SLOTS_, 0, -1, "menace_steer");
	if (s->map_fd < 0)
		return mr_err(err, MR_E_KERNEL, errno, "make a map of sockets: %m");
	r = put_sockets(s->map_fd, tcp_fd, udp_fd, err);
	if (r < 0)
		return r;
	s->prog_fd = load_program(s->map_fd, err);
	if (s->prog_fd < 0)
		return s->prog_fd;
	r = read_prog_id(s->prog_fd, &s->prog_id, err);
	if (r < 0)
		return r;
	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (uint32_t)s->prog_fd;
	attr.link_create.target_fd = (uint32_t)netns_fd;
	attr.link_create.attach_type = BPF_SK_LOOKUP;
	s->link_fd = mr_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
	return s->link_fd < 0 ? mr_err(err, MR_E_KERNEL, errno,
				       "attach the program to the network namespace: %m")
			      : 0;
}

int mr_steer_attach(struct mr_steer *steer, int netns_fd, int tcp_fd, int udp_fd,
		    struct mr_error *err)
{
	struct mr_steer s = MR_STEER_INIT;
	int r = attach(&s, netns_fd, tcp_fd, udp_fd, err);

	if (r < 0) {
		mr_steer_detach(&s);
		return mr_err_wrap(err, r, "steer connections (sk_lookup)");
	}
	*steer = s;
	return 0;
}

int mr_steer_verify(const struct mr_steer *steer, int netns_fd, struct mr_error *err)
{
	uint32_t ids[4] = { 0 };
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.query.target_fd = (uint32_t)netns_fd;
	attr.query.attach_type = BPF_SK_LOOKUP;
	attr.query.prog_ids = (uintptr_t)ids;
	attr.query.prog_cnt = N_ELEMENTS(ids);
	if (mr_bpf(BPF_PROG_QUERY, &attr, sizeof(attr)) < 0)
		return mr_err(err, MR_E_KERNEL, errno,
			      "what steers connections of the namespace: %m");
	if (attr.query.prog_cnt != 1 || ids[0] != steer->prog_id)
		return mr_err(err, MR_E_KERNEL, EPERM,
			      "%u programs steer connections of the namespace, the first is %u, "
			      "ours %u",
			      attr.query.prog_cnt, ids[0], steer->prog_id);
	return 0;
}

void mr_steer_detach(struct mr_steer *steer)
{
	steer->link_fd = mr_close(steer->link_fd);
	steer->prog_fd = mr_close(steer->prog_fd);
	steer->map_fd = mr_close(steer->map_fd);
}

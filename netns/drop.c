/* SPDX-License-Identifier: Apache-2.0 */
/*
 * drop
 *
 * Its programs (netns/cls.h) have one map, in which all that they know stands.
 */
#include "netns/drop.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "netns/cls.h"
#include "netns/drop_code.h"
#include "netns/drop_wire.h"
#include "netns/qdisc.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

static const struct mr_cls_program programs[] = {
	{ "menace_leaving", MR_CLS_LEAVING, 1, mr_drop_leaving, sizeof(mr_drop_leaving) },
	{ "menace_arriving", MR_CLS_ARRIVING, 2, mr_drop_arriving, sizeof(mr_drop_arriving) },
};
static const struct mr_cls_program windows_program = { "menace_windows", MR_CLS_ARRIVING, 1,
						       mr_drop_windows, sizeof(mr_drop_windows) };
_Static_assert(sizeof(mr_drop_leaving) <= MR_CLS_CODE_MAX &&
		       sizeof(mr_drop_windows) <= MR_CLS_CODE_MAX &&
		       sizeof(mr_drop_arriving) <= MR_CLS_CODE_MAX,
	       "room for the instructions");

static int call_bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static int use_map(enum bpf_cmd cmd, int map, struct mr_drop_state *state)
{
	const uint32_t key = 0;
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_fd = (uint32_t)map;
	attr.key = (uintptr_t)&key;
	attr.value = (uintptr_t)state;
	return call_bpf(cmd, &attr);
}

uint32_t mr_drop_can(void)
{
	return MR_CONDITION_BIT(loss) | MR_CONDITION_BIT(duplicate) | MR_CONDITION_BIT(corrupt) |
	       MR_CONDITION_BIT(ge_p) | MR_CONDITION_BIT(ge_r) | MR_CONDITION_BIT(ge_bad_loss) |
	       MR_CONDITION_BIT(ge_good_loss) | MR_CONDITION_BIT(seed);
}

/* Seeds that are near each other must not give numbers that are: the finalizer of MurmurHash3. */
static uint64_t scatter(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	x ^= x >> 33;
	return x ? x : 1;
}

int mr_drop_restart(int map, const struct mr_conditions *c, struct mr_error *err)
{
	struct mr_drop_state state = {
		.seed = c->seed,
		.loss = mr_conditions_chance(c->loss),
		.duplicate = mr_conditions_chance(c->duplicate),
		.corrupt = mr_conditions_chance(c->corrupt),
		.ge_p = mr_conditions_chance(c->ge_p),
		.ge_r = mr_conditions_chance(c->ge_r),
		.ge_bad_loss = mr_conditions_chance(c->ge_bad_loss),
		.ge_good_loss = mr_conditions_chance(c->ge_good_loss),
	};

	state.prng_arriving = scatter(state.seed);
	state.prng_leaving = scatter(~state.seed);
	if (use_map(BPF_MAP_UPDATE_ELEM, map, &state) < 0)
		return mr_err(err, MR_E_SYS, errno, "tc-BPF: set its conditions: %m");
	return 0;
}

static int make_map(struct mr_error *err)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = sizeof(uint32_t);
	attr.value_size = sizeof(struct mr_drop_state);
	attr.max_entries = 1;
	attr.map_flags = BPF_F_MMAPABLE; /* for mr_drop_map() */
	memcpy(attr.map_name, "menace_drop", sizeof("menace_drop"));
	fd = call_bpf(BPF_MAP_CREATE, &attr);
	return fd < 0 ? mr_err(err, MR_E_SYS, errno, "tc-BPF: make its map: %m") : fd;
}

int mr_drop_attach(struct mr_rtnl *rtnl, int ifindex, const struct mr_conditions *conditions,
		   bool windows, int *ret_map, struct mr_error *err)
{
	mr_auto_close int map = make_map(err);
	int r = map < 0 ? map : mr_drop_restart(map, conditions, err);

	if (r == 0)
		r = mr_qdisc_add(rtnl, ifindex, MR_QDISC_CLSACT, "clsact", NULL, err);
	if (r == 0 && windows)
		r = mr_cls_attach(rtnl, ifindex, &windows_program, map, err);
	for (size_t i = 0; r == 0 && i < N_ELEMENTS(programs); i++)
		r = mr_cls_attach(rtnl, ifindex, &programs[i], map, err);
	if (r == 0)
		*ret_map = mr_take_fd(map);
	return r;
}

int mr_drop_read(int map, struct mr_conditions *conditions, struct mr_drop_counts *ret_counts,
		 struct mr_error *err)
{
	struct mr_drop_state state;

	if (use_map(BPF_MAP_LOOKUP_ELEM, map, &state) < 0)
		return mr_err(err, MR_E_SYS, errno, "tc-BPF: read its counts: %m");
	conditions->loss = mr_conditions_ppm(state.loss);
	conditions->duplicate = mr_conditions_ppm(state.duplicate);
	conditions->corrupt = mr_conditions_ppm(state.corrupt);
	conditions->ge_p = mr_conditions_ppm(state.ge_p);
	conditions->ge_r = mr_conditions_ppm(state.ge_r);
	conditions->ge_bad_loss = mr_conditions_ppm(state.ge_bad_loss);
	conditions->ge_good_loss = mr_conditions_ppm(state.ge_good_loss);
	conditions->seed = state.seed;
	*ret_counts = (struct mr_drop_counts){ state.seen, state.lost, state.duplicated,
					       state.corrupted };
	return 0;
}

int mr_drop_set_cut(int map, const struct mr_drop_cut *cut, struct mr_error *err)
{
	const uint32_t chance = mr_conditions_chance((uint64_t)cut->percent * 10000);
	struct mr_drop_state state;

	if (use_map(BPF_MAP_LOOKUP_ELEM, map, &state) < 0)
		return mr_err(err, MR_E_SYS, errno, "tc-BPF: read its memory: %m");
	state.prng_cut = scatter(cut->seed);
	state.part_seed = scatter(~cut->seed);
	state.cuts = (cut->packets ? MR_DROP_PACKETS : 0) | (cut->hosts ? MR_DROP_DESTINATIONS : 0);
	state.cut = state.part = chance;
	state.spare_own = cut->spare_own;
	if (use_map(BPF_MAP_UPDATE_ELEM, map, &state) < 0)
		return mr_err(err, MR_E_SYS, errno, "tc-BPF: set what is cut off: %m");
	return 0;
}

int mr_drop_read_cut(int map, struct mr_drop_cut_counts *ret, struct mr_error *err)
{
	struct mr_drop_state state;

	if (use_map(BPF_MAP_LOOKUP_ELEM, map, &state) < 0)
		return mr_err(err, MR_E_SYS, errno, "tc-BPF: read its counts: %m");
	*ret = (struct mr_drop_cut_counts){ state.cut_seen, state.cut_lost, state.hosts,
					    state.hosts_cut, state.part_lost };
	return 0;
}

/* --- windows --------------------------------------------------------------------------- */

struct mr_drop_state *mr_drop_map(int map, struct mr_error *err)
{
	void *at = mmap(NULL, sizeof(struct mr_drop_state), PROT_READ | PROT_WRITE, MAP_SHARED, map,
			0);

	if (at == MAP_FAILED) {
		mr_err(err, MR_E_SYS, errno, "tc-BPF: share its memory: %m");
		return NULL;
	}
	return at;
}

struct mr_drop_state *mr_drop_unmap(struct mr_drop_state *state)
{
	if (state)
		mr_assert(munmap(state, sizeof(*state)) == 0);
	return NULL;
}

static void set_mask(struct mr_drop_rule *rule, unsigned int length)
{
	uint8_t *mask = (uint8_t *)rule->mask;

	for (unsigned int i = 0; i < length; i++)
		mask[i / 8] |= (uint8_t)(0x80 >> (i % 8));
}

static bool same_rule(const struct mr_drop_rule *a, const struct mr_drop_rule *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

bool mr_drop_add_rule(struct mr_drop_state *state, const struct mr_drop_rule_opts *opts)
{
	const uint32_t n = state->n_rules;
	struct mr_drop_rule rule = { .port = htons(opts->port),
				     .port_mask = opts->port ? UINT16_MAX : 0,
				     .flags = opts->flags,
				     .window_bit = 1ULL << opts->window };
	struct mr_drop_rule *place;

	memcpy(rule.address, opts->address, sizeof(rule.address));
	set_mask(&rule, opts->length);
	for (uint32_t i = 0; i < n && i < MR_DROP_RULES; i++)
		if (same_rule(&state->rules[i], &rule))
			return true;
	if (n >= MR_DROP_RULES)
		return false;
	/* The program looks at MR_DROP_RULES_TURN of them together, at this place too: it is no
	 * window's until the rest is there. */
	place = &state->rules[n];
	rule.window_bit = 0;
	*place = rule;
	__atomic_store_n(&place->window_bit, 1ULL << opts->window, __ATOMIC_RELEASE);
	__atomic_store_n(&state->n_rules, n + 1, __ATOMIC_RELEASE);
	return true;
}

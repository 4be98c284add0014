/* SPDX-License-Identifier: Apache-2.0 */
/*
 * emulate
 *
 * A plan is which conditions each engine makes.  The first plan is netem for all; each
 * "no" of the kernel leads to the next one, and a plan that came to be is read
 * back in full.  Then the link is measured and everything is put in place once more,
 * so that counts and random numbers begin with the payload's first packet.
 */
#include "netns/emulate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "netns/link.h"
#include "netns/netem.h"
#include "netns/rate.h"
#include "netns/relay.h"
#include "netns/relay_wire.h"
#include "netns/rtnl.h"
#include "netns/tun.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/patience.h"

#define MTU 1500
#define PROBES 20U
#define TRIES 2 /* with which the kernel has had its chances */
#define PROBE_BITS (2 * 8 * 64ULL) /* a datagram and its answer on the wire */

struct emulator {
	struct mr_rtnl *rtnl;
	struct mr_conditions asked;
	bool drawn; /* its seed is ours: nice to have */
	uint32_t by_netem, by_tbf, by_drop, by_tun; /* the plan: which condition is whose */
	bool cut, windows;
	int drop_map;
	int device; /* of tun, while the plan has it; else -1 */
	struct mr_emulated result;
};

static void free_rtnl(struct mr_rtnl **rtnl)
{
	mr_rtnl_free(*rtnl);
}
#define auto_rtnl mr_cleanup(free_rtnl)

const char *mr_engine_names(uint32_t engines)
{
	static const char *const names[] = {
		"none",
		"netem",
		"tbf",
		"netem+tbf",
		"tc-bpf",
		"netem+tc-bpf",
		"tbf+tc-bpf",
		"netem+tbf+tc-bpf",
		"tun",
		"netem+tun",
		"tun+tbf",
		"netem+tun+tbf",
		"tun+tc-bpf",
		"netem+tun+tc-bpf",
		"tun+tbf+tc-bpf",
		"netem+tun+tbf+tc-bpf",
	};

	return names[engines & (N_ELEMENTS(names) - 1)];
}

static struct mr_conditions only(const struct mr_conditions *c, uint32_t mask)
{
	struct mr_conditions some = *c;

	mr_conditions_clear(&some, ~mask);
	return some;
}

static void take_over(struct mr_conditions *to, const struct mr_conditions *from, uint32_t mask)
{
	for (unsigned int i = 0; i < MR_CONDITION_COUNT_; i++)
		if (mask & (1U << i))
			mr_conditions_set(to, (enum mr_condition)i,
					  mr_conditions_get(from, (enum mr_condition)i));
}

/* Where packets are to wait: what goes the relay's way never comes to the queue of lo. */
static int queue_link(uint32_t engines)
{
	return engines & MR_ENGINE_TUN ? MR_RELAY_IFINDEX : MR_QDISC_LO;
}

/* Find what was just put there; that it is not there is a mistake of the kernel's. */
static int find(struct emulator *e, const char *kind, struct mr_qdisc *ret, struct mr_error *err)
{
	int r = mr_qdisc_find(e->rtnl, queue_link(e->result.engines), MR_QDISC_ROOT, kind, ret,
			      err);

	if (r == 0)
		return mr_err(err, MR_E_KERNEL, ENOENT, "%s was put on the link and is not there",
			      kind);
	return r < 0 ? r : 0;
}

/* 0; 1: the seed is not kept; -ENOENT: there is no netem. */
static int put_netem(struct emulator *e, struct mr_error *err)
{
	const struct mr_conditions mine = only(&e->asked, e->by_netem);
	struct mr_attrs options = { .n = 0 };
	struct mr_conditions shown;
	struct mr_qdisc qdisc;
	int r;

	mr_netem_build(&mine, &options);
	r = mr_qdisc_add(e->rtnl, MR_QDISC_LO, MR_QDISC_ROOT, "netem", &options, err);
	if (r == 0)
		r = find(e, "netem", &qdisc, err);
	if (r == 0)
		r = mr_netem_compare(&options, &qdisc.options, &shown, err);
	if (r < 0)
		return r;
	take_over(&e->result.applied, &shown, ~e->by_drop);
	e->result.engines |= MR_ENGINE_NETEM;
	e->result.limit_packets = mr_netem_limit(&mine);
	return e->drawn ? 0 : r;
}

static int put_tbf(struct emulator *e, struct mr_error *err)
{
	struct mr_attrs options = { .n = 0 };
	struct mr_qdisc qdisc;
	int r = mr_rate_check(e->asked.rate, err);

	if (r < 0)
		return r;
	mr_rate_build(e->asked.rate, &options);
	r = mr_qdisc_add(e->rtnl, queue_link(e->result.engines), MR_QDISC_ROOT, "tbf", &options,
			 err);
	if (r == 0)
		r = find(e, "tbf", &qdisc, err);
	if (r == 0)
		r = mr_rate_compare(&options, &qdisc.options, &e->result.applied.rate, err);
	e->result.engines |= MR_ENGINE_TBF;
	e->result.limit_bytes = mr_rate_limit(e->asked.rate);
	return r;
}

static int put_drop(struct emulator *e, struct mr_error *err)
{
	const struct mr_conditions mine = only(&e->asked, e->by_drop);
	struct mr_drop_counts counts;
	int r;

	r = mr_drop_attach(e->rtnl, MR_QDISC_LO, &mine, e->windows, &e->drop_map, err);
	e->result.can_cut = r == 0 && e->cut;
	if (r < 0 || !e->by_drop)
		return r;
	if (r == 0)
		r = mr_drop_read(e->drop_map, &e->result.applied, &counts, err);
	e->result.engines |= MR_ENGINE_TC_BPF;
	return r;
}

/* The way to the relay's device, behind the programs that lose packets. */
static int put_tun(struct emulator *e, struct mr_error *err)
{
	const struct mr_conditions mine = only(&e->asked, e->by_tun);
	int r = 0;

	if (!e->by_drop && !e->cut) /* else they have brought it */
		r = mr_qdisc_add(e->rtnl, MR_QDISC_LO, MR_QDISC_CLSACT, "clsact", NULL, err);
	if (r == 0)
		r = mr_tun_attach(e->rtnl, err);
	take_over(&e->result.applied, &mine, e->by_tun);
	e->result.limit_packets = mr_netem_limit(&mine);
	return r;
}

static int take_all_away(struct emulator *e, struct mr_error *err)
{
	static const uint32_t parents[] = { MR_QDISC_ROOT, MR_QDISC_CLSACT };
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_ELEMENTS(parents); i++) {
		r = mr_qdisc_delete(e->rtnl, MR_QDISC_LO, parents[i], err);
		if (r == 0 && e->by_tun)
			r = mr_qdisc_delete(e->rtnl, MR_RELAY_IFINDEX, parents[i], err);
	}
	e->drop_map = mr_close(e->drop_map);
	mr_conditions_init(&e->result.applied);
	e->result.limit_packets = e->result.limit_bytes = 0;
	e->result.engines = e->by_tun ? MR_ENGINE_TUN : 0;
	return r;
}

/* Put the plan in place.  As put_netem(). */
static int put_all(struct emulator *e, struct mr_error *err)
{
	int r = take_all_away(e, err);

	if (r == 0 && e->by_netem)
		r = put_netem(e, err);
	if (r == 0 && e->by_tbf)
		r = put_tbf(e, err);
	if (r == 0 && (e->by_drop || e->cut))
		r = put_drop(e, err);
	if (r == 0 && e->by_tun)
		r = put_tun(e, err);
	return r;
}

static int leave_out(struct emulator *e, const struct mr_emulate_opts *opts, uint32_t what,
		     const char *why, struct mr_error *err)
{
	char names[MR_CONDITIONS_NAMES_SIZE];

	if (e->drawn)
		what &= ~MR_CONDITION_BIT(seed);
	mr_conditions_names(what, names);
	if (!opts->tolerant)
		return mr_err(err, MR_E_KERNEL, EOPNOTSUPP,
			      "%s cannot be made here: %s; leave that out, or accept it with "
			      "best_effort (--best-effort net)",
			      names, why);
	e->result.missing |= what;
	snprintf(e->result.why, sizeof(e->result.why), "%s", why);
	return 0;
}

static const char *no_netem(const struct mr_emulate_opts *opts)
{
	return opts->may & MR_ENGINE_NETEM ? "this kernel has no sch_netem"
					   : "sch_netem is not to be used";
}

/* Only tun makes these without netem. */
static int plan_tun(struct emulator *e, const struct mr_emulate_opts *opts, uint32_t asked,
		    struct mr_error *err)
{
	struct mr_error cause = MR_ERROR_INIT;
	char why[160];

	if (!asked)
		return 0;
	if (opts->serve && (opts->may & MR_ENGINE_TUN)) {
		e->device = mr_tun_open(e->rtnl, &cause);
		if (e->device >= 0) {
			e->by_tun = asked;
			return 0;
		}
		snprintf(why, sizeof(why), "%s, and %.100s", no_netem(opts), cause.msg);
	} else {
		snprintf(why, sizeof(why),
			 "%s, and what may be used without it makes neither delays nor another "
			 "order",
			 no_netem(opts));
	}
	return leave_out(e, opts, asked, why, err);
}

/* There is no netem: what is left, and whose it is. */
static int plan_without_netem(struct emulator *e, const struct mr_emulate_opts *opts,
			      uint32_t asked, struct mr_error *err)
{
	e->by_netem = e->by_drop = 0;
	if (opts->may == MR_ENGINE_NETEM)
		return leave_out(e, opts, asked, no_netem(opts), err);
	e->by_tbf = asked & MR_CONDITION_BIT(rate);
	e->by_drop = asked & mr_drop_can();
	return plan_tun(e, opts, asked & ~e->by_drop & ~e->by_tbf, err);
}

/* netem does not keep the seed: what a seed is for goes to tc-bpf. */
static void plan_seed(struct emulator *e, uint32_t asked)
{
	e->by_drop = asked & mr_drop_can();
	e->by_netem = asked & ~e->by_drop;
}

/* Nobody makes these: netem does all it can without a seed, tbf what it can. */
static int plan_without_drop(struct emulator *e, const struct mr_emulate_opts *opts, bool has_netem,
			     uint32_t asked, const struct mr_error *cause, struct mr_error *err)
{
	const uint32_t lost = has_netem ? MR_CONDITION_BIT(seed) : e->by_drop | e->by_tun;
	char why[160];

	snprintf(why, sizeof(why), "%s, and %.100s",
		 has_netem ? "this kernel's sch_netem does not keep it" : no_netem(opts),
		 cause->msg);
	if (has_netem)
		e->by_netem = asked & ~lost;
	e->by_drop = e->by_tun = 0;
	e->device = mr_close(e->device); /* and with it the device goes */
	return leave_out(e, opts, lost, why, err);
}

/* Try plans until one holds. */
static int settle(struct emulator *e, const struct mr_emulate_opts *opts, struct mr_error *err)
{
	const uint32_t asked = mr_conditions_asked(&e->asked);
	struct mr_error cause = MR_ERROR_INIT;
	bool has_netem = true;
	int r;

	if (!asked)
		return put_all(e, err);
	e->by_netem = asked;
	if (opts->rate_varies) /* netem begins its random numbers again with each change */
		plan_seed(e, asked);
	r = opts->may & MR_ENGINE_NETEM ? put_all(e, &cause) : -ENOENT;
	if (r == -ENOENT || r == -EOPNOTSUPP) {
		has_netem = false;
		r = plan_without_netem(e, opts, asked, err);
		if (r < 0)
			return r;
		r = put_all(e, &cause);
	} else if (r == 1) {
		plan_seed(e, asked);
		r = put_all(e, &cause);
	}
	if (r < 0 && (e->by_drop || e->by_tun) && cause.code == MR_E_SYS) {
		r = plan_without_drop(e, opts, has_netem, asked, &cause, err);
		if (r < 0)
			return r;
		r = put_all(e, &cause);
	}
	if (r < 0)
		*err = cause;
	return r < 0 ? r : 0;
}

/* From here on somebody holds the other end of the device. */
static int serve(struct emulator *e, const struct mr_emulate_opts *opts, struct mr_error *err)
{
	const struct mr_conditions mine = only(&e->asked, e->by_tun);
	const struct mr_relay_config config = {
		.latency_us = mine.latency,
		.jitter_us = mine.jitter,
		.reorder_ppm = mine.reorder,
		.seed = e->asked.seed,
		.limit = mr_netem_limit(&mine),
		.in_order = e->by_tbf != 0, /* as with netem */
	};

	return e->by_tun ? opts->serve(opts->owner, &config, e->device, err) : 0;
}

/* How long until the last answer should be back; each way costs a delay. */
static uint64_t expected_us(const struct mr_conditions *c)
{
	const uint64_t rate_us = PROBES * PROBE_BITS * 1000000 / c->rate;

	return 2 * (c->latency + c->jitter) + rate_us + MR_PATIENCE_NS(LINK_PROBE_SLACK) / 1000;
}

/* Nothing has come back so far.  That the kernel takes nothing it tells nobody: it is so when the relay
 * has passed on what was sent, twice, and none of it arrived.  A relay that has passed nothing on waits
 * for a processor. */
static int measure_patiently(struct emulator *e, uint64_t wait_ns, struct mr_error *err)
{
	const uint64_t deadline = mr_now_ns() + MR_PATIENCE_NS(LINK_RELAY);
	struct mr_echo *probe = &e->result.probe;
	uint64_t passed = 0, before;
	int r = 0, n_taken = 0;
	bool over;

	while (r == 0 && probe->answered == 0) {
		before = passed;
		r = mr_tun_passed(e->rtnl, &passed, err);
		if (r < 0)
			break;
		n_taken += passed > before && probe->arrived == 0;
		over = mr_now_ns() >= deadline;
		if (over && passed == 0)
			return mr_err(err, MR_E_SYS, ETIMEDOUT,
				      "tun: the relay has passed no packet on in %ju s",
				      (uintmax_t)MR_PATIENCE_S(LINK_RELAY));
		if (over || n_taken == TRIES)
			return mr_err(err, MR_E_KERNEL, EPROTO,
				      "tun: no packet that was sent over lo comes back to it");
		r = mr_echo_measure(PROBES, wait_ns + MR_PATIENCE_NS(LINK_PROBE_AGAIN), probe, err);
	}
	return r;
}

/* With nothing that loses packets some must come back by tun. */
static int measure(struct emulator *e, uint64_t wait_ns, struct mr_error *err)
{
	int r = mr_echo_measure(PROBES, wait_ns, &e->result.probe, err);

	if (r < 0 || !e->by_tun || e->by_drop || e->result.probe.answered > 0)
		return r;
	return measure_patiently(e, wait_ns, err);
}

static int probe(struct emulator *e, struct mr_error *err)
{
	const uint64_t wait_us = expected_us(&e->result.applied);

	if (wait_us > MR_PATIENCE_NS(LINK_PROBE_MOST) / 1000) {
		snprintf(e->result.no_probe, sizeof(e->result.no_probe),
			 "it would have delayed the start by %ju ms", (uintmax_t)wait_us / 1000);
		return 0;
	}
	return measure(e, wait_us * 1000, err);
}

static int set_sizes(struct emulator *e, struct mr_error *err)
{
	/* A packet is a packet: as one of many with offload, a loss would take them all. */
	const struct mr_link_sizes sizes = { .mtu = MTU, .gso_max_segs = 1 };
	int r = mr_link_set_sizes(e->rtnl, MR_QDISC_LO, &sizes, err);

	e->result.mtu = sizes.mtu;
	e->result.gso_max_segs = sizes.gso_max_segs;
	return r;
}

/* Where none was asked for, so that what happened can be asked for again: a number that every reader
 * of JSON keeps. */
static int draw_seed(struct emulator *e, struct mr_error *err)
{
	const struct mr_condition_row *row = &mr_condition_rows()[MR_CONDITION_seed];
	uint64_t seed;

	if (e->asked.seed != row->nothing)
		return 0;
	if (getrandom(&seed, sizeof(seed), 0) != (ssize_t)sizeof(seed))
		return mr_err(err, MR_E_SYS, errno, "draw a seed: %m");
	e->asked.seed = seed >> 11;
	e->drawn = true;
	return 0;
}

static int emulate(struct emulator *e, const struct mr_emulate_opts *opts, struct mr_error *err)
{
	int r = mr_netem_check(opts->asked, err);

	e->asked = *opts->asked;
	e->cut = opts->cut;
	e->windows = opts->windows;
	if (r == 0 && mr_conditions_asked(&e->asked))
		r = draw_seed(e, err);
	if (r == 0)
		r = mr_rtnl_open(&e->rtnl, err);
	if (r == 0)
		r = set_sizes(e, err);
	if (r == 0)
		r = settle(e, opts, err);
	if (r == 0)
		r = serve(e, opts, err);
	if (r < 0 || !opts->probe || !e->result.engines)
		return r;
	r = probe(e, err);
	return r < 0 ? r : put_all(e, err);
}

int mr_emulate_apply(const struct mr_emulate_opts *opts, struct mr_emulated *ret,
		     struct mr_emulate_fds *ret_fds, struct mr_error *err)
{
	struct emulator e = { .drop_map = -1, .device = -1 };
	auto_rtnl struct mr_rtnl *rtnl = NULL;
	int r = emulate(&e, opts, err), fd = -1;

	rtnl = e.rtnl;
	mr_close(e.device); /* whoever serves it has his own */
	if (r >= 0)
		fd = fcntl(mr_rtnl_fd(rtnl), F_DUPFD_CLOEXEC, 3);
	if (r >= 0 && fd < 0)
		r = mr_err(err, MR_E_SYS, errno, "keep rtnetlink: %m");
	if (r < 0) {
		mr_close(e.drop_map);
		return r;
	}
	*ret = e.result;
	*ret_fds = (struct mr_emulate_fds){ .rtnl = fd, .drop_map = e.drop_map };
	return 0;
}

void mr_emulate_nothing(uint32_t missing, const char *why, struct mr_emulated *ret)
{
	*ret = (struct mr_emulated){ .missing = missing };
	mr_conditions_init(&ret->applied);
	snprintf(ret->why, sizeof(ret->why), "%s", why);
	snprintf(ret->no_probe, sizeof(ret->no_probe), "nothing was shaped");
}

static const char *queue_kind(const struct mr_emulated *emulated)
{
	return emulated->engines & MR_ENGINE_NETEM ? "netem"
	       : emulated->engines & MR_ENGINE_TBF ? "tbf"
						   : NULL;
}

/* As find(): what we put there nobody but us may take away. */
static int find_queue(struct mr_rtnl *rtnl, const struct mr_emulated *emulated,
		      struct mr_qdisc *ret, struct mr_error *err)
{
	const char *kind = queue_kind(emulated);
	int r = mr_qdisc_find(rtnl, queue_link(emulated->engines), MR_QDISC_ROOT, kind, ret, err);

	if (r == 0)
		return mr_err(err, MR_E_KERNEL, ENOENT, "%s is no longer on the link", kind);
	return r < 0 ? r : 0;
}

int mr_emulate_read(struct mr_rtnl *rtnl, int drop_map, const struct mr_emulated *emulated,
		    struct mr_emulate_counts *ret, struct mr_error *err)
{
	struct mr_conditions shown;
	struct mr_qdisc qdisc;
	int r = 0;

	*ret = (struct mr_emulate_counts){ .has_queue = false };
	if (emulated->engines & MR_ENGINE_TUN)
		r = mr_tun_lost(rtnl, &ret->tun_lost, err);
	if (r == 0 && queue_kind(emulated)) {
		r = find_queue(rtnl, emulated, &qdisc, err);
		if (r < 0)
			return r;
		ret->has_queue = true;
		ret->queue = qdisc.stats;
	}
	if (r == 0 && drop_map >= 0 && (emulated->engines & MR_ENGINE_TC_BPF)) {
		r = mr_drop_read(drop_map, &shown, &ret->drop, err);
		ret->has_drop = r == 0;
	}
	return r;
}

int mr_emulate_set_rate(struct mr_rtnl *rtnl, const struct mr_emulated *emulated, uint64_t bits,
			struct mr_error *err)
{
	const bool by_netem = emulated->engines & MR_ENGINE_NETEM;
	struct mr_conditions c = emulated->applied, shown;
	struct mr_attrs options = { .n = 0 };
	struct mr_qdisc qdisc;
	uint64_t in_force;
	int r;

	mr_assert(queue_kind(emulated));
	c.rate = bits;
	if (emulated->engines & MR_ENGINE_TC_BPF)
		mr_conditions_clear(&c, mr_drop_can());
	if (by_netem)
		mr_netem_build(&c, &options);
	else
		mr_rate_build(bits, &options);
	r = mr_qdisc_change(rtnl, queue_link(emulated->engines), MR_QDISC_ROOT,
			    queue_kind(emulated), &options, err);
	if (r == 0)
		r = find_queue(rtnl, emulated, &qdisc, err);
	if (r < 0)
		return r;
	r = by_netem ? mr_netem_compare(&options, &qdisc.options, &shown, err)
		     : mr_rate_compare(&options, &qdisc.options, &in_force, err);
	return r < 0 ? r : 0;
}

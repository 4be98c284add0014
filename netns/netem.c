/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netem
 *
 * Options are one struct of 32-bit numbers and attributes behind it.  Both directions
 * meet in struct shown, the numbers of all of them: what was built and what the kernel
 * dumps are read by the same reader and compared row by row, with rows for what we
 * never ask for (correlations, ECN, slots), which must be off.
 *
 * Quirks of the kernel:  delays in the struct are ticks of 64 ns and wrap after 274.8 s,
 * so the 64-bit attributes go along always.  A gap of 1 is what makes reordering
 * work.  In the Gilbert-Elliott model h is the chance NOT to lose in the bad state.
 * Loss correlations are broken and not offered.  A seed is taken and forgotten by
 * kernels that do not know it: only the dump tells.
 */
#include "netns/netem.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/pkt_sched.h>
#include <stdbool.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#define NETEM_PRNG_SEED 14 /* TCA_NETEM_PRNG_SEED, Linux 6.6 */
#define TICK_NS 64 /* the kernel's PSCHED_SHIFT; /proc/net/psched shows it */
#define PACKETS_PER_SECOND 50000ULL
#define SMALL_PACKET 64 /* bytes: the rate's worst case */

int mr_netem_check(const struct mr_conditions *c, struct mr_error *err)
{
	if (c->latency > MR_NETEM_DELAY_MAX_US)
		return mr_err(err, MR_E_USAGE, ERANGE, "a delay of %" PRIu64 " us is over an hour",
			      c->latency);
	if (c->jitter > MR_NETEM_JITTER_MAX_US)
		return mr_err(err, MR_E_USAGE, ERANGE,
			      "a jitter of %" PRIu64 " us is over the kernel's %llu us", c->jitter,
			      MR_NETEM_JITTER_MAX_US);
	if (c->rate < MR_NETEM_RATE_MIN)
		return mr_err(err, MR_E_USAGE, ERANGE,
			      "a rate of %" PRIu64
			      " bit/s is under the kernel's smallest, %d bit/s",
			      c->rate, MR_NETEM_RATE_MIN);
	if (c->reorder && !c->latency)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "reordered packets are those that are not delayed: there must be a "
			      "delay");
	if (c->loss && c->ge_p)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "loss and the Gilbert-Elliott model are two models of loss: there "
			      "can "
			      "be one");
	return 0;
}

uint32_t mr_netem_limit(const struct mr_conditions *c)
{
	const uint64_t span_us = c->latency + 4 * c->jitter;
	uint64_t pps = PACKETS_PER_SECOND, packets;

	if (c->rate / (8ULL * SMALL_PACKET) < pps)
		pps = c->rate / (8ULL * SMALL_PACKET) + 1;
	/* Rounded up; bounds are such that nothing wraps. */
	packets = (pps * span_us * 2 + 999999) / 1000000;
	/* The upper bound is memory of the host that no limit of the run covers: at most
	 * 75 MiB, for packets that wait belong to no socket and to no control group. */
	if (packets > MR_NETEM_LIMIT_MAX)
		return MR_NETEM_LIMIT_MAX;
	return packets < MR_NETEM_LIMIT_MIN ? MR_NETEM_LIMIT_MIN : (uint32_t)packets;
}

static uint32_t ticks(uint64_t ns)
{
	const uint64_t n = ns / TICK_NS;

	return n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

static void build_loss(const struct mr_conditions *c, struct mr_attrs *options)
{
	const struct tc_netem_gemodel model = {
		.p = mr_conditions_chance(c->ge_p),
		.r = mr_conditions_chance(c->ge_r),
		.h = UINT32_MAX - mr_conditions_chance(c->ge_bad_loss),
		.k1 = mr_conditions_chance(c->ge_good_loss),
	};
	const size_t begun = mr_attrs_begin(options, TCA_NETEM_LOSS);

	mr_attrs_put(options, NETEM_LOSS_GE, &model, sizeof(model));
	mr_attrs_end(options, begun);
}

void mr_netem_build(const struct mr_conditions *c, struct mr_attrs *options)
{
	const struct mr_condition_row *rows = mr_condition_rows();
	const int64_t latency_ns = (int64_t)(c->latency * 1000);
	const int64_t jitter_ns = (int64_t)(c->jitter * 1000);
	const struct tc_netem_corrupt corrupt = { .probability = mr_conditions_chance(c->corrupt) };
	const struct tc_netem_reorder reorder = { .probability = mr_conditions_chance(c->reorder) };
	const struct tc_netem_qopt opt = {
		.latency = ticks((uint64_t)latency_ns),
		.limit = mr_netem_limit(c),
		.loss = mr_conditions_chance(c->loss),
		.gap = c->reorder ? 1 : 0,
		.duplicate = mr_conditions_chance(c->duplicate),
		.jitter = ticks((uint64_t)jitter_ns),
	};

	mr_attrs_raw(options, &opt, sizeof(opt));
	mr_attrs_put(options, TCA_NETEM_LATENCY64, &latency_ns, sizeof(latency_ns));
	mr_attrs_put(options, TCA_NETEM_JITTER64, &jitter_ns, sizeof(jitter_ns));
	if (c->corrupt)
		mr_attrs_put(options, TCA_NETEM_CORRUPT, &corrupt, sizeof(corrupt));
	if (c->reorder)
		mr_attrs_put(options, TCA_NETEM_REORDER, &reorder, sizeof(reorder));
	if (c->rate != rows[MR_CONDITION_rate].nothing) {
		const struct tc_netem_rate rate = { .rate = (uint32_t)(c->rate / 8) };

		mr_attrs_put(options, TCA_NETEM_RATE, &rate, sizeof(rate));
	}
	if (c->ge_p)
		build_loss(c, options);
	if (c->seed != rows[MR_CONDITION_seed].nothing)
		mr_attrs_put(options, NETEM_PRNG_SEED, &c->seed, sizeof(c->seed));
}

/* All numbers of the options; what is absent is 0. */
struct shown {
	struct tc_netem_qopt opt;
	struct tc_netem_corr corr;
	struct tc_netem_corrupt corrupt;
	struct tc_netem_reorder reorder;
	struct tc_netem_rate rate;
	struct tc_netem_gemodel ge;
	struct tc_netem_slot slot;
	uint32_t ecn;
	uint32_t other_loss; /* a model that is not ours */
	uint64_t latency64, jitter64, rate64, seed;
	bool has_seed, has_ge;
};

static int read_loss(const struct mr_attr *nest, struct shown *ret)
{
	struct mr_attr attr;
	size_t at = 0;
	int r;

	while ((r = mr_attrs_next(nest->data, nest->size, &at, &attr)) > 0) {
		if (attr.type == NETEM_LOSS_GE) {
			mr_attr_copy(&attr, &ret->ge, sizeof(ret->ge));
			ret->has_ge = true;
		} else {
			ret->other_loss = 1;
		}
	}
	return r;
}

static int read_option(const struct mr_attr *attr, struct shown *ret)
{
	const struct {
		uint16_t type;
		void *to;
		size_t size;
	} plain[] = {
		{ TCA_NETEM_CORR, &ret->corr, sizeof(ret->corr) },
		{ TCA_NETEM_CORRUPT, &ret->corrupt, sizeof(ret->corrupt) },
		{ TCA_NETEM_REORDER, &ret->reorder, sizeof(ret->reorder) },
		{ TCA_NETEM_RATE, &ret->rate, sizeof(ret->rate) },
		{ TCA_NETEM_SLOT, &ret->slot, sizeof(ret->slot) },
		{ TCA_NETEM_ECN, &ret->ecn, sizeof(ret->ecn) },
		{ TCA_NETEM_LATENCY64, &ret->latency64, sizeof(ret->latency64) },
		{ TCA_NETEM_JITTER64, &ret->jitter64, sizeof(ret->jitter64) },
		{ TCA_NETEM_RATE64, &ret->rate64, sizeof(ret->rate64) },
		{ NETEM_PRNG_SEED, &ret->seed, sizeof(ret->seed) },
	};

	if (attr->type == TCA_NETEM_LOSS)
		return read_loss(attr, ret);
	for (size_t i = 0; i < N_ELEMENTS(plain); i++)
		if (plain[i].type == attr->type)
			mr_attr_copy(attr, plain[i].to, plain[i].size);
	ret->has_seed |= attr->type == NETEM_PRNG_SEED;
	return 0;
}

static int read_options(const struct mr_attrs *options, struct shown *ret)
{
	struct mr_attr attr;
	size_t at = sizeof(ret->opt);
	int r;

	*ret = (struct shown){ 0 };
	if (options->n < sizeof(ret->opt))
		return -EBADMSG;
	memcpy(&ret->opt, options->bytes, sizeof(ret->opt));
	while ((r = mr_attrs_next(options->bytes, options->n, &at, &attr)) > 0) {
		r = read_option(&attr, ret);
		if (r < 0)
			break;
	}
	return r;
}

static int compare(const struct shown *built, const struct shown *shown, struct mr_error *err)
{
#define ROW(member)                                                       \
	{                                                                 \
#member, (uint64_t)built->member, (uint64_t)shown->member \
	}
	const struct {
		const char *name;
		uint64_t built, shown;
	} rows[] = {
		ROW(opt.latency),
		ROW(opt.limit),
		ROW(opt.loss),
		ROW(opt.gap),
		ROW(opt.duplicate),
		ROW(opt.jitter),
		ROW(latency64),
		ROW(jitter64),
		ROW(corr.delay_corr),
		ROW(corr.loss_corr),
		ROW(corr.dup_corr),
		ROW(corrupt.probability),
		ROW(corrupt.correlation),
		ROW(reorder.probability),
		ROW(reorder.correlation),
		ROW(rate.rate),
		ROW(rate.packet_overhead),
		ROW(rate.cell_size),
		ROW(rate.cell_overhead),
		ROW(rate64),
		ROW(ge.p),
		ROW(ge.r),
		ROW(ge.h),
		ROW(ge.k1),
		ROW(other_loss),
		ROW(ecn),
		ROW(slot.min_delay),
		ROW(slot.max_delay),
		ROW(slot.dist_delay),
	};
#undef ROW

	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (rows[i].built != rows[i].shown)
			return mr_err(err, MR_E_KERNEL, EPROTO,
				      "netem: %s is %" PRIu64 " in the kernel, not %" PRIu64,
				      rows[i].name, rows[i].shown, rows[i].built);
	return 0;
}

static void conditions_of(const struct shown *shown, struct mr_conditions *ret)
{
	mr_conditions_init(ret);
	ret->latency = shown->latency64 / 1000;
	ret->jitter = shown->jitter64 / 1000;
	ret->loss = mr_conditions_ppm(shown->opt.loss);
	ret->duplicate = mr_conditions_ppm(shown->opt.duplicate);
	ret->corrupt = mr_conditions_ppm(shown->corrupt.probability);
	ret->reorder = mr_conditions_ppm(shown->reorder.probability);
	if (shown->rate.rate)
		ret->rate = (uint64_t)shown->rate.rate * 8;
	if (shown->has_ge) {
		ret->ge_p = mr_conditions_ppm(shown->ge.p);
		ret->ge_r = mr_conditions_ppm(shown->ge.r);
		ret->ge_bad_loss = mr_conditions_ppm(UINT32_MAX - shown->ge.h);
		ret->ge_good_loss = mr_conditions_ppm(shown->ge.k1);
	}
	if (shown->has_seed) /* one of its own, where none was asked for */
		ret->seed = shown->seed;
}

int mr_netem_compare(const struct mr_attrs *built, const struct mr_attrs *shown,
		     struct mr_conditions *ret, struct mr_error *err)
{
	struct shown wanted, kernel;
	int r;

	mr_assert(read_options(built, &wanted) == 0);
	if (read_options(shown, &kernel) < 0)
		return mr_err(err, MR_E_PROTO, EBADMSG,
			      "netem: the options that the kernel shows are malformed");
	r = compare(&wanted, &kernel, err);
	if (r < 0)
		return r;
	if (wanted.has_seed && kernel.has_seed && wanted.seed != kernel.seed)
		return mr_err(err, MR_E_KERNEL, EPROTO,
			      "netem: seed is %" PRIu64 " in the kernel, not %" PRIu64, kernel.seed,
			      wanted.seed);
	conditions_of(&kernel, ret);
	return wanted.has_seed && !kernel.has_seed ? 1 : 0;
}

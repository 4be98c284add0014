/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions as bytes for the kernel, and the kernel's bytes as conditions
 */
#include <errno.h>
#include <limits.h>
#include <linux/pkt_sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "netns/attrs.h"
#include "netns/conditions.h"
#include "netns/netem.h"
#include "netns/rate.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

static void probabilities_are_rounded(void **state)
{
	static const struct {
		uint64_t ppm;
		uint32_t chance;
	} rows[] = {
		{ 0, 0 },
		{ 1, 4295 }, /* 4294.967295 */
		{ 2, 8590 },
		{ 1000, 4294967 }, /* 0.1 %: 4294967.295 */
		{ 10000, 42949673 },
		{ 50000, 214748365 },
		{ 500000, 2147483648U }, /* half of 2^32-1, up */
		{ 999999, 4294963000U },
		{ 1000000, UINT32_MAX },
		{ 1000001, UINT32_MAX },
		{ UINT64_MAX, UINT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_int_equal(mr_conditions_chance(rows[i].ppm), rows[i].chance);
	for (uint64_t ppm = 0; ppm <= 1000000; ppm += 37)
		assert_int_equal(mr_conditions_ppm(mr_conditions_chance(ppm)), ppm);
}

static void a_seed_of_nothing_asks_for_nothing(void **state)
{
	char names[MR_CONDITIONS_NAMES_SIZE];
	struct mr_conditions c;

	(void)state;
	mr_conditions_init(&c);
	assert_int_equal(mr_conditions_asked(&c), 0);
	c.seed = 0;
	assert_int_equal(mr_conditions_asked(&c), 0);
	c.latency = 1;
	assert_int_equal(mr_conditions_asked(&c), MR_CONDITION_BIT(latency));
	c.loss = 1;
	assert_string_equal(mr_conditions_names(mr_conditions_asked(&c), names),
			    "latency_ms, loss_percent, seed");
	mr_conditions_clear(&c, MR_CONDITION_BIT(latency));
	assert_string_equal(mr_conditions_names(mr_conditions_asked(&c), names),
			    "loss_percent, seed");
}

static void limits_are_computed(void **state)
{
	static const struct {
		uint64_t latency, jitter, rate;
		uint32_t limit;
	} rows[] = {
		{ 0, 0, UINT64_MAX, 1000 },
		{ 10000, 0, UINT64_MAX, 1000 }, /* 50,000/s in 10 ms, twice */
		{ 10010, 0, UINT64_MAX, 1001 },
		{ 50000, 5000, UINT64_MAX, 7000 }, /* with four times the jitter */
		{ 327680, 0, UINT64_MAX, 32768 },
		{ 327690, 0, UINT64_MAX, 32768 }, /* no more than that */
		{ 3600000000, 2147000, UINT64_MAX, 32768 },
		{ 1000000, 0, 512000, 2002 }, /* 1001 packets of 64 bytes a second */
		{ 1000000, 0, 8, 1000 },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_conditions c;

		mr_conditions_init(&c);
		c.latency = rows[i].latency;
		c.jitter = rows[i].jitter;
		c.rate = rows[i].rate;
		assert_int_equal(mr_netem_limit(&c), rows[i].limit);
	}
}

static void check(void (*set)(struct mr_conditions *), int wanted)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_conditions c;

	mr_conditions_init(&c);
	set(&c);
	assert_int_equal(mr_netem_check(&c, &err), wanted);
	if (wanted < 0) {
		assert_int_equal(err.code, MR_E_USAGE);
		assert_true(err.msg[0]);
	}
}

static void longest_delay(struct mr_conditions *c)
{
	c->latency = 3600000000;
}
static void too_long_a_delay(struct mr_conditions *c)
{
	c->latency = 3600000001;
}
static void widest_jitter(struct mr_conditions *c)
{
	c->jitter = 2147000;
}
static void too_wide_a_jitter(struct mr_conditions *c)
{
	c->jitter = 2147001;
}
static void lowest_rate(struct mr_conditions *c)
{
	c->rate = 8;
}
static void too_low_a_rate(struct mr_conditions *c)
{
	c->rate = 7;
}
static void order_without_delay(struct mr_conditions *c)
{
	c->reorder = 1;
}
static void two_models(struct mr_conditions *c)
{
	c->loss = c->ge_p = 1;
}

static void what_no_kernel_holds_is_refused(void **state)
{
	(void)state;
	check(longest_delay, 0);
	check(too_long_a_delay, -ERANGE);
	check(widest_jitter, 0);
	check(too_wide_a_jitter, -ERANGE);
	check(lowest_rate, 0);
	check(too_low_a_rate, -ERANGE);
	check(order_without_delay, -EINVAL);
	check(two_models, -EINVAL);
}

/* Everything at once, byte by byte. */
static void options_are_exact(void **state)
{
	static const uint8_t wanted[] = {
		/* struct tc_netem_qopt: ticks of 64 ns, packets, chances */
		0xa0, 0x25, 0x26, 0x00, /* 160 ms: 2,500,000 */
		0xc0, 0x44, 0x00, 0x00, /* 17,600 packets: 176 ms x 50,000/s x 2 */
		0x00, 0x00, 0x00, 0x00, /* loss is the model's */
		0x01, 0x00, 0x00, 0x00, /* gap */
		0xcd, 0xcc, 0xcc, 0x0c, /* 5 % */
		0x24, 0xf4, 0x00, 0x00, /* 4 ms: 62,500 */
		12,   0,    10,	  0, /* LATENCY64: 160,000,000 ns */
		0x00, 0x68, 0x89, 0x09, 0,    0,    0,	  0, /* ... */
		12,   0,    11,	  0, /* JITTER64: 4,000,000 ns */
		0x00, 0x09, 0x3d, 0x00, 0,    0,    0,	  0, /* ... */
		12,   0,    4,	  0, /* CORRUPT: 1 %, correlation 0 */
		0x29, 0x5c, 0x8f, 0x02, 0,    0,    0,	  0, /* ... */
		12,   0,    3,	  0, /* REORDER: 25 % */
		0x00, 0x00, 0x00, 0x40, 0,    0,    0,	  0, /* ... */
		20,   0,    6,	  0, /* RATE: 1,250,000,000 bytes a second */
		0x80, 0x7c, 0x81, 0x4a, 0,    0,    0,	  0, /* ... */
		0,    0,    0,	  0,	0,    0,    0,	  0, /* ... */
		24,   0,    5,	  0x80, /* LOSS, nested */
		20,   0,    2,	  0, /* GE */
		0x29, 0x5c, 0x8f, 0x02, /* p 1 % */
		0x00, 0x00, 0x00, 0x40, /* r 25 % */
		0x00, 0x00, 0x00, 0x40, /* h: of 75 % lost the others */
		0x37, 0x89, 0x41, 0x00, /* k1 0.1 %: 4,294,967 */
		12,   0,    14,	  0, /* PRNG_SEED */
		0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* ... */
	};
	struct mr_attrs options = { .n = 0 };
	struct mr_conditions c;

	(void)state;
	mr_conditions_init(&c);
	c.latency = 160000;
	c.jitter = 4000;
	c.duplicate = 50000;
	c.corrupt = 10000;
	c.reorder = 250000;
	c.rate = 10000000000;
	c.ge_p = 10000;
	c.ge_r = 250000;
	c.ge_bad_loss = 750000;
	c.ge_good_loss = 1000;
	c.seed = 0x1122334455667788;
	mr_netem_build(&c, &options);
	assert_int_equal(options.n, sizeof(wanted));
	assert_memory_equal(options.bytes, wanted, sizeof(wanted));
}

static void long_delays_do_not_wrap(void **state)
{
	struct mr_attrs options = { .n = 0 };
	struct tc_netem_qopt opt;
	struct mr_conditions c, shown;
	struct mr_error err = MR_ERROR_INIT;

	(void)state;
	mr_conditions_init(&c);
	c.latency = 300000000; /* 300 s */
	mr_netem_build(&c, &options);
	memcpy(&opt, options.bytes, sizeof(opt));
	assert_int_equal(opt.latency, UINT32_MAX);
	assert_int_equal(mr_netem_compare(&options, &options, &shown, &err), 0);
	assert_int_equal(shown.latency, 300000000);
}

/* All that can differ, one at a time. */
static void a_difference_is_named(void **state)
{
	static const struct {
		size_t at; /* byte that is made another */
		const char *name;
	} rows[] = {
		{ 0, "opt.latency" },
		{ 4, "opt.limit" },
		{ 8, "opt.loss" },
		{ 12, "opt.gap" },
		{ 16, "opt.duplicate" },
		{ 20, "opt.jitter" },
		{ 28, "latency64" },
		{ 40, "jitter64" },
		{ 52, "corrupt.probability" },
		{ 56, "corrupt.correlation" },
		{ 64, "reorder.probability" },
		{ 76, "rate.rate" },
		{ 84, "rate.cell_size" },
		{ 100, "ge.p" },
		{ 112, "ge.k1" },
		{ 120, "seed" },
	};
	struct mr_attrs options = { .n = 0 };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_conditions c, shown;

	(void)state;
	mr_conditions_init(&c);
	c.latency = 1000;
	c.jitter = 1;
	c.corrupt = c.reorder = c.ge_p = c.rate = 1000;
	c.seed = 5;
	mr_netem_build(&c, &options);
	assert_int_equal(options.n, 128);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_attrs other = options;

		other.bytes[rows[i].at] ^= 0x10;
		assert_int_equal(mr_netem_compare(&options, &other, &shown, &err), -EPROTO);
		assert_non_null(strstr(err.msg, rows[i].name));
	}
}

static void what_was_not_asked_for_must_be_off(void **state)
{
	const struct tc_netem_corr corr = { .loss_corr = 1 };
	const uint32_t ecn = 1;
	const struct {
		uint16_t type;
		const void *data;
		size_t size;
		const char *name;
	} rows[] = {
		{ TCA_NETEM_CORR, &corr, sizeof(corr), "corr.loss_corr" },
		{ TCA_NETEM_ECN, &ecn, sizeof(ecn), "ecn" },
	};
	struct mr_attrs options = { .n = 0 };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_conditions c, shown;

	(void)state;
	mr_conditions_init(&c);
	c.loss = 10;
	mr_netem_build(&c, &options);
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_attrs other = options;

		mr_attrs_put(&other, rows[i].type, rows[i].data, rows[i].size);
		assert_int_equal(mr_netem_compare(&options, &other, &shown, &err), -EPROTO);
		assert_non_null(strstr(err.msg, rows[i].name));
	}
}

static void a_seed_that_is_not_kept_is_told(void **state)
{
	struct mr_attrs options = { .n = 0 }, without = { .n = 0 };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_conditions c, shown;
	const uint64_t own = 77;

	(void)state;
	mr_conditions_init(&c);
	c.loss = 10000;
	mr_netem_build(&c, &without);
	c.seed = 5;
	mr_netem_build(&c, &options);
	assert_int_equal(mr_netem_compare(&options, &options, &shown, &err), 0);
	assert_int_equal(shown.seed, 5);
	assert_int_equal(shown.loss, 10000);
	assert_int_equal(mr_netem_compare(&options, &without, &shown, &err), 1);
	/* One of the kernel's own, where none was asked for, is what can be asked for next time. */
	options = without;
	mr_attrs_put(&options, 14, &own, sizeof(own));
	assert_int_equal(mr_netem_compare(&without, &options, &shown, &err), 0);
	assert_int_equal(shown.seed, 77);
}

static void malformed_options_are_refused(void **state)
{
	struct mr_attrs options = { .n = 0 };
	struct mr_error err = MR_ERROR_INIT;
	struct mr_conditions c, shown;

	(void)state;
	mr_conditions_init(&c);
	c.ge_p = 1;
	mr_netem_build(&c, &options);
	for (size_t n = 0; n < options.n; n++) {
		struct mr_attrs cut = options;

		cut.n = n;
		if (n == 24 || n == 36 || n == 48) /* whole attributes */
			continue;
		assert_int_equal(mr_netem_compare(&options, &cut, &shown, &err), -EBADMSG);
	}
}

static void rates_are_exact(void **state)
{
	static const struct {
		uint64_t bits;
		uint32_t rate, limit, ticks;
	} rows[] = {
		{ 128, 16, 65536, 3027343750U }, /* 3100 bytes at 16 bytes a second */
		{ 1000000, 125000, 65536, 387500 },
		{ 10000000, 1250000, 250000, 62500 }, /* 4 ms */
		{ 1000000000, 125000000, 25000000, 62500 },
		{ 10000000000, 1250000000, 32 << 20, 62500 },
	};
	struct mr_error err = MR_ERROR_INIT;
	struct tc_tbf_qopt opt;
	uint64_t bits;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++) {
		struct mr_attrs options = { .n = 0 }, other;

		assert_int_equal(mr_rate_check(rows[i].bits, &err), 0);
		mr_rate_build(rows[i].bits, &options);
		assert_int_equal(options.n, 4 + sizeof(opt));
		memcpy(&opt, options.bytes + 4, sizeof(opt));
		assert_int_equal(opt.rate.rate, rows[i].rate);
		assert_int_equal(opt.limit, rows[i].limit);
		assert_int_equal(opt.buffer, rows[i].ticks);
		assert_int_equal(mr_rate_compare(&options, &options, &bits, &err), 0);
		assert_int_equal(bits, rows[i].bits);
		other = options;
		other.bytes[4 + offsetof(struct tc_tbf_qopt, buffer)] ^= 1;
		assert_int_equal(mr_rate_compare(&options, &other, &bits, &err), -EPROTO);
		assert_non_null(strstr(err.msg, "tbf: buffer is "));
	}
	assert_int_equal(mr_rate_check(127, &err), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(probabilities_are_rounded),
		cmocka_unit_test(a_seed_of_nothing_asks_for_nothing),
		cmocka_unit_test(limits_are_computed),
		cmocka_unit_test(what_no_kernel_holds_is_refused),
		cmocka_unit_test(options_are_exact),
		cmocka_unit_test(long_delays_do_not_wrap),
		cmocka_unit_test(a_difference_is_named),
		cmocka_unit_test(what_was_not_asked_for_must_be_off),
		cmocka_unit_test(a_seed_that_is_not_kept_is_told),
		cmocka_unit_test(malformed_options_are_refused),
		cmocka_unit_test(rates_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

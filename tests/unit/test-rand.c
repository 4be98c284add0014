/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rand: the published numbers, equal shares, and that a seed is all there is
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/rand.h"

/* The authors' own code from the state 1, 2, 3, 4. */
static void the_published_sequence(void **state)
{
	static const uint64_t expected[] = {
		UINT64_C(11520),
		UINT64_C(0),
		UINT64_C(1509978240),
		UINT64_C(1215971899390074240),
		UINT64_C(1216172134540287360),
		UINT64_C(607988272756665600),
	};
	struct mr_rand rand = { .state = { 1, 2, 3, 4 } };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(expected); i++)
		assert_true(mr_rand_next(&rand) == expected[i]);
	assert_int_equal(rand.draws, N_ELEMENTS(expected));
}

/* The state is what SplitMix64 gives from the seed. */
static void the_published_seeding(void **state)
{
	static const uint64_t expected[] = {
		UINT64_C(6457827717110365317),
		UINT64_C(3203168211198807973),
		UINT64_C(9817491932198370423),
		UINT64_C(4593380528125082431),
	};
	struct mr_rand rand;

	(void)state;
	mr_rand_init(&rand, 1234567);
	assert_memory_equal(rand.state, expected, sizeof(expected));
	assert_int_equal(rand.draws, 0);
}

static void a_seed_is_all_there_is(void **state)
{
	struct mr_rand a, b, c;

	(void)state;
	mr_rand_init(&a, 0);
	mr_rand_init(&b, 0);
	mr_rand_init(&c, 1);
	for (int i = 0; i < 1000; i++) {
		uint64_t x = mr_rand_next(&a);

		assert_true(x == mr_rand_next(&b));
		assert_true(x != mr_rand_next(&c));
	}
}

static void shares_are_equal(void **state)
{
	enum { N = 7, DRAWS = 70000 };
	unsigned int seen[N] = { 0 };
	struct mr_rand rand;

	(void)state;
	mr_rand_init(&rand, 42);
	for (int i = 0; i < DRAWS; i++) {
		uint64_t x = mr_rand_below(&rand, N);

		assert_in_range(x, 0, N - 1);
		seen[x]++;
	}
	/* Ten standard deviations of a fair share, which is 10000. */
	for (int i = 0; i < N; i++)
		assert_in_range(seen[i], 9075, 10925);
}

/* Of n just over half of the range nearly half of the numbers must be drawn again: without that
 * every number would come, but some twice as often. */
static void what_would_be_uneven_is_drawn_again(void **state)
{
	const uint64_t n = (UINT64_C(1) << 63) + 1;
	unsigned int lower = 0;
	struct mr_rand rand;

	(void)state;
	mr_rand_init(&rand, 7);
	for (int i = 0; i < 10000; i++)
		lower += mr_rand_below(&rand, n) < n / 2;
	assert_in_range(rand.draws, 19000, 21000);
	assert_in_range(lower, 4500, 5500);
}

static void the_ends_of_the_range(void **state)
{
	unsigned int never = 0, always = 0, some = 0;
	struct mr_rand rand;

	(void)state;
	mr_rand_init(&rand, 3);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(mr_rand_below(&rand, 1), 0);
		never += mr_rand_chance(&rand, 0);
		always += mr_rand_chance(&rand, 1000);
		some += mr_rand_chance(&rand, 300);
	}
	assert_int_equal(never, 0);
	assert_int_equal(always, 1000);
	assert_in_range(some, 155, 445); /* ten standard deviations */
}

static void fresh_seeds_differ_and_fit(void **state)
{
	struct mr_error err = MR_ERROR_INIT;
	uint64_t a = 0, b = 0;

	(void)state;
	assert_int_equal(mr_rand_fresh_seed(&a, &err), 0);
	assert_int_equal(mr_rand_fresh_seed(&b, &err), 0);
	assert_true(a != b);
	assert_true(a <= MR_RAND_SEED_MAX && b <= MR_RAND_SEED_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_published_sequence),
		cmocka_unit_test(the_published_seeding),
		cmocka_unit_test(a_seed_is_all_there_is),
		cmocka_unit_test(shares_are_equal),
		cmocka_unit_test(what_would_be_uneven_is_drawn_again),
		cmocka_unit_test(the_ends_of_the_range),
		cmocka_unit_test(fresh_seeds_differ_and_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

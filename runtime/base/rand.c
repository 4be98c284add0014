/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rand: numbers that a seed determines
 *
 * The generator is xoshiro256** 1.0 (D. Blackman, S. Vigna, "Scrambled Linear
 * Pseudorandom Number Generators", ACM Transactions on Mathematical Software 47,
 * 2021), its state filled from the seed by SplitMix64 (G. Steele, D. Lea, C. Flood,
 * "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014), as the authors of
 * the first advise.  A number below n is the upper half of the 128-bit product of n
 * and 64 bits; products whose lower half is under 2^64 mod n are drawn again, which
 * makes all of them equally frequent (D. Lemire, "Fast Random Integer Generation in
 * an Interval", ACM Transactions on Modeling and Computer Simulation 29, 2019).
 *
 * Whole numbers only, so that no rounding mode or library has a say.
 */
#include "runtime/base/rand.h"

#include <errno.h>
#include <sys/random.h>

#include "runtime/base/error.h"

static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

void mr_rand_init(struct mr_rand *rand, uint64_t seed)
{
	rand->draws = 0;
	for (int i = 0; i < 4; i++)
		rand->state[i] = splitmix64(&seed);
}

static uint64_t rotate_left(uint64_t x, unsigned int n)
{
	return x << n | x >> (64 - n);
}

uint64_t mr_rand_next(struct mr_rand *rand)
{
	uint64_t *s = rand->state;
	const uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	const uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	rand->draws++;
	return result;
}

uint64_t mr_rand_below(struct mr_rand *rand, uint64_t n)
{
	unsigned __int128 product;
	uint64_t too_small;

	mr_assert(n > 0);
	too_small = -n % n; /* 2^64 mod n */
	do
		product = (unsigned __int128)mr_rand_next(rand) * n;
	while ((uint64_t)product < too_small);
	return (uint64_t)(product >> 64);
}

bool mr_rand_chance(struct mr_rand *rand, unsigned int thousandths)
{
	return mr_rand_below(rand, 1000) < thousandths;
}

int mr_rand_fresh_seed(uint64_t *ret, struct mr_error *err)
{
	uint64_t seed = 0;
	ssize_t n;

	do
		n = getrandom(&seed, sizeof(seed), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(seed))
		return mr_err(err, MR_E_SYS, n < 0 ? errno : EIO, "getrandom: %m");
	*ret = seed & MR_RAND_SEED_MAX;
	return 0;
}

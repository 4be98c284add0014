/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells
 */
#include "runtime/scenario/cells.h"

#include "runtime/base/rand.h"

size_t mr_cells_count(size_t scenarios, size_t replicates)
{
	return scenarios * replicates * 2;
}

/* Is the first cell of a pair the one with the conditions? */
static bool is_on_first(size_t scenario, size_t replicate)
{
	return (replicate + scenario) % 2 == 1;
}

size_t mr_cells_place(size_t scenario, size_t replicate, bool on, size_t scenarios)
{
	return 2 * (replicate * scenarios + scenario) + (on != is_on_first(scenario, replicate));
}

struct mr_cell mr_cells_get(size_t n, size_t scenarios, uint64_t seed)
{
	const size_t pair = n / 2;
	struct mr_cell cell = {
		.n = n,
		.scenario = pair % scenarios,
		.replicate = pair / scenarios,
	};
	struct mr_rand rand;

	cell.on = (n % 2 == 0) == is_on_first(cell.scenario, cell.replicate);
	/* Neighbouring seeds give unlike numbers; a pair has one of its own. */
	mr_rand_init(&rand, (seed + pair) % (MR_RAND_SEED_MAX + 1));
	cell.seed = mr_rand_below(&rand, MR_RAND_SEED_MAX + 1);
	return cell;
}

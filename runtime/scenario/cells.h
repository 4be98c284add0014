/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cells: the runs of a matrix, each known by its place
 *
 * For each replicate, for each scenario: both arms, right after one another and in
 * turn first, so that what the host does meanwhile meets both alike.  The place alone
 * decides everything about a cell, so a matrix is resumed by the places that are
 * missing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MR_CELLS_MAX 100000

struct mr_cell {
	size_t n;
	size_t scenario; /* place in the list of scenarios */
	size_t replicate;
	bool on; /* with the conditions */
	uint64_t seed; /* the same in both arms */
};

size_t mr_cells_count(size_t scenarios, size_t replicates);
struct mr_cell mr_cells_get(size_t n, size_t scenarios, uint64_t seed);
/* The place of the cell that mr_cells_get() says this of. */
size_t mr_cells_place(size_t scenario, size_t replicate, bool on, size_t scenarios);

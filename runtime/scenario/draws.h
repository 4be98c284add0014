/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws: the values that presets are drawn from and stepped along
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;
struct mr_error;

enum mr_draw_grammar {
	MR_DRAW_DECIMAL,
	MR_DRAW_SIZE,
	MR_DRAW_BANDWIDTH,
	MR_DRAW_PERCENT,
	MR_DRAW_NUMBER,
};

/* One row of draws.def. */
struct mr_draw {
	const char *name;
	enum mr_draw_grammar grammar;
	unsigned int chance; /* thousandths */
	const char *const *values; /* ascending */
	size_t n;
};

/* One row of orders.def. */
struct mr_order {
	const char *smaller, *larger;
	enum mr_draw_grammar grammar;
	const char *why;
};

const struct mr_draw *mr_draws_rows(size_t *ret_n);
const struct mr_draw *mr_draws_find(const char *name);
const struct mr_order *mr_draws_orders(size_t *ret_n);

/* The index-th value as a preset has it; new reference. */
struct json_t *mr_draws_json(const struct mr_draw *draw, size_t index);
/* A value of a preset in the smallest unit of its grammar; UINT64_MAX for "unlimited".  False: it
 * is not readable. */
bool mr_draws_amount(enum mr_draw_grammar grammar, struct json_t *value, uint64_t *ret);
/* Index of the first listed value that is at least the amount; n when there is none. */
size_t mr_draws_at_least(const struct mr_draw *draw, uint64_t amount);
/* The indices [*ret_from, *ret_to) that a value of this variable may have beside what the preset
 * already has; empty when it leaves none. */
void mr_draws_range(const struct mr_draw *draw, const struct json_t *preset, size_t *ret_from,
		    size_t *ret_to);
/* A value as a message may hold it: JSON, printable, not longer than MR_DRAWS_TEXT_SIZE; malloc'd. */
#define MR_DRAWS_TEXT_SIZE 80
char *mr_draws_text(const struct json_t *value);
/* MR_E_USAGE naming both, and who gave them if there is a label for each variable's origin
 * (object of variable to text, or NULL). */
int mr_draws_check_orders(const struct json_t *preset, const struct json_t *origins,
			  struct mr_error *err);

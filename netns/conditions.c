/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions
 *
 * All of them are numbers of 64 bits, so one loop over the table does for each.
 */
#include "netns/conditions.h"

#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/str.h"

#define MILLION 1000000ULL

static const struct mr_condition_row rows[] = {
#define CONDITION(member, name_, kind_, nothing_)                             \
	[MR_CONDITION_##member] = { #name_, MR_CONDITION_##kind_, (nothing_), \
				    offsetof(struct mr_conditions, member) },
#include "netns/conditions.def"
#undef CONDITION
};
_Static_assert(N_ELEMENTS(rows) <= 32, "a mask has a bit for each");

const struct mr_condition_row *mr_condition_rows(void)
{
	return rows;
}

uint64_t mr_conditions_get(const struct mr_conditions *conditions, enum mr_condition which)
{
	return *(const uint64_t *)(const void *)((const char *)conditions + rows[which].offset);
}

void mr_conditions_set(struct mr_conditions *conditions, enum mr_condition which, uint64_t value)
{
	*(uint64_t *)(void *)((char *)conditions + rows[which].offset) = value;
}

void mr_conditions_clear(struct mr_conditions *conditions, uint32_t mask)
{
	for (unsigned int i = 0; i < N_ELEMENTS(rows); i++)
		if (mask & (1U << i))
			mr_conditions_set(conditions, (enum mr_condition)i, rows[i].nothing);
}

void mr_conditions_init(struct mr_conditions *conditions)
{
	mr_conditions_clear(conditions, UINT32_MAX);
}

uint32_t mr_conditions_asked(const struct mr_conditions *conditions)
{
	uint32_t mask = 0;

	for (unsigned int i = 0; i < N_ELEMENTS(rows); i++)
		if (mr_conditions_get(conditions, (enum mr_condition)i) != rows[i].nothing)
			mask |= 1U << i;
	/* A seed decides about packets, and about none but these. */
	if (!(mask & (MR_CONDITION_BIT(loss) | MR_CONDITION_BIT(duplicate) |
		      MR_CONDITION_BIT(corrupt) | MR_CONDITION_BIT(ge_p))))
		mask &= ~MR_CONDITION_BIT(seed);
	return mask;
}

const char *mr_conditions_names(uint32_t mask, char buf[MR_CONDITIONS_NAMES_SIZE])
{
	struct mr_str list;

	mr_str_init(&list, buf, MR_CONDITIONS_NAMES_SIZE);
	for (unsigned int i = 0; i < N_ELEMENTS(rows); i++) {
		if (!(mask & (1U << i)))
			continue;
		mr_str_printf(&list, "%s%s", mask & ((1U << i) - 1) ? ", " : "", rows[i].name);
	}
	return buf;
}

uint32_t mr_conditions_chance(uint64_t ppm)
{
	if (ppm >= MILLION)
		return UINT32_MAX;
	return (uint32_t)((ppm * UINT32_MAX + MILLION / 2) / MILLION);
}

uint64_t mr_conditions_ppm(uint32_t chance)
{
	return (chance * MILLION + UINT32_MAX / 2) / UINT32_MAX;
}

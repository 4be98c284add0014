/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions of a link: what is asked of it, or what it has
 *
 * One direction of it: on a loopback each packet meets them once on its way and its
 * answer once more.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Delays in microseconds, probabilities in millionths, the rate in bits a second. */
struct mr_conditions {
#define CONDITION(member, ...) uint64_t member;
#include "netns/conditions.def"
#undef CONDITION
};

enum mr_condition {
#define CONDITION(member, ...) MR_CONDITION_##member,
#include "netns/conditions.def"
#undef CONDITION
	MR_CONDITION_COUNT_,
};
#define MR_CONDITION_BIT(member) (1U << MR_CONDITION_##member)

enum mr_condition_kind {
	MR_CONDITION_US,
	MR_CONDITION_PPM,
	MR_CONDITION_BITS,
	MR_CONDITION_NUMBER,
};

/* One row of conditions.def. */
struct mr_condition_row {
	const char *name;
	enum mr_condition_kind kind;
	uint64_t nothing;
	size_t offset; /* into struct mr_conditions */
};
/* MR_CONDITION_COUNT_ rows, indexed by enum mr_condition. */
const struct mr_condition_row *mr_condition_rows(void);

uint64_t mr_conditions_get(const struct mr_conditions *conditions, enum mr_condition which);
void mr_conditions_set(struct mr_conditions *conditions, enum mr_condition which, uint64_t value);
/* Ask for nothing: all of them, or those of the mask. */
void mr_conditions_init(struct mr_conditions *conditions);
void mr_conditions_clear(struct mr_conditions *conditions, uint32_t mask);
/* A bit per enum mr_condition that asks for something; a seed of nothing does not. */
uint32_t mr_conditions_asked(const struct mr_conditions *conditions);
/* The names of a mask's bits with commas between, in buf, which is returned. */
#define MR_CONDITIONS_NAMES_SIZE 192
const char *mr_conditions_names(uint32_t mask, char buf[MR_CONDITIONS_NAMES_SIZE]);

/* A probability as the kernel's random numbers are compared with: round(ppm / 10^6 * (2^32 - 1)).
 * And back. */
uint32_t mr_conditions_chance(uint64_t ppm);
uint64_t mr_conditions_ppm(uint32_t chance);

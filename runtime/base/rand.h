/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rand: numbers that a seed determines
 *
 * For choices that somebody must be able to repeat, never for secrets.  The same
 * seed gives the same numbers on every machine and in every version: what is drawn
 * is recorded by its seed alone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_error;

/* Seeds go through JSON, whose numbers many readers hold as doubles: up to 2^53 - 1. */
#define MR_RAND_SEED_MAX UINT64_C(9007199254740991)

struct mr_rand {
	uint64_t state[4];
	uint64_t draws; /* numbers taken so far, rejected ones with them */
};

/* Any seed is good, 0 too, and neighbouring seeds give unlike numbers. */
void mr_rand_init(struct mr_rand *rand, uint64_t seed);
/* The next 64 bits. */
uint64_t mr_rand_next(struct mr_rand *rand);
/* 0 to n - 1, each equally often; n must not be 0. */
uint64_t mr_rand_below(struct mr_rand *rand, uint64_t n);
/* True in `thousandths` of a thousand cases. */
bool mr_rand_chance(struct mr_rand *rand, unsigned int thousandths);
/* A seed that nobody chose, at most MR_RAND_SEED_MAX, from the kernel. */
int mr_rand_fresh_seed(uint64_t *ret, struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generate: presets from a seed
 *
 * The preset at place i is drawn from a stream of its own, of the seed plus i, which
 * it records as PRESET_SEED: it comes again from that seed and a count of one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;
struct mr_error;

#define MR_GENERATE_COUNT_DEFAULT 3
#define MR_GENERATE_COUNT_MAX 10000

struct mr_generate_opts {
	uint64_t seed; /* at most MR_RAND_SEED_MAX; seeds go round there */
	size_t count; /* as many as there are profiles if that is more */
	const char *const *profiles; /* "NAME", "NAME+NAME" or "none", one a preset */
	size_t n_profiles;
	const char *const *severities; /* "low" for all, or "NAME=low" */
	size_t n_severities;
	bool user_misuse; /* what is drawn may be misuse, too */
	bool unsafe; /* SECURITY_LEVEL may be 1 */
	bool linux_only; /* another system is drawn but left out */
};

/* *ret: an array of presets, new reference.  Of presets that ask for the same only the first is
 * there; the next seeds make up the number.  MR_E_USAGE: a profile or a level is unknown. */
int mr_generate(const struct mr_generate_opts *opts, struct json_t **ret, struct mr_error *err);

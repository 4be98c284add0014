/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures: which failures are to be injected, as data
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct mr_error;
struct mr_spec;

enum mr_failure_mode {
#define MODE(name, ...) MR_FAILURE_##name,
#include "runtime/spec/failure_modes.def"
#undef MODE
	MR_FAILURE_COUNT_,
};
#define MR_FAILURE_BIT(mode) (1U << (mode))
#define MR_FAILURE_MEMORY_MIN (4ULL << 20) /* the mode memory leaves this much */
/* The variable of a preset, and the item of best_effort. */
#define MR_PRESET_FAILURES "FAILURE_MODES"

/* What a sandbox must have for it. */
enum mr_failure_needs {
	MR_FAILURE_NEEDS_NOTHING,
	MR_FAILURE_NEEDS_GROUP,
	MR_FAILURE_NEEDS_CALLS,
	MR_FAILURE_NEEDS_LINK,
	MR_FAILURE_NEEDS_MOCKS,
};
/* A sentence for the manual, or "". */
const char *mr_failure_needs_text(enum mr_failure_needs needs);

struct mr_failure_row {
	const char *name;
	enum mr_failure_needs needs;
	const char *help;
};
const struct mr_failure_row *mr_failure_row(enum mr_failure_mode mode);

/* Names with commas and white space between, "none" among them: a mask of MR_FAILURE_BIT.
 * MR_E_USAGE for a name that is none. */
int mr_failures_parse(const char *text, uint32_t *ret, struct mr_error *err);
/* The names of a mask with commas between; malloc'd. */
char *mr_failures_print(uint32_t mask);
/* Is it in failure.modes itself, and not there by a flag that is a part of it? */
bool mr_spec_names_failure(const struct mr_spec *spec, enum mr_failure_mode mode);
/* The mask of failure.modes. */
uint32_t mr_spec_failures(const struct mr_spec *spec);
/* Why what is asked for does not allow it and what would; NULL: it does.  What only the kernel can
 * tell is not judged. */
const char *mr_failure_hindrance(const struct mr_spec *spec, enum mr_failure_mode mode);

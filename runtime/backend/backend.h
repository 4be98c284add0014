/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Backend: where a run can happen, and what each place can do
 *
 * The tables of backends.def.  Nothing here asks anybody anything.
 */
#pragma once

#include <stdint.h>

#include "runtime/spec/spec.h"

enum mr_backend_need {
#define BACKEND(...)
#define NEED(name, ...) MR_NEED_##name,
#include "runtime/backend/backends.def"
#undef BACKEND
#undef NEED
	MR_NEED_COUNT_,
};
#define MR_NEED_BIT(name) (UINT64_C(1) << MR_NEED_##name)

enum mr_backend_can {
	MR_BACKEND_CAN,
	MR_BACKEND_LOSS,
	MR_BACKEND_MAY_LOSE, /* which of the two the result says */
	MR_BACKEND_CANNOT,
};

/* "auto", "native", "docker", "qemu". */
const char *mr_backend_name(enum mr_backend backend);
/* The program that does it; NULL: we ourselves. */
const char *mr_backend_program(enum mr_backend backend);
const char *mr_backend_help(enum mr_backend backend);

/* Name and text of a need. */
const char *mr_backend_need_name(enum mr_backend_need need);
const char *mr_backend_need_text(enum mr_backend_need need);
/* By name; MR_NEED_COUNT_ where there is none. */
enum mr_backend_need mr_backend_need_find(const char *name);
/* What becomes of a need; *ret_loss (may be NULL): the text of a loss, else NULL. */
enum mr_backend_can mr_backend_can(enum mr_backend backend, enum mr_backend_need need,
				   const char **ret_loss);

/* What this spec needs, with the variables of our environment that it hands on: MR_NEED_BITs.  What the
 * caller needs beside it (cgroup_parent) is not among them. */
uint64_t mr_backend_needs(const struct mr_spec *spec);

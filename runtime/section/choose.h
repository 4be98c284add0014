/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Choose: which sections of a scan are to be run
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/base/json.h"

struct mr_error;

struct mr_section_choice {
	char **names; /* ids; none, and no match: all functions and methods that stubs can call */
	const char *const *match; /* patterns of fnmatch(3) over ids */
	size_t n_match;
};

#define MR_SECTION_RUNS_MAX 10000 /* sections that are chosen at once */

/* *ret: [{"id", "path", "section", "module", "construct"}], in the order of the scan, "section" and
 * "module" are of the scan and "construct" is the section of __init__ or null; *ret_passed_by: [{"section",
 * "why"}], which were meant and cannot be run.  New references.  MR_E_USAGE: a name that is none, with a
 * hint; a pattern or all that match nothing; more than MR_SECTION_RUNS_MAX. */
int mr_section_choose(const json_t *scan, const struct mr_section_choice *choice, json_t **ret,
		      json_t **ret_passed_by, struct mr_error *err);
/* Is it a method that needs no object of its class? */
bool mr_section_is_static(const json_t *section);
/* Is it one that gets neither the object nor the class? */
bool mr_section_has_no_self(const json_t *section);

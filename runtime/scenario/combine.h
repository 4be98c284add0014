/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Combine: several presets into one, by the rules of combine.def
 */
#pragma once

#include <stddef.h>

struct json_t;
struct mr_error;

/* A preset that was checked, and what messages call it. */
struct mr_combine_part {
	struct json_t *preset; /* borrowed */
	const char *label;
};

/* *ret: the preset; *ret_rows (may be NULL): for each variable that several gave, {variable, rule,
 * value, from, over}.  New references.  MR_E_USAGE: the presets contradict each other, with both
 * named. */
int mr_combine(const struct mr_combine_part *parts, size_t n, struct json_t **ret,
	       struct json_t **ret_rows, struct mr_error *err);
/* The rule of a variable in lower case: "last". */
const char *mr_combine_rule(const char *variable);

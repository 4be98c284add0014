/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Misuse: what of a request the failure mode user_misuse may change
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct mr_spec;

/* The place in argv of the first argument that is the program's own: behind the program, and behind the
 * file, module or text that an interpreter runs.  May be beyond the end. */
size_t mr_misuse_first_own(const struct mr_spec *spec);
/* The path below the workspace that an argument ("data.csv", "--in=/work/data.csv") would lead to, whether
 * or not it is there; malloc'd.  NULL: it leads elsewhere, or to the workspace itself. */
char *mr_misuse_path(const struct mr_spec *spec, const char *argument);
/* Is a file of this name a configuration? */
bool mr_misuse_is_configuration(const char *name);
/* Another text, of another type; constant. */
const char *mr_misuse_wrong_value(const char *text);

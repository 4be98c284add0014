/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judge: what came of the run of a section
 *
 * What the program says of its call stands in "outcome", marked as its word; all else is from the result
 * of menace-run, which the program cannot write.
 */
#pragma once

#include "runtime/base/json.h"

/* The row of a section, new reference.  chosen: of mr_section_choose(); result: of menace-run; inputs:
 * records of the stubs, stolen. */
json_t *mr_section_judge(const json_t *chosen, const json_t *result, json_t *inputs);
/* One whose sandbox could not be made, or whose values could not be; new reference. */
json_t *mr_section_broken(const json_t *chosen, const char *why, json_t *inputs);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request: what the driver of a section is asked to call, with values for its parameters
 */
#pragma once

#include "runtime/base/json.h"
#include "runtime/stub/input.h"

struct mr_error;

/* chosen: of mr_section_choose(); opts: step and stub are set here.  *ret: of driver.py; *ret_inputs:
 * records of the values; new references. */
int mr_section_request(const json_t *chosen, const struct mr_input_opts *opts, json_t **ret,
		       json_t **ret_inputs, struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace sections: what its verbs share
 */
#pragma once

#include "tools/cmd.h"

extern const struct mr_cmd mr_cmd_sections_run;

/* The sections of a folder, cached beside the store if there is one; new reference.  program: menace-run. */
int mr_sections_scan(const struct mr_cmd_common *common, const char *folder, const char *program,
		     struct json_t **ret, struct mr_error *err);

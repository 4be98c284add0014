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
/* What of its files was not looked at: {"count", "missed", "first": [{"path", "line", "why"}]}, new reference.
 * missed: of count, what should have been, but could not be parsed or opened or was one too many; line is null
 * where there is none. */
struct json_t *mr_sections_not_looked_at(const struct json_t *scan);
/* The rows of "first", for people. */
void mr_sections_print_not_looked_at(const struct json_t *not_looked_at);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics: what a run says, as a step of a workflow is told
 *
 * All of it was measured from outside the sandbox; what nobody measured is null.
 */
#pragma once

#include <stddef.h>

struct json_t;
struct mr_flow;

/* The row of a step (n, or n_steps for the combined run) from its result: {n, name, kind, state "done",
 * run_id, reason, status, passed, ...}; new reference.  Contents of environment are not in it. */
struct json_t *mr_metrics_row(const struct mr_flow *flow, size_t n, const struct json_t *result);
/* One that was not run, and why; new reference. */
struct json_t *mr_metrics_skipped(const struct mr_flow *flow, size_t n, const char *why);
/* All rows, by n, as one document of schema menace.flow-result/1; new reference. */
struct json_t *mr_metrics_document(const struct mr_flow *flow, const struct json_t *rows);
/* "passed": all that was run ended well; "failed"; "error": a sandbox could not be made, which says
 * nothing of the program. */
const char *mr_metrics_status(const struct json_t *rows);

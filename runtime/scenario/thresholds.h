/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thresholds: how much of what a service answers may be wrong before a cell is flagged
 */
#pragma once

#include "runtime/base/json.h"

struct mr_error;

#define MR_THRESHOLDS 2

struct mr_thresholds {
	double of[MR_THRESHOLDS]; /* shares, 0 to 1 */
};

/* text: {"METRIC": share}, or NULL: the defaults, which those have that it does not name.  Negative: it is
 * none, names another metric or has another value. */
int mr_thresholds_parse(const char *text, struct mr_thresholds *ret, struct mr_error *err);
/* Of what was counted of failures, {"MODE": {"opportunities", "fired"}}: {"METRIC": share,
 * "METRIC_threshold": share, "METRIC_breach": 0 or 1}; share and breach are null where there was no
 * opportunity.  New reference. */
json_t *mr_thresholds_metrics(const struct mr_thresholds *thresholds, const json_t *in_force);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summary: what the cells of a matrix say together
 *
 * The worth of a cell (roi) is the share of its copies that ended well, times the
 * time it may take over the time it took, if that is less than one.  The time it may
 * take is said, or it is twice the median of all cells without conditions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_t;
struct mr_outcomes;

/* A scenario, judged: the means of both arms over its replicates. */
struct mr_score {
	double on, off; /* roi */
	bool conclusive; /* its conditions took effect in every replicate */
	bool breached; /* a larger share of its copies fails with them */
	bool failed, failed_without; /* a cell with them came to that, one without them */
};

/* The place of the least on - off among the conclusive ones; SIZE_MAX when there is none, or when they
 * are all alike, or when it is the only one and does no worse with its conditions than without. */
size_t mr_summary_worst(const struct mr_score *scores, size_t n);
/* One fails that does worse with its conditions than without, or of which a cell failed in any arm.
 * "inconclusive": nothing could be judged; "robust": none fails, and nothing did without conditions, which
 * needs no conclusive one to tell; "situationally weak": exactly one fails, another passes, and nothing
 * failed without conditions; "weak": else. */
const char *mr_summary_status(const struct mr_score *scores, size_t n);

/* scenarios: as scenario.h has them; slo_ms 0: not said.
 * "failures" of metrics: the share of copies that did not end well, so that arms with different numbers of
 * copies compare.  New reference: {"scenarios": [...], "worst_scenario", "status", "advice", "slo_ms", "coverage":
 * {"covered", "missing", "core_missing"}, "counts": {verdict: cells}}. */
struct json_t *mr_summary_make(const struct json_t *scenarios, const struct mr_outcomes *outcomes,
			       double slo_ms);
/* One of the "runs" of a row of "scenarios", which are not in it: there may be very many.  n: the place of
 * the cell; slo_ms: of the summary.  New reference. */
struct json_t *mr_summary_run(const struct mr_outcomes *outcomes, size_t n, double slo_ms);

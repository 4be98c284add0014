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

/* A scenario, judged: the means of both arms over its replicates. */
struct mr_score {
	double on, off; /* roi */
	bool conclusive; /* its conditions took effect in every replicate */
	bool breached; /* a number that tells of failures is higher with them */
};

/* The place of the least on - off among the conclusive ones; SIZE_MAX when there is none, or when they
 * are all alike. */
size_t mr_summary_worst(const struct mr_score *scores, size_t n);
/* "situationally weak": exactly one of them fails, and another passes; "weak": several do; "robust":
 * none; "inconclusive": nothing could be judged. */
const char *mr_summary_status(const struct mr_score *scores, size_t n);

/* scenarios: as scenario.h has them; cells: their details, see menace-flow(5); slo_ms 0: not said.
 * New reference: {"scenarios": [...], "worst_scenario", "status", "advice", "slo_ms", "coverage":
 * {"covered", "missing", "core_missing"}, "counts": {verdict: cells}}. */
struct json_t *mr_summary_make(const struct json_t *scenarios, const struct json_t *cells,
			       double slo_ms);

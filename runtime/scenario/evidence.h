/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence: what runs and metrics say, for adapt
 *
 * Series of numbers by name, oldest first, and the largest use of each limited thing
 * that was measured.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/json.h"

struct mr_evidence {
	json_t *series; /* name: array of numbers */
	json_t *predicted; /* name: number */
	json_t *peaks; /* variable: largest use, in units of its value */
	size_t n_results;
};

void mr_evidence_init(struct mr_evidence *evidence);
void mr_evidence_deinit(struct mr_evidence *evidence);

/* A document of either kind: menace.result/1, a list of such, or metrics, {"NAME": number or list of
 * numbers, "predicted": {"NAME": number}}.  Results come in the order of time. */
int mr_evidence_add(struct mr_evidence *evidence, const struct mr_json *document,
		    struct mr_error *err);
/* The number, or the text that is one, at a path of a result ("limits.cpus").  False: there is none. */
bool mr_evidence_number_at(const json_t *result, const char *path, double *ret);
/* Values there are; the newest is last. */
size_t mr_evidence_count(const struct mr_evidence *evidence, const char *name);
double mr_evidence_get(const struct mr_evidence *evidence, const char *name, size_t index);
/* The last value less the one before it.  False: there are not two. */
bool mr_evidence_change(const struct mr_evidence *evidence, const char *name, double *ret);
/* Mean of the last `window` values, or of all there are. False: there are none. */
bool mr_evidence_mean(const struct mr_evidence *evidence, const char *name, size_t window,
		      double *ret);
/* The same with the prediction, if there is one and it is not 0. */
bool mr_evidence_mean_predicted(const struct mr_evidence *evidence, const char *name, size_t window,
				double *ret);
/* Mean of the last `window` differences and (ret_tolerance may be NULL) the tolerance for it. */
bool mr_evidence_trend(const struct mr_evidence *evidence, const char *name, size_t window,
		       double *ret, double *ret_tolerance);

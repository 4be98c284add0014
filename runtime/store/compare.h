/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compare: the rows of a run with those that its links make
 */
#pragma once

#include <stddef.h>

struct mr_compare;
struct mr_error;
struct mr_store;

int mr_compare_new(struct mr_store *store, struct mr_compare **ret, struct mr_error *err);
struct mr_compare *mr_compare_free(struct mr_compare *compare);

/* Between begin and end the links of one run are projected. */
int mr_compare_begin(struct mr_compare *compare, struct mr_error *err);
int mr_compare_project(struct mr_compare *compare, const char *kind, const char *body,
		       struct mr_error *err);
/* 0: equal; 1: not, with where in what. */
int mr_compare_end(struct mr_compare *compare, const char *run_id, char *what, size_t size,
		   struct mr_error *err);
/* Rows of runs that have none in runs: 0 none, 1 with the first in what. */
int mr_compare_strangers(struct mr_compare *compare, char *what, size_t size, struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report of a matrix, in the forms there are
 *
 * What there is one of for each cell is read and written one by one.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

struct json_t;
struct mr_error;
struct mr_matrix_details;
struct mr_outcomes;

struct mr_matrix_report {
	/* Schema menace.matrix/1, menace-flow(5): what mr_summary_make() made, with "matrix", "name",
	 * "seed", "replicates" and perhaps "trajectory"; without "cells", and without "runs" in
	 * "scenarios". */
	const struct json_t *head;
	const struct mr_outcomes *outcomes;
	struct mr_matrix_details *details; /* of all cells */
};

/* On standard output. */
int mr_matrix_json(const struct mr_matrix_report *report, struct mr_error *err);
int mr_matrix_table(const struct mr_matrix_report *report, struct mr_error *err);
/* Whole documents; whether they could be written is known by the stream.
 * A testcase a cell, where what is inconclusive is skipped. */
int mr_matrix_junit(const struct mr_matrix_report *report, FILE *out, struct mr_error *err);
/* One page that loads nothing. */
int mr_matrix_html(const struct mr_matrix_report *report, FILE *out, struct mr_error *err);

/* Put each cell, in the order of places. */
int mr_matrix_put_cells(const struct mr_matrix_report *report,
			void (*put)(void *stream, const struct json_t *cell), void *stream,
			struct mr_error *err);
/* Text between tags and in quotes, in both. */
void mr_matrix_put_text(void *stream, const char *text);

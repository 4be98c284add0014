/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report of a matrix, in the forms there are
 *
 * report: schema menace.matrix/1, menace-flow(5): what mr_summary_make() made, with
 * "matrix", "name", "seed", "replicates" and "cells".
 */
#pragma once

struct json_t;
struct mr_error;

/* On standard output. */
void mr_matrix_table(const struct json_t *report);
/* Whole files; a testcase a cell, where what is inconclusive is skipped. */
int mr_matrix_junit(const struct json_t *report, const char *path, struct mr_error *err);
/* One page that loads nothing. */
int mr_matrix_html(const struct json_t *report, const char *path, struct mr_error *err);

/* Text between tags and in quotes, in both. */
void mr_matrix_put_text(void *stream, const char *text);

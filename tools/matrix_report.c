/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report of a matrix: JSON, the table, and JUnit XML
 */
#include "tools/matrix_report.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/json_out.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/scenario/outcome.h"
#include "runtime/scenario/summary.h"
#include "tools/matrix_details.h"
#include "tools/term.h"

static const char *text_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "";
}

static double number_of(const json_t *json, const char *key)
{
	return json_number_value(json_object_get(json, key));
}

int mr_matrix_put_cells(const struct mr_matrix_report *report,
			void (*put)(void *stream, const json_t *cell), void *stream,
			struct mr_error *err)
{
	int r = 0;

	for (size_t n = 0; r == 0 && n < report->outcomes->n_cells; n++) {
		mr_auto_json json_t *cell = NULL;

		r = mr_matrix_details_get(report->details, n, &cell, err);
		if (r == 0)
			put(stream, cell);
	}
	return r;
}

/* --- JSON ------------------------------------------------------------------ */

static void put_arm(struct mr_json_out *out, const struct mr_matrix_report *report, size_t scenario,
		    bool on)
{
	const struct mr_outcomes *outcomes = report->outcomes;
	const double slo_ms = number_of(report->head, "slo_ms");

	for (size_t i = 0; i < outcomes->n_replicates; i++) {
		const size_t n = mr_cells_place(scenario, i, on, outcomes->n_scenarios);
		mr_auto_json json_t *run = mr_summary_run(outcomes, n, slo_ms);

		mr_json_out_value(out, NULL, run);
	}
}

static void put_scenarios(struct mr_json_out *out, const struct mr_matrix_report *report,
			  const json_t *rows)
{
	const char *key;
	json_t *value;

	mr_json_out_begin(out, "scenarios", '[');
	for (size_t i = 0; i < json_array_size(rows); i++) {
		mr_json_out_begin(out, NULL, '{');
		json_object_foreach (json_array_get(rows, i), key, value)
			mr_json_out_value(out, key, value);
		mr_json_out_begin(out, "runs", '[');
		put_arm(out, report, i, false);
		put_arm(out, report, i, true);
		mr_json_out_end(out, ']');
		mr_json_out_end(out, '}');
	}
	mr_json_out_end(out, ']');
}

static void put_cell(void *stream, const json_t *cell)
{
	mr_json_out_value(stream, NULL, cell);
}

int mr_matrix_json(const struct mr_matrix_report *report, struct mr_error *err)
{
	struct mr_json_out out = { .stream = stdout };
	const char *key;
	json_t *value;
	int r;

	mr_json_out_begin(&out, NULL, '{');
	json_object_foreach ((json_t *)(uintptr_t)report->head, key, value) {
		if (strcmp(key, "scenarios") == 0)
			put_scenarios(&out, report, value);
		else
			mr_json_out_value(&out, key, value);
	}
	mr_json_out_begin(&out, "cells", '[');
	r = mr_matrix_put_cells(report, put_cell, &out, err);
	if (r < 0)
		return r; /* what was printed so far is no JSON, and is seen to be none */
	mr_json_out_end(&out, ']');
	mr_json_out_end(&out, '}');
	putchar('\n');
	return 0;
}

/* --- table ----------------------------------------------------------------- */

static const char *milliseconds(char *buf, double ms)
{
	return mr_units_human_time(buf, ms > 0 ? (uint64_t)(ms * 1e6) : 0);
}

static enum mr_term_style style_of(const char *verdict)
{
	if (strcmp(verdict, "passed") == 0)
		return MR_TERM_PLAIN;
	return strcmp(verdict, "inconclusive") == 0 ? MR_TERM_YELLOW : MR_TERM_RED;
}

static void print_row(const json_t *row)
{
	char on[MR_UNITS_SIZE], off[MR_UNITS_SIZE];
	const json_t *why = json_object_get(row, "why");
	const char *verdict = text_of(row, "verdict");

	mr_term_cell(MR_TERM_PLAIN, text_of(row, "name"), 20);
	printf(" %-5s ", text_of(row, "level"));
	mr_term_cell(style_of(verdict), verdict, 13);
	printf(" %6.2f %6.2f %+7.3f %12s %12s", number_of(row, "roi_on"), number_of(row, "roi_off"),
	       number_of(row, "roi_delta"),
	       milliseconds(on, number_of(json_object_get(row, "metrics_on"), "wall_ms")),
	       milliseconds(off, number_of(json_object_get(row, "metrics_off"), "wall_ms")));
	if (json_is_true(json_object_get(row, "worst")))
		printf(" <== WORST");
	putchar('\n');
	for (size_t i = 0; i < json_array_size(why); i++) {
		printf("    ");
		mr_term_put(MR_TERM_DIM, json_string_value(json_array_get(why, i)));
		putchar('\n');
	}
}

/* One failed cell of each scenario says why. */
static int print_failure(const struct mr_matrix_report *report, size_t scenario,
			 struct mr_error *err)
{
	const size_t n = mr_outcomes_find(report->outcomes, scenario, MR_VERDICT_FAILED);
	mr_auto_json json_t *cell = NULL;
	int r = n == SIZE_MAX ? 0 : mr_matrix_details_get(report->details, n, &cell, err);

	if (!cell)
		return r;
	printf("    cell %zu (%s): ", n, text_of(cell, "arm"));
	mr_term_put(MR_TERM_PLAIN, text_of(cell, "failed_because"));
	if (text_of(cell, "said")[0])
		printf("\n        it said: ");
	mr_term_put(MR_TERM_PLAIN, text_of(cell, "said"));
	putchar('\n');
	return 0;
}

/* With a sign where it is a difference. */
static void print_number(const json_t *row, const char *key, bool is_signed, int width)
{
	const json_t *value = json_object_get(row, key);

	if (!json_is_number(value))
		printf(" %*s", width, "-");
	else if (is_signed)
		printf(" %+*.3f", width, json_number_value(value));
	else
		printf(" %*.3f", width, json_number_value(value));
}

static void print_trajectory(const json_t *trajectory)
{
	const json_t *stages = json_object_get(trajectory, "stages");

	mr_term_cell(MR_TERM_BOLD, "STAGE", 20);
	printf("       VERDICT          ROI   DELTA RESILIENCE STABILITY DEGRADATION\n");
	for (size_t i = 0; i < json_array_size(stages); i++) {
		const json_t *row = json_array_get(stages, i);

		mr_term_cell(MR_TERM_PLAIN, text_of(row, "stage"), 20);
		printf("       ");
		mr_term_cell(style_of(text_of(row, "verdict")), text_of(row, "verdict"), 13);
		print_number(row, "roi", false, 6);
		print_number(row, "roi_delta", true, 7);
		print_number(row, "resilience", false, 10);
		print_number(row, "stability", false, 9);
		print_number(row, "scenario_degradation", true, 11);
		putchar('\n');
	}
	printf("trajectory: %s", text_of(trajectory, "verdict"));
	if (text_of(trajectory, "broke_at")[0])
		printf(", broke at %s%s", text_of(trajectory, "broke_at"),
		       json_is_true(json_object_get(trajectory, "recovered")) ? ", recovered later"
									      : "");
	putchar('\n');
}

/* Who keeps the sums of all cells under the cap, and what of it only adds up limits. */
static void print_cap(const json_t *cap)
{
	const json_t *lacks = json_object_get(cap, "by_accounting"), *why;
	const bool by_kernel = strcmp(text_of(cap, "kept_by"), "kernel") == 0;
	const char *controller;

	if (!cap)
		return;
	printf("cap of all cells: kept by %s", by_kernel ? "control group " : "accounting alone: ");
	mr_term_put(MR_TERM_PLAIN, text_of(cap, by_kernel ? "group" : "why"));
	putchar('\n');
	json_object_foreach ((json_t *)(uintptr_t)lacks, controller, why) {
		if (!by_kernel)
			break;
		printf("    %s by accounting alone: ", controller);
		mr_term_put(MR_TERM_DIM, json_string_value(why));
		putchar('\n');
	}
	if (by_kernel && number_of(cap, "runs_outside") > 0)
		printf("    %.0f of %.0f runs were not in it\n", number_of(cap, "runs_outside"),
		       number_of(cap, "runs"));
	json_object_foreach (json_object_get(cap, "outside_why"), controller, why) {
		printf("    %lld: ", (long long)json_integer_value(why));
		mr_term_put(MR_TERM_DIM, controller);
		putchar('\n');
	}
}

static int print_scenarios(const struct mr_matrix_report *report, struct mr_error *err)
{
	const json_t *rows = json_object_get(report->head, "scenarios");
	int r = 0;

	mr_term_cell(MR_TERM_BOLD, "SCENARIO", 20);
	printf(" LEVEL VERDICT       ROI ON    OFF   DELTA      WALL ON     WALL OFF\n");
	for (size_t i = 0; r == 0 && i < json_array_size(rows); i++) {
		print_row(json_array_get(rows, i));
		r = print_failure(report, i, err);
	}
	return r;
}

int mr_matrix_table(const struct mr_matrix_report *of, struct mr_error *err)
{
	const json_t *report = of->head;
	const json_t *missing = json_object_get(json_object_get(report, "coverage"), "missing");
	int r = print_scenarios(of, err);

	if (r < 0)
		return r;
	if (json_object_get(report, "trajectory"))
		print_trajectory(json_object_get(report, "trajectory"));
	if (text_of(report, "worst_scenario")[0]) {
		printf("worst_scenario: ");
		mr_term_put(MR_TERM_PLAIN, text_of(report, "worst_scenario"));
		putchar('\n');
	}
	printf("status: %s\n", text_of(report, "status"));
	if (text_of(report, "advice")[0])
		printf("advice: %s\n", text_of(report, "advice"));
	if (json_array_size(missing) > 0)
		printf("canonical profiles without a verdict:");
	for (size_t i = 0; i < json_array_size(missing); i++)
		printf(" %s", json_string_value(json_array_get(missing, i)));
	if (json_array_size(missing) > 0)
		putchar('\n');
	print_cap(json_object_get(report, "cap"));
	printf("matrix %s, seed %.0f\n", text_of(report, "matrix"), number_of(report, "seed"));
	return 0;
}

/* --- JUnit ----------------------------------------------------------------- */

/* What XML 1.0 has no way to hold becomes '?'. */
void mr_matrix_put_text(void *stream, const char *text)
{
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;

		switch (c) {
		case '&':
			fputs("&amp;", stream);
			break;
		case '<':
			fputs("&lt;", stream);
			break;
		case '>':
			fputs("&gt;", stream);
			break;
		case '"':
			fputs("&quot;", stream);
			break;
		case '\'':
			fputs("&#39;", stream);
			break;
		default:
			fputc(c < ' ' && c != '\n' && c != '\t' ? '?' : c, stream);
		}
	}
}

static void put_reason(FILE *out, const char *tag, const json_t *cell)
{
	const json_t *why = json_object_get(cell, "why");

	fprintf(out, "      <%s message=\"", tag);
	if (strcmp(tag, "failure") == 0)
		mr_matrix_put_text(out, text_of(cell, "failed_because"));
	for (size_t i = 0; strcmp(tag, "failure") != 0 && i < json_array_size(why); i++) {
		if (i > 0)
			fputs("; ", out);
		mr_matrix_put_text(out, json_string_value(json_array_get(why, i)));
	}
	fputs("\"/>\n", out);
}

/* NULL: it passed. */
static const char *tag_of(const char *verdict)
{
	return strcmp(verdict, "failed") == 0	      ? "failure"
	       : strcmp(verdict, "error") == 0	      ? "error"
	       : strcmp(verdict, "inconclusive") == 0 ? "skipped"
						      : NULL;
}

static void put_case(void *stream, const json_t *cell)
{
	FILE *out = stream;
	const char *tag = tag_of(text_of(cell, "verdict"));

	fputs("    <testcase classname=\"", out);
	mr_matrix_put_text(out, text_of(cell, "scenario"));
	fprintf(out, ".%s\" name=\"replicate %.0f %s (seed %.0f)\" time=\"%.6f\"%s\n",
		text_of(cell, "level"), number_of(cell, "replicate"), text_of(cell, "arm"),
		number_of(cell, "seed"), number_of(cell, "wall_ms") / 1000, tag ? ">" : "/>");
	if (!tag)
		return;
	put_reason(out, tag, cell);
	fputs("    </testcase>\n", out);
}

static int put_suite(FILE *out, const struct mr_matrix_report *report, struct mr_error *err)
{
	const json_t *counts = json_object_get(report->head, "counts");
	int r;

	fputs("  <testsuite name=\"", out);
	mr_matrix_put_text(out, text_of(report->head, "name"));
	fprintf(out, "\" tests=\"%zu\" failures=\"%.0f\" errors=\"%.0f\" skipped=\"%.0f\">\n",
		report->outcomes->n_cells, number_of(counts, "failed"), number_of(counts, "error"),
		number_of(counts, "inconclusive"));
	r = mr_matrix_put_cells(report, put_case, out, err);
	fputs("  </testsuite>\n", out);
	return r;
}

static size_t count_tag(const json_t *stages, const char *tag)
{
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(stages); i++) {
		const char *own = tag_of(text_of(json_array_get(stages, i), "verdict"));

		count += own && strcmp(own, tag) == 0;
	}
	return count;
}

static void put_stage_failure(FILE *out, const json_t *row)
{
	const json_t *delta = json_object_get(row, "roi_delta");

	fprintf(out, "worth %.3f, ", number_of(row, "roi"));
	if (json_is_number(delta))
		fprintf(out, "%+.3f against the first stage", json_number_value(delta));
	else
		fputs("which cannot be compared: the first stage came to no verdict", out);
}

static void put_stage(FILE *out, const json_t *row)
{
	const char *tag = tag_of(text_of(row, "verdict"));
	const json_t *why = json_object_get(row, "why");

	fprintf(out, "    <testcase classname=\"trajectory\" name=\"%s\"%s\n",
		text_of(row, "stage"), tag ? ">" : "/>");
	if (!tag)
		return;
	fprintf(out, "      <%s message=\"", tag);
	if (strcmp(tag, "failure") == 0)
		put_stage_failure(out, row);
	for (size_t i = 0; i < json_array_size(why); i++) {
		fputs(i > 0 ? "; " : "", out);
		mr_matrix_put_text(out, json_string_value(json_array_get(why, i)));
	}
	fputs("\"/>\n    </testcase>\n", out);
}

/* Each stage once more, as a whole. */
static void put_trajectory(FILE *out, const json_t *report)
{
	const json_t *stages = json_object_get(json_object_get(report, "trajectory"), "stages");

	if (!stages)
		return;
	fputs("  <testsuite name=\"", out);
	mr_matrix_put_text(out, text_of(report, "name"));
	fprintf(out,
		" trajectory\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\">\n",
		json_array_size(stages), count_tag(stages, "failure"), count_tag(stages, "error"),
		count_tag(stages, "skipped"));
	for (size_t i = 0; i < json_array_size(stages); i++)
		put_stage(out, json_array_get(stages, i));
	fputs("  </testsuite>\n", out);
}

int mr_matrix_junit(const struct mr_matrix_report *report, FILE *out, struct mr_error *err)
{
	int r;

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"menace scenario\">\n",
	      out);
	r = put_suite(out, report, err);
	put_trajectory(out, report->head);
	fputs("</testsuites>\n", out);
	return r;
}

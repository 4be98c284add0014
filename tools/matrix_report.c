/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report of a matrix: the table, and JUnit XML
 */
#include "tools/matrix_report.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "tools/outfile.h"
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
static void print_failures(const json_t *report, const json_t *row)
{
	const json_t *cells = json_object_get(report, "cells");

	for (size_t i = 0; i < json_array_size(cells); i++) {
		const json_t *cell = json_array_get(cells, i);

		if (strcmp(text_of(cell, "scenario"), text_of(row, "name")) != 0 ||
		    strcmp(text_of(cell, "level"), text_of(row, "level")) != 0 ||
		    strcmp(text_of(cell, "verdict"), "failed") != 0)
			continue;
		printf("    cell %.0f (%s): ", number_of(cell, "n"), text_of(cell, "arm"));
		mr_term_put(MR_TERM_PLAIN, text_of(cell, "failed_because"));
		if (text_of(cell, "said")[0])
			printf("\n        it said: ");
		mr_term_put(MR_TERM_PLAIN, text_of(cell, "said"));
		putchar('\n');
		return;
	}
}

void mr_matrix_table(const json_t *report)
{
	const json_t *rows = json_object_get(report, "scenarios");
	const json_t *missing = json_object_get(json_object_get(report, "coverage"), "missing");

	mr_term_cell(MR_TERM_BOLD, "SCENARIO", 20);
	printf(" LEVEL VERDICT       ROI ON    OFF   DELTA      WALL ON     WALL OFF\n");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		print_row(json_array_get(rows, i));
		print_failures(report, json_array_get(rows, i));
	}
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
	printf("matrix %s, seed %.0f\n", text_of(report, "matrix"), number_of(report, "seed"));
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

static void put_case(FILE *out, const json_t *cell)
{
	const char *verdict = text_of(cell, "verdict");
	const char *tag = strcmp(verdict, "failed") == 0	 ? "failure"
			  : strcmp(verdict, "error") == 0	 ? "error"
			  : strcmp(verdict, "inconclusive") == 0 ? "skipped"
								 : NULL;

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

static void put_suite(FILE *out, const json_t *report)
{
	const json_t *counts = json_object_get(report, "counts");
	const json_t *cells = json_object_get(report, "cells");

	fputs("  <testsuite name=\"", out);
	mr_matrix_put_text(out, text_of(report, "name"));
	fprintf(out, "\" tests=\"%zu\" failures=\"%.0f\" errors=\"%.0f\" skipped=\"%.0f\">\n",
		json_array_size(cells), number_of(counts, "failed"), number_of(counts, "error"),
		number_of(counts, "inconclusive"));
	for (size_t i = 0; i < json_array_size(cells); i++)
		put_case(out, json_array_get(cells, i));
	fputs("  </testsuite>\n", out);
}

int mr_matrix_junit(const json_t *report, const char *path, struct mr_error *err)
{
	struct mr_outfile file = MR_OUTFILE_INIT;
	int r = mr_outfile_open(path, 0644, &file, err);

	if (r == 0) {
		fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"menace "
		      "scenario\">\n",
		      file.stream);
		put_suite(file.stream, report);
		fputs("</testsuites>\n", file.stream);
		r = mr_outfile_commit(&file, err);
	}
	mr_outfile_deinit(&file);
	return r;
}

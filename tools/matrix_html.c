/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report of a matrix: one page of HTML
 *
 * Nothing is loaded and nothing runs in it (its policy says so to the browser);
 * charts are SVG in the text.  Names come from workflows and presets, so all of them
 * are escaped.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "tools/matrix_report.h"

#define ROW 44 /* pixels of a scenario in a chart */
#define LEFT 230
#define WIDTH 420

static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'\">\n<style>\n"
	"body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;"
	"color:#222;background:#fff}\n"
	"table{border-collapse:collapse;margin:1em 0}td,th{padding:.25em .7em;text-align:left;"
	"border-bottom:1px solid #ddd}\ntd.n{text-align:right;font-variant-numeric:tabular-nums}\n"
	".passed{color:#186a3b}.failed,.error{color:#a93226;font-weight:600}"
	".inconclusive{color:#7d6608}\n.worst{background:#fdedec}\n"
	"ul{margin:.2em 0;padding-left:1.2em;color:#555}svg text{font:12px system-ui,sans-serif}\n"
	"@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}"
	"td,th{border-color:#444}.worst{background:#3b2220}ul{color:#aaa}svg text{fill:#ddd}"
	".passed{color:#7dcea0}.failed,.error{color:#ec7063}.inconclusive{color:#f4d03f}}\n"
	"</style>\n";

static const char *text_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "";
}

static double number_of(const json_t *json, const char *key)
{
	return json_number_value(json_object_get(json, key));
}

static void put_name(FILE *out, const json_t *row)
{
	mr_matrix_put_text(out, text_of(row, "name"));
	if (strcmp(text_of(row, "level"), "-") != 0)
		fprintf(out, " (%s)", text_of(row, "level"));
}

/* --- charts ---------------------------------------------------------------- */

/* What a chart shows of a scenario. */
struct chart {
	const char *title, *unit;
	double (*value)(const json_t *row, bool on);
	double (*error)(const json_t *row); /* half of an interval around the first, or NULL */
};

static double roi_value(const json_t *row, bool on)
{
	return number_of(row, on ? "roi_on" : "roi_off");
}

static double roi_error(const json_t *row)
{
	return number_of(row, "roi_delta_ci95");
}

static double wall_value(const json_t *row, bool on)
{
	return number_of(json_object_get(row, on ? "metrics_on" : "metrics_off"), "wall_ms");
}

static double peak_value(const json_t *row, bool on)
{
	return number_of(json_object_get(row, on ? "metrics_on" : "metrics_off"),
			 "memory_peak_bytes") /
	       1048576;
}

static const struct chart charts[] = {
	{ "Worth (roi)", "", roi_value, roi_error },
	{ "Time of a copy", " ms", wall_value, NULL },
	{ "Peak memory of a copy", " MiB", peak_value, NULL },
};

static void put_bar(FILE *out, double y, double value, double most, const char *fill,
		    const char *unit)
{
	const double width = most > 0 ? value / most * WIDTH : 0;

	fprintf(out,
		"<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"14\" fill=\"%s\"/>"
		"<text x=\"%.1f\" y=\"%.1f\">%.4g%s</text>\n",
		LEFT, y, width < 1 ? 1 : width, fill, LEFT + (width < 1 ? 1 : width) + 6, y + 12,
		value, unit);
}

static void put_interval(FILE *out, double y, double value, double half, double most)
{
	const double from = value > half ? value - half : 0, to = value + half;

	if (half <= 0 || most <= 0)
		return;
	fprintf(out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#000\" stroke-width=\"2\"/>\n",
		LEFT + from / most * WIDTH, y + 7, LEFT + (to > most ? most : to) / most * WIDTH);
}

static void put_chart(FILE *out, const struct chart *chart, const json_t *rows)
{
	const size_t n = json_array_size(rows);
	double most = 0;

	for (size_t i = 0; i < 2 * n; i++) {
		const double value = chart->value(json_array_get(rows, i / 2), i % 2 == 0);

		most = value > most ? value : most;
	}
	fprintf(out,
		"<h2>%s</h2>\n<svg role=\"img\" aria-label=\"%s\" width=\"%d\" height=\"%zu\" "
		"viewBox=\"0 0 %d %zu\" xmlns=\"http://www.w3.org/2000/svg\">\n",
		chart->title, chart->title, LEFT + WIDTH + 110, n * ROW + 6, LEFT + WIDTH + 110,
		n * ROW + 6);
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(rows, i);
		const double y = (double)(i * ROW) + 4;

		fprintf(out, "<text x=\"0\" y=\"%.1f\">", y + 20);
		put_name(out, row);
		fputs("</text>\n", out);
		put_bar(out, y, chart->value(row, true), most, "#2e86c1", chart->unit);
		if (chart->error)
			put_interval(out, y, chart->value(row, true), chart->error(row), most);
		put_bar(out, y + 17, chart->value(row, false), most, "#aeb6bf", chart->unit);
	}
	fputs("</svg>\n", out);
}

/* --- tables ---------------------------------------------------------------- */

static void put_why(FILE *out, const json_t *why)
{
	if (json_array_size(why) == 0)
		return;
	fputs("<ul>", out);
	for (size_t i = 0; i < json_array_size(why); i++) {
		fputs("<li>", out);
		mr_matrix_put_text(out, json_string_value(json_array_get(why, i)));
		fputs("</li>", out);
	}
	fputs("</ul>", out);
}

static void put_row(FILE *out, const json_t *row)
{
	const bool worst = json_is_true(json_object_get(row, "worst"));
	const char *verdict = text_of(row, "verdict");

	fprintf(out, "<tr%s><td>", worst ? " class=\"worst\"" : "");
	put_name(out, row);
	fprintf(out, "%s</td><td class=\"%s\">%s", worst ? " &#9668; worst" : "", verdict, verdict);
	put_why(out, json_object_get(row, "why"));
	fprintf(out,
		"</td><td class=\"n\">%.3f</td><td class=\"n\">%.3f</td><td class=\"n\">%+.3f "
		"&#177; "
		"%.3f</td><td class=\"n\">%.0f of %.0f</td></tr>\n",
		number_of(row, "roi_on"), number_of(row, "roi_off"), number_of(row, "roi_delta"),
		number_of(row, "roi_delta_ci95"), number_of(row, "failed"),
		number_of(row, "replicates"));
}

static void put_cell(void *stream, const json_t *cell)
{
	FILE *out = stream;
	const char *verdict = text_of(cell, "verdict");

	fprintf(out, "<tr><td class=\"n\">%.0f</td><td>", number_of(cell, "n"));
	mr_matrix_put_text(out, text_of(cell, "scenario"));
	fprintf(out,
		"</td><td>%s</td><td class=\"n\">%.0f</td><td>%s</td><td class=\"n\">%.0f</td>"
		"<td class=\"%s\">%s</td><td class=\"n\">%.0f / %.0f</td><td class=\"n\">%.0f</td>"
		"<td class=\"n\">%.1f</td><td>",
		text_of(cell, "level"), number_of(cell, "replicate"), text_of(cell, "arm"),
		number_of(cell, "seed"), verdict, verdict, number_of(cell, "copies_passed"),
		number_of(cell, "copies"), number_of(cell, "at_once"), number_of(cell, "wall_ms"));
	mr_matrix_put_text(out, text_of(cell, "failed_because"));
	if (text_of(cell, "said")[0])
		fputs("; it said: ", out);
	mr_matrix_put_text(out, text_of(cell, "said"));
	fputs("</td></tr>\n", out);
}

/* --- trajectory ------------------------------------------------------------ */

#define STEP 130
#define HEIGHT 120

/* Worths are between 0 and 1; a stage without one leaves a gap. */
static void put_curve(FILE *out, const json_t *stages)
{
	const size_t n = json_array_size(stages);
	bool pen = false;

	fprintf(out,
		"<svg role=\"img\" aria-label=\"Worth of each stage\" width=\"%zu\" height=\"%d\" "
		"viewBox=\"0 0 %zu %d\" xmlns=\"http://www.w3.org/2000/svg\">\n<path d=\"",
		n * STEP, HEIGHT + 40, n * STEP, HEIGHT + 40);
	for (size_t i = 0; i < n; i++) {
		const json_t *roi = json_object_get(json_array_get(stages, i), "roi");

		if (json_is_number(roi))
			fprintf(out, "%c%zu %.1f", pen ? 'L' : 'M', i * STEP + STEP / 2,
				10 + (1 - json_number_value(roi)) * HEIGHT);
		pen = json_is_number(roi);
	}
	fputs("\" fill=\"none\" stroke=\"#2e86c1\" stroke-width=\"2\"/>\n", out);
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(stages, i);
		const json_t *roi = json_object_get(row, "roi");

		if (json_is_number(roi))
			fprintf(out, "<circle cx=\"%zu\" cy=\"%.1f\" r=\"4\" fill=\"#2e86c1\"/>",
				i * STEP + STEP / 2, 10 + (1 - json_number_value(roi)) * HEIGHT);
		fprintf(out, "<text x=\"%zu\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
			i * STEP + STEP / 2, HEIGHT + 32, text_of(row, "stage"));
	}
	fputs("</svg>\n", out);
}

static void put_stage(FILE *out, const json_t *row)
{
	static const char *const keys[] = { "roi", "roi_delta", "resilience", "stability",
					    "scenario_degradation" };
	const char *verdict = text_of(row, "verdict");

	fprintf(out, "<tr><td>%s</td><td class=\"%s\">%s", text_of(row, "stage"), verdict, verdict);
	put_why(out, json_object_get(row, "why"));
	fputs("</td>", out);
	for (size_t i = 0; i < N_ELEMENTS(keys); i++) {
		const json_t *value = json_object_get(row, keys[i]);

		if (json_is_number(value))
			fprintf(out, "<td class=\"n\">%.3f</td>", json_number_value(value));
		else
			fputs("<td class=\"n\">-</td>", out);
	}
	fputs("</tr>\n", out);
}

static void put_trajectory(FILE *out, const json_t *trajectory)
{
	const json_t *stages = json_object_get(trajectory, "stages");

	if (!trajectory)
		return;
	fprintf(out, "<h2>Trajectory: %s", text_of(trajectory, "verdict"));
	if (text_of(trajectory, "broke_at")[0])
		fprintf(out, ", broke at %s%s", text_of(trajectory, "broke_at"),
			json_is_true(json_object_get(trajectory, "recovered")) ? ", recovered later"
									       : "");
	fputs("</h2>\n<table><tr><th>Stage</th><th>Verdict</th><th>Worth</th><th>Difference</th>"
	      "<th>Resilience</th><th>Stability</th><th>Degradation</th></tr>\n",
	      out);
	for (size_t i = 0; i < json_array_size(stages); i++)
		put_stage(out, json_array_get(stages, i));
	fputs("</table>\n", out);
	put_curve(out, stages);
}

/* All but the cells, which come behind it. */
static void put_head(FILE *out, const json_t *report)
{
	const json_t *rows = json_object_get(report, "scenarios");

	fputs(head, out);
	fputs("<title>", out);
	mr_matrix_put_text(out, text_of(report, "name"));
	fputs(" under scenarios</title></head><body>\n<h1>", out);
	mr_matrix_put_text(out, text_of(report, "name"));
	fprintf(out, " under scenarios</h1>\n<p>Status: <b>%s</b>. ", text_of(report, "status"));
	mr_matrix_put_text(out, text_of(report, "advice"));
	fprintf(out,
		"</p>\n<p>Matrix %s, seed %.0f, %.0f replicates. A copy may take %.1f ms; what "
		"takes longer is worth less.</p>\n<table><tr><th>Scenario</th><th>Verdict</th>"
		"<th>On</th><th>Off</th><th>Difference</th><th>Failed</th></tr>\n",
		text_of(report, "matrix"), number_of(report, "seed"),
		number_of(report, "replicates"), number_of(report, "slo_ms"));
	for (size_t i = 0; i < json_array_size(rows); i++)
		put_row(out, json_array_get(rows, i));
	fputs("</table>\n", out);
	put_trajectory(out, json_object_get(report, "trajectory"));
	fputs("<p>In the charts, blue is with the conditions and grey without.</p>\n", out);
	for (size_t i = 0; i < N_ELEMENTS(charts); i++)
		put_chart(out, &charts[i], rows);
}

static int put_cells(FILE *out, const struct mr_matrix_report *report, struct mr_error *err)
{
	int r;

	fputs("<h2>Cells</h2>\n<table><tr><th>n</th><th>Scenario</th><th>Level</th>"
	      "<th>Replicate</th><th>Arm</th><th>Seed</th><th>Verdict</th><th>Passed</th>"
	      "<th>At once</th><th>ms</th><th>Why it failed</th></tr>\n",
	      out);
	r = mr_matrix_put_cells(report, put_cell, out, err);
	fputs("</table>\n</body></html>\n", out);
	return r;
}

int mr_matrix_html(const struct mr_matrix_report *report, FILE *out, struct mr_error *err)
{
	put_head(out, report->head);
	return put_cells(out, report, err);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Summary
 *
 * Differences are taken within pairs: the two arms of a replicate ran next to each
 * other with one seed.
 */
#include "runtime/scenario/summary.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/scenario/profile.h"

static bool fails(const struct mr_score *score)
{
	return score->on - score->off < 0 || score->breached;
}

/* Where all are alike none is the worst, and the only one is it if it fails. */
size_t mr_summary_worst(const struct mr_score *scores, size_t n)
{
	size_t worst = SIZE_MAX, conclusive = 0;
	bool differ = false;

	for (size_t i = 0; i < n; i++) {
		const double delta = scores[i].on - scores[i].off;
		double least;

		if (!scores[i].conclusive)
			continue;
		least = conclusive++ ? scores[worst].on - scores[worst].off : delta;
		differ = differ || delta < least || delta > least;
		if (worst == SIZE_MAX || delta < least)
			worst = i;
	}
	if (conclusive == 1)
		return fails(&scores[worst]) ? worst : SIZE_MAX;
	return differ ? worst : SIZE_MAX;
}

const char *mr_summary_status(const struct mr_score *scores, size_t n)
{
	size_t failed = 0, passed = 0;

	for (size_t i = 0; i < n; i++) {
		if (!scores[i].conclusive)
			continue;
		failed += fails(&scores[i]);
		passed += !fails(&scores[i]);
	}
	if (failed + passed == 0)
		return "inconclusive";
	if (failed == 0)
		return "robust";
	return failed == 1 && passed > 0 ? "situationally weak" : "weak";
}

/* --- numbers --------------------------------------------------------------- */

struct sample {
	double *v;
	size_t n, cap;
};

static void add(struct sample *sample, double value)
{
	sample->v = mr_str_grow(sample->v, sample->n, &sample->cap, sizeof(*sample->v));
	sample->v[sample->n++] = value;
}

static double mean(const struct sample *sample)
{
	double sum = 0;

	for (size_t i = 0; i < sample->n; i++)
		sum += sample->v[i];
	return sample->n ? sum / (double)sample->n : 0;
}

/* Half of the 95 % interval of the mean; 0 of fewer than two. */
static double half_interval(const struct sample *sample)
{
	/* Student's t at 0.975 by degrees of freedom. */
	static const double t[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
				    2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
				    2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
				    2.060,  2.056, 2.052, 2.048, 2.045, 2.042 };
	const double center = mean(sample);
	double squares = 0;

	if (sample->n < 2)
		return 0;
	for (size_t i = 0; i < sample->n; i++)
		squares += (sample->v[i] - center) * (sample->v[i] - center);
	return (sample->n - 2 < N_ELEMENTS(t) ? t[sample->n - 2] : 1.96) *
	       sqrt(squares / (double)(sample->n - 1) / (double)sample->n);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(struct sample *sample)
{
	if (sample->n == 0)
		return 0;
	qsort(sample->v, sample->n, sizeof(*sample->v), compare);
	return (sample->v[(sample->n - 1) / 2] + sample->v[sample->n / 2]) / 2;
}

/* --- one scenario ---------------------------------------------------------- */

enum { WALL, CPU, PEAK, FAILURES, METRICS };
static const char *const metric_names[METRICS] = { "wall_ms", "cpu_ms", "memory_peak_bytes",
						   "failures" };

struct arm {
	struct sample roi, metrics[METRICS];
	json_t *runs;
};

struct group {
	struct arm arms[2]; /* off, on */
	struct sample roi_delta, metrics_delta[METRICS];
	struct mr_score score;
	size_t conclusive, n_on, failed, errors;
	json_t *why;
};

static const char *text_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "";
}

static double number_of(const json_t *json, const char *key)
{
	return json_number_value(json_object_get(json, key));
}

static double roi_of(const json_t *cell, double slo_ms)
{
	const double copies = number_of(cell, "copies"), wall = number_of(cell, "wall_ms");
	const double share = copies > 0 ? number_of(cell, "copies_passed") / copies : 0;

	return wall > slo_ms && wall > 0 && slo_ms > 0 ? share * slo_ms / wall : share;
}

static void take_verdict(struct group *g, const json_t *cell)
{
	const char *verdict = text_of(cell, "verdict");
	const json_t *why = json_object_get(cell, "why");

	g->errors += strcmp(verdict, "error") == 0;
	if (strcmp(text_of(cell, "arm"), "on") != 0)
		return;
	g->n_on++;
	g->failed += strcmp(verdict, "failed") == 0;
	g->conclusive += strcmp(verdict, "passed") == 0 || strcmp(verdict, "failed") == 0;
	if (json_array_size(why) > 0 && json_array_size(g->why) == 0)
		json_array_extend(g->why, (json_t *)(uintptr_t)why);
}

static void take_cell(struct group *g, const json_t *cell, double slo_ms)
{
	const bool on = strcmp(text_of(cell, "arm"), "on") == 0;
	struct arm *arm = &g->arms[on];
	const double roi = roi_of(cell, slo_ms);
	json_t *metrics = json_object();

	for (int i = 0; i < METRICS; i++) {
		const double value = number_of(cell, metric_names[i]);

		add(&arm->metrics[i], value);
		json_object_set_new(metrics, metric_names[i], json_real(value));
	}
	add(&arm->roi, roi);
	json_array_append_new(arm->runs,
			      json_pack("{s:s, s:O, s:O, s:O, s:f, s:o}", "flag", on ? "on" : "off",
					"replicate", json_object_get(cell, "replicate"), "seed",
					json_object_get(cell, "seed"), "verdict",
					json_object_get(cell, "verdict"), "roi", roi, "metrics",
					metrics));
	take_verdict(g, cell);
}

/* Cells are in the order of their places, so the i-th of both arms are a pair. */
static void pair_up(struct group *g)
{
	const size_t n = g->arms[0].roi.n < g->arms[1].roi.n ? g->arms[0].roi.n : g->arms[1].roi.n;

	for (size_t i = 0; i < n; i++) {
		add(&g->roi_delta, g->arms[1].roi.v[i] - g->arms[0].roi.v[i]);
		for (int k = 0; k < METRICS; k++)
			add(&g->metrics_delta[k],
			    g->arms[1].metrics[k].v[i] - g->arms[0].metrics[k].v[i]);
	}
	g->score.on = mean(&g->arms[1].roi);
	g->score.off = mean(&g->arms[0].roi);
	g->score.conclusive = g->n_on > 0 && g->conclusive == g->n_on && g->errors == 0;
	g->score.breached = mean(&g->metrics_delta[FAILURES]) > 0;
}

static void free_group(struct group *g)
{
	for (int on = 0; on < 2; on++) {
		free(g->arms[on].roi.v);
		for (int k = 0; k < METRICS; k++)
			free(g->arms[on].metrics[k].v);
		json_decref(g->arms[on].runs);
	}
	free(g->roi_delta.v);
	for (int k = 0; k < METRICS; k++)
		free(g->metrics_delta[k].v);
	json_decref(g->why);
}

static const char *verdict_of(const struct group *g)
{
	if (g->errors > 0)
		return "error";
	if (!g->score.conclusive)
		return "inconclusive";
	return g->failed > 0 ? "failed" : "passed";
}

static json_t *means(const struct sample *samples)
{
	json_t *object = json_object();

	for (int i = 0; i < METRICS; i++)
		json_object_set_new(object, metric_names[i], json_real(mean(&samples[i])));
	return object;
}

static json_t *group_json(const struct group *g, const json_t *scenario)
{
	json_t *runs = json_copy(g->arms[0].runs);

	json_array_extend(runs, g->arms[1].runs);
	return json_pack("{s:O, s:O, s:O, s:s, s:O, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:i, s:i, "
			 "s:o}",
			 "name", json_object_get(scenario, "name"), "level",
			 json_object_get(scenario, "level"), "profile",
			 json_object_get(scenario, "profile"), "verdict", verdict_of(g), "why",
			 g->why, "roi_on", g->score.on, "roi_off", g->score.off, "roi_delta",
			 mean(&g->roi_delta), "roi_delta_ci95", half_interval(&g->roi_delta),
			 "metrics_on", means(g->arms[1].metrics), "metrics_off",
			 means(g->arms[0].metrics), "metrics_delta", means(g->metrics_delta),
			 "replicates", (int)g->n_on, "failed", (int)g->failed, "runs", runs);
}

/* --- the whole ------------------------------------------------------------- */

static bool is_of(const json_t *cell, const json_t *scenario)
{
	return strcmp(text_of(cell, "scenario"), text_of(scenario, "name")) == 0 &&
	       strcmp(text_of(cell, "level"), text_of(scenario, "level")) == 0;
}

static double default_slo(const json_t *cells)
{
	struct sample walls = { 0 };
	double slo;

	for (size_t i = 0; i < json_array_size(cells); i++) {
		const json_t *cell = json_array_get(cells, i);

		if (strcmp(text_of(cell, "arm"), "off") == 0)
			add(&walls, number_of(cell, "wall_ms"));
	}
	slo = 2 * median(&walls);
	free(walls.v);
	return slo;
}

static bool is_covered(const json_t *rows, const char *profile)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *verdict = text_of(row, "verdict");

		if (strcmp(text_of(row, "profile"), profile) == 0 &&
		    (strcmp(verdict, "passed") == 0 || strcmp(verdict, "failed") == 0))
			return true;
	}
	return false;
}

static json_t *coverage(const json_t *rows)
{
	json_t *covered = json_array(), *missing = json_array(), *core = json_array();
	size_t n;
	const struct mr_profile *profiles = mr_profile_rows(&n);

	for (size_t i = 0; i < n; i++) {
		const bool there = is_covered(rows, profiles[i].name);

		json_array_append_new(there ? covered : missing, json_string(profiles[i].name));
		if (!there && profiles[i].core)
			json_array_append_new(core, json_string(profiles[i].name));
	}
	return json_pack("{s:o, s:o, s:o}", "covered", covered, "missing", missing, "core_missing",
			 core);
}

static json_t *count_verdicts(const json_t *cells)
{
	static const char *const verdicts[] = { "passed", "failed", "inconclusive", "error" };
	json_t *counts = json_object();

	for (size_t k = 0; k < N_ELEMENTS(verdicts); k++) {
		json_int_t n = 0;

		for (size_t i = 0; i < json_array_size(cells); i++)
			n += strcmp(text_of(json_array_get(cells, i), "verdict"), verdicts[k]) == 0;
		json_object_set_new(counts, verdicts[k], json_integer(n));
	}
	return counts;
}

static json_t *judge_group(const json_t *scenario, const json_t *cells, double slo_ms,
			   struct mr_score *ret)
{
	struct group g = { .why = json_array() };
	json_t *row;

	g.arms[0].runs = json_array();
	g.arms[1].runs = json_array();
	for (size_t i = 0; i < json_array_size(cells); i++)
		if (is_of(json_array_get(cells, i), scenario))
			take_cell(&g, json_array_get(cells, i), slo_ms);
	pair_up(&g);
	row = group_json(&g, scenario);
	*ret = g.score;
	free_group(&g);
	return row;
}

json_t *mr_summary_make(const json_t *scenarios, const json_t *cells, double slo_ms)
{
	const size_t n = json_array_size(scenarios);
	mr_auto_free struct mr_score *scores = mr_str_alloc((n + 1) * sizeof(*scores));
	const double slo = slo_ms > 0 ? slo_ms : default_slo(cells);
	const json_t *worst_row = NULL;
	json_t *rows = json_array();
	size_t worst;

	for (size_t i = 0; i < n; i++)
		json_array_append_new(rows, judge_group(json_array_get(scenarios, i), cells, slo,
							&scores[i]));
	worst = mr_summary_worst(scores, n);
	if (worst != SIZE_MAX && fails(&scores[worst]))
		worst_row = json_array_get(scenarios, worst);
	for (size_t i = 0; i < n; i++)
		json_object_set_new(json_array_get(rows, i), "worst", json_boolean(i == worst));
	return json_pack("{s:o, s:O?, s:s, s:O?, s:f, s:o, s:o}", "scenarios", rows,
			 "worst_scenario",
			 worst == SIZE_MAX
				 ? NULL
				 : json_object_get(json_array_get(scenarios, worst), "name"),
			 "status", mr_summary_status(scores, n), "advice",
			 worst_row ? json_object_get(worst_row, "advice") : NULL, "slo_ms", slo,
			 "coverage", coverage(rows), "counts", count_verdicts(cells));
}

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
#include "runtime/scenario/outcome.h"
#include "runtime/scenario/profile.h"
#include "runtime/scenario/scenario.h"

/* Means of the same numbers, added up in another way, may differ by less: that is no difference. */
#define ROUNDING 1e-9

/* With its conditions it does worse than without. */
static bool suffers(const struct mr_score *score)
{
	return score->on - score->off < -ROUNDING || score->breached;
}

/* What fails in both arms alike is no better for it. */
static bool fails(const struct mr_score *score)
{
	return suffers(score) || score->failed || score->failed_without;
}

/* Where all are alike none is the worst, and the only one is it if its conditions are what it fails by. */
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
		differ = differ || fabs(delta - least) > ROUNDING;
		if (worst == SIZE_MAX || delta < least)
			worst = i;
	}
	if (conclusive == 1)
		return suffers(&scores[worst]) ? worst : SIZE_MAX;
	return differ ? worst : SIZE_MAX;
}

const char *mr_summary_status(const struct mr_score *scores, size_t n)
{
	size_t failed = 0, passed = 0;
	bool without = false;

	for (size_t i = 0; i < n; i++) {
		without = without || scores[i].failed_without;
		if (!scores[i].conclusive)
			continue;
		failed += fails(&scores[i]);
		passed += !fails(&scores[i]);
	}
	if (failed + passed == 0)
		return "inconclusive";
	if (failed == 0 && !without)
		return "robust";
	/* What fails without conditions does not need a situation to. */
	return failed == 1 && passed > 0 && !without ? "situationally weak" : "weak";
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
};

struct group {
	struct arm arms[2]; /* off, on */
	struct sample roi_delta, metrics_delta[METRICS];
	struct mr_score score;
	size_t conclusive, n_on, errors;
	size_t failed[2]; /* cells */
};

static const char *text_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "";
}

static double share_passed(const struct mr_outcome *cell)
{
	return cell->copies > 0 ? (double)cell->copies_passed / (double)cell->copies : 0;
}

static double metric_of(const struct mr_outcome *cell, int metric)
{
	switch (metric) {
	case WALL:
		return cell->wall_ms;
	case CPU:
		return cell->cpu_ms;
	case PEAK:
		return cell->memory_peak_bytes;
	default: /* a share: the arms have different numbers of copies */
		return cell->copies > 0 ? 1 - share_passed(cell) : 0;
	}
}

static double roi_of(const struct mr_outcome *cell, double slo_ms)
{
	const double share = share_passed(cell);
	const double wall = cell->wall_ms;

	return wall > slo_ms && wall > 0 && slo_ms > 0 ? share * slo_ms / wall : share;
}

static void take_cell(struct group *g, const struct mr_outcome *cell, bool on, double slo_ms)
{
	struct arm *arm = &g->arms[on];

	for (int i = 0; i < METRICS; i++)
		add(&arm->metrics[i], metric_of(cell, i));
	add(&arm->roi, roi_of(cell, slo_ms));
	g->errors += cell->verdict == MR_VERDICT_ERROR;
	g->failed[on] += cell->verdict == MR_VERDICT_FAILED;
	if (!on)
		return;
	g->n_on++;
	g->conclusive += cell->verdict == MR_VERDICT_PASSED || cell->verdict == MR_VERDICT_FAILED;
}

json_t *mr_summary_run(const struct mr_outcomes *outcomes, size_t n, double slo_ms)
{
	const struct mr_cell at = mr_outcomes_cell(outcomes, n);
	const struct mr_outcome *cell = &outcomes->cells[n];
	json_t *metrics = json_object();

	for (int i = 0; i < METRICS; i++)
		json_object_set_new(metrics, metric_names[i], json_real(metric_of(cell, i)));
	return json_pack("{s:s, s:I, s:I, s:s, s:f, s:o}", "flag", at.on ? "on" : "off",
			 "replicate", (json_int_t)at.replicate, "seed", (json_int_t)at.seed,
			 "verdict", mr_verdict_name(cell->verdict), "roi", roi_of(cell, slo_ms),
			 "metrics", metrics);
}

/* Cells are taken by replicate, so the i-th of both arms are a pair. */
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
	g->score.breached = mean(&g->metrics_delta[FAILURES]) > ROUNDING;
	g->score.failed = g->failed[1] > 0;
	g->score.failed_without = g->failed[0] > 0;
}

static void free_group(struct group *g)
{
	for (int on = 0; on < 2; on++) {
		free(g->arms[on].roi.v);
		for (int k = 0; k < METRICS; k++)
			free(g->arms[on].metrics[k].v);
	}
	free(g->roi_delta.v);
	for (int k = 0; k < METRICS; k++)
		free(g->metrics_delta[k].v);
}

static const char *verdict_of(const struct group *g)
{
	if (g->errors > 0)
		return "error";
	if (!g->score.conclusive)
		return "inconclusive";
	return g->failed[1] > 0 ? "failed" : "passed";
}

static json_t *means(const struct sample *samples)
{
	json_t *object = json_object();

	for (int i = 0; i < METRICS; i++)
		json_object_set_new(object, metric_names[i], json_real(mean(&samples[i])));
	return object;
}

static json_t *group_json(const struct group *g, const json_t *scenario, json_t *why)
{
	return json_pack("{s:O, s:O, s:O, s:s, s:o, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:i, s:i}",
			 "name", json_object_get(scenario, "name"), "level",
			 json_object_get(scenario, "level"), "profile",
			 json_object_get(scenario, "profile"), "verdict", verdict_of(g), "why",
			 why ? json_incref(why) : json_array(), "roi_on", g->score.on, "roi_off",
			 g->score.off, "roi_delta", mean(&g->roi_delta), "roi_delta_ci95",
			 half_interval(&g->roi_delta), "metrics_on", means(g->arms[1].metrics),
			 "metrics_off", means(g->arms[0].metrics), "metrics_delta",
			 means(g->metrics_delta), "replicates", (int)g->n_on, "failed",
			 (int)g->failed[1]);
}

/* --- the whole ------------------------------------------------------------- */

/* What a machine that has other things to do adds to a copy that takes no time: not a condition's doing. */
#define NOISE_MS 50

static double default_slo(const struct mr_outcomes *outcomes)
{
	struct sample walls = { 0 };
	double middle;

	for (size_t n = 0; n < outcomes->n_cells; n++)
		if (mr_outcomes_has(outcomes, n) && !mr_outcomes_cell(outcomes, n).on)
			add(&walls, outcomes->cells[n].wall_ms);
	middle = median(&walls);
	free(walls.v);
	return middle > 0 && middle < NOISE_MS ? middle + NOISE_MS : 2 * middle;
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

static json_t *count_verdicts(const struct mr_outcomes *outcomes)
{
	size_t n[MR_VERDICTS] = { 0 };
	json_t *counts = json_object();

	for (size_t i = 0; i < outcomes->n_cells; i++)
		n[outcomes->cells[i].verdict]++;
	for (int i = MR_VERDICT_PASSED; i < MR_VERDICTS; i++)
		json_object_set_new(counts, mr_verdict_name((enum mr_verdict)i),
				    json_integer((json_int_t)n[i]));
	return counts;
}

static json_t *judge_group(const json_t *scenario, size_t place, const struct mr_outcomes *outcomes,
			   double slo_ms, struct mr_score *ret)
{
	struct group g = { 0 };
	json_t *row;

	for (size_t i = 0; i < 2 * outcomes->n_replicates; i++) {
		const bool on = i % 2 == 1;
		const size_t n = mr_cells_place(place, i / 2, on, outcomes->n_scenarios);

		if (mr_outcomes_has(outcomes, n))
			take_cell(&g, &outcomes->cells[n], on, slo_ms);
	}
	pair_up(&g);
	row = group_json(&g, scenario, outcomes->whys[place].why);
	*ret = g.score;
	free_group(&g);
	return row;
}

/* Of the worst where its conditions are what it fails by; else, where something failed without any, what to
 * do about that.  NULL: neither. */
static const char *choose_advice(const json_t *scenarios, const struct mr_score *scores, size_t n,
				 size_t worst)
{
	if (worst != SIZE_MAX && suffers(&scores[worst]))
		return json_string_value(
			json_object_get(json_array_get(scenarios, worst), "advice"));
	for (size_t i = 0; i < n; i++)
		if (scores[i].failed_without)
			return mr_scenario_advice("normal", NULL);
	return NULL;
}

json_t *mr_summary_make(const json_t *scenarios, const struct mr_outcomes *outcomes, double slo_ms)
{
	const size_t n = json_array_size(scenarios);
	mr_auto_free struct mr_score *scores = mr_str_alloc((n + 1) * sizeof(*scores));
	const double slo = slo_ms > 0 ? slo_ms : default_slo(outcomes);
	json_t *rows = json_array();
	size_t worst;

	for (size_t i = 0; i < n; i++)
		json_array_append_new(rows, judge_group(json_array_get(scenarios, i), i, outcomes,
							slo, &scores[i]));
	worst = mr_summary_worst(scores, n);
	for (size_t i = 0; i < n; i++)
		json_object_set_new(json_array_get(rows, i), "worst", json_boolean(i == worst));
	return json_pack("{s:o, s:O?, s:s, s:s?, s:f, s:o, s:o}", "scenarios", rows,
			 "worst_scenario",
			 worst == SIZE_MAX
				 ? NULL
				 : json_object_get(json_array_get(scenarios, worst), "name"),
			 "status", mr_summary_status(scores, n), "advice",
			 choose_advice(scenarios, scores, n, worst), "slo_ms", slo, "coverage",
			 coverage(rows), "counts", count_verdicts(outcomes));
}

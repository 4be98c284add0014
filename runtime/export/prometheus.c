/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prometheus: sums over all runs, text exposition format 0.0.4
 *
 * Made for the textfile collector of node_exporter.  One statement gives all sums,
 * sorted by metric; metrics.def says what each is.  Run ids and names of programs are
 * no labels, and of each metric at most SERIES_MAX series come by name: the rest, the
 * smallest, is added up under "other".  A metric that nobody measured is not there.
 */
#include <stdbool.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/export/escape.h"
#include "runtime/export/export.h"
#include "runtime/export/format.h"
#include "runtime/store/canon.h"
#include "runtime/store/query.h"

#define SERIES_MAX 100
#define BOUNDS_MAX 16

static const struct metric {
	const char *name, *type;
	double divisor;
	const char *labels[2];
	const char *help;
} metrics[] = {
#define METRIC(name, type, divisor, label, label2, help) \
	{ #name, #type, divisor, { label, label2 }, help },
#define HISTOGRAM(...)
#include "runtime/export/metrics.def"
#undef HISTOGRAM
#undef METRIC
};

static const struct histogram {
	const char *name, *column;
	double divisor;
	const char *help;
	double bounds[BOUNDS_MAX]; /* 0 ends them */
} histograms[] = {
#define METRIC(...)
#define HISTOGRAM(name, column, divisor, help, ...) \
	{ #name, #column, divisor, help, { __VA_ARGS__ } },
#include "runtime/export/metrics.def"
#undef HISTOGRAM
#undef METRIC
};

static void add_head(struct mr_buf *out, const char *name, const char *type, const char *help)
{
	mr_buf_printf(out, "# HELP %s ", name);
	mr_escape(out, MR_ESCAPE_PROMETHEUS_HELP, help, strlen(help));
	mr_buf_printf(out, "\n# TYPE %s %s\n", name, type);
}

static void add_number(struct mr_buf *out, double value)
{
	char text[MR_CANON_NUMBER_SIZE];

	mr_buf_add(out, mr_canon_number(value, text));
	mr_buf_add(out, "\n");
}

/* --- sums ------------------------------------------------------------------ */

struct totals {
	struct mr_export *x;
	const struct metric *metric; /* of the last row */
	size_t series; /* of it, by name */
	bool has_others;
	double others;
};

static const struct metric *find_metric(const char *name)
{
	size_t i = 0;

	while (i < N_ELEMENTS(metrics) && strcmp(metrics[i].name, name) != 0)
		i++;
	mr_assert(i <
		  N_ELEMENTS(metrics)); /* else export.totals knows one that metrics.def does not */
	return &metrics[i];
}

static void add_sample(struct mr_buf *out, const struct metric *metric, const char *const values[2],
		       double value)
{
	bool some = false;

	mr_buf_add(out, metric->name);
	for (size_t i = 0; i < N_ELEMENTS(metric->labels); i++) {
		if (metric->labels[i][0] == '\0')
			continue;
		mr_buf_printf(out, "%s%s=\"", some ? "," : "{", metric->labels[i]);
		mr_escape(out, MR_ESCAPE_PROMETHEUS_LABEL, values[i], strlen(values[i]));
		mr_buf_add(out, "\"");
		some = true;
	}
	mr_buf_add(out, some ? "} " : " ");
	add_number(out, value / metric->divisor);
}

static void end_metric(struct totals *totals)
{
	static const char *const others[] = { "other", "other" };

	if (totals->has_others)
		add_sample(&totals->x->buf[0], totals->metric, others, totals->others);
	totals->has_others = false;
	totals->others = 0;
	totals->series = 0;
}

static const char *label_value(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

static int on_total(const json_t *row, void *owner, struct mr_error *err)
{
	struct totals *totals = owner;
	const struct metric *metric = find_metric(label_value(row, "metric"));
	const char *const values[] = { label_value(row, "a"), label_value(row, "b") };
	double value = json_number_value(json_object_get(row, "value"));

	(void)err;
	if (!json_is_number(json_object_get(row, "value")))
		return 0; /* beyond all numbers */
	if (metric != totals->metric) {
		end_metric(totals);
		add_head(&totals->x->buf[0], metric->name, metric->type, metric->help);
	}
	totals->metric = metric;
	if (totals->series < SERIES_MAX && strcmp(values[0], "other") != 0) {
		add_sample(&totals->x->buf[0], metric, values, value);
		totals->series++;
		return 0;
	}
	totals->has_others = true;
	totals->others += value;
	return 0;
}

/* --- distributions --------------------------------------------------------- */

struct counts {
	uint64_t buckets[N_ELEMENTS(histograms)][BOUNDS_MAX]; /* not cumulative */
	uint64_t n[N_ELEMENTS(histograms)];
	double sum[N_ELEMENTS(histograms)]; /* not divided yet: whole numbers add up exactly */
};

static int on_values(const json_t *row, void *owner, struct mr_error *err)
{
	struct counts *counts = owner;

	(void)err;
	for (size_t i = 0; i < N_ELEMENTS(histograms); i++) {
		const struct histogram *h = &histograms[i];
		const json_t *value = json_object_get(row, h->column);
		double number = json_number_value(value) / h->divisor;
		size_t k = 0;

		if (!json_is_number(value))
			continue;
		while (h->bounds[k] > 0 && number > h->bounds[k])
			k++;
		counts->buckets[i][k]++;
		counts->n[i]++;
		counts->sum[i] += json_number_value(value);
	}
	return 0;
}

static void add_histogram(struct mr_buf *out, const struct histogram *h, const uint64_t *buckets,
			  uint64_t n, double sum)
{
	char bound[MR_CANON_NUMBER_SIZE];
	uint64_t below = 0;

	add_head(out, h->name, "histogram", h->help);
	for (size_t k = 0; h->bounds[k] > 0; k++) {
		below += buckets[k];
		mr_buf_printf(out, "%s_bucket{le=\"%s\"} %llu\n", h->name,
			      mr_canon_number(h->bounds[k], bound), (unsigned long long)below);
	}
	mr_buf_printf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum ", h->name, (unsigned long long)n,
		      h->name);
	add_number(out, sum / h->divisor);
	mr_buf_printf(out, "%s_count %llu\n", h->name, (unsigned long long)n);
}

/* --- the whole ------------------------------------------------------------- */

static int write_all(struct mr_export *x, struct mr_error *err)
{
	struct totals totals = { .x = x };
	struct counts counts = { 0 };
	int r = mr_query_each(x->store, "export.totals", mr_export_binds(x), on_total, &totals,
			      err);

	if (r == 0)
		r = mr_query_each(x->store, "export.values", mr_export_binds(x), on_values, &counts,
				  err);
	if (r < 0)
		return r;
	end_metric(&totals);
	for (size_t i = 0; i < N_ELEMENTS(histograms); i++)
		if (counts.n[i] > 0)
			add_histogram(&x->buf[0], &histograms[i], counts.buckets[i], counts.n[i],
				      counts.sum[i]);
	return mr_export_write(x, x->buf[0].text, x->buf[0].len, err);
}

const struct mr_export_format mr_export_prometheus = {
	.name = "prometheus",
	.help = "sums over the runs, for node_exporter's textfile collector",
	.mode = 0644,
	.whole = write_all,
};

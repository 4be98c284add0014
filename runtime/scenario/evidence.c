/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Evidence: what runs and metrics say, for adapt
 *
 * One row of facts[] is one series that a result gives a value of.  What was not
 * measured gives none, which is not the same as 0.
 */
#include "runtime/scenario/evidence.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"

#define TOLERANCE 0.01
#define TOLERANCE_WINDOW 5

void mr_evidence_init(struct mr_evidence *evidence)
{
	*evidence = (struct mr_evidence){ .series = json_object(),
					  .predicted = json_object(),
					  .peaks = json_object() };
}

void mr_evidence_deinit(struct mr_evidence *evidence)
{
	json_decref(evidence->series);
	json_decref(evidence->predicted);
	json_decref(evidence->peaks);
	*evidence = (struct mr_evidence){ 0 };
}

static void add_value(struct mr_evidence *evidence, const char *name, double value)
{
	json_t *values = json_object_get(evidence->series, name);

	if (!values) {
		values = json_array();
		json_object_set_new(evidence->series, name, values);
	}
	json_array_append_new(values, json_real(value));
}

/* --- results --------------------------------------------------------------- */

/* The member that a path leads to, "usage.cpu.usage_us"; NULL: there is none. */
static const json_t *look_up(const json_t *document, const char *path)
{
	while (document && *path) {
		size_t n = strcspn(path, ".");
		mr_auto_free char *key = mr_str_ndup(path, n);

		document = json_object_get(document, key);
		path += n + (path[n] == '.');
	}
	return document;
}

bool mr_evidence_number_at(const json_t *document, const char *path, double *ret)
{
	const json_t *value = look_up(document, path);
	const char *text = json_string_value(value);
	mr_auto_json json_t *parsed = NULL;

	if (text && mr_json_parse(text, strlen(text), "", &parsed, NULL) < 0)
		return false;
	if (text)
		value = parsed;
	if (!json_is_number(value))
		return false;
	*ret = json_number_value(value);
	return true;
}

static bool has_word(const json_t *list, const char *word)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (text && strcmp(text, word) == 0)
			return true;
	}
	return false;
}

static bool get_success(const json_t *result, double *ret)
{
	double status = 0;

	if (!mr_evidence_number_at(result, "exit.status", &status))
		return false;
	*ret = status == 0;
	return true;
}

static bool get_cpu_usage(const json_t *result, double *ret)
{
	double used = 0, wall = 0, cpus = 0;

	if (!mr_evidence_number_at(result, "usage.cpu.usage_us", &used) ||
	    !mr_evidence_number_at(result, "usage.wall_us", &wall) ||
	    !mr_evidence_number_at(result, "limits.cpus", &cpus) || wall <= 0 || cpus <= 0)
		return false;
	*ret = used / (wall * cpus);
	return true;
}

static bool get_memory_usage(const json_t *result, double *ret)
{
	double peak = 0, limit = 0;

	if (!mr_evidence_number_at(result, "usage.memory.peak_bytes", &peak) ||
	    !mr_evidence_number_at(result, "limits.memory_max_bytes", &limit) || limit <= 0)
		return false;
	*ret = peak / limit;
	return true;
}

static bool get_oom(const json_t *result, double *ret)
{
	const char *reason = json_string_value(json_object_get(result, "reason"));

	*ret = reason && strcmp(reason, "oom") == 0;
	return reason != NULL;
}

static bool get_pids_hit(const json_t *result, double *ret)
{
	const json_t *hit = json_object_get(result, "limits_hit");

	*ret = has_word(hit, "pids");
	return hit != NULL;
}

static bool get_disk_hit(const json_t *result, double *ret)
{
	const json_t *hit = json_object_get(result, "limits_hit");

	*ret = has_word(hit, "disk");
	return hit != NULL;
}

static const struct {
	const char *series;
	bool (*get)(const json_t *result, double *ret);
} facts[] = {
	{ "success", get_success },	      { "cpu_usage", get_cpu_usage },
	{ "memory_usage", get_memory_usage }, { "oom", get_oom },
	{ "pids_hit", get_pids_hit },	      { "disk_hit", get_disk_hit },
};

/* What a limit of this variable must leave room for. */
static const struct {
	const char *variable, *path;
} needs[] = {
	{ "MEMORY_LIMIT", "usage.memory.peak_bytes" },
	{ "DISK_LIMIT", "usage.disk.used_bytes" },
	{ "MAX_THREADS", "usage.pids.peak" },
};

static void add_result(struct mr_evidence *evidence, const json_t *result)
{
	double value = 0;

	for (size_t i = 0; i < N_ELEMENTS(facts); i++)
		if (facts[i].get(result, &value))
			add_value(evidence, facts[i].series, value);
	for (size_t i = 0; i < N_ELEMENTS(needs); i++) {
		const json_t *peak = json_object_get(evidence->peaks, needs[i].variable);

		if (mr_evidence_number_at(result, needs[i].path, &value) &&
		    (!peak || json_number_value(peak) < value))
			json_object_set_new(evidence->peaks, needs[i].variable, json_real(value));
	}
	evidence->n_results++;
}

/* --- metrics --------------------------------------------------------------- */

static int want_number(const struct mr_json *json, struct mr_error *err)
{
	if (json_is_number(json->value))
		return 0;
	return mr_json_err(json, err, "%s where a number is expected",
			   mr_json_type_name(json->value));
}

static int add_series(struct mr_evidence *evidence, const struct mr_json *json,
		      struct mr_error *err)
{
	int r = 0;

	if (!json_is_array(json->value)) {
		r = want_number(json, err);
		if (r == 0)
			add_value(evidence, json->key, json_number_value(json->value));
		return r;
	}
	for (size_t i = 0; i < json_array_size(json->value); i++) {
		struct mr_json item = mr_json_item(json, i);

		r = want_number(&item, err);
		if (r < 0)
			return r;
		add_value(evidence, json->key, json_number_value(item.value));
	}
	return 0;
}

static int add_predicted(struct mr_evidence *evidence, const struct mr_json *json,
			 struct mr_error *err)
{
	const char *name;
	json_t *value;
	int r = mr_json_want_object(json, err);

	if (r < 0)
		return r;
	json_object_foreach (json->value, name, value) {
		struct mr_json member;

		mr_json_member(json, name, &member);
		r = want_number(&member, err);
		if (r < 0)
			return r;
		json_object_set(evidence->predicted, name, value);
	}
	return 0;
}

static int add_metrics(struct mr_evidence *evidence, const struct mr_json *document,
		       struct mr_error *err)
{
	const char *name;
	json_t *value;

	json_object_foreach (document->value, name, value) {
		struct mr_json member;
		int r;

		mr_json_member(document, name, &member);
		r = strcmp(name, "predicted") == 0 ? add_predicted(evidence, &member, err)
						   : add_series(evidence, &member, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int mr_evidence_add(struct mr_evidence *evidence, const struct mr_json *document,
		    struct mr_error *err)
{
	const char *schema = json_string_value(json_object_get(document->value, "schema"));
	char quoted[MR_STR_QUOTE_SIZE];
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(document->value); i++) {
		struct mr_json item = mr_json_item(document, i);

		r = mr_evidence_add(evidence, &item, err);
	}
	if (json_is_array(document->value))
		return r;
	r = mr_json_want_object(document, err);
	if (r < 0)
		return r;
	if (!schema)
		return add_metrics(evidence, document, err);
	if (strcmp(schema, "menace.result/1") != 0)
		return mr_json_err(document, err,
				   "unknown schema %s; accepted: \"menace.result/1\", or metrics, "
				   "which have none",
				   mr_str_quote(quoted, sizeof(quoted), schema));
	add_result(evidence, document->value);
	return 0;
}

/* --- statistics ------------------------------------------------------------ */

size_t mr_evidence_count(const struct mr_evidence *evidence, const char *name)
{
	return json_array_size(json_object_get(evidence->series, name));
}

double mr_evidence_get(const struct mr_evidence *evidence, const char *name, size_t index)
{
	return json_number_value(json_array_get(json_object_get(evidence->series, name), index));
}

bool mr_evidence_change(const struct mr_evidence *evidence, const char *name, double *ret)
{
	const size_t n = mr_evidence_count(evidence, name);

	if (n < 2)
		return false;
	*ret = mr_evidence_get(evidence, name, n - 1) - mr_evidence_get(evidence, name, n - 2);
	return true;
}

/* Sum of the last values; *ret_n is their number.  Wide enough that the mean of equal values is that
 * value, and not one beyond a bound that it is at. */
static long double sum_last(const struct mr_evidence *evidence, const char *name, size_t window,
			    size_t *ret_n)
{
	const size_t n = mr_evidence_count(evidence, name);
	long double sum = 0;

	*ret_n = n < window ? n : window;
	for (size_t i = n - *ret_n; i < n; i++)
		sum += mr_evidence_get(evidence, name, i);
	return sum;
}

bool mr_evidence_mean(const struct mr_evidence *evidence, const char *name, size_t window,
		      double *ret)
{
	size_t n;
	long double sum = sum_last(evidence, name, window, &n);

	if (n > 0)
		*ret = (double)(sum / (long double)n);
	return n > 0;
}

bool mr_evidence_mean_predicted(const struct mr_evidence *evidence, const char *name, size_t window,
				double *ret)
{
	const double predicted = json_number_value(json_object_get(evidence->predicted, name));
	size_t n;
	long double sum = sum_last(evidence, name, window, &n);

	if (predicted != 0) {
		sum += predicted;
		n++;
	}
	if (n > 0)
		*ret = (double)(sum / (long double)n);
	return n > 0;
}

static long double difference(const struct mr_evidence *evidence, const char *name, size_t index)
{
	return (long double)mr_evidence_get(evidence, name, index + 1) -
	       (long double)mr_evidence_get(evidence, name, index);
}

/* Mean and standard deviation (of all, not of a sample) of the last differences. */
static void describe(const struct mr_evidence *evidence, const char *name, size_t window,
		     double *ret_mean, double *ret_deviation)
{
	const size_t all = mr_evidence_count(evidence, name) - 1;
	const size_t n = all < window ? all : window;
	long double mean = 0, squares = 0;

	for (size_t i = all - n; i < all; i++)
		mean += difference(evidence, name, i);
	mean /= (long double)n;
	for (size_t i = all - n; i < all; i++) {
		long double off = difference(evidence, name, i) - mean;

		squares += off * off;
	}
	*ret_mean = (double)mean;
	*ret_deviation = sqrt((double)(squares / (long double)n));
}

bool mr_evidence_trend(const struct mr_evidence *evidence, const char *name, size_t window,
		       double *ret, double *ret_tolerance)
{
	double mean, deviation;

	if (mr_evidence_count(evidence, name) < 2)
		return false;
	describe(evidence, name, TOLERANCE_WINDOW, &mean, &deviation);
	if (ret_tolerance)
		*ret_tolerance = TOLERANCE * (1 + deviation);
	describe(evidence, name, window, ret, &deviation);
	return true;
}

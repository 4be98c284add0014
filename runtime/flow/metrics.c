/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics
 *
 * A step is classified by facts: how its run ended, which limits were met, what was
 * denied, whether a failure was injected.  What the program says of itself decides
 * nothing.
 */
#include "runtime/flow/metrics.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "runtime/backend/document.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/flow/inputs.h"
#include "runtime/flow/output.h"
#include "runtime/flow/workflow.h"

#define OUTPUT_MAX 4096 /* bytes of each stream in a row */

/* Microseconds as seconds; null when nobody measured. */
static json_t *seconds(const json_t *us)
{
	return json_is_integer(us) ? json_real((double)json_integer_value(us) / 1e6) : json_null();
}

static json_t *copy(json_t *value)
{
	return value ? json_incref(value) : json_null();
}

static bool passed(const json_t *result)
{
	return strcmp(mr_json_text_or_empty(result, "reason"), "exited") == 0 &&
	       json_integer_value(mr_json_at(result, "exit", "status", NULL)) == 0;
}

/* Was it misused, and did it end by itself with a status of its own that is none of a shell's for a
 * signal or a program that is not there?  So ends a program that refuses wrong use as it should. */
static bool is_refusal(const json_t *result)
{
	const json_int_t status = json_integer_value(mr_json_at(result, "exit", "status", NULL));
	const json_t *failures = json_object_get(result, "failures");

	if (strcmp(mr_json_text_or_empty(result, "reason"), "exited") != 0 || status < 1 ||
	    status > 125)
		return false;
	for (size_t i = 0; i < json_array_size(failures); i++) {
		const json_t *row = json_array_get(failures, i);

		if (strcmp(mr_json_text_or_empty(row, "mode"), "user_misuse") == 0 &&
		    json_integer_value(json_object_get(row, "fired")) > 0)
			return true;
	}
	return false;
}

static json_int_t lost_events(const json_t *result)
{
	const json_t *losses = mr_json_at(result, "telemetry", "losses", NULL);
	json_int_t lost = 0;

	for (size_t i = 0; i < json_array_size(losses); i++)
		lost += json_integer_value(json_object_get(json_array_get(losses, i), "count"));
	return lost;
}

/* --- classes --------------------------------------------------------------- */

static const struct class
{
	const char *name, *policy, *message;
} classes[] = {
	{ "expected_simulation_misuse", "handled_expected_failure", NULL },
	{ "policy_enforcement_event", "policy_enforcement", NULL },
	{ "infrastructure", "retry_infrastructure", NULL },
	{ "runtime_regression", "retry_runtime_regression", NULL },
};

static const struct class *classify(const json_t *result)
{
	const char *reason = mr_json_text_or_empty(result, "reason");
	const json_int_t denials = json_integer_value(mr_json_at(result, "denials", "total", NULL));

	if (passed(result))
		return NULL;
	if (strcmp(reason, "injected") == 0 || is_refusal(result))
		return &classes[0];
	if (mr_document_not_begun(reason))
		return &classes[2];
	if (strcmp(reason, "seccomp") == 0 || (denials > 0 && strcmp(reason, "exited") == 0))
		return &classes[1];
	return &classes[3];
}

/* The words that such denials are known by. */
static const char *policy_message(const json_t *result)
{
	const json_t *layers = mr_json_at(result, "denials", "by_layer", NULL);

	if (json_integer_value(json_object_get(layers, "network")) > 0)
		return "network access disabled";
	if (json_integer_value(json_object_get(layers, "mount")) > 0 ||
	    json_integer_value(json_object_get(layers, "landlock")) > 0)
		return "file write disabled";
	return NULL;
}

/* Why it did not end well, in words; NULL: it did. */
static json_t *exception_of(const json_t *result)
{
	const char *reason = mr_json_text_or_empty(result, "reason");
	const char *message = mr_json_text_or_empty(json_object_get(result, "error"), "message");
	const json_int_t status = json_integer_value(mr_json_at(result, "exit", "status", NULL));

	if (passed(result))
		return json_null();
	if (message[0])
		return json_sprintf("%s: %s", reason, message);
	if (strcmp(reason, "exited") == 0)
		return json_sprintf("exited with status %lld", (long long)status);
	if (strcmp(reason, "wall_timeout") == 0)
		return json_string("module exceeded timeout");
	if (strcmp(reason, "oom") == 0)
		return json_string("module exceeded memory limit");
	return json_string(reason);
}

/* --- rows ------------------------------------------------------------------ */

static const char *name_of(const struct mr_flow *flow, size_t n)
{
	return n < flow->n_steps ? flow->steps[n].name : "combined";
}

static json_t *begin_row(const struct mr_flow *flow, size_t n, const char *state)
{
	return json_pack("{s:I, s:s, s:s, s:s}", "n", (json_int_t)n, "name", name_of(flow, n),
			 "kind", n < flow->n_steps ? "step" : "combined", "state", state);
}

json_t *mr_metrics_skipped(const struct mr_flow *flow, size_t n, const char *why)
{
	json_t *row = begin_row(flow, n, "skipped");

	json_object_set_new(row, "why", json_string(why));
	json_object_set_new(row, "passed", json_false());
	return row;
}

static json_t *metrics_of(const struct mr_flow *flow, size_t n, const json_t *result)
{
	const json_t *usage = json_object_get(result, "usage");
	const struct class *class = classify(result);
	json_t *cpu = mr_json_at(usage, "cpu", "usage_us", NULL);
	json_t *peak = mr_json_at(usage, "memory", "peak_bytes", NULL);
	json_t *fixtures = n < flow->n_steps ? flow->steps[n].fixtures : NULL;
	json_t *row;

	/* The control group is new: nothing was used before. */
	row = json_pack("{s:s, s:o, s:f, s:o, s:o, s:i, s:n, s:o, s:o, s:b, s:o, s:[], s:o, "
			"s:n, s:n, s:n, s:s?, s:s?}",
			"name", name_of(flow, n), "duration",
			seconds(json_object_get(usage, "wall_us")), "cpu_before", 0.0, "cpu_after",
			seconds(cpu), "cpu_delta", seconds(cpu), "memory_before", 0, "memory_after",
			"memory_delta", copy(peak), "memory_peak", copy(peak), "success",
			passed(result), "exception", exception_of(result), "frames", "fixtures",
			fixtures ? json_incref(fixtures) : json_null(), "coverage_files",
			"coverage_functions", "entropy_delta", "failure_classification",
			class ? class->name : NULL, "retry_policy", class ? class->policy : NULL);
	mr_assert(row);
	mr_output_tell(row, "result", json_object_get(result, "stdout"), OUTPUT_MAX);
	return row;
}

json_t *mr_metrics_row(const struct mr_flow *flow, size_t n, const json_t *result)
{
	static const char *const kept[] = { "run_id", "started_at", "reason", "exit",
					    "error",  "usage",	    "limits", "limits_hit" };
	json_t *row = begin_row(flow, n, "done");

	for (size_t i = 0; i < N_ELEMENTS(kept); i++)
		json_object_set_new(row, kept[i], copy(json_object_get(result, kept[i])));
	json_object_set_new(row, "passed", json_boolean(passed(result)));
	json_object_set_new(row, "refused", json_boolean(is_refusal(result)));
	json_object_set_new(row, "denials", copy(mr_json_at(result, "denials", "total", NULL)));
	json_object_set_new(row, "policy_message",
			    policy_message(result) ? json_string(policy_message(result))
						   : json_null());
	json_object_set_new(row, "degraded", copy(mr_json_at(result, "receipt", "degraded", NULL)));
	json_object_set_new(row, "kept", copy(mr_json_at(result, "workspace", "kept", NULL)));
	json_object_set_new(row, "lost_events", json_integer(lost_events(result)));
	if (json_object_get(flow->document, "inputs"))
		json_object_set_new(row, "inputs",
				    mr_flow_inputs_told(flow->document,
							n < flow->n_steps ? name_of(flow, n) : NULL,
							n == flow->order[0]));
	/* The end of it: there stands why it failed. */
	mr_output_tell(row, "stdout", json_object_get(result, "stdout"), OUTPUT_MAX);
	mr_output_tell(row, "stderr", json_object_get(result, "stderr"), OUTPUT_MAX);
	json_object_set_new(row, "metrics", metrics_of(flow, n, result));
	return row;
}

/* --- the whole ------------------------------------------------------------- */

const char *mr_metrics_status(const json_t *rows)
{
	bool all = true;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (mr_document_not_begun(mr_json_text_or_empty(row, "reason")))
			return "error";
		/* That the steps cannot be put together is nobody's failure. */
		if (strcmp(mr_json_text_or_empty(row, "kind"), "combined") == 0 &&
		    strcmp(mr_json_text_or_empty(row, "state"), "skipped") == 0)
			continue;
		all = all && json_is_true(json_object_get(row, "passed"));
	}
	return all ? "passed" : "failed";
}

static void add_keyed(json_t *telemetry, const char *member, const char *key, json_t *value)
{
	json_t *object = json_object_get(telemetry, member);

	if (!object) {
		object = json_object();
		json_object_set_new(telemetry, member, object);
	}
	json_object_set(object, key, value ? value : json_null());
}

static const struct {
	const char *member, *metric;
	bool if_any; /* where it says nothing it is left out */
} columns[] = {
	{ "time_per_module", "duration", false },
	{ "cpu_per_module", "cpu_delta", false },
	{ "memory_per_module", "memory_delta", false },
	{ "peak_memory_per_module", "memory_peak", false },
	{ "results", "result", false },
	{ "module_fixtures", "fixtures", false },
	{ "retry_policy_per_module", "retry_policy", true },
	{ "failure_classification_per_module", "failure_classification", true },
};

static void add_row(json_t *telemetry, const json_t *row)
{
	const json_t *metrics = json_object_get(row, "metrics");
	char key[96]; /* by index and name: names alone would hide each other */

	snprintf(key, sizeof(key), "%lld:%s",
		 (long long)json_integer_value(json_object_get(row, "n")),
		 mr_json_text_or_empty(row, "name"));
	for (size_t i = 0; i < N_ELEMENTS(columns); i++) {
		json_t *value = json_object_get(metrics, columns[i].metric);

		if (!columns[i].if_any || !json_is_null(value))
			add_keyed(telemetry, columns[i].member, key, value);
	}
}

struct sums {
	json_int_t modules, crashes, expected, peak, lost;
};

static void add_to_sums(struct sums *sums, const json_t *row)
{
	const json_t *metrics = json_object_get(row, "metrics");
	const char *class = mr_json_text_or_empty(metrics, "failure_classification");
	const json_int_t peak = json_integer_value(json_object_get(metrics, "memory_peak"));
	const bool expected = strcmp(class, classes[0].name) == 0;

	sums->modules++;
	sums->expected += expected;
	sums->crashes += class[0] && !expected;
	sums->lost += json_integer_value(json_object_get(row, "lost_events"));
	if (peak > sums->peak)
		sums->peak = peak;
}

/* What the whole costs more, or less, than its parts alone. */
static json_t *synergy(const json_t *rows)
{
	double parts[2] = { 0, 0 }, whole[2] = { 0, 0 };
	bool any = false;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const json_t *metrics = json_object_get(row, "metrics");
		const bool combined = strcmp(mr_json_text_or_empty(row, "kind"), "combined") == 0;
		double *to = combined ? whole : parts;

		any = any || (combined && metrics);
		to[0] += json_number_value(json_object_get(metrics, "duration"));
		to[1] += json_number_value(json_object_get(metrics, "cpu_delta"));
	}
	if (!any)
		return json_null();
	return json_pack("{s:f, s:f}", "duration", whole[0] - parts[0], "cpu", whole[1] - parts[1]);
}

static json_t *telemetry_of(const json_t *rows)
{
	json_t *telemetry = json_object();
	struct sums sums = { 0 };

	for (size_t i = 0; i < N_ELEMENTS(columns); i++)
		if (!columns[i].if_any)
			json_object_set_new(telemetry, columns[i].member, json_object());
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (strcmp(mr_json_text_or_empty(row, "kind"), "step") != 0 ||
		    !json_object_get(row, "metrics"))
			continue;
		add_row(telemetry, row);
		add_to_sums(&sums, row);
	}
	json_object_set_new(telemetry, "crash_frequency",
			    json_real(sums.modules ? (double)sums.crashes / (double)sums.modules
						   : 0));
	json_object_set_new(telemetry, "peak_memory", json_integer(sums.peak));
	json_object_set_new(telemetry, "handled_expected_failures", json_integer(sums.expected));
	json_object_set_new(telemetry, "lost_events", json_integer(sums.lost));
	json_object_set_new(telemetry, "synergy", synergy(rows));
	return telemetry;
}

json_t *mr_metrics_document(const struct mr_flow *flow, const json_t *rows)
{
	json_t *modules = json_array();
	json_int_t crashes = 0;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *metrics = json_object_get(json_array_get(rows, i), "metrics");

		if (!metrics ||
		    strcmp(mr_json_text_or_empty(json_array_get(rows, i), "kind"), "step") != 0)
			continue;
		json_array_append(modules, metrics);
		crashes += !json_is_true(json_object_get(metrics, "success")) &&
			   strcmp(mr_json_text_or_empty(metrics, "failure_classification"),
				  classes[0].name) != 0;
	}
	return json_pack("{s:s, s:s, s:s, s:O, s:o, s:I, s:o}", "schema", "menace.flow-result/1",
			 "flow", flow->name, "status", mr_metrics_status(rows), "steps", rows,
			 "modules", modules, "crash_count", crashes, "telemetry",
			 telemetry_of(rows));
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adapt: each rule fires just beyond its bound and not at it, its opposite does the opposite, and
 * what is changed or held is told
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/scenario/adapt.h"
#include "runtime/scenario/evidence.h"

/* In the middle of every list. */
#define MIDDLE                                                                                \
	"{\"CPU_LIMIT\": \"2\", \"MEMORY_LIMIT\": \"512Mi\", \"DISK_LIMIT\": \"2Gi\","        \
	" \"NETWORK_LATENCY_MS\": 100, \"MIN_BANDWIDTH\": \"5Mbps\", \"BANDWIDTH_LIMIT\": "   \
	"\"10Mbps\", \"MAX_BANDWIDTH\": \"50Mbps\", \"GPU_LIMIT\": 1, \"SECURITY_LEVEL\": 3," \
	" \"THREAT_INTENSITY\": 50, \"MAX_THREADS\": 200}"

static json_t *parse(const char *text)
{
	struct mr_error err = MR_ERROR_INIT;
	json_t *json = NULL;

	if (mr_json_parse(text, strlen(text), "t", &json, &err) < 0)
		fail_msg("%s", err.msg);
	return json;
}

static void add(struct mr_evidence *evidence, const char *text)
{
	mr_auto_json json_t *document = parse(text);
	const struct mr_json root = mr_json_root(document, "t");
	struct mr_error err = MR_ERROR_INIT;

	if (mr_evidence_add(evidence, &root, &err) < 0)
		fail_msg("%s", err.msg);
}

static json_t *adapt_with(const char *preset, const char *const *evidence,
			  const struct mr_adapt_opts *opts)
{
	mr_auto_json json_t *json = parse(preset);
	mr_auto_json json_t *before = json_deep_copy(json);
	struct mr_evidence e;
	json_t *result;

	mr_evidence_init(&e);
	for (size_t i = 0; evidence[i]; i++)
		add(&e, evidence[i]);
	result = mr_adapt(json, &e, opts);
	mr_evidence_deinit(&e);
	assert_true(json_equal(json, before));
	return result;
}

static json_t *adapt_unsafe(const char *preset, const char *const *evidence, bool unsafe)
{
	const struct mr_adapt_opts opts = { .unsafe = unsafe };

	return adapt_with(preset, evidence, &opts);
}

static json_t *adapt(const char *preset, const char *evidence)
{
	const char *const list[] = { evidence, NULL };

	return adapt_unsafe(preset, list, false);
}

/* {variable: new value} as text. */
static char *changes_of(const json_t *result)
{
	mr_auto_json json_t *by_name = json_object();
	const json_t *changes = json_object_get(result, "changes");

	for (size_t i = 0; i < json_array_size(changes); i++) {
		const json_t *row = json_array_get(changes, i);
		const char *name = json_string_value(json_object_get(row, "variable"));

		assert_null(json_object_get(by_name, name)); /* one net step a variable */
		assert_true(json_string_length(json_object_get(row, "why")) > 0);
		json_object_set(by_name, name, json_object_get(row, "new"));
	}
	return json_dumps(by_name, JSON_SORT_KEYS | JSON_COMPACT);
}

static void assert_result(json_t *result, const char *evidence, const char *fired,
			  const char *changes)
{
	mr_auto_free char *names =
		json_dumps(json_object_get(result, "fired"), JSON_COMPACT | JSON_ENCODE_ANY);
	mr_auto_free char *expected =
		fired[0] ? mr_str_format("[\"%s\"]", fired) : mr_str_dup("[]");
	mr_auto_free char *done = changes_of(result);

	if (strcmp(names, expected) != 0)
		fail_msg("%s fired %s, not %s", evidence, names, expected);
	if (strcmp(done, changes) != 0)
		fail_msg("%s changed %s, not %s", evidence, done, changes);
}

static void assert_adapted(const char *evidence, const char *fired, const char *changes)
{
	mr_auto_json json_t *result = adapt(MIDDLE, evidence);

	assert_result(result, evidence, fired, changes);
}

static const struct {
	const char *metric;
	double bound;
	const char *above, *below;
} synergies[] = {
	{ "roi", 0.1,
	  "{\"MAX_BANDWIDTH\":\"100Mbps\",\"NETWORK_LATENCY_MS\":50,\"THREAT_INTENSITY\":70}",
	  "{\"MAX_BANDWIDTH\":\"10Mbps\",\"NETWORK_LATENCY_MS\":200,\"THREAT_INTENSITY\":30}" },
	{ "security_score", 5, "{\"SECURITY_LEVEL\":4}", "{\"SECURITY_LEVEL\":2}" },
	{ "safety_rating", 5, "{\"THREAT_INTENSITY\":70}", "{\"THREAT_INTENSITY\":30}" },
	{ "risk_index", 5, "{\"SECURITY_LEVEL\":4}", "{\"SECURITY_LEVEL\":2}" },
	{ "efficiency", 0.05, "{\"CPU_LIMIT\":\"1\",\"MEMORY_LIMIT\":\"256Mi\"}",
	  "{\"CPU_LIMIT\":\"4\",\"MEMORY_LIMIT\":\"1024Mi\"}" },
	{ "adaptability", 0.05, "{\"CPU_LIMIT\":\"1\",\"MEMORY_LIMIT\":\"256Mi\"}",
	  "{\"CPU_LIMIT\":\"4\",\"MEMORY_LIMIT\":\"1024Mi\"}" },
	{ "antifragility", 0.05, "{\"THREAT_INTENSITY\":70}", "{\"THREAT_INTENSITY\":30}" },
	{ "resilience", 0.05,
	  "{\"BANDWIDTH_LIMIT\":\"50Mbps\",\"MAX_BANDWIDTH\":\"100Mbps\",\"MIN_BANDWIDTH\":"
	  "\"10Mbps\"}",
	  "{\"BANDWIDTH_LIMIT\":\"5Mbps\",\"MAX_BANDWIDTH\":\"10Mbps\",\"MIN_BANDWIDTH\":"
	  "\"1Mbps\"}" },
	{ "recovery_time", 0.1, "{\"THREAT_INTENSITY\":30}", "{\"THREAT_INTENSITY\":70}" },
	{ "shannon_entropy", 0.05, "{\"CPU_LIMIT\":\"4\"}", "{\"CPU_LIMIT\":\"1\"}" },
	{ "flexibility", 0.05, "{\"MEMORY_LIMIT\":\"256Mi\"}", "{\"MEMORY_LIMIT\":\"1024Mi\"}" },
	{ "energy_consumption", 0.05,
	  "{\"BANDWIDTH_LIMIT\":\"5Mbps\",\"MAX_BANDWIDTH\":\"10Mbps\",\"MIN_BANDWIDTH\":"
	  "\"1Mbps\"}",
	  "{\"BANDWIDTH_LIMIT\":\"50Mbps\",\"MAX_BANDWIDTH\":\"100Mbps\",\"MIN_BANDWIDTH\":"
	  "\"10Mbps\"}" },
	{ "profitability", 0.05, "{\"DISK_LIMIT\":\"4Gi\"}", "{\"DISK_LIMIT\":\"1Gi\"}" },
	{ "revenue", 0.05, "{\"MEMORY_LIMIT\":\"1024Mi\"}", "{\"MEMORY_LIMIT\":\"256Mi\"}" },
	{ "projected_lucrativity", 0.05, "{\"GPU_LIMIT\":2}", "{\"GPU_LIMIT\":0}" },
	{ "maintainability", 0.05, "{\"CPU_LIMIT\":\"1\"}", "{\"CPU_LIMIT\":\"4\"}" },
	{ "code_quality", 0.05, "{\"THREAT_INTENSITY\":70}", "{\"THREAT_INTENSITY\":30}" },
	{ "network_latency", 1, "{\"NETWORK_LATENCY_MS\":200}", "{\"NETWORK_LATENCY_MS\":50}" },
	{ "throughput", 5, "{\"MAX_BANDWIDTH\":\"100Mbps\",\"MIN_BANDWIDTH\":\"10Mbps\"}",
	  "{\"MAX_BANDWIDTH\":\"10Mbps\",\"MIN_BANDWIDTH\":\"1Mbps\"}" },
	{ "discrepancy_count", 1, "{\"THREAT_INTENSITY\":70}", "{\"THREAT_INTENSITY\":30}" },
	{ "gpu_usage", 0.05, "{\"GPU_LIMIT\":2}", "{\"GPU_LIMIT\":0}" },
	{ "cpu_usage", 0.05, "{\"CPU_LIMIT\":\"4\"}", "{\"CPU_LIMIT\":\"1\"}" },
	{ "memory_usage", 0.05, "{\"MEMORY_LIMIT\":\"1024Mi\"}", "{\"MEMORY_LIMIT\":\"256Mi\"}" },
	{ "long_term_lucrativity", 0.05, "{\"DISK_LIMIT\":\"4Gi\",\"GPU_LIMIT\":2}",
	  "{\"DISK_LIMIT\":\"1Gi\",\"GPU_LIMIT\":0}" },
};

static char *synergy_evidence(const char *metric, double value)
{
	return mr_str_format("{\"security_score\": 60, \"synergy_%s\": %.17g}", metric, value);
}

static void each_synergy_rule_and_its_opposite(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(synergies); i++) {
		const double bound = synergies[i].bound, beyond = bound * 1.0001;
		const char *metric = synergies[i].metric;
		mr_auto_free char *at = synergy_evidence(metric, bound);
		mr_auto_free char *at_negative = synergy_evidence(metric, -bound);
		mr_auto_free char *over = synergy_evidence(metric, beyond);
		mr_auto_free char *under = synergy_evidence(metric, -beyond);
		mr_auto_free char *over_rule = mr_str_format("synergy_%s over", metric);
		mr_auto_free char *under_rule = mr_str_format("synergy_%s under", metric);

		assert_adapted(at, "", "{}");
		assert_adapted(at_negative, "", "{}");
		assert_adapted(over, over_rule, synergies[i].above);
		assert_adapted(under, under_rule, synergies[i].below);
	}
}

#define RESULT(members) "{\"schema\": \"menace.result/1\", " members "}"

static const struct {
	const char *evidence, *fired, *changes;
} rows[] = {
	{ "{\"security_score\": 80}", "secure", "{\"THREAT_INTENSITY\":70}" },
	{ "{\"security_score\": 79.99}", "", "{}" },
	{ "{\"security_score\": 50}", "", "{}" },
	{ "{\"security_score\": 49.99}", "insecure", "{\"THREAT_INTENSITY\":30}" },
	/* The last three are 90, 90, 60: the first does not count. */
	{ "{\"security_score\": [0, 90, 90, 60]}", "secure", "{\"THREAT_INTENSITY\":70}" },
	{ "{\"security_score\": 60, \"roi\": [1]}", "", "{}" },
	{ "{\"security_score\": 60, \"roi\": [1, 1]}", "roi steady",
	  "{\"BANDWIDTH_LIMIT\":\"50Mbps\",\"CPU_LIMIT\":\"4\",\"MAX_BANDWIDTH\":\"100Mbps\","
	  "\"MEMORY_LIMIT\":\"1024Mi\",\"MIN_BANDWIDTH\":\"10Mbps\"}" },
	/* One difference has no deviation, so the tolerance is 0.01. */
	{ "{\"security_score\": 60, \"roi\": [1, 1.0099]}", "roi steady",
	  "{\"BANDWIDTH_LIMIT\":\"50Mbps\",\"CPU_LIMIT\":\"4\",\"MAX_BANDWIDTH\":\"100Mbps\","
	  "\"MEMORY_LIMIT\":\"1024Mi\",\"MIN_BANDWIDTH\":\"10Mbps\"}" },
	{ "{\"security_score\": 60, \"roi\": [1, 1.0101]}", "roi rising",
	  "{\"BANDWIDTH_LIMIT\":\"5Mbps\",\"CPU_LIMIT\":\"1\",\"MAX_BANDWIDTH\":\"10Mbps\","
	  "\"MEMORY_LIMIT\":\"256Mi\",\"MIN_BANDWIDTH\":\"1Mbps\"}" },
	{ "{\"security_score\": 60, \"roi\": [1, 0.98]}", "", "{}" },
	{ "{\"roi\": [0, 1], \"cpu_usage\": 0.81}", "cpu used up", "{\"CPU_LIMIT\":\"4\"}" },
	{ "{\"roi\": [0, 1], \"cpu_usage\": 0.8}", "", "{}" },
	{ "{\"roi\": [1, 1], \"cpu_usage\": 0.9}", "", "{}" },
	{ "{\"roi\": [1, 0], \"cpu_usage\": 0.9}", "", "{}" },
	{ "{\"roi\": [1, 0], \"cpu_usage\": 0.19}", "cpu idle", "{\"CPU_LIMIT\":\"1\"}" },
	{ "{\"roi\": [0, 1], \"cpu_usage\": 0.19}", "", "{}" },
	{ "{\"roi\": [0, 1], \"memory_usage\": 0.81}", "memory used up",
	  "{\"MEMORY_LIMIT\":\"1024Mi\"}" },
	{ "{\"roi\": [1, 0], \"memory_usage\": 0.81}", "", "{}" },
	{ "{\"roi\": [1, 0], \"memory_usage\": 0.19}", "memory idle",
	  "{\"MEMORY_LIMIT\":\"256Mi\"}" },
	{ "{\"roi\": [1, 0], \"memory_usage\": 0.2}", "", "{}" },
	{ RESULT("\"reason\": \"oom\", \"limits_hit\": [\"memory\"]"), "out of memory",
	  "{\"MEMORY_LIMIT\":\"1024Mi\"}" },
	{ RESULT("\"reason\": \"exited\", \"limits_hit\": [\"memory\"]"), "", "{}" },
	{ RESULT("\"reason\": \"exited\", \"limits_hit\": [\"pids\"]"), "out of processes",
	  "{\"MAX_THREADS\":500}" },
	{ RESULT("\"reason\": \"exited\", \"limits_hit\": [\"disk\"]"), "out of disk",
	  "{\"DISK_LIMIT\":\"4Gi\"}" },
	{ RESULT("\"reason\": \"exited\", \"limits_hit\": []"), "", "{}" },
	/* Success is what a run is worth, where there is no roi. */
	{ "[" RESULT("\"exit\": {\"status\": 1}") ", " RESULT(
		  "\"exit\": {\"status\": 0}, \"limits\": {\"cpus\": \"0.5\"}, \"usage\":"
		  " {\"wall_us\": 1000, \"cpu\": {\"usage_us\": 450}}") "]",
	  "cpu used up", "{\"CPU_LIMIT\":\"4\"}" },
	{ "[" RESULT("\"exit\": {\"status\": 1}") ", " RESULT(
		  "\"exit\": {\"status\": 0}, \"limits\": {\"memory_max_bytes\": 1000},"
		  " \"usage\": {\"memory\": {\"peak_bytes\": 900}}") "]",
	  "memory used up", "{\"MEMORY_LIMIT\":\"1024Mi\"}" },
	/* What was not measured is not 0. */
	{ "[" RESULT("\"exit\": {\"status\": 0}") ", " RESULT(
		  "\"exit\": {\"status\": 1}, \"limits\": {\"memory_max_bytes\": \"unlimited\"},"
		  " \"usage\": {\"memory\": {\"peak_bytes\": null}}") "]",
	  "", "{}" },
	/* Without a security_score no rule over metrics is considered. */
	{ "{\"synergy_roi\": 5, \"roi\": [1, 1]}", "", "{}" },
	{ "{}", "", "{}" },
};

static void the_other_rules_and_what_is_near_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		assert_adapted(rows[i].evidence, rows[i].fired, rows[i].changes);
}

static const struct {
	const char *evidence, *fired, *changes;
} drawn[] = {
	{ "{\"synergy_efficiency\": 0.05}", "", "{}" },
	{ "{\"synergy_efficiency\": -0.05}", "", "{}" },
	{ "{\"synergy_efficiency\": [9, 0.06, 0.06, 0.06]}", "drawn, synergy_efficiency over",
	  "{\"BANDWIDTH_LIMIT\":\"50Mbps\",\"MAX_BANDWIDTH\":\"100Mbps\",\"MIN_BANDWIDTH\":"
	  "\"10Mbps\",\"NETWORK_LATENCY_MS\":50}" },
	{ "{\"synergy_efficiency\": -0.06}", "drawn, synergy_efficiency under",
	  "{\"BANDWIDTH_LIMIT\":\"5Mbps\",\"MAX_BANDWIDTH\":\"10Mbps\",\"MIN_BANDWIDTH\":"
	  "\"1Mbps\",\"NETWORK_LATENCY_MS\":200}" },
	{ "{\"synergy_network_latency\": 1}", "", "{}" },
	{ "{\"synergy_network_latency\": 1.01}", "drawn, synergy_network_latency over",
	  "{\"NETWORK_LATENCY_MS\":200}" },
	{ "{\"synergy_network_latency\": -1.01}", "drawn, synergy_network_latency under",
	  "{\"NETWORK_LATENCY_MS\":50}" },
	{ "{\"synergy_throughput\": 5}", "", "{}" },
	{ "{\"synergy_throughput\": 5.01}", "drawn, synergy_throughput over",
	  "{\"MAX_BANDWIDTH\":\"100Mbps\",\"MIN_BANDWIDTH\":\"10Mbps\"}" },
	{ "{\"synergy_throughput\": -5.01}", "drawn, synergy_throughput under",
	  "{\"MAX_BANDWIDTH\":\"10Mbps\",\"MIN_BANDWIDTH\":\"1Mbps\"}" },
	/* The rules for others have no say, and predictions neither. */
	{ "{\"security_score\": 90, \"roi\": [1, 1], \"predicted\": {\"synergy_throughput\": 9}}",
	  "", "{}" },
};

static void rules_for_what_was_drawn(void **state)
{
	const struct mr_adapt_opts opts = { .drawn = true };

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(drawn); i++) {
		const char *const evidence[] = { drawn[i].evidence, NULL };
		mr_auto_json json_t *result = adapt_with(MIDDLE, evidence, &opts);

		assert_result(result, drawn[i].evidence, drawn[i].fired, drawn[i].changes);
	}
}

/* The tables above are as long as that of the rules. */
static void no_rule_is_forgotten(void **state)
{
	mr_auto_json json_t *names = json_object();
	struct mr_adapt_rule rule;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(rows); i++)
		if (rows[i].fired[0])
			json_object_set_new(names, rows[i].fired, json_true());
	for (size_t i = 0; i < N_ELEMENTS(drawn); i++)
		if (drawn[i].fired[0])
			json_object_set_new(names, drawn[i].fired, json_true());
	while (mr_adapt_rule_get(n, &rule)) {
		if (!mr_str_starts_with(rule.name, "synergy_") &&
		    !json_object_get(names, rule.name))
			fail_msg("rule \"%s\" is not tried", rule.name);
		n++;
	}
	assert_int_equal(n, 2 * N_ELEMENTS(synergies) + json_object_size(names));
}

static void predictions_count_unless_they_are_0(void **state)
{
	(void)state;
	assert_adapted("{\"security_score\": 60, \"synergy_roi\": [0.1, 0.1, 0.1], \"predicted\":"
		       " {\"synergy_roi\": 0.2}}",
		       "synergy_roi over", synergies[0].above);
	assert_adapted("{\"security_score\": 60, \"synergy_roi\": [0.1, 0.1, 0.1], \"predicted\":"
		       " {\"synergy_roi\": 0}}",
		       "", "{}");
	assert_adapted("{\"security_score\": 60, \"predicted\": {\"synergy_roi\": -0.2}}",
		       "synergy_roi under", synergies[0].below);
	assert_adapted("{\"security_score\": 60, \"synergy_roi\": [9, 0.1, 0.1, 0.1]}", "", "{}");
}

/* Text of one row of what was held, by variable. */
static const char *held_why(const json_t *result, const char *variable)
{
	const json_t *held = json_object_get(result, "held");

	for (size_t i = 0; i < json_array_size(held); i++) {
		const json_t *row = json_array_get(held, i);

		if (strcmp(json_string_value(json_object_get(row, "variable")), variable) == 0)
			return json_string_value(json_object_get(row, "why"));
	}
	return "";
}

static void assert_held(const char *preset, const char *evidence, const char *variable,
			const char *why)
{
	mr_auto_json json_t *result = adapt(preset, evidence);
	mr_auto_json json_t *before = parse(preset);

	assert_string_equal(held_why(result, variable), why);
	assert_true(json_equal(json_object_get(result, "preset"), before));
}

static void votes_are_added_up(void **state)
{
	(void)state;
	assert_held(MIDDLE,
		    "{\"security_score\": 60, \"synergy_flexibility\": 1, \"synergy_revenue\": 1}",
		    "MEMORY_LIMIT",
		    "as much for it as against it; synergy_flexibility over (down): "
		    "synergy_flexibility 1 is over 0.05; synergy_revenue over (up): "
		    "synergy_revenue "
		    "1 is over 0.05");
	/* Three up, one down: one step up, not two. */
	mr_auto_json json_t *result =
		adapt(MIDDLE, "{\"security_score\": 90, \"synergy_safety_rating\": 6,"
			      " \"synergy_antifragility\": 1, \"synergy_recovery_time\": 1}");
	mr_auto_free char *changes = changes_of(result);

	assert_string_equal(changes, "{\"THREAT_INTENSITY\":70}");
}

static void the_ends_of_the_lists(void **state)
{
	(void)state;
	assert_held("{\"THREAT_INTENSITY\": 90}", "{\"security_score\": 90}", "THREAT_INTENSITY",
		    "no larger value; secure (up): security_score 90 is at least 80");
	assert_held("{\"THREAT_INTENSITY\": 10}", "{\"security_score\": 9}", "THREAT_INTENSITY",
		    "no smaller value; insecure (down): security_score 9 is under 50");
	assert_held("{}", "{\"security_score\": 90}", "THREAT_INTENSITY",
		    "the preset does not set it; secure (up): security_score 90 is at least 80");
	assert_held("{\"MEMORY_LIMIT\": \"unlimited\"}", RESULT("\"reason\": \"oom\""),
		    "MEMORY_LIMIT", "no larger value; out of memory (up): oom 1 is over 0");
	assert_held("{\"SECURITY_LEVEL\": 2}",
		    "{\"security_score\": 60, \"synergy_risk_index\": -6}", "SECURITY_LEVEL",
		    "level 1 needs --unsafe; synergy_risk_index under (down): synergy_risk_index "
		    "-6 "
		    "is under -5");
}

static void level_1_with_consent(void **state)
{
	static const char *const evidence[] = {
		"{\"security_score\": 60, \"synergy_risk_index\": -6}", NULL
	};
	mr_auto_json json_t *result = adapt_unsafe("{\"SECURITY_LEVEL\": 2}", evidence, true);
	mr_auto_free char *changes = changes_of(result);

	(void)state;
	assert_string_equal(changes, "{\"SECURITY_LEVEL\":1}");
}

/* From a value between those of the list to the next of it, never the wrong way. */
static void values_that_are_not_listed(void **state)
{
	static const struct {
		const char *preset, *evidence, *changes;
	} cases[] = {
		{ "{\"MEMORY_LIMIT\": \"300Mi\"}", RESULT("\"reason\": \"oom\""),
		  "{\"MEMORY_LIMIT\":\"512Mi\"}" },
		{ "{\"MEMORY_LIMIT\": 314572800}",
		  "{\"security_score\": 60, \"synergy_flexibility\": 1}",
		  "{\"MEMORY_LIMIT\":\"256Mi\"}" },
		{ "{\"MEMORY_LIMIT\": \"unlimited\"}",
		  "{\"security_score\": 60, \"synergy_flexibility\": 1}",
		  "{\"MEMORY_LIMIT\":\"4096Mi\"}" },
		{ "{\"THREAT_INTENSITY\": 20}", "{\"security_score\": 90}",
		  "{\"THREAT_INTENSITY\":30}" },
		{ "{\"CPU_LIMIT\": 0.25}", "{\"security_score\": 60, \"synergy_cpu_usage\": 1}",
		  "{\"CPU_LIMIT\":\"0.5\"}" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		mr_auto_json json_t *result = adapt(cases[i].preset, cases[i].evidence);
		mr_auto_free char *changes = changes_of(result);

		assert_string_equal(changes, cases[i].changes);
	}
}

static void what_a_run_needs_stays(void **state)
{
	static const char *const evidence[] = {
		RESULT("\"usage\": {\"memory\": {\"peak_bytes\": 268435457}}"),
		RESULT("\"usage\": {\"memory\": {\"peak_bytes\": 5}}"),
		"{\"security_score\": 60, \"synergy_flexibility\": 1}", NULL
	};
	static const char *const fits[] = {
		RESULT("\"usage\": {\"memory\": {\"peak_bytes\": 268435456}}"),
		"{\"security_score\": 60, \"synergy_flexibility\": 1}", NULL
	};
	mr_auto_json json_t *result = adapt_unsafe(MIDDLE, evidence, false);
	mr_auto_json json_t *fitting = adapt_unsafe(MIDDLE, fits, false);
	mr_auto_free char *changes = changes_of(fitting);

	(void)state;
	assert_string_equal(held_why(result, "MEMORY_LIMIT"),
			    "a run used 268435457 of it; synergy_flexibility over (down): "
			    "synergy_flexibility 1 is over 0.05");
	assert_int_equal(json_array_size(json_object_get(result, "changes")), 0);
	assert_string_equal(changes, "{\"MEMORY_LIMIT\":\"256Mi\"}");
}

static void bounds_between_variables_hold(void **state)
{
	static const char equal[] = "{\"MIN_BANDWIDTH\": \"10Mbps\", \"BANDWIDTH_LIMIT\": "
				    "\"10Mbps\", \"MAX_BANDWIDTH\": \"10Mbps\"}";
	mr_auto_json json_t *down =
		adapt(equal, "{\"security_score\": 60, \"synergy_resilience\": -1}");
	mr_auto_json json_t *up =
		adapt(equal, "{\"security_score\": 60, \"synergy_resilience\": 1}");
	mr_auto_free char *down_changes = changes_of(down);
	mr_auto_free char *up_changes = changes_of(up);

	(void)state;
	assert_string_equal(down_changes, "{\"BANDWIDTH_LIMIT\":\"5Mbps\",\"MAX_BANDWIDTH\":"
					  "\"5Mbps\",\"MIN_BANDWIDTH\":\"5Mbps\"}");
	assert_string_equal(up_changes, "{\"BANDWIDTH_LIMIT\":\"50Mbps\",\"MAX_BANDWIDTH\":"
					"\"50Mbps\",\"MIN_BANDWIDTH\":\"50Mbps\"}");
	assert_held(equal, "{\"security_score\": 60, \"synergy_roi\": -1}", "MAX_BANDWIDTH",
		    "another variable is in its way; synergy_roi under (down): synergy_roi -1 is "
		    "under -0.1");
}

static void a_changed_preset_forgets_its_seed(void **state)
{
	mr_auto_json json_t *changed =
		adapt("{\"THREAT_INTENSITY\": 50, \"PRESET_SEED\": 5, \"PRESET_DRAWS\": 9}",
		      "{\"security_score\": 90}");
	mr_auto_json json_t *same =
		adapt("{\"THREAT_INTENSITY\": 50, \"PRESET_SEED\": 5}", "{\"security_score\": 60}");
	mr_auto_free char *changes = changes_of(changed);
	mr_auto_free char *kept =
		json_dumps(json_object_get(same, "preset"), JSON_COMPACT | JSON_SORT_KEYS);

	(void)state;
	assert_string_equal(changes,
			    "{\"PRESET_DRAWS\":null,\"PRESET_SEED\":null,\"THREAT_INTENSITY\":70}");
	assert_string_equal(kept, "{\"PRESET_SEED\":5,\"THREAT_INTENSITY\":50}");
}

static void assert_note(const char *evidence, const char *note)
{
	mr_auto_json json_t *result = adapt("{}", evidence);
	const char *first = json_string_value(json_array_get(json_object_get(result, "notes"), 0));

	if (note)
		assert_string_equal(first, note);
	else
		assert_null(first);
}

static void what_counts_for_nothing_is_noted(void **state)
{
	(void)state;
	assert_note("{\"security_score\": 1, \"synergy_ro\": 1}",
		    "no rule looks at metric \"synergy_ro\"; did you mean \"synergy_roi\"?");
	assert_note("{\"security_score\": 1, \"xyzzy_metric_of_mine\": 1}",
		    "no rule looks at metric \"xyzzy_metric_of_mine\"");
	assert_note("{\"synergy_roi\": 1}",
		    "the metrics have no security_score, so no rule over metrics was considered");
	assert_note("{}", "there are no results and no metrics, so nothing changes");
	assert_note(RESULT("\"reason\": \"exited\""), NULL);
}

static void evidence_that_is_refused(void **state)
{
	static const char *const cases[][2] = {
		{ "{\"roi\": \"1\"}", "t: roi: a string where a number is expected" },
		{ "{\"roi\": [1, null]}", "t: roi[1]: null where a number is expected" },
		{ "{\"predicted\": 5}", "t: predicted: a number where an object is expected" },
		{ "{\"predicted\": {\"roi\": []}}",
		  "t: predicted.roi: a list where a number is expected" },
		{ "{\"schema\": \"menace.spec/1\"}",
		  "t: unknown schema \"menace.spec/1\"; accepted: \"menace.result/1\", or metrics, "
		  "which have none" },
		{ "[5]", "t: [0]: a number where an object is expected" },
		{ "5", "t: a number where an object is expected" },
	};

	(void)state;
	for (size_t i = 0; i < N_ELEMENTS(cases); i++) {
		mr_auto_json json_t *document = parse(cases[i][0]);
		const struct mr_json root = mr_json_root(document, "t");
		struct mr_error err = MR_ERROR_INIT;
		struct mr_evidence e;

		mr_evidence_init(&e);
		assert_int_equal(mr_evidence_add(&e, &root, &err), -22);
		assert_string_equal(err.msg, cases[i][1]);
		mr_evidence_deinit(&e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_synergy_rule_and_its_opposite),
		cmocka_unit_test(the_other_rules_and_what_is_near_them),
		cmocka_unit_test(rules_for_what_was_drawn),
		cmocka_unit_test(no_rule_is_forgotten),
		cmocka_unit_test(predictions_count_unless_they_are_0),
		cmocka_unit_test(votes_are_added_up),
		cmocka_unit_test(the_ends_of_the_lists),
		cmocka_unit_test(level_1_with_consent),
		cmocka_unit_test(values_that_are_not_listed),
		cmocka_unit_test(what_a_run_needs_stays),
		cmocka_unit_test(bounds_between_variables_hold),
		cmocka_unit_test(a_changed_preset_forgets_its_seed),
		cmocka_unit_test(what_counts_for_nothing_is_noted),
		cmocka_unit_test(evidence_that_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

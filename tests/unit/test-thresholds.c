/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thresholds of a cell: which are taken, and what is over them
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/str.h"
#include "runtime/scenario/thresholds.h"

/* What is told of these counts with these thresholds, or why they are refused. */
static char *tell(const char *thresholds, const char *counts)
{
	mr_auto_json json_t *in_force = json_loads(counts, 0, NULL);
	mr_auto_json json_t *metrics = NULL;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_thresholds parsed;

	assert_non_null(in_force);
	if (mr_thresholds_parse(thresholds, &parsed, &err) < 0)
		return mr_str_dup(err.msg);
	metrics = mr_thresholds_metrics(&parsed, in_force);
	return json_dumps(metrics, JSON_COMPACT | JSON_REAL_PRECISION(6));
}

static void assert_told(const char *thresholds, const char *counts, const char *expected)
{
	mr_auto_free char *told = tell(thresholds, counts);

	assert_string_equal(told, expected);
}

static void what_is_over_is_flagged(void **state)
{
	static const char counts[] = "{\"schema_drift\": {\"opportunities\": 20, \"fired\": 3}, "
				     "\"flaky_upstream\": {\"opportunities\": 20, \"fired\": 2}}";

	(void)state;
	assert_told(NULL, counts,
		    "{\"schema_mismatch_rate\":0.15,\"schema_mismatch_rate_threshold\":0.1,"
		    "\"schema_mismatch_rate_breach\":1,\"upstream_failure_rate\":0.1,"
		    "\"upstream_failure_rate_threshold\":0.1,\"upstream_failure_rate_breach\":0}");
	assert_told("{\"schema_mismatch_rate\": 1, \"upstream_failure_rate\": 0}", counts,
		    "{\"schema_mismatch_rate\":0.15,\"schema_mismatch_rate_threshold\":1.0,"
		    "\"schema_mismatch_rate_breach\":0,\"upstream_failure_rate\":0.1,"
		    "\"upstream_failure_rate_threshold\":0.0,\"upstream_failure_rate_breach\":1}");
}

static void what_nobody_counted_is_unknown(void **state)
{
	static const char unknown[] =
		"{\"schema_mismatch_rate\":null,\"schema_mismatch_rate_threshold\":0.1,"
		"\"schema_mismatch_rate_breach\":null,\"upstream_failure_rate\":null,"
		"\"upstream_failure_rate_threshold\":0.5,\"upstream_failure_rate_breach\":null}";

	(void)state;
	assert_told("{\"upstream_failure_rate\": 0.5}", "{}", unknown);
	assert_told("{\"upstream_failure_rate\": 0.5}",
		    "{\"schema_drift\": {\"opportunities\": 0, \"fired\": 0}}", unknown);
}

static void what_is_no_threshold_is_refused(void **state)
{
	(void)state;
	assert_told("[0.1]", "{}",
		    "SCENARIO_METRIC_THRESHOLDS: a list where an object is expected");
	assert_told("{\"schema_mismatch_rat\": 0.1}", "{}",
		    "SCENARIO_METRIC_THRESHOLDS: unknown key \"schema_mismatch_rat\"; did you mean "
		    "\"schema_mismatch_rate\"?");
	assert_told("{\"schema_mismatch_rate\": 1.5}", "{}",
		    "SCENARIO_METRIC_THRESHOLDS: schema_mismatch_rate: a threshold is a number "
		    "from "
		    "0 to 1");
	assert_told("{\"schema_mismatch_rate\": \"0.1\"}", "{}",
		    "SCENARIO_METRIC_THRESHOLDS: schema_mismatch_rate: a threshold is a number "
		    "from "
		    "0 to 1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_over_is_flagged),
		cmocka_unit_test(what_nobody_counted_is_unknown),
		cmocka_unit_test(what_is_no_threshold_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thresholds
 *
 * A rate is what the mocks have counted: answers that were made wrong, of those that there were.  Where
 * there was none the rate is unknown, and not 0.
 */
#include "runtime/scenario/thresholds.h"

#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"

#define SOURCE "SCENARIO_METRIC_THRESHOLDS"

static const struct row {
	const char *metric, *threshold, *breach, *mode;
	double fallback;
} rows[MR_THRESHOLDS] = {
#define ROW(metric_, mode_, fallback_)                                             \
	{                                                                          \
		metric_, metric_ "_threshold", metric_ "_breach", mode_, fallback_ \
	}
	ROW("schema_mismatch_rate", "schema_drift", 0.1),
	ROW("upstream_failure_rate", "flaky_upstream", 0.1),
#undef ROW
};

static int take(const struct mr_json *root, size_t i, struct mr_thresholds *ret,
		struct mr_error *err)
{
	struct mr_json share;

	if (!mr_json_member(root, rows[i].metric, &share))
		return 0;
	ret->of[i] = json_number_value(share.value);
	if (!json_is_number(share.value) || ret->of[i] < 0 || ret->of[i] > 1)
		return mr_json_err(&share, err, "a threshold is a number from 0 to 1");
	return 0;
}

int mr_thresholds_parse(const char *text, struct mr_thresholds *ret, struct mr_error *err)
{
	const char *keys[MR_THRESHOLDS + 1] = { NULL };
	mr_auto_json json_t *object = NULL;
	struct mr_json root;
	int r;

	for (size_t i = 0; i < MR_THRESHOLDS; i++) {
		keys[i] = rows[i].metric;
		ret->of[i] = rows[i].fallback;
	}
	if (!text)
		return 0;
	r = mr_json_parse(text, strlen(text), SOURCE, &object, err);
	if (r < 0)
		return r;
	root = mr_json_root(object, SOURCE);
	r = mr_json_want_object(&root, err);
	if (r == 0)
		r = mr_json_check_keys(&root, keys, err);
	for (size_t i = 0; r == 0 && i < MR_THRESHOLDS; i++)
		r = take(&root, i, ret, err);
	return r;
}

json_t *mr_thresholds_metrics(const struct mr_thresholds *thresholds, const json_t *in_force)
{
	json_t *metrics = json_object();

	for (size_t i = 0; i < MR_THRESHOLDS; i++) {
		const json_t *counts = json_object_get(in_force, rows[i].mode);
		const double all = json_number_value(json_object_get(counts, "opportunities"));
		const double share =
			all > 0 ? json_number_value(json_object_get(counts, "fired")) / all : 0;

		json_object_set_new(metrics, rows[i].metric,
				    all > 0 ? json_real(share) : json_null());
		json_object_set_new(metrics, rows[i].threshold, json_real(thresholds->of[i]));
		json_object_set_new(metrics, rows[i].breach,
				    all > 0 ? json_integer(share > thresholds->of[i])
					    : json_null());
	}
	return metrics;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: learned policies of presets
 *
 * Holds: a refusal is MR_E_USAGE with a printable message; what is read is read again as the same; the
 * older format is read again, too; each state that is known has a best action; a preset that follows a
 * policy is well-formed.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/scenario/adapt.h"
#include "runtime/scenario/check.h"
#include "runtime/scenario/evidence.h"
#include "runtime/scenario/preset_policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_refusal(const struct mr_error *err)
{
	mr_assert(err->code == MR_E_USAGE && err->msg[0] != '\0');
	for (const char *p = err->msg; *p; p++)
		mr_assert(*p >= 0x20 && *p < 0x7f);
}

static void check_again(json_t *document, bool same_as, const json_t *policy)
{
	const struct mr_json root = mr_json_root(document, "made");
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_json json_t *again = NULL;

	mr_assert(mr_preset_policy_parse(&root, &again, &err) == 0);
	if (same_as)
		mr_assert(json_equal(again, policy));
}

static void check_states(const json_t *policy)
{
	const char *state, *steps = NULL;
	json_t *values;
	double value = 0;

	json_object_foreach (json_object_get(policy, "states"), state, values) {
		mr_assert(mr_preset_policy_values(policy, state) == values);
		mr_assert(mr_preset_policy_best(values, &steps, &value) != NULL && steps != NULL);
	}
}

static void check_adaptation(const json_t *policy)
{
	static const char metrics[] = "{\"roi\": [1, 2, 3, 2, 3], \"cpu_usage\": [0.5, 0.6]}";
	static const char preset_text[] = "{\"CPU_LIMIT\": \"1\", \"MEMORY_LIMIT\": \"512Mi\", "
					  "\"THREAT_INTENSITY\": 30, \"MAX_BANDWIDTH\": \"5Mbps\"}";
	const struct mr_adapt_opts opts = { .policy = policy };
	mr_auto_json json_t *document = json_loads(metrics, 0, NULL);
	mr_auto_json json_t *preset = json_loads(preset_text, 0, NULL);
	mr_auto_json json_t *adapted = NULL;
	mr_auto_json json_t *report = NULL;
	const struct mr_json root = mr_json_root(document, "metrics");
	struct mr_error err = MR_ERROR_INIT;
	struct mr_evidence evidence;
	struct mr_json made;

	mr_evidence_init(&evidence);
	mr_assert(mr_evidence_add(&evidence, &root, &err) == 0);
	adapted = mr_adapt(preset, &evidence, &opts);
	made = mr_json_root(json_object_get(adapted, "preset"), "made");
	mr_assert(mr_check_preset(&made, true, &report) != MR_CHECK_MALFORMED);
	mr_evidence_deinit(&evidence);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_json json_t *document = NULL;
	mr_auto_json json_t *policy = NULL;
	mr_auto_json json_t *older = NULL;
	struct mr_json root;
	size_t left_out = 0;
	int r = mr_json_parse((const char *)data, size, "policy", &document, &err);

	root = mr_json_root(document, "policy");
	if (r == 0)
		r = mr_preset_policy_parse(&root, &policy, &err);
	if (r < 0) {
		check_refusal(&err);
		return 0;
	}
	check_again(policy, true, policy);
	older = mr_preset_policy_export(policy, &left_out);
	check_again(older, left_out == 0, policy);
	check_states(policy);
	check_adaptation(policy);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: documents of presets, results and metrics, modules, settings
 *
 * The first byte chooses the reader.  Holds: a refusal is MR_E_USAGE with a
 * printable message; what check accepts menace-run's own code applies; a
 * combination or an adaptation of what is well-formed is well-formed; suggestions
 * name known profiles.
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
#include "runtime/scenario/combine.h"
#include "runtime/scenario/document.h"
#include "runtime/scenario/evidence.h"
#include "runtime/scenario/profile.h"
#include "runtime/scenario/settings.h"
#include "runtime/scenario/suggest.h"
#include "runtime/spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char metrics[] =
	"{\"security_score\": 90, \"roi\": [1, 1], \"synergy_resilience\": 1, \"synergy_roi\": -1,"
	" \"synergy_gpu_usage\": -1, \"synergy_profitability\": 1, \"synergy_risk_index\": 9}";

static void check_refusal(const struct mr_error *err)
{
	mr_assert(err->code == MR_E_USAGE && err->msg[0] != '\0');
	for (const char *p = err->msg; *p; p++)
		mr_assert(*p >= 0x20 && *p < 0x7f);
}

static enum mr_check_verdict verdict_of(json_t *preset)
{
	const struct mr_json root = mr_json_root(preset, "made");
	mr_auto_json json_t *report = NULL;

	return mr_check_preset(&root, true, &report);
}

static void check_applies(const struct mr_json *preset)
{
	struct mr_error err = MR_ERROR_INIT;
	struct mr_spec spec;

	mr_spec_init(&spec);
	mr_assert(mr_preset_apply_object(&spec, preset, MR_ORIGIN_PRESET, &err) == 0);
	mr_spec_deinit(&spec);
}

static void check_combination(json_t *preset)
{
	static const char other[] = "{\"OS_TYPE\": \"linux\", \"SCHEMA_MISMATCHES\": 5,"
				    " \"MIN_BANDWIDTH\": \"5mbps\", \"FAILURE_MODES\": [\"cpu\"]}";
	mr_auto_json json_t *second = json_loads(other, 0, NULL);
	const struct mr_combine_part parts[] = { { preset, "a" }, { second, "b" } };
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_json json_t *both = NULL;
	mr_auto_json json_t *rows = NULL;

	if (mr_combine(parts, N_ELEMENTS(parts), &both, &rows, &err) < 0)
		check_refusal(&err);
	else
		mr_assert(verdict_of(both) != MR_CHECK_MALFORMED);
}

static void check_adaptation(json_t *preset, const char *text, size_t size)
{
	const struct mr_adapt_opts opts = { 0 };
	mr_auto_json json_t *document = NULL;
	mr_auto_json json_t *adapted = NULL;
	struct mr_error err = MR_ERROR_INIT;
	struct mr_evidence evidence;
	struct mr_json root;

	if (mr_json_parse(text, size, "evidence", &document, &err) < 0) {
		check_refusal(&err);
		return;
	}
	root = mr_json_root(document, "evidence");
	mr_evidence_init(&evidence);
	if (mr_evidence_add(&evidence, &root, &err) < 0)
		check_refusal(&err);
	adapted = mr_adapt(preset, &evidence, &opts);
	mr_assert(adapted && verdict_of(json_object_get(adapted, "preset")) != MR_CHECK_MALFORMED);
	mr_evidence_deinit(&evidence);
}

static int take_preset(const struct mr_json *preset, void *owner, struct mr_error *err)
{
	enum mr_loss_unit *unit = owner;
	mr_auto_free char *warning = NULL;
	mr_auto_json json_t *report = NULL;
	mr_auto_json json_t *explained = NULL;
	enum mr_check_verdict verdict;
	int r = mr_document_losses(preset->value, *unit, &warning, err);

	if (r < 0)
		return r;
	verdict = mr_check_preset(preset, true, &report);
	mr_assert(report != NULL);
	if (mr_check_explain(preset, &explained, err) < 0) {
		mr_assert(verdict == MR_CHECK_MALFORMED);
		check_refusal(err);
	}
	if (verdict == MR_CHECK_MALFORMED)
		return 0;
	if (verdict == MR_CHECK_ACCEPTED)
		check_applies(preset);
	check_combination(preset->value);
	check_adaptation(preset->value, metrics, strlen(metrics));
	return 0;
}

static int read_presets(const char *text, size_t size, enum mr_loss_unit unit, struct mr_error *err)
{
	mr_auto_json json_t *document = NULL;
	struct mr_json root;
	int r = mr_json_parse(text, size, "presets", &document, err);

	if (r < 0)
		return r;
	root = mr_json_root(document, "presets");
	return mr_document_each(&root, take_preset, &unit, err);
}

static int read_module(const char *text, size_t size, const char *settings, size_t settings_size,
		       struct mr_error *err)
{
	struct mr_suggest_opts opts = { .user_misuse = true };
	mr_auto_json json_t *keywords = NULL;
	mr_auto_json json_t *suggestion = NULL;
	const struct mr_profile *profile = NULL;
	int r = mr_settings_keywords(settings, settings_size, "settings", &keywords, err);

	opts.keywords = keywords;
	if (r == 0)
		r = mr_suggest("x", text, size, &opts, &suggestion, err);
	for (size_t i = 0; i < json_array_size(json_object_get(suggestion, "profiles")); i++)
		mr_assert(mr_profile_find(json_string_value(
						  json_array_get(json_object_get(suggestion,
										 "profiles"),
								 i)),
					  &profile, err) == 0);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mr_error err = MR_ERROR_INIT;
	mr_auto_json json_t *profile = NULL;
	const char *text = (const char *)data + 1;
	int r = 0;

	if (size < 1)
		return 0;
	size--;
	switch (data[0] % 5) {
	case 0:
		r = read_presets(text, size, MR_LOSS_PERCENT, &err);
		break;
	case 1:
		r = read_presets(text, size, MR_LOSS_FRACTION, &err);
		break;
	case 2:
		profile = mr_profile_preset(mr_profile_rows(&(size_t){ 0 }), MR_PROFILE_LOW);
		check_adaptation(profile, text, size);
		break;
	case 3:
		r = read_module(text, size, "", 0, &err);
		break;
	default:
		r = read_module("import api", 10, text, size, &err);
	}
	if (r < 0)
		check_refusal(&err);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result of a guest
 *
 * The pattern is the document of runtime/backend/document.h, which has every member of a
 * result: the guest's must have the same, each of the same type or null where either is.
 */
#include "runtime/backend/qemu_result.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "runtime/backend/document.h"
#include "runtime/backend/errand.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/spec/policy.h"

/* Members that only some results have. */
static const char *const optional[] = { "access" };

static bool is_optional(const char *key)
{
	for (size_t i = 0; i < N_ELEMENTS(optional); i++)
		if (strcmp(key, optional[i]) == 0)
			return true;
	return false;
}

static bool are_alike(const json_t *a, const json_t *b)
{
	return json_is_null(a) || json_is_null(b) || json_typeof(a) == json_typeof(b) ||
	       (json_is_boolean(a) && json_is_boolean(b)) ||
	       (json_is_number(a) && json_is_number(b));
}

static int compare_members(json_t *result, json_t *pattern, struct mr_error *err)
{
	const char *key;
	json_t *value;

	json_object_foreach (pattern, key, value) {
		const json_t *had = json_object_get(result, key);

		if (!had || !are_alike(had, value))
			return mr_err(err, MR_E_PROTO, EPROTO, "the guest's result: %s %s", key,
				      had ? "is of another type" : "is missing");
	}
	json_object_foreach (result, key, value)
		if (!json_object_get(pattern, key) && !is_optional(key))
			return mr_err(err, MR_E_PROTO, EPROTO,
				      "the guest's result has a member too many: %.40s", key);
	return 0;
}

static bool is_reason(const char *name)
{
	static const char *const names[] = {
#define REASON(name) #name,
		MR_REASONS(REASON)
#undef REASON
	};

	for (size_t i = 0; name && i < N_ELEMENTS(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static int judge_end(json_t *result, json_t *pattern, struct mr_error *err)
{
	json_t *end = json_object_get(result, "exit");
	json_t *status = json_object_get(end, "status");
	int r;

	if (!is_reason(json_string_value(json_object_get(result, "reason"))))
		return mr_err(err, MR_E_PROTO, EPROTO, "the guest's result has no known reason");
	if (!json_is_integer(status) || json_integer_value(status) < 0 ||
	    json_integer_value(status) > 255)
		return mr_err(err, MR_E_PROTO, EPROTO, "the guest's result has no exit status");
	r = compare_members(end, json_object_get(pattern, "exit"), err);
	return r < 0 ? mr_err_wrap(err, r, "exit") : 0;
}

/* As a policy leaves them; a guest that cannot enforce its hosts has said so. */
static json_t *limits_of(const struct mr_spec *spec)
{
	struct mr_error ignored = MR_ERROR_INIT;
	struct mr_spec narrowed;
	json_t *limits;

	mr_spec_copy(&narrowed, spec);
	mr_policy_narrow(&narrowed, NULL, &ignored);
	limits = mr_spec_limits_to_json(&narrowed);
	mr_spec_deinit(&narrowed);
	return limits;
}

/* What the guest has been told, or cannot know. */
static void take_back(json_t *result, json_t *pattern, const struct mr_errand *errand)
{
	static const char *const ours[] = { "schema", "version", "run_id", "name", "spec_sha256" };
	json_t *workspace = json_object_get(result, "workspace");

	for (size_t i = 0; i < N_ELEMENTS(ours); i++)
		json_object_set(result, ours[i], json_object_get(pattern, ours[i]));
	json_object_set_new(result, "limits", limits_of(&errand->spec));
	if (json_is_object(workspace))
		json_object_set_new(workspace, "path", json_string(errand->spec.sandbox_workspace));
}

int mr_guest_result(const char *text, size_t size, const struct mr_errand *errand, json_t **ret,
		    struct mr_error *err)
{
	const struct mr_document empty = {
		.spec = &errand->spec,
		.run_id = errand->run_id,
		.verdict = { .reason = MR_REASON_signaled, .has_code = true, .signal = SIGKILL }
	}; /* no null */
	mr_auto_json json_t *pattern = mr_document_make(&empty), *result = NULL;
	int r = mr_json_parse(text ? text : "", size, "result", &result, err);

	if (r < 0) {
		mr_err_wrap(err, r, "the guest's");
		err->code = MR_E_PROTO;
		return r;
	}
	r = json_is_object(result)
		    ? compare_members(result, pattern, err)
		    : mr_err(err, MR_E_PROTO, EPROTO, "the guest's result is no object");
	if (r == 0)
		r = judge_end(result, pattern, err);
	if (r < 0)
		return r;
	take_back(result, pattern, errand);
	*ret = mr_take_ptr(result);
	return 0;
}

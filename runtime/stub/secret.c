/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a value may be told
 *
 * A member that is called what a secret is called is left out of a value that still has its shape.  A value
 * that was turned into another shape (in a wrong order, retyped, cut, corrupted, by a plugin) no longer shows
 * which part of it came from where: of such a one nothing is told if anything that it was made from is a
 * secret.  Neither is of one in which a secret stands as it is.
 */
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/secret.h"
#include "runtime/stub/internal.h"

#define KEYS(object) ((json_t *)(uintptr_t)(object))

bool mr_input_remove_secrets(json_t *value)
{
	const char *name;
	json_t *child;
	void *next;
	bool removed = false;
	size_t i;

	json_object_foreach_safe(value, next, name, child)
	{
		if (mr_secret_is_name(name)) {
			json_object_del(value, name);
			removed = true;
		} else {
			removed = mr_input_remove_secrets(child) || removed;
		}
	}
	json_array_foreach (value, i, child)
		removed = mr_input_remove_secrets(child) || removed;
	return removed;
}

static bool holds(const char *text, size_t size, const json_t *secrets)
{
	for (size_t i = 0; i < json_array_size(secrets); i++) {
		const json_t *secret = json_array_get(secrets, i);

		if (memmem(text, size, json_string_value(secret), json_string_length(secret)))
			return true;
	}
	return false;
}

bool mr_input_holds_secret(const json_t *value, const json_t *secrets)
{
	const char *name;
	json_t *child;
	size_t i;

	if (json_is_string(value))
		return holds(json_string_value(value), json_string_length(value), secrets);
	json_object_foreach (KEYS(value), name, child)
		if (holds(name, strlen(name), secrets) || mr_input_holds_secret(child, secrets))
			return true;
	json_array_foreach (value, i, child)
		if (mr_input_holds_secret(child, secrets))
			return true;
	return false;
}

/* The texts below a name of a secret, into secrets.  True: there is such a name. */
static bool collect(const json_t *value, bool below, json_t *secrets)
{
	const char *name;
	json_t *child;
	bool found = below;
	size_t i;

	if (below && json_string_length(value) >= MR_INPUT_SECRET_MIN)
		json_array_append(secrets, KEYS(value));
	json_object_foreach (KEYS(value), name, child)
		found = collect(child, below || mr_secret_is_name(name), secrets) || found;
	json_array_foreach (value, i, child)
		found = collect(child, below, secrets) || found;
	return found;
}

static bool is_secret(const struct mr_input_job *job, const json_t *declaration,
		      const struct mr_input *input, const json_t *open_value)
{
	static const char *const sources[] = { "parameters", "templates", "default" };
	mr_auto_json json_t *secrets = json_array();
	bool from_secret = false;

	json_array_extend(secrets, KEYS(job->opts->secrets));
	for (size_t i = 0; i < N_ELEMENTS(sources); i++)
		from_secret = collect(json_object_get(declaration, sources[i]), false, secrets) ||
			      from_secret;
	for (size_t i = 0; i < N_ELEMENTS(sources); i++)
		from_secret =
			from_secret ||
			mr_input_holds_secret(json_object_get(declaration, sources[i]), secrets);
	return (input->reshaped && from_secret) || mr_input_holds_secret(open_value, secrets) ||
	       (input->bytes && holds(input->bytes, input->size, secrets));
}

enum mr_input_told mr_input_judge_told(const struct mr_input_job *job, const json_t *declaration,
				       const struct mr_input *input)
{
	mr_auto_json json_t *open_value = json_deep_copy(input->value);
	const bool removed = mr_input_remove_secrets(open_value);

	if (job->opts->secret || mr_secret_is_name(job->opts->stub) ||
	    is_secret(job, declaration, input, open_value))
		return MR_INPUT_TOLD_NOTHING;
	return removed ? MR_INPUT_TOLD_OPEN_MEMBERS : MR_INPUT_TOLD_ALL;
}

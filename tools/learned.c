/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Learned
 *
 * One row of limits[] is one limit: where its peak stands in a result, the step its
 * peak is rounded up to, so that chance does not show, and its margin.  Times get a
 * larger one: a busy machine makes a run several times longer, and learning slows
 * it too.
 */
#include "tools/learned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/spec/policy.h"

static const struct limit_row {
	enum mr_field_id field;
	const char *path[4]; /* of the peak in a result, NULL-terminated */
	uint64_t divisor; /* from its unit to the knob's */
	uint64_t step;
	uint64_t margin_percent;
} limits[MR_POLICY_LIMITS] = {
	{ MR_FIELD_limits_memory_max_bytes, { "usage", "memory", "peak_bytes" }, 1, 4 << 20, 100 },
	{ MR_FIELD_limits_cpu_time_ms, { "usage", "cpu", "usage_us" }, 1000, 1000, 400 },
	{ MR_FIELD_limits_wall_ms, { "usage", "wall_us" }, 1000, 1000, 400 },
	{ MR_FIELD_limits_pids_max, { "usage", "pids", "peak" }, 1, 1, 100 },
	{ MR_FIELD_limits_disk_bytes, { "access", "peak", "disk_bytes" }, 1, 1 << 20, 100 },
	{ MR_FIELD_limits_nofile, { "access", "peak", "nofile" }, 1, 16, 100 },
};

struct mr_learned {
	json_t *syscalls, *hosts; /* sets */
	struct mr_policy_path *paths;
	size_t n_paths, paths_cap;
	uint64_t peaks[MR_POLICY_LIMITS]; /* 0: not known */
};

struct mr_learned *mr_learned_new(void)
{
	struct mr_learned *learned = mr_str_alloc(sizeof(*learned));

	learned->syscalls = json_object();
	learned->hosts = json_object();
	return learned;
}

static void free_paths(struct mr_policy_path *paths, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(paths[i].path);
	free(paths);
}

struct mr_learned *mr_learned_free(struct mr_learned *learned)
{
	if (!learned)
		return NULL;
	json_decref(learned->syscalls);
	json_decref(learned->hosts);
	free_paths(learned->paths, learned->n_paths);
	free(learned);
	return NULL;
}

/* --- taking in --------------------------------------------------------------------- */

static void add_path(struct mr_learned *learned, const char *path, unsigned int access)
{
	learned->paths = mr_str_grow(learned->paths, learned->n_paths, &learned->paths_cap,
				     sizeof(*learned->paths));
	learned->paths[learned->n_paths++] =
		(struct mr_policy_path){ .path = mr_str_dup(path), .access = access };
}

static int take_path(struct mr_learned *learned, const struct mr_json *row, struct mr_error *err)
{
	mr_auto_free char *path = NULL;
	struct mr_json member;
	unsigned int access = 0;
	json_t *word;
	size_t i;
	int r;

	if (!mr_json_member(row, "path", &member))
		return mr_json_err(row, err, "\"path\" is missing");
	r = mr_policy_get_path(&member, &path, err);
	if (r < 0)
		return r;
	json_array_foreach (json_object_get(row->value, "access"), i, word)
		access |=
			mr_policy_access_find(json_is_string(word) ? json_string_value(word) : "");
	if (access)
		add_path(learned, path, access);
	return 0;
}

static void take_peak(struct mr_learned *learned, size_t i, const json_t *result)
{
	const struct limit_row *row = &limits[i];
	const json_t *value = result;
	uint64_t peak;

	for (size_t k = 0; row->path[k]; k++)
		value = json_object_get(value, row->path[k]);
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return;
	peak = ((uint64_t)json_integer_value(value) + row->divisor - 1) / row->divisor;
	peak = (peak + !peak + row->step - 1) / row->step * row->step;
	if (peak > learned->peaks[i])
		learned->peaks[i] = peak;
}

static int check_result(const json_t *result, const json_t *access, struct mr_error *err)
{
	const char *reason = json_string_value(json_object_get(result, "reason"));
	const char *message =
		json_string_value(json_object_get(json_object_get(result, "error"), "message"));

	if (!reason || strcmp(reason, "exited") != 0)
		return mr_err(err, MR_E_USAGE, EINVAL,
			      "the run did not end by itself (%s%s%s): no policy can be learned "
			      "from it",
			      reason ? reason : "no result", message ? ": " : "",
			      message ? message : "");
	if (!json_is_object(access))
		return mr_err(err, MR_E_USAGE, EINVAL, "the result has no record of what was used");
	if (!json_is_true(json_object_get(access, "complete")))
		return mr_err(err, MR_E_USAGE, EFBIG,
			      "not all paths and hosts that the program used could be recorded");
	return 0;
}

int mr_learned_add(struct mr_learned *learned, const json_t *result, struct mr_error *err)
{
	json_t *access = json_object_get(result, "access");
	struct mr_json root = mr_json_root(access, "result"), list, row;
	json_t *value;
	size_t i;
	int r = check_result(result, access, err);

	if (r < 0)
		return r;
	json_array_foreach (json_object_get(access, "syscalls"), i, value)
		json_object_set(learned->syscalls, json_string_value(value), value);
	json_array_foreach (json_object_get(access, "hosts"), i, value) {
		mr_auto_free char *key = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);

		json_object_set(learned->hosts, key, value);
	}
	for (i = 0; i < MR_POLICY_LIMITS; i++)
		take_peak(learned, i, result);
	if (!mr_json_member(&root, "paths", &list))
		return 0;
	for (i = 0; r == 0 && i < json_array_size(list.value); i++) {
		row = mr_json_item(&list, i);
		r = take_path(learned, &row, err);
	}
	return r;
}

const char *mr_learned_unknown(const struct mr_learned *learned, size_t i)
{
	for (size_t k = 0; k < MR_POLICY_LIMITS; k++)
		if (!learned->peaks[k] && i-- == 0)
			return mr_spec_fields()[limits[k].field].key;
	return NULL;
}

/* --- making wider --------------------------------------------------------------------- */

static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return (size_t)(slash - path) + 1;
}

static bool is_folder(const char *path)
{
	return mr_str_ends_with(path, "/");
}

/* Many files of one folder become the folder. */
static void generalise(struct mr_policy_path *paths, size_t n, size_t threshold)
{
	mr_auto_json json_t *counts = json_object(); /* files by folder */

	for (size_t i = 0; i < n; i++) {
		mr_auto_free char *folder =
			mr_str_ndup(paths[i].path, folder_length(paths[i].path));
		json_t *count = json_object_get(counts, folder);

		if (is_folder(paths[i].path))
			continue;
		if (count)
			json_integer_set(count, json_integer_value(count) + 1);
		else
			json_object_set_new_nocheck(counts, folder, json_integer(1));
	}
	for (size_t i = 0; i < n; i++) {
		const size_t len = folder_length(paths[i].path);
		mr_auto_free char *folder = mr_str_ndup(paths[i].path, len);
		json_t *count = json_object_get(counts, folder);

		if (!is_folder(paths[i].path) && (uint64_t)json_integer_value(count) > threshold)
			paths[i].path[len] = '\0'; /* equal ones are put together later */
	}
}

static unsigned int with_read(unsigned int access)
{
	return access & MR_POLICY_EXECUTE ? access | MR_POLICY_READ : access;
}

/* What the folders above a path grant. */
static unsigned int granted_above(const struct mr_policy_path *paths, size_t n, const char *path)
{
	mr_auto_free char *copy = mr_str_dup(path);
	size_t len = strlen(copy);

	if (is_folder(copy))
		copy[--len] = '\0';
	if (len == 0)
		return 0;
	copy[folder_length(copy)] = '\0';
	return with_read(mr_policy_lookup(paths, n, copy));
}

/* Leave out what folders above grant already. */
static size_t drop_covered(struct mr_policy_path *paths, size_t n)
{
	bool *covered = mr_str_alloc(n + 1);
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		covered[i] = !(paths[i].access & ~granted_above(paths, n, paths[i].path));
	for (size_t i = 0; i < n; i++) {
		if (covered[i])
			free(paths[i].path);
		else
			paths[kept++] = paths[i];
	}
	free(covered);
	return kept;
}

static json_t *paths_json(const struct mr_learned *learned, size_t threshold)
{
	struct mr_policy_path *paths = mr_str_alloc((learned->n_paths + 1) * sizeof(*paths));
	json_t *list = json_array();
	size_t n = learned->n_paths;

	for (size_t i = 0; i < n; i++)
		paths[i] = (struct mr_policy_path){ .path = mr_str_dup(learned->paths[i].path),
						    .access = learned->paths[i].access };
	n = mr_policy_sort_paths(paths, n);
	generalise(paths, n, threshold);
	n = drop_covered(paths, mr_policy_sort_paths(paths, n));
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_pack("{s:o, s:o}", "path",
						      mr_policy_path_json(paths[i].path), "access",
						      mr_policy_access_json(paths[i].access)));
	free_paths(paths, n);
	return list;
}

/* --- the document ----------------------------------------------------------------------- */

static int compare_keys(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static json_t *values_in_order(json_t *set)
{
	const char **keys = mr_str_alloc((json_object_size(set) + 1) * sizeof(*keys));
	json_t *list = json_array();
	const char *key;
	json_t *value;
	size_t n = 0;

	json_object_foreach (set, key, value)
		keys[n++] = key;
	qsort(keys, n, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < n; i++)
		json_array_append(list, json_object_get(set, keys[i]));
	free(keys);
	return list;
}

static json_t *limits_json(const struct mr_learned *learned, uint64_t margin_percent)
{
	json_t *object = json_object();

	for (size_t i = 0; i < MR_POLICY_LIMITS; i++) {
		const struct mr_field *field = &mr_spec_fields()[limits[i].field];
		uint64_t peak = learned->peaks[i];
		uint64_t margin = margin_percent == MR_LEARNED_MARGINS ? limits[i].margin_percent
								       : margin_percent;

		if (!peak)
			continue;
		if (peak > field->max)
			peak = field->max;
		json_object_set_new(object, field->name,
				    json_pack("{s:I, s:I}", "peak", (json_int_t)peak,
					      "margin_percent", (json_int_t)margin));
	}
	return object;
}

json_t *mr_learned_policy(const struct mr_learned *learned, const struct mr_learned_opts *opts)
{
	return json_pack("{s:s, s:o, s:o, s:o, s:o}", "schema", MR_POLICY_SCHEMA, "syscalls",
			 values_in_order(learned->syscalls), "paths",
			 paths_json(learned, opts->threshold), "hosts",
			 values_in_order(learned->hosts), "limits",
			 limits_json(learned, opts->margin_percent));
}

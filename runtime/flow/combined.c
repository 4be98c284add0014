/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Combined
 *
 * A shell inside runs the steps in their order: each with its own
 * variables and input, its files copied into the workspace right before.  The
 * first that fails ends the run with its status.
 */
#include "runtime/flow/combined.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/buf.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/flow/fixture.h"
#include "runtime/flow/workflow.h"
#include "runtime/spec/lang.h"
#include "runtime/spec/spec.h"

#define INSIDE "/menace-steps" /* where the stage is shown */
#define KEYS(object) ((json_t *)(uintptr_t)(object))

/* One word of a shell, whatever is in it. */
static void add_word(struct mr_buf *text, const char *word)
{
	char one[2] = { 0 };

	mr_buf_add(text, " '");
	for (; *word; word++) {
		one[0] = *word;
		mr_buf_add(text, *word == '\'' ? "'\\''" : one);
	}
	mr_buf_add(text, "'");
}

/* --- the script ------------------------------------------------------------ */

static void add_files(struct mr_buf *text, const struct mr_flow *flow, size_t n)
{
	const struct mr_flow_step *step = &flow->steps[n];
	mr_auto_free char *from =
		mr_str_format("%s/%zu/%s/.", INSIDE, n, flow->shared ? "files" : "work");

	if (json_object_size(step->files) == 0)
		return;
	mr_buf_add(text, "cp -R --");
	add_word(text, from);
	mr_buf_add(text, " /work || exit\n"); /* sandbox.cwd may be elsewhere */
}

/* By env(1): not every name is one of a shell variable. */
static void add_variables(struct mr_buf *text, const struct mr_spec *spec)
{
	if (spec->env.n > 0)
		mr_buf_add(text, " env --");
	for (size_t i = 0; i < spec->env.n; i++)
		add_word(text, spec->env.v[i]);
}

/* What runs a snippet without a program of its own. */
static int add_interpreter(struct mr_buf *text, const struct mr_spec *spec)
{
	const struct mr_lang *lang = spec->lang ? mr_lang_find(spec->lang) : NULL;

	if (!lang)
		return 1;
	for (size_t i = 0; lang->argv[i]; i++)
		add_word(text, lang->argv[i]);
	return 0;
}

static int add_step(struct mr_buf *text, const struct mr_flow *flow, size_t n,
		    const struct mr_spec *spec)
{
	mr_auto_free char *snippet = mr_str_format("%s/%zu/snippet", INSIDE, n);
	mr_auto_free char *input = mr_str_format("%s/%zu/stdin", INSIDE, n);
	int r = 0;

	mr_buf_add(text, "(\n");
	add_files(text, flow, n);
	mr_buf_add(text, "exec");
	add_variables(text, spec);
	if (spec->snippet_code) {
		r = add_interpreter(text, spec);
		add_word(text, snippet);
	}
	for (size_t i = 0; i < spec->argv.n; i++)
		add_word(text, spec->argv.v[i]);
	mr_buf_add(text, " <");
	add_word(text, flow->steps[n].stdin_content ? input : "/dev/null");
	mr_buf_add(text, "\n) || exit\n");
	return r;
}

/* --- what they have to agree on -------------------------------------------- */

static const char *const equal_members[] = { "sandbox", "net", "telemetry", "best_effort" };

static char *find_difference(const struct mr_flow *flow)
{
	const struct mr_flow_step *first = &flow->steps[0];

	for (size_t i = 1; i < flow->n_steps; i++)
		for (size_t k = 0; k < N_ELEMENTS(equal_members); k++) {
			const char *key = equal_members[k];
			const json_t *a = json_object_get(first->spec, key);
			const json_t *b = json_object_get(flow->steps[i].spec, key);

			if (a != b && !json_equal(KEYS(a), KEYS(b)))
				return mr_str_format("steps \"%s\" and \"%s\" differ in %s",
						     first->name, flow->steps[i].name, key);
		}
	return NULL;
}

/* Members of all steps in one object; a name with two values is a conflict. */
static char *unite(json_t *all, const json_t *one, const struct mr_flow_step *step)
{
	const char *key;
	json_t *value;

	json_object_foreach (KEYS(one), key, value) {
		const json_t *other = json_object_get(all, key);

		if (other && !json_equal(KEYS(other), value))
			return mr_str_format("step \"%s\" and one before it mock %s differently",
					     step->name, key);
		json_object_set(all, key, value);
	}
	return NULL;
}

/* --- limits ---------------------------------------------------------------- */

static bool is_sum(enum mr_field_id id)
{
	return id == MR_FIELD_limits_wall_ms || id == MR_FIELD_limits_cpu_time_ms;
}

static uint64_t widen(uint64_t a, uint64_t b, const struct mr_field *field, bool sum)
{
	if (a == MR_UNLIMITED || b == MR_UNLIMITED)
		return MR_UNLIMITED;
	if (!sum)
		return a > b ? a : b;
	return a + b > field->max ? field->max : a + b;
}

static void add_limits(const struct mr_spec *specs, size_t n, json_t *spec)
{
	const struct mr_field *fields = mr_spec_fields();
	json_t *limits = json_object();

	for (size_t i = 0; i < MR_FIELD_COUNT_; i++) {
		const enum mr_field_id id = (enum mr_field_id)i;
		char buf[MR_SPEC_TEXT_SIZE];
		uint64_t value;

		if (strcmp(fields[i].section, "limits") != 0)
			continue;
		value = mr_spec_get(&specs[0], id);
		for (size_t k = 1; k < n; k++)
			value = widen(value, mr_spec_get(&specs[k], id), &fields[i], is_sum(id));
		json_object_set_new(limits, fields[i].name,
				    json_string(mr_spec_value_text(&fields[i], value, buf)));
	}
	json_object_set_new(spec, "limits", limits);
}

/* --- the request ----------------------------------------------------------- */

static char *unite_mocks(const struct mr_flow *flow, json_t *spec)
{
	mr_auto_json json_t *answers = json_object();
	mr_auto_json json_t *files = json_object();
	char *why = NULL;

	for (size_t i = 0; !why && i < flow->n_steps; i++) {
		const struct mr_flow_step *step = &flow->steps[flow->order[i]];

		why = unite(answers, json_object_get(step->spec, "network_mocks"), step);
		if (!why)
			why = unite(files, step->fs_mocks, step);
	}
	if (!why && json_object_size(answers) > 0)
		json_object_set(spec, "network_mocks", answers);
	return why;
}

static void show_all(const struct mr_flow *flow, const char *stage, json_t *spec)
{
	mr_auto_free char *base = mr_str_format("%s/base", stage);

	mr_fixture_mount(spec, stage, INSIDE);
	for (size_t i = 0; i < flow->n_steps; i++) {
		mr_auto_json json_t *mounts = json_object();
		size_t n;

		mr_fixture_show(flow, i, stage, mounts);
		n = json_array_size(json_object_get(mounts, "mounts"));
		for (size_t k = 0; k < n; k++) {
			json_t *mount = json_array_get(json_object_get(mounts, "mounts"), k);
			json_t *list = json_object_get(spec, "mounts");
			bool there = false;

			for (size_t j = 0; j < json_array_size(list); j++)
				there = there ||
					json_equal(json_object_get(json_array_get(list, j), "dest"),
						   json_object_get(mount, "dest"));
			if (!there)
				json_array_append(list, mount);
		}
	}
	json_object_set_new(mr_fixture_sandbox(spec), "workspace", json_string(base));
}

static int parse_specs(const struct mr_flow *flow, struct mr_spec *specs, struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < flow->n_steps; i++) {
		mr_auto_free char *text = json_dumps(flow->steps[i].spec, JSON_COMPACT);

		mr_assert(text);
		r = mr_spec_parse_json(&specs[i], text, strlen(text), flow->steps[i].name, err);
	}
	return r;
}

static int write_script(const struct mr_flow *flow, const struct mr_spec *specs, json_t *spec,
			char **ret_why)
{
	mr_auto_buf struct mr_buf script = { 0 };

	for (size_t i = 0; i < flow->n_steps; i++) {
		const size_t at = flow->order[i];

		if (add_step(&script, flow, at, &specs[at]) == 0)
			continue;
		*ret_why = mr_str_format("the snippet of step \"%s\" has no \"lang\"",
					 flow->steps[at].name);
		return 1;
	}
	if (mr_str_utf8_valid(script.text, script.len))
		json_object_set_new(spec, "snippet",
				    json_pack("{s:s, s:s}", "code", script.text, "lang", "sh"));
	else
		*ret_why = mr_str_dup("an argument or a variable is not UTF-8");
	return *ret_why ? 1 : 0;
}

static int build(const struct mr_flow *flow, const struct mr_spec *specs, const char *stage,
		 json_t *spec, char **ret_why)
{
	*ret_why = find_difference(flow);
	if (!*ret_why && specs[0].sandbox_level >= 4)
		*ret_why = mr_str_dup("at level 4 and 5 no step could be started after the first");
	if (!*ret_why)
		*ret_why = unite_mocks(flow, spec);
	if (*ret_why || write_script(flow, specs, spec, ret_why) > 0)
		return 1;
	for (size_t k = 0; k < N_ELEMENTS(equal_members); k++) {
		const json_t *value = json_object_get(flow->steps[0].spec, equal_members[k]);

		if (value)
			json_object_set_new(spec, equal_members[k], json_copy(KEYS(value)));
	}
	add_limits(specs, flow->n_steps, spec);
	show_all(flow, stage, spec);
	return 0;
}

int mr_flow_combine(const struct mr_flow *flow, const char *stage, json_t **ret, char **ret_why,
		    struct mr_error *err)
{
	mr_auto_free struct mr_spec *specs = mr_str_alloc(flow->n_steps * sizeof(*specs));
	mr_auto_json json_t *spec =
		json_pack("{s:s, s:o, s:{s:b}}", "schema", MR_SPEC_SCHEMA, "name",
			  json_sprintf("%s/combined", flow->name), "output", "forward", 0);
	int r;

	for (size_t i = 0; i < flow->n_steps; i++)
		mr_spec_init(&specs[i]);
	r = parse_specs(flow, specs, err);
	if (r == 0)
		r = build(flow, specs, stage, spec, ret_why);
	for (size_t i = 0; i < flow->n_steps; i++)
		mr_spec_deinit(&specs[i]);
	if (r == 0)
		*ret = mr_take_ptr(spec);
	return r;
}

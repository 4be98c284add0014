/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judge
 *
 * A kind of behaviour is seen (a number), not seen (0) or unknown (null: nobody looked, or some of it was
 * lost and none of the rest was seen).  Only what was seen can be undeclared, and only what was looked for
 * can be an unused hint.
 */
#include "runtime/section/judge.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/backend/document.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/flow/output.h"

#define OUTPUT_MAX 4096 /* bytes of what it wrote in a row */
#define EXAMPLES_MAX 20
#define SAID_MAX 4096 /* bytes of a text that it says; the driver's are shorter */

/* Whether this kind was seen: a number, or null; what of it goes to examples. */
typedef json_t *seen_fn(const json_t *result, json_t *examples);

static void add_example(json_t *examples, json_t *text)
{
	if (text && json_array_size(examples) < EXAMPLES_MAX)
		json_array_append(examples, text);
	json_decref(text);
}

/* --- what the kernel saw ---------------------------------------------------- */

static json_t *see_network(const json_t *result, json_t *examples)
{
	const json_t *denials = json_object_get(result, "denials");
	const json_t *rows = json_object_get(denials, "rows");
	json_t *count = mr_json_at(denials, "by_layer", "network", NULL);

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (strcmp(mr_json_text_or_empty(row, "layer"), "network") == 0)
			add_example(examples,
				    json_sprintf("%s %s", mr_json_text_or_empty(row, "what"),
						 mr_json_text_or_empty(row, "object")));
	}
	return count ? json_incref(count) : json_null();
}

static json_t *see_writes(const json_t *result, json_t *examples)
{
	const json_t *changes = mr_json_at(result, "workspace", "changes", NULL);
	const json_t *counts = json_object_get(changes, "counts");
	const json_t *entries = json_object_get(changes, "entries");
	const json_int_t bytes =
		json_integer_value(mr_json_at(result, "usage", "disk", "used_bytes"));
	json_int_t n = 0;
	const char *kind;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)counts, kind, value)
		n += json_integer_value(value);
	for (size_t i = 0; i < json_array_size(entries); i++) {
		const json_t *entry = json_array_get(entries, i);

		add_example(examples, json_sprintf("%s %s", mr_json_text_or_empty(entry, "kind"),
						   mr_json_text_or_empty(entry, "path")));
	}
	if (bytes > 0 && n == 0) {
		add_example(examples,
			    json_sprintf("%lld bytes outside of the repository", (long long)bytes));
		n = 1;
	}
	return counts ? json_integer(n) : json_null();
}

static bool has_losses(const json_t *telemetry)
{
	return json_array_size(json_object_get(telemetry, "losses")) > 0 ||
	       json_integer_value(mr_json_at(telemetry, "books", "processes_not_listed", NULL)) > 0;
}

/* All but the first process of the sandbox and the program itself, which is the next; in a container the
 * first is not listed. */
static json_t *see_processes(const json_t *result, json_t *examples)
{
	const json_t *telemetry = json_object_get(result, "telemetry");
	const json_t *processes = json_object_get(telemetry, "processes");
	bool has_program = false;
	json_int_t n = 0;

	for (size_t i = 0; i < json_array_size(processes); i++) {
		const json_t *process = json_array_get(processes, i);
		const char *exe = mr_json_text_or_empty(process, "exe");

		if (json_integer_value(json_object_get(process, "inner_pid")) == 1)
			continue;
		if (!has_program) {
			has_program = true;
			continue;
		}
		n++;
		add_example(examples,
			    json_sprintf("process %s",
					 exe[0] ? exe : mr_json_text_or_empty(process, "comm")));
	}
	if (json_array_size(processes) == 0 || (n == 0 && has_losses(telemetry)))
		return json_null();
	return json_integer(n);
}

static const struct {
	const char *kind; /* of a hint */
	seen_fn *see;
} kinds[] = {
	{ "network", see_network },
	{ "write", see_writes },
	{ "process", see_processes },
};

/* --- hints ------------------------------------------------------------------ */

static bool has(const json_t *list, const char *kind)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *its = json_string_value(json_array_get(list, i));

		if (its && strcmp(its, kind) == 0)
			return true;
	}
	return false;
}

static void compare(const json_t *chosen, const json_t *result, json_t *row)
{
	const json_t *own = mr_json_at(chosen, "section", "reach", NULL);
	const json_t *of_module = mr_json_at(chosen, "module", "reach", NULL);
	const json_t *of_init = mr_json_at(chosen, "construct", "reach", NULL);
	json_t *seen = json_object(), *undeclared = json_array(), *unused = json_array();

	for (size_t i = 0; i < N_ELEMENTS(kinds); i++) {
		const char *kind = kinds[i].kind;
		json_t *examples = json_array();
		json_t *count = kinds[i].see(result, examples);
		const bool hinted = has(own, kind) || has(of_init, kind);

		if (json_integer_value(count) > 0 && !hinted && !has(of_module, kind))
			json_array_append_new(undeclared, json_pack("{s:s, s:O}", "kind", kind,
								    "what", examples));
		if (hinted && json_is_integer(count) && json_integer_value(count) == 0)
			json_array_append_new(unused, json_string(kind));
		json_object_set_new(seen, kind,
				    json_pack("{s:o, s:o}", "count", count, "what", examples));
	}
	json_object_set_new(row, "seen", seen);
	json_object_set_new(row, "undeclared", undeclared);
	json_object_set_new(row, "unused_hints", unused);
}

/* --- what the program says --------------------------------------------------- */

static json_t *unknown_outcome(const char *why)
{
	return json_pack("{s:s, s:s, s:s}", "said_by", "program", "state", "unknown", "message",
			 why);
}

/* Of what it says only what the driver would have said, and no more of it. */
static json_t *take_members(const json_t *said)
{
	static const char *const texts[] = { "state", "type", "message", "value", "file" };
	const json_t *line = json_object_get(said, "line");
	json_t *taken = json_pack("{s:s}", "said_by", "program");

	for (size_t i = 0; i < N_ELEMENTS(texts); i++) {
		json_t *text = json_object_get(said, texts[i]);

		if (json_is_string(text) && json_string_length(text) <= SAID_MAX)
			json_object_set(taken, texts[i], text);
	}
	if (json_is_integer(line))
		json_object_set_new(taken, "line", json_integer(json_integer_value(line)));
	return taken;
}

/* One line that is a JSON object with a state of ours, and nothing beside it. */
static json_t *take_outcome(const json_t *result)
{
	static const char *const states[] = { "returned", "raised", "not_imported" };
	const json_t *stream = json_object_get(result, "stdout");
	const char *text = mr_json_text_or_empty(stream, "text");
	const char *end = strchr(text, '\n');
	mr_auto_json json_t *said = NULL;
	const char *state;

	if (text[0] == '\0' && json_integer_value(json_object_get(stream, "bytes")) == 0)
		return unknown_outcome("it ended without a word");
	if (!end || end[1] != '\0' ||
	    mr_json_parse(text, (size_t)(end - text), "outcome", &said, NULL) < 0)
		return unknown_outcome("what it says cannot be read");
	state = mr_json_text_or_empty(said, "state");
	for (size_t i = 0; i < N_ELEMENTS(states); i++)
		if (strcmp(states[i], state) == 0)
			return take_members(said);
	return unknown_outcome("what it says cannot be read");
}

/* --- rows ------------------------------------------------------------------- */

static json_t *copy(json_t *value)
{
	return value ? json_incref(value) : json_null();
}

static json_t *begin_row(const json_t *chosen, json_t *inputs)
{
	const json_t *section = json_object_get(chosen, "section");

	return json_pack("{s:O, s:O, s:O, s:O, s:o}", "section", json_object_get(chosen, "id"),
			 "kind", json_object_get(section, "kind"), "sha256",
			 json_object_get(section, "sha256"), "hints",
			 json_object_get(section, "reach"), "inputs", inputs);
}

json_t *mr_section_broken(const json_t *chosen, const char *why, json_t *inputs)
{
	json_t *row = begin_row(chosen, inputs);

	json_object_set_new(row, "state", json_string("error"));
	json_object_set_new(row, "why", json_string(why));
	return row;
}

/* What it says counts only where the kernel saw it end as the driver ends. */
static const char *find_state(const json_t *result, const json_t *outcome)
{
	const bool ended_well = strcmp(mr_json_text_or_empty(result, "reason"), "exited") == 0 &&
				json_integer_value(mr_json_at(result, "exit", "status", NULL)) == 0;
	const char *state = mr_json_text_or_empty(outcome, "state");

	if (!ended_well)
		return "ended";
	return strcmp(state, "returned") == 0 || strcmp(state, "raised") == 0 ||
			       strcmp(state, "not_imported") == 0
		       ? state
		       : "ended";
}

static json_t *list_events(const json_t *result)
{
	const json_t *events = mr_json_at(result, "telemetry", "events", NULL);
	json_t *list = json_array();

	for (size_t i = 0; i < json_array_size(events); i++) {
		const json_t *event = json_array_get(events, i);

		if (json_array_size(list) >= EXAMPLES_MAX)
			break;
		json_array_append_new(list, json_pack("{s:O?, s:O?, s:O?}", "type",
						      json_object_get(event, "type"), "comm",
						      json_object_get(event, "comm"), "object",
						      json_object_get(event, "object")));
	}
	return list;
}

json_t *mr_section_judge(const json_t *chosen, const json_t *result, json_t *inputs)
{
	const char *message = mr_json_text_or_empty(json_object_get(result, "error"), "message");
	const char *reason = mr_json_text_or_empty(result, "reason");
	const json_t *usage = json_object_get(result, "usage");
	json_t *row, *outcome;

	if (message[0] || mr_document_not_begun(reason))
		return mr_section_broken(chosen, message[0] ? message : reason, inputs);
	row = begin_row(chosen, inputs);
	outcome = take_outcome(result);
	json_object_set_new(row, "state", json_string(find_state(result, outcome)));
	json_object_set_new(row, "outcome", outcome);
	json_object_set_new(row, "run_id", copy(json_object_get(result, "run_id")));
	json_object_set_new(row, "reason", copy(json_object_get(result, "reason")));
	json_object_set_new(row, "exit", copy(json_object_get(result, "exit")));
	json_object_set_new(row, "wall_us", copy(json_object_get(usage, "wall_us")));
	json_object_set_new(row, "cpu_us", copy(mr_json_at(usage, "cpu", "usage_us", NULL)));
	json_object_set_new(row, "memory_peak_bytes",
			    copy(mr_json_at(usage, "memory", "peak_bytes", NULL)));
	json_object_set_new(row, "denials", copy(json_object_get(result, "denials")));
	json_object_set_new(row, "events", list_events(result));
	mr_output_tell(row, "output", json_object_get(result, "stderr"), OUTPUT_MAX);
	compare(chosen, result, row);
	return row;
}

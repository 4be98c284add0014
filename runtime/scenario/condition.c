/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Condition
 *
 * A run in which something could not be enforced goes on and says so (best_effort),
 * since a cell without a result would say less.  Two kinds of doubt are told apart:
 * what was not in force at all, and what was in force and met nothing (a failure
 * without an occasion, a slow link without packets).  The second counts when it is
 * so in every result: a workflow need not meet each condition in each step.  Where nothing was
 * asked for but failures, and chance kept them away on every occasion, nothing was there either.
 */
#include "runtime/scenario/condition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/scenario/check.h"
#include "runtime/scenario/modes.h"
#include "runtime/spec/failures.h"
#include "runtime/spec/spec.h"
#include "runtime/stub/input.h"

#define COPIES_MAX 10000
#define KEYS(object) ((json_t *)(uintptr_t)(object))

/* --- before ---------------------------------------------------------------- */

/* A factor of the number of copies, which menace-run knows nothing of. */
static int take_factor(json_t *preset, const char *name, uint64_t *copies, struct mr_error *err)
{
	struct mr_json root = mr_json_root(preset, "preset"), member;
	mr_auto_free char *text = NULL;
	uint64_t factor = 1;
	int r;

	if (!mr_json_member(&root, name, &member) || json_is_null(member.value))
		return 0;
	r = mr_json_get_text(&member, &text, err);
	if (r == 0)
		r = mr_units_parse_count(text, &factor, err);
	if (r < 0)
		return mr_json_wrap(&member, r, err);
	if (factor < 1 || factor > COPIES_MAX || *copies * factor > COPIES_MAX)
		return mr_json_wrap(&member,
				    mr_err(err, MR_E_USAGE, ERANGE,
					   "%ju copies times %ju; accepted: 1 to %d copies at once",
					   (uintmax_t)*copies, (uintmax_t)factor, COPIES_MAX),
				    err);
	*copies *= factor;
	json_object_del(preset, name);
	return 0;
}

int mr_condition_take_inputs(json_t *preset, struct mr_condition_inputs *ret, struct mr_error *err)
{
	const json_t *strategy = json_object_get(preset, "SANDBOX_STUB_STRATEGY");
	mr_auto_free char *edge = NULL;
	struct mr_json root = mr_json_root(preset, "preset"), member;
	int r = 0;

	*ret = (struct mr_condition_inputs){ 0 };
	if (json_is_string(strategy)) {
		r = mr_input_check_strategy(json_string_value(strategy), err);
		if (r < 0)
			return mr_err_wrap(err, r, "preset: SANDBOX_STUB_STRATEGY");
		ret->strategy = mr_str_dup(json_string_value(strategy));
		ret->corrupt = strcmp(mr_json_text_or_empty(preset, "PAYLOAD_INDICATOR"),
				      "corrupted_bytes") == 0;
		json_object_del(preset, "SANDBOX_STUB_STRATEGY");
	}
	if (ret->corrupt)
		json_object_del(preset, "PAYLOAD_INDICATOR");
	if (mr_json_member(&root, "INJECT_EDGE_CASES", &member)) {
		r = mr_json_get_text(&member, &edge, err);
		if (r == 0)
			r = mr_units_parse_flag(edge, &ret->edge_cases, err);
		if (r < 0)
			mr_json_wrap(&member, r, err);
		json_object_del(preset, "INJECT_EDGE_CASES");
	}
	return r;
}

void mr_condition_inputs_deinit(struct mr_condition_inputs *inputs)
{
	free(inputs->strategy);
	*inputs = (struct mr_condition_inputs){ 0 };
}

/* What of the link and of failures this host may not be able to do. */
static void tolerate_items(struct mr_condition *c)
{
	size_t n;
	const struct mr_spec_item *items = mr_spec_best_effort_items(&n);
	const char *knob;
	json_t *value;
	bool net = false;

	json_object_foreach (c->knobs, knob, value)
		net = net || mr_str_starts_with(knob, "net.");
	for (size_t i = 0; i < n; i++)
		if ((net && strcmp(items[i].name, "net") == 0) ||
		    (json_object_get(c->knobs, "net.api_latency_ms") &&
		     strcmp(items[i].name, "api-latency") == 0) ||
		    json_object_get(c->preset, items[i].name))
			json_array_append_new(c->best_effort, json_string(items[i].name));
}

static int explain(struct mr_condition *c, struct mr_error *err)
{
	mr_auto_json json_t *explained = NULL;
	struct mr_json root = mr_json_root(c->preset, "preset");
	const char *net, *name;
	json_t *value;
	int r = mr_check_explain(&root, &explained, err);

	if (r < 0)
		return r;
	c->knobs = json_incref(json_object_get(explained, "knobs"));
	net = json_string_value(json_object_get(explained, "net"));
	c->net = !net ? NULL : strcmp(net, "stub") == 0 ? "stub" : "loopback";
	json_object_foreach (json_object_get(explained, "unenforced"), name, value)
		json_array_append_new(c->best_effort, json_string(name));
	tolerate_items(c);
	return 0;
}

int mr_condition_init(const json_t *preset, uint64_t seed, bool on, struct mr_condition *ret,
		      struct mr_error *err)
{
	int r;

	*ret = (struct mr_condition){
		.preset = json_deep_copy(preset), .best_effort = json_array(), .copies = 1, .on = on
	};
	json_object_set_new(ret->preset, "PRESET_SEED", json_integer((json_int_t)seed));
	r = take_factor(ret->preset, "CONCURRENCY_LEVEL", &ret->copies, err);
	if (r == 0)
		r = take_factor(ret->preset, "CONCURRENCY_MULTIPLIER", &ret->copies, err);
	if (r == 0)
		r = mr_condition_take_inputs(ret->preset, &ret->inputs, err);
	if (r == 0)
		r = explain(ret, err);
	if (r < 0) {
		mr_condition_deinit(ret);
		return r;
	}
	if (on)
		return 0;
	ret->copies = 1;
	mr_condition_inputs_deinit(&ret->inputs);
	json_object_clear(ret->preset);
	json_object_set_new(ret->preset, "PRESET_SEED", json_integer((json_int_t)seed));
	return 0;
}

void mr_condition_init_like(const struct mr_condition *like, uint64_t seed,
			    struct mr_condition *ret)
{
	*ret = *like;
	ret->preset = json_copy(like->preset);
	json_object_set_new(ret->preset, "PRESET_SEED", json_integer((json_int_t)seed));
	json_incref(ret->knobs);
	json_incref(ret->best_effort);
	if (like->inputs.strategy)
		ret->inputs.strategy = mr_str_dup(like->inputs.strategy);
}

void mr_condition_deinit(struct mr_condition *condition)
{
	json_decref(condition->preset);
	json_decref(condition->knobs);
	json_decref(condition->best_effort);
	mr_condition_inputs_deinit(&condition->inputs);
	*condition = (struct mr_condition){ 0 };
}

static json_t *section_of(json_t *spec, const char *name)
{
	json_t *section = json_object_get(spec, name);

	if (!section) {
		section = json_object();
		json_object_set_new(spec, name, section);
	}
	return section;
}

/* What the request says of a knob would win over a preset. */
static void give_way(json_t *spec, const char *knob)
{
	const char *dot = strchr(knob, '.');
	mr_auto_free char *section = mr_str_ndup(knob, (size_t)(dot - knob));

	json_object_del(json_object_get(spec, section), dot + 1);
}

/* Both arms are in the same network, or they would differ by more than the conditions. */
static void set_net(const struct mr_condition *c, json_t *spec)
{
	json_t *net = section_of(spec, "net");
	const char *mode = json_string_value(json_object_get(net, "mode"));

	if (c->net && (!mode || strcmp(mode, "none") == 0))
		json_object_set_new(net, "mode", json_string(c->net));
}

void mr_condition_apply(const struct mr_condition *condition, json_t *spec)
{
	json_t *list = json_object_get(spec, "best_effort");
	const char *knob;
	json_t *value;

	set_net(condition, spec);
	json_object_set(spec, "preset", condition->preset);
	json_object_del(json_object_get(spec, "net"), "seed");
	if (!condition->on)
		return;
	json_object_foreach (KEYS(condition->knobs), knob, value)
		give_way(spec, knob);
	list = list ? json_deep_copy(list) : json_array();
	json_array_extend(list, condition->best_effort);
	json_object_set_new(spec, "best_effort", list);
}

bool mr_condition_feeds(const struct mr_condition *condition)
{
	const char *strategy = condition->inputs.strategy;

	return condition->on && strategy &&
	       (mr_input_mode(strategy) || strcmp(strategy, "failures") == 0 ||
		mr_str_starts_with(strategy, MR_INPUT_PLUGIN));
}

bool mr_condition_keep_stdin(json_t *spec)
{
	static const char *const same[] = { "HOSTILE_INPUT", "MALICIOUS_DATA" };
	mr_auto_json json_t *preset = json_copy(json_object_get(spec, "preset"));
	mr_auto_json json_t *modes = json_array();
	mr_auto_json json_t *kept = json_array();
	bool had_same = false;

	for (size_t i = 0; i < N_ELEMENTS(same); i++)
		had_same = had_same || json_object_get(preset, same[i]);
	mr_modes_add(modes, json_object_get(preset, MR_PRESET_FAILURES));
	for (size_t i = 0; i < json_array_size(modes); i++) {
		json_t *mode = json_array_get(modes, i);

		if (strcmp(json_string_value(mode), "hostile_input") != 0 &&
		    strcmp(json_string_value(mode), "malicious_data") != 0)
			json_array_append(kept, mode);
	}
	json_object_del(preset, MR_PRESET_FAILURES);
	if (json_array_size(kept) > 0)
		json_object_set_new(preset, MR_PRESET_FAILURES, mr_modes_json(kept));
	for (size_t i = 0; i < N_ELEMENTS(same); i++)
		json_object_del(preset, same[i]);
	if (json_array_size(kept) == json_array_size(modes) && !had_same)
		return false;
	json_object_set(spec, "preset", preset);
	return true;
}

/* --- after ----------------------------------------------------------------- */

void mr_condition_proof_init(struct mr_condition_proof *proof)
{
	*proof = (struct mr_condition_proof){ .missing = json_array(),
					      .unmet = json_object(),
					      .in_force = json_object() };
}

void mr_condition_proof_deinit(struct mr_condition_proof *proof)
{
	json_decref(proof->missing);
	json_decref(proof->unmet);
	json_decref(proof->in_force);
}

/* Each once. */
static void tell(json_t *list, json_t *text)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_equal(json_array_get(list, i), text)) {
			json_decref(text);
			return;
		}
	json_array_append_new(list, text);
}

/* A condition that nothing met in the result that is judged. */
static void tell_unmet(struct mr_condition_proof *proof, const char *condition, json_t *text)
{
	json_t *row = json_object_get(proof->unmet, condition);

	if (!row) {
		row = json_pack("{s:i, s:[], s:i}", "results", 0, "why", "last", -1);
		json_object_set_new(proof->unmet, condition, row);
	}
	tell(json_object_get(row, "why"), text);
	if (json_integer_value(json_object_get(row, "last")) == (json_int_t)proof->n)
		return; /* for another reason */
	json_object_set_new(row, "last", json_integer((json_int_t)proof->n));
	json_object_set_new(row, "results",
			    json_integer(json_integer_value(json_object_get(row, "results")) + 1));
}

/* Is this item one that the preset can have lost something by? */
static bool concerns(const struct mr_condition *c, const char *item)
{
	static const char *const limits[] = { "cgroup", "memory", "cpu", "pids" };

	for (size_t i = 0; i < N_ELEMENTS(limits); i++)
		if (strcmp(limits[i], item) == 0)
			return true;
	for (size_t i = 0; i < json_array_size(c->best_effort); i++)
		if (strcmp(json_string_value(json_array_get(c->best_effort, i)), item) == 0)
			return true;
	return false;
}

static void judge_gaps(const struct mr_condition *c, const json_t *result,
		       struct mr_condition_proof *proof)
{
	const json_t *names = json_object_get(result, "not_enforced");
	const json_t *degraded = mr_json_at(result, "receipt", "degraded", NULL);

	for (size_t i = 0; i < json_array_size(names); i++)
		tell(proof->missing, json_sprintf("%s is not enforced by this version",
						  json_string_value(json_array_get(names, i))));
	for (size_t i = 0; i < json_array_size(degraded); i++) {
		const json_t *row = json_array_get(degraded, i);

		if (concerns(c, mr_json_text_or_empty(row, "item")))
			tell(proof->missing,
			     json_sprintf("%s: %s", mr_json_text_or_empty(row, "item"),
					  mr_json_text_or_empty(row, "why")));
	}
}

/* Of the stubs that a run took: how many were made up as the condition says. */
static size_t count_inputs(const struct mr_condition *c, const json_t *inputs)
{
	const char *name = c->inputs.strategy;
	size_t n = 0;

	if (name && mr_str_starts_with(name, MR_INPUT_PLUGIN))
		name = "plugin";
	for (size_t i = 0; name && i < json_array_size(inputs); i++)
		n += strcmp(mr_json_text_or_empty(json_array_get(inputs, i), "strategy"), name) ==
		     0;
	return n;
}

static json_int_t count_corrupted(const json_t *inputs)
{
	json_int_t n = 0;

	for (size_t i = 0; i < json_array_size(inputs); i++)
		n += json_integer_value(json_object_get(json_array_get(inputs, i), "corrupted")) >
		     0;
	return n;
}

/* Is it a mode that the stubs of this run are another way of? */
static bool came_as_stub(const struct mr_condition *c, const json_t *inputs, const char *mode)
{
	const char *own = c->inputs.strategy ? mr_input_mode(c->inputs.strategy) : NULL;

	return own && strcmp(own, mode) == 0 && count_inputs(c, inputs) > 0;
}

static json_int_t count_occasions(const json_t *result, const char *mode)
{
	const json_t *failures = json_object_get(result, "failures");

	for (size_t i = 0; mode && i < json_array_size(failures); i++)
		if (strcmp(mr_json_text_or_empty(json_array_get(failures, i), "mode"), mode) == 0)
			return json_integer_value(
				json_object_get(json_array_get(failures, i), "opportunities"));
	return 0;
}

static void judge_inputs(const struct mr_condition *c, const json_t *result, const json_t *inputs,
			 struct mr_condition_proof *proof)
{
	const json_int_t n = (json_int_t)count_inputs(c, inputs);
	json_t *all = json_object_get(proof->in_force, "stubs");
	json_int_t opportunities = (json_int_t)json_array_size(inputs), fired = n;
	json_int_t corrupted = count_corrupted(inputs);

	if (!c->inputs.strategy)
		return;
	corrupted += json_integer_value(json_object_get(all, "corrupted"));
	opportunities += json_integer_value(json_object_get(all, "opportunities"));
	fired += json_integer_value(json_object_get(all, "fired"));
	json_object_set_new(proof->in_force, "stubs",
			    json_pack("{s:s, s:I, s:I}", "strategy", c->inputs.strategy,
				      "opportunities", opportunities, "fired", fired));
	if (c->inputs.corrupt)
		json_object_set_new(json_object_get(proof->in_force, "stubs"), "corrupted",
				    json_integer(corrupted));
	if (n == 0 && count_occasions(result, mr_input_mode(c->inputs.strategy)) == 0)
		tell_unmet(proof, "stubs",
			   json_sprintf("no stub is taken, so none was %s (menace-flow(5), "
					"STUBS)",
					c->inputs.strategy));
}

/* Counts are those of all copies and steps; what they were made with is of the last. */
static void add_failure(json_t *in_force, const char *mode, const json_t *row)
{
	static const char *const counts[] = { "opportunities", "fired", "bytes",
					      "packets",       "ns",	"tasks",
					      "processes",     "EAGAIN" };
	const json_t *before = json_object_get(in_force, mode);
	json_t *sum = json_copy(KEYS(row));

	for (size_t i = 0; before && i < N_ELEMENTS(counts); i++) {
		const json_t *a = json_object_get(before, counts[i]),
			     *b = json_object_get(row, counts[i]);

		if (json_is_integer(a) && json_is_integer(b))
			json_object_set_new(sum, counts[i],
					    json_integer(json_integer_value(a) +
							 json_integer_value(b)));
	}
	if (before && !json_is_true(json_object_get(before, "made")))
		json_object_set_new(sum, "made", json_false());
	json_object_set_new(in_force, mode, sum);
}

static void judge_failures(const struct mr_condition *c, const json_t *result, const json_t *inputs,
			   struct mr_condition_proof *proof)
{
	const json_t *failures = json_object_get(result, "failures");

	for (size_t i = 0; i < json_array_size(failures); i++) {
		const json_t *row = json_array_get(failures, i);
		const char *mode = mr_json_text_or_empty(row, "mode"),
			   *why = mr_json_text_or_empty(row, "why");

		add_failure(proof->in_force, mode, row);
		if (!json_is_true(json_object_get(row, "made")))
			tell(proof->missing,
			     json_sprintf("%s was not made%s%s", mode, why[0] ? ": " : "", why));
		else if (json_integer_value(json_object_get(row, "opportunities")) == 0 &&
			 json_array_size(json_object_get(row, "credentials")) == 0 &&
			 !came_as_stub(c, inputs, mode))
			tell_unmet(proof, mode,
				   why[0] ? json_sprintf("%s: %s", mode, why)
					  : json_sprintf("%s had no opportunity", mode));
	}
}

static bool asks_for_link(const struct mr_condition *c)
{
	static const char *const elsewhere[] = { "net.seed", "net.api_latency_ms", "net.mock_seed",
						 "net.mode" };
	const char *knob;
	json_t *value;

	json_object_foreach (c->knobs, knob, value) {
		bool link = mr_str_starts_with(knob, "net.");

		for (size_t i = 0; i < N_ELEMENTS(elsewhere); i++)
			link = link && strcmp(knob, elsewhere[i]) != 0;
		if (link)
			return true;
	}
	return false;
}

/* Whatever became of them.  An engine that is the kernel's queue or the relay alone tells what went
 * through it. */
static json_int_t count_packets(const json_t *measured)
{
	static const char *const fates[] = { "arrived", "lost", "dropped_by_limit", "corrupted" };
	json_int_t packets = json_integer_value(mr_json_at(measured, "queue", "packets", NULL)) +
			     json_integer_value(mr_json_at(measured, "relay", "packets", NULL));

	for (size_t i = 0; i < N_ELEMENTS(fates); i++)
		packets += json_integer_value(json_object_get(measured, fates[i]));
	return packets;
}

/* Where there is no count nobody knows, which is another thing than none. */
static void judge_packets(const json_t *measured, struct mr_condition_proof *proof)
{
	const char *why = mr_json_text_or_empty(measured, "why");

	if (count_packets(measured) > 0)
		return;
	tell_unmet(proof, "link",
		   why[0] ? json_sprintf("the packets of the link were not counted: %s", why)
			  : json_string("no packet went over the link"));
}

static void judge_link(const struct mr_condition *c, const json_t *result,
		       struct mr_condition_proof *proof)
{
	const json_t *shaping = mr_json_at(result, "receipt", "network", "shaping");
	const char *state = mr_json_text_or_empty(shaping, "state");

	if (!asks_for_link(c))
		return;
	json_object_set(proof->in_force, "link",
			json_object_get(shaping, "applied") ? json_object_get(shaping, "applied")
							    : json_null());
	if (strcmp(state, "enforced") != 0)
		tell(proof->missing, json_sprintf("the conditions of the link are %s",
						  state[0] ? state : "absent"));
	else
		judge_packets(json_object_get(shaping, "measured"), proof);
}

/* *ret_known is false where some were not counted. */
static json_int_t count_hits(const json_t *result, bool *ret_known)
{
	const json_t *mocks = mr_json_at(result, "network", "mocks", NULL);
	json_int_t hits = 0;

	*ret_known = true;
	for (size_t i = 0; i < json_array_size(mocks); i++) {
		const json_t *n = json_object_get(json_array_get(mocks, i), "hits");

		*ret_known = *ret_known && json_is_integer(n);
		hits += json_integer_value(n);
	}
	return hits;
}

/* A stub that a failing service's answer came as came at once, and no request was made for it. */
static void judge_answers(const struct mr_condition *c, const json_t *result, const json_t *inputs,
			  struct mr_condition_proof *proof)
{
	json_t *delay = json_object_get(mr_json_at(result, "receipt", "network", "stub"),
					"first_byte_delay_ms");

	bool known;

	if (!json_object_get(c->knobs, "net.api_latency_ms"))
		return;
	json_object_set(proof->in_force, "first_byte_delay_ms", delay ? delay : json_null());
	if (!delay)
		tell(proof->missing, json_string("nothing answers requests late"));
	else if (count_hits(result, &known) == 0 && !came_as_stub(c, inputs, "flaky_upstream"))
		tell_unmet(proof, "answers",
			   json_string(known ? "no request was answered, so none was late"
					     : "what answers did not tell how often"));
}

/* Limits: what was read back from the kernel, where it is the kernel's. */
static void judge_limits(const struct mr_condition *c, const json_t *result,
			 struct mr_condition_proof *proof)
{
	const char *state =
		mr_json_text_or_empty(mr_json_at(result, "receipt", "cgroup", NULL), "state");
	const char *knob;
	json_t *value;

	json_object_foreach (c->knobs, knob, value) {
		const char *name = knob + strlen("limits.");
		json_t *asked, *kernel;

		if (!mr_str_starts_with(knob, "limits."))
			continue;
		asked = mr_json_at(result, "limits", name, NULL);
		kernel = json_object_get(mr_json_at(result, "receipt", "cgroup", "limits"), name);
		json_object_set_new(proof->in_force, knob,
				    json_pack("{s:O?, s:O?}", "limit", asked, "kernel",
					      json_object_get(kernel, "value")));
		if (!asked)
			tell(proof->missing, json_sprintf("%s is not in the result", knob));
		else if (kernel && strcmp(state, "enforced") != 0)
			tell(proof->missing, json_sprintf("%s is %s", knob, state));
	}
}

void mr_condition_judge(const struct mr_condition *condition, const json_t *result,
			const json_t *inputs, struct mr_condition_proof *proof)
{
	if (!condition->on)
		return;
	proof->n++;
	judge_gaps(condition, result, proof);
	judge_failures(condition, result, inputs, proof);
	judge_inputs(condition, result, inputs, proof);
	judge_link(condition, result, proof);
	judge_answers(condition, result, inputs, proof);
	judge_limits(condition, result, proof);
}

void mr_condition_judge_kept_stdin(const struct mr_condition *c, const char *step,
				   struct mr_condition_proof *proof)
{
	const char *mode = mr_input_mode(c->inputs.strategy);
	json_t *list = json_object_get(proof->in_force, "left_out");

	if (!list) {
		list = json_array();
		json_object_set_new(proof->in_force, "left_out", list);
	}
	tell(list,
	     json_sprintf("hostile_input of step \"%s\": its standard input is a stub made up "
			  "as %s",
			  step, c->inputs.strategy));
	if (mode && strcmp(mode, "hostile_input") == 0)
		return; /* it is another way of the same */
	tell_unmet(proof, "hostile_input",
		   json_sprintf("hostile_input was left out: standard input is a stub made up "
				"as %s",
				c->inputs.strategy));
}

static bool is_mode(const json_t *row)
{
	return json_is_true(json_object_get(row, "made"));
}

/* By chance, on all occasions of all results. */
static bool never_happened(const json_t *row)
{
	const json_t *fired = json_object_get(row, "fired");

	return is_mode(row) && json_is_integer(fired) && json_integer_value(fired) == 0 &&
	       json_integer_value(json_object_get(row, "opportunities")) > 0 &&
	       json_array_size(json_object_get(row, "credentials")) == 0;
}

/* Something of what was asked for was there: a failure that happened, a stub, or what needs no chance. */
static bool took_effect(const char *name, const json_t *row)
{
	if (strcmp(name, "left_out") == 0 || json_is_null(row))
		return false;
	if (strcmp(name, "stubs") == 0)
		return json_integer_value(json_object_get(row, "fired")) > 0;
	return !is_mode(row) || (!never_happened(row) &&
				 json_integer_value(json_object_get(row, "opportunities")) > 0);
}

static void tell_chance(const json_t *in_force, json_t *why)
{
	const char *name;
	json_t *row;

	json_object_foreach (KEYS(in_force), name, row)
		if (took_effect(name, row))
			return;
	json_object_foreach (KEYS(in_force), name, row)
		if (never_happened(row))
			json_array_append_new(
				why, json_sprintf("%s happened on none of %" JSON_INTEGER_FORMAT
						  " occasions; another seed, more replicates or a "
						  "higher level may do it",
						  name,
						  json_integer_value(
							  json_object_get(row, "opportunities"))));
}

json_t *mr_condition_why(const struct mr_condition_proof *proof)
{
	json_t *why = json_copy(proof->missing);
	const char *name;
	json_t *row;

	json_object_foreach (proof->unmet, name, row)
		if (json_integer_value(json_object_get(row, "results")) == (json_int_t)proof->n)
			json_array_extend(why, json_object_get(row, "why"));
	tell_chance(proof->in_force, why);
	return why;
}

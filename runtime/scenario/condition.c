/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Condition
 *
 * A run in which something could not be enforced goes on and says so (best_effort),
 * since a cell without a result would say less.  Two kinds of doubt are told apart:
 * what was not in force at all, and what was in force and met nothing (a failure
 * without an occasion, a slow link without packets).  The second counts when it is
 * so in every result: a workflow need not meet it in each step.
 */
#include "runtime/scenario/condition.h"

#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/scenario/check.h"
#include "runtime/spec/spec.h"

#define COPIES_MAX 10000
#define KEYS(object) ((json_t *)(uintptr_t)(object))

/* --- before ---------------------------------------------------------------- */

static uint64_t take_count(json_t *preset, const char *name)
{
	const json_t *value = json_object_get(preset, name);
	uint64_t count = 1;

	if (json_is_integer(value) && json_integer_value(value) > 0)
		count = (uint64_t)json_integer_value(value);
	json_object_del(preset, name);
	return count > COPIES_MAX ? COPIES_MAX : count;
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

	*ret = (struct mr_condition){ .preset = json_deep_copy(preset),
				      .best_effort = json_array(),
				      .on = on };
	ret->copies = take_count(ret->preset, "CONCURRENCY_LEVEL") *
		      take_count(ret->preset, "CONCURRENCY_MULTIPLIER");
	if (ret->copies > COPIES_MAX)
		ret->copies = COPIES_MAX;
	json_object_set_new(ret->preset, "PRESET_SEED", json_integer((json_int_t)seed));
	r = explain(ret, err);
	if (r < 0) {
		mr_condition_deinit(ret);
		return r;
	}
	if (on)
		return 0;
	ret->copies = 1;
	json_object_clear(ret->preset);
	json_object_set_new(ret->preset, "PRESET_SEED", json_integer((json_int_t)seed));
	return 0;
}

void mr_condition_deinit(struct mr_condition *condition)
{
	json_decref(condition->preset);
	json_decref(condition->knobs);
	json_decref(condition->best_effort);
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

/* --- after ----------------------------------------------------------------- */

void mr_condition_proof_init(struct mr_condition_proof *proof)
{
	*proof = (struct mr_condition_proof){ .missing = json_array(),
					      .unmet = json_array(),
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

static void tell_unmet(struct mr_condition_proof *proof, json_t *text)
{
	tell(proof->unmet, text);
	proof->unmet_now = true;
}

/* Is this item one that the preset can have lost something by? */
static bool concerns(const struct mr_condition *c, const char *item)
{
	static const char *const limits[] = { "cgroup", "memory", "cpu", "pids", "disk" };

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

static void judge_failures(const json_t *result, struct mr_condition_proof *proof)
{
	const json_t *failures = json_object_get(result, "failures");

	for (size_t i = 0; i < json_array_size(failures); i++) {
		const json_t *row = json_array_get(failures, i);
		const char *mode = mr_json_text_or_empty(row, "mode"),
			   *why = mr_json_text_or_empty(row, "why");

		json_object_set(proof->in_force, mode, KEYS(row));
		if (!json_is_true(json_object_get(row, "made")))
			tell(proof->missing,
			     json_sprintf("%s was not made%s%s", mode, why[0] ? ": " : "", why));
		else if (json_integer_value(json_object_get(row, "opportunities")) == 0)
			tell_unmet(proof, json_sprintf("%s had no opportunity", mode));
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

/* Whatever became of them. */
static json_int_t count_packets(const json_t *measured)
{
	static const char *const fates[] = { "arrived", "lost", "dropped_by_limit", "corrupted" };
	json_int_t packets = 0;

	for (size_t i = 0; i < N_ELEMENTS(fates); i++)
		packets += json_integer_value(json_object_get(measured, fates[i]));
	return packets;
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
	else if (count_packets(json_object_get(shaping, "measured")) == 0)
		tell_unmet(proof, json_string("no packet went over the link"));
}

static json_int_t count_hits(const json_t *result)
{
	const json_t *mocks = mr_json_at(result, "network", "mocks", NULL);
	json_int_t hits = 0;

	for (size_t i = 0; i < json_array_size(mocks); i++)
		hits += json_integer_value(json_object_get(json_array_get(mocks, i), "hits"));
	return hits;
}

static void judge_answers(const struct mr_condition *c, const json_t *result,
			  struct mr_condition_proof *proof)
{
	json_t *delay = json_object_get(mr_json_at(result, "receipt", "network", "stub"),
					"first_byte_delay_ms");

	if (!json_object_get(c->knobs, "net.api_latency_ms"))
		return;
	json_object_set(proof->in_force, "first_byte_delay_ms", delay ? delay : json_null());
	if (!delay)
		tell(proof->missing, json_string("nothing answers requests late"));
	else if (count_hits(result) == 0)
		tell_unmet(proof, json_string("no request was answered, so none was late"));
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
			struct mr_condition_proof *proof)
{
	if (!condition->on)
		return;
	proof->unmet_now = false;
	judge_gaps(condition, result, proof);
	judge_failures(result, proof);
	judge_link(condition, result, proof);
	judge_answers(condition, result, proof);
	judge_limits(condition, result, proof);
	proof->n++;
	proof->n_unmet += proof->unmet_now;
}

json_t *mr_condition_why(const struct mr_condition_proof *proof)
{
	json_t *why = json_copy(proof->missing);

	if (proof->n > 0 && proof->n_unmet == proof->n)
		json_array_extend(why, proof->unmet);
	return why;
}

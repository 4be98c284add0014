/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shaping
 *
 * The link is shaped by the sandbox's side before anything of the payload's runs
 * (runtime/launch/shape.c).  Here are three things that never stand for each other: what
 * was requested, what the kernel showed when it was in place, and what was measured.
 * A number that the kernel does not tell is null.
 */
#include "runtime/supervise/shaping.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/spec/net.h"
#include "runtime/supervise/state.h"

static const struct mr_emulated *result_of(const struct mr_run *run)
{
	return &run->built.built.shape;
}

static uint32_t asked_of(const struct mr_run *run, struct mr_conditions *asked)
{
	mr_spec_conditions(run->spec, asked);
	return mr_conditions_asked(asked);
}

void mr_shaping_begin(struct mr_run *run, int fds[8])
{
	struct mr_shaping *s = &run->shaping;
	const struct mr_emulated *result = result_of(run);
	char names[MR_CONDITIONS_NAMES_SIZE];

	s->fds = (struct mr_emulate_fds){ .rtnl = fds[6], .drop_map = fds[7] };
	fds[6] = fds[7] = -1;
	s->open = true;
	if (result->missing)
		mr_receipt_degrade(&run->receipt, "net", "%s: %s",
				   mr_conditions_names(result->missing, names), result->why);
}

void mr_shaping_collect(struct mr_run *run)
{
	struct mr_shaping *s = &run->shaping;
	struct mr_error err = MR_ERROR_INIT;

	if (!s->open || s->fds.rtnl < 0) {
		snprintf(s->why, sizeof(s->why), "nothing was shaped");
		return;
	}
	s->counted = mr_emulate_read(result_of(run), &s->fds, &s->counts, &err) == 0;
	if (s->counted)
		return;
	snprintf(s->why, sizeof(s->why), "%.190s", err.msg);
	mr_log_warn("run %s: counts of the network link: %s", run->id, err.msg);
}

void mr_shaping_end(struct mr_run *run)
{
	struct mr_shaping *s = &run->shaping;

	if (!s->open)
		return;
	mr_close(s->fds.rtnl);
	mr_close(s->fds.drop_map);
	s->open = false;
}

static json_t *count(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *ms(uint64_t ns)
{
	return json_real((double)ns / 1e6);
}

static json_t *condition_json(enum mr_condition which, uint64_t value)
{
	switch (mr_condition_rows()[which].kind) {
	case MR_CONDITION_US:
		return json_real((double)value / 1000);
	case MR_CONDITION_PPM:
		return json_real((double)value / 10000);
	case MR_CONDITION_BITS:
	case MR_CONDITION_NUMBER:
		break;
	}
	return count(value);
}

static json_t *conditions_json(const struct mr_conditions *c, uint32_t mask)
{
	json_t *object = json_object();

	for (unsigned int i = 0; i < MR_CONDITION_COUNT_; i++)
		if (mask & (1U << i))
			json_object_set_new(object, mr_condition_rows()[i].name,
					    condition_json((enum mr_condition)i,
							   mr_conditions_get(c, (enum mr_condition)
											i)));
	if ((mask & MR_CONDITION_BIT(latency)) != 0) /* a loopback's packets pass it both ways */
		json_object_set_new(object, "round_trip_ms", json_real((double)c->latency / 500));
	return object;
}

/* As the knobs say it, whatever was made of them. */
static json_t *requested_json(const struct mr_spec *spec)
{
	struct mr_conditions c;
	json_t *object;

#define CONDITION(member, name, ...) c.member = spec->net_##name;
#include "netns/conditions.def"
#undef CONDITION
	object = conditions_json(&c, mr_conditions_asked(&c));
	if (spec->net_rate_min != MR_UNLIMITED)
		json_object_set_new(object, "rate_min", count(spec->net_rate_min));
	if (spec->net_rate_max != MR_UNLIMITED)
		json_object_set_new(object, "rate_max", count(spec->net_rate_max));
	return object;
}

static json_t *applied_json(const struct mr_emulated *result)
{
	uint32_t mask = mr_conditions_asked(&result->applied);
	json_t *object;

	if (!result->engines)
		return json_null();
	object = conditions_json(&result->applied, mask);
	if (result->limit_packets)
		json_object_set_new(object, "limit_packets", count(result->limit_packets));
	if (result->limit_bytes)
		json_object_set_new(object, "limit_bytes", count(result->limit_bytes));
	json_object_set_new(object, "mtu", count(result->mtu));
	json_object_set_new(object, "gso_max_segs", count(result->gso_max_segs));
	return object;
}

static json_t *missing_json(uint32_t missing)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < MR_CONDITION_COUNT_; i++)
		if (missing & (1U << i))
			json_array_append_new(list, json_string(mr_condition_rows()[i].name));
	return list;
}

static json_t *probe_json(const struct mr_emulated *result)
{
	const struct mr_echo *p = &result->probe;

	if (!p->sent)
		return json_pack("{s:n, s:s}", "datagrams", "why",
				 result->no_probe[0] ? result->no_probe : "nothing was shaped");
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "datagrams", count(p->sent),
			 "answered", count(p->answered), "repeated", count(p->repeated),
			 "rtt_min_ms", p->answered ? ms(p->rtt_min_ns) : json_null(), "rtt_mean_ms",
			 p->answered ? ms(p->rtt_mean_ns) : json_null(), "rtt_max_ms",
			 p->answered ? ms(p->rtt_max_ns) : json_null(), "took_ms", ms(p->took_ns));
}

static json_t *queue_json(const struct mr_emulate_counts *counts)
{
	const struct mr_qdisc_stats *q = &counts->queue;

	if (!counts->has_queue)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "packets", count(q->packets),
			 "bytes", count(q->bytes), "drops", count(q->drops), "overlimits",
			 count(q->overlimits), "requeues", count(q->requeues), "backlog_packets",
			 count(q->backlog_packets), "backlog_bytes", count(q->backlog_bytes));
}

/* What netem loses on purpose and what it has no room for is one number of the kernel's, unless
 * one of both cannot be. */
static void set_drops(json_t *measured, const struct mr_emulated *result,
		      const struct mr_emulate_counts *counts)
{
	const uint32_t losing =
		MR_CONDITION_BIT(loss) | MR_CONDITION_BIT(ge_p) | MR_CONDITION_BIT(corrupt);
	const bool mixed = (result->engines & MR_ENGINE_NETEM) && !counts->has_drop &&
			   (mr_conditions_asked(&result->applied) & losing);

	json_object_set_new(measured, "lost",
			    mixed ? json_null() : count(counts->has_drop ? counts->drop.lost : 0));
	json_object_set_new(measured, "dropped_by_limit",
			    mixed ? json_null()
				  : count(counts->has_queue ? counts->queue.drops : 0));
	json_object_set_new(measured, "drops_why",
			    mixed ? json_string("sch_netem counts what it loses and what it has no "
						"room for together: queue.drops")
				  : json_null());
	json_object_set_new(measured, "arrived",
			    counts->has_drop ? count(counts->drop.seen - counts->drop.lost)
					     : json_null());
	json_object_set_new(measured, "duplicated",
			    counts->has_drop ? count(counts->drop.duplicated) : json_null());
	json_object_set_new(measured, "corrupted",
			    counts->has_drop ? count(counts->drop.corrupted) : json_null());
}

static json_t *measured_json(const struct mr_run *run)
{
	const struct mr_shaping *s = &run->shaping;
	json_t *measured = json_pack("{s:o}", "probe", probe_json(result_of(run)));

	json_object_set_new(measured, "queue", s->counted ? queue_json(&s->counts) : json_null());
	if (s->counted)
		set_drops(measured, result_of(run), &s->counts);
	json_object_set_new(measured, "why", s->counted ? json_null() : json_string(s->why));
	return measured;
}

json_t *mr_shaping_to_json(const struct mr_run *run)
{
	const struct mr_emulated *result = result_of(run);
	struct mr_conditions asked;
	const char *state;

	if (!asked_of(run, &asked))
		return json_null();
	if (run->built.type != MR_SYNC_BUILT) /* it never came to that */
		return json_pack("{s:s, s:n, s:o, s:n, s:n}", "state", "unknown", "engine",
				 "requested", requested_json(run->spec), "applied", "measured");
	state = result->missing ? "degraded" : "enforced";
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:s?, s:o}", "state", state, "engine",
			 mr_engine_names(result->engines), "requested", requested_json(run->spec),
			 "applied", applied_json(result), "missing", missing_json(result->missing),
			 "why", result->why[0] ? result->why : NULL, "measured",
			 measured_json(run));
}

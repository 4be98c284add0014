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

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include "netns/rtnl.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/spec/net.h"
#include "runtime/supervise/state.h"

#define STEP_NS 1000000000ULL /* of a rate that walks */

static const struct mr_emulated *result_of(const struct mr_run *run)
{
	return &run->built.built.shape;
}

static uint32_t asked_of(const struct mr_run *run, struct mr_conditions *asked)
{
	mr_spec_conditions(run->spec, asked);
	return mr_conditions_asked(asked);
}

void mr_shaping_take(struct mr_run *run, int fds[8])
{
	struct mr_shaping *s = &run->shaping;
	struct mr_emulated *result = &run->built.built.shape;
	struct mr_error err = MR_ERROR_INIT;
	char names[MR_CONDITIONS_NAMES_SIZE];

	mr_shaping_end(run);
	/* Another process's texts end where they say, or here. */
	result->why[sizeof(result->why) - 1] = '\0';
	result->no_probe[sizeof(result->no_probe) - 1] = '\0';
	result->no_cut[sizeof(result->no_cut) - 1] = '\0';
	s->drop_map = mr_take_fd(fds[7]);
	s->open = true;
	if (fds[6] >= 0 && mr_rtnl_adopt(mr_take_fd(fds[6]), &s->rtnl, &err) < 0)
		snprintf(s->why, sizeof(s->why), "%.190s", err.msg);
	if (result->missing)
		mr_receipt_degrade(&run->receipt, "net", "%s: %s",
				   mr_conditions_names(result->missing, names), result->why);
}

int mr_shaping_check_cut(const struct mr_run *run, struct mr_error *err)
{
	const struct mr_emulated *result = result_of(run);

	if (result->can_cut && run->shaping.drop_map >= 0)
		return 0;
	return mr_err(err, MR_E_KERNEL, EOPNOTSUPP,
		      "the program that loses packets could not be put on the link%s%s; it takes "
		      "the "
		      "capabilities BPF and NET_ADMIN over the first user namespace",
		      result->no_cut[0] ? ": " : "", result->no_cut);
}

/* A step of at most an eighth of the way, back from where it would leave it. */
static uint64_t next_rate(struct mr_rate_walk *walk, uint64_t low, uint64_t high)
{
	const int64_t reach = (int64_t)((high - low) / 8 + 1);
	int64_t next;

	walk->prng ^= walk->prng << 13;
	walk->prng ^= walk->prng >> 7;
	walk->prng ^= walk->prng << 17;
	next = (int64_t)walk->now + (int64_t)(walk->prng % (uint64_t)(2 * reach + 1)) - reach;
	if (next < (int64_t)low)
		next = 2 * (int64_t)low - next;
	if (next > (int64_t)high)
		next = 2 * (int64_t)high - next;
	return next < (int64_t)low ? low : (uint64_t)next; /* a way shorter than a step */
}

static void stop_walk(struct mr_run *run)
{
	struct mr_rate_walk *walk = &run->shaping.walk;
	const int fd = walk->timer.fd;

	if (!walk->walking)
		return;
	mr_loop_remove(run->host->loop, &walk->timer);
	mr_close(fd);
	walk->walking = false;
}

static int step(struct mr_run *run, struct mr_error *err)
{
	struct mr_rate_walk *walk = &run->shaping.walk;
	const uint64_t next = next_rate(walk, run->spec->net_rate_min, run->spec->net_rate_max);
	int r = mr_emulate_set_rate(run->shaping.rtnl, result_of(run), next, err);

	if (r < 0)
		return r;
	walk->now = next;
	walk->lowest = next < walk->lowest ? next : walk->lowest;
	walk->highest = next > walk->highest ? next : walk->highest;
	walk->steps++;
	return mr_timer_arm(walk->timer.fd, mr_now_ns() + STEP_NS, err);
}

static void on_step(struct mr_source *source, uint32_t events)
{
	struct mr_run *run = source->owner;
	struct mr_error err = MR_ERROR_INIT;

	(void)events;
	mr_timer_ack(source->fd);
	if (step(run, &err) == 0)
		return;
	mr_log_warn("run %s: rate of the network link: %s", run->id, err.msg);
	snprintf(run->shaping.walk.why, sizeof(run->shaping.walk.why), "%.190s", err.msg);
	stop_walk(run);
}

int mr_shaping_begin(struct mr_run *run, struct mr_error *err)
{
	struct mr_rate_walk *walk = &run->shaping.walk;
	const struct mr_conditions *applied = &result_of(run)->applied;
	int timer, r = mr_relay_begin(run, err);

	if (r < 0)
		return r;
	if (!mr_spec_rate_walks(run->spec) || !run->shaping.rtnl ||
	    !(mr_conditions_asked(applied) & MR_CONDITION_BIT(rate)))
		return 0;
	walk->now = walk->lowest = walk->highest = applied->rate;
	walk->seed = run->spec->net_seed;
	if (walk->seed == MR_UNSET) {
		if (getrandom(&walk->seed, sizeof(walk->seed), 0) != (ssize_t)sizeof(walk->seed))
			return mr_err(err, MR_E_SYS, errno, "draw a seed: %m");
		walk->seed >>= 11; /* a number that every reader of JSON keeps */
	}
	/* Seeds that are near each other must not give walks that are; never 0. */
	walk->prng = (walk->seed + 1) * 0x9e3779b97f4a7c15ULL | 1;
	timer = mr_timer_open(err);
	if (timer < 0)
		return timer;
	r = mr_loop_add(run->host->loop, &walk->timer, timer, EPOLLIN, on_step, run, err);
	if (r < 0) {
		mr_close(timer);
		return r;
	}
	walk->walking = true;
	return mr_timer_arm(timer, mr_now_ns() + STEP_NS, err);
}

static bool is_relay_mute(const struct mr_run *run)
{
	return run->relay.started && !run->relay.counted;
}

static void explain_mute(const struct mr_run *run, struct mr_error *err)
{
	const struct mr_error *end = mr_netd_end(&run->relay.netd);

	mr_err(err, MR_E_SYS, EPIPE, "the relay told nothing%s%.150s", end ? ": " : "",
	       end ? end->msg : "");
}

void mr_shaping_collect(struct mr_run *run)
{
	struct mr_shaping *s = &run->shaping;
	struct mr_error err = MR_ERROR_INIT;

	stop_walk(run);
	if (!s->rtnl) {
		mr_relay_stop(run);
		if (!s->why[0])
			snprintf(s->why, sizeof(s->why), "nothing was shaped");
		return;
	}
	/* The device goes with the relay. */
	s->counted = mr_emulate_read(s->rtnl, s->drop_map, result_of(run), &s->counts, &err) == 0;
	mr_relay_stop(run);
	if (s->counted && !is_relay_mute(run))
		return;
	if (s->counted)
		explain_mute(run, &err);
	snprintf(s->why, sizeof(s->why), "%.190s", err.msg);
	mr_log_warn("run %s: counts of the network link: %s", run->id, err.msg);
}

void mr_shaping_end(struct mr_run *run)
{
	struct mr_shaping *s = &run->shaping;

	if (!s->open)
		return;
	s->rtnl = mr_rtnl_free(s->rtnl);
	mr_close(s->drop_map);
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
	if (mr_spec_rate_walks(spec) && spec->net_seed != MR_UNSET)
		json_object_set_new(object, "seed", count(spec->net_seed));
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
		      const struct mr_emulate_counts *counts, const struct mr_run *run)
{
	const uint64_t no_room = counts->tun_lost + run->relay.counts.dropped;
	const uint32_t losing =
		MR_CONDITION_BIT(loss) | MR_CONDITION_BIT(ge_p) | MR_CONDITION_BIT(corrupt);
	const bool mixed = (result->engines & MR_ENGINE_NETEM) && !counts->has_drop &&
			   (mr_conditions_asked(&result->applied) & losing);

	json_object_set_new(measured, "lost",
			    mixed ? json_null() : count(counts->has_drop ? counts->drop.lost : 0));
	json_object_set_new(measured, "dropped_by_limit",
			    mixed || is_relay_mute(run)
				    ? json_null()
				    : count((counts->has_queue ? counts->queue.drops : 0) +
					    no_room));
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

static json_t *walk_json(const struct mr_rate_walk *walk)
{
	if (!walk->highest)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:s?}", "seed", count(walk->seed), "steps",
			 count(walk->steps), "lowest", count(walk->lowest), "highest",
			 count(walk->highest), "last", count(walk->now), "why",
			 walk->why[0] ? walk->why : NULL);
}

static json_t *measured_json(const struct mr_run *run)
{
	const struct mr_shaping *s = &run->shaping;
	json_t *measured = json_pack("{s:o}", "probe", probe_json(result_of(run)));

	json_object_set_new(measured, "queue", s->counted ? queue_json(&s->counts) : json_null());
	if (s->counted)
		set_drops(measured, result_of(run), &s->counts, run);
	json_object_set_new(measured, "relay", mr_relay_to_json(run));
	json_object_set_new(measured, "rate_walk", walk_json(&s->walk));
	json_object_set_new(measured, "why", s->why[0] ? json_string(s->why) : json_null());
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

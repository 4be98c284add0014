/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telemetry: observing a run
 *
 * The set of pinned programs is opened once for a process and level; a refusal is
 * remembered, so that a batch does not ask again for each run.  Rings wake us when
 * they fill up; the rest is read at the end.
 */
#include "runtime/supervise/telemetry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/event.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/supervise/net_trail.h"
#include "runtime/supervise/trail.h"

_Static_assert((int)MR_TELEMETRY_SYSCALLS == (int)MR_PROBE_LEVEL_SYSCALLS, "the same levels");

struct mr_telemetry_host {
	struct mr_probes *sets[MR_PROBE_LEVEL_COUNT_]; /* by level, opened when first asked for */
	struct mr_error why[MR_PROBE_LEVEL_COUNT_]; /* code set: it could not be opened */
	bool swept;
};

struct mr_telemetry_host *mr_telemetry_host_free(struct mr_telemetry_host *host)
{
	for (int i = 0; host && i < MR_PROBE_LEVEL_COUNT_; i++)
		mr_probes_free(host->sets[i]);
	free(host);
	return NULL;
}

static struct mr_probes *open_probes(struct mr_telemetry_host *host, enum mr_probe_level level,
				     uint64_t wanted, struct mr_error *err)
{
	if (host->why[level].code) {
		*err = host->why[level];
		return NULL;
	}
	if (!host->sets[level] && mr_probes_open(level, wanted, &host->sets[level], err) < 0) {
		host->why[level] = *err;
		return NULL;
	}
	if (!host->swept) {
		unsigned int n = mr_probes_sweep(host->sets[level]);

		if (n)
			mr_log_info("removed what %u crashed runs had left in the kernel's maps",
				    n);
		host->swept = true;
	}
	return host->sets[level];
}

struct mr_telemetry_host *mr_telemetry_host_new(enum mr_telemetry_level level)
{
	struct mr_telemetry_host *host = mr_str_alloc(sizeof(*host));
	struct mr_error err = MR_ERROR_INIT;

	if (!open_probes(host, (enum mr_probe_level)level, 0, &err))
		host->why[level] = (struct mr_error)MR_ERROR_INIT; /* the runs try again */
	return host;
}

/* --- events ------------------------------------------------------------------------- */

static void take_event(void *owner, const struct mr_event *e)
{
	struct mr_telemetry *t = owner;

	mr_trail_add(t->trail, e);
	if (e->type == MR_EVENT_dns || e->type == MR_EVENT_tcp)
		mr_net_trail_add(t->net, e, e->pid ? mr_trail_start_of(t->trail, e->pid) : 0);
	if (t->sink && t->sink->event(t->sink, e) < 0)
		t->not_kept++;
}

static void on_ring(struct mr_source *source, uint32_t events)
{
	struct mr_telemetry *t = source->owner;

	(void)events;
	mr_probe_run_read(&t->probe, take_event, t);
}

/* --- a run ---------------------------------------------------------------------------- */

static int begin_in_set(struct mr_telemetry *t, const struct mr_probe_group *group,
			struct mr_error *err)
{
	struct mr_probes *probes =
		open_probes(t->host, (enum mr_probe_level)t->requested, group->rows, err);

	return probes ? mr_probe_run_begin(probes, group, &t->probe, err) : -1;
}

static int no_group(const struct mr_telemetry_place *place, struct mr_error *err)
{
	if (!place->why)
		return mr_err(err, MR_E_KERNEL, EOPNOTSUPP,
			      "a run without a control group cannot be told from others");
	*err = *place->why;
	return -EOPNOTSUPP;
}

static int begin(struct mr_telemetry *t, const struct mr_telemetry_place *place,
		 struct mr_error *err)
{
	const struct mr_probe_group group = {
		.id = place->group_id,
		.fd = place->group_fd,
		.wants_net = t->wants_net,
		.has_io = t->has_io,
		.has_init = place->has_init,
		.rows = t->wants_net ? t->choice.rows : t->choice.rows & ~mr_probe_hooks()
	};
	int r;

	t->has_init = place->has_init;
	if (!t->choice.rows)
		return mr_err(err, MR_E_DENIED, ECANCELED, "switched off by telemetry.level");
	if (place->group_fd < 0)
		return no_group(place, err);
	r = begin_in_set(t, &group, err);
	if (r == -ESTALE) { /* the purge had no run in its way: none has the set */
		t->host->sets[t->requested] = mr_probes_free(t->host->sets[t->requested]);
		r = begin_in_set(t, &group, err);
	}
	for (int i = 0; r == 0 && i < MR_RING_COUNT_; i++)
		r = mr_loop_add(t->loop, &t->sources[i], t->probe.view->rings[i].fd, EPOLLIN,
				on_ring, t, err);
	return r;
}

static void unwatch(struct mr_telemetry *t)
{
	for (int i = 0; i < MR_RING_COUNT_; i++)
		mr_loop_remove(t->loop, &t->sources[i]);
}

static bool wants_block(const struct mr_telemetry *t)
{
	return t->choice.rows & (1ULL << MR_ROW_on_complete | 1ULL << MR_ROW_on_issue);
}

void mr_telemetry_begin(struct mr_telemetry *t, const struct mr_telemetry_place *place,
			const struct mr_spec *spec)
{
	uint64_t then = mr_now_ns();

	*t = (struct mr_telemetry){ .requested = (enum mr_telemetry_level)spec->telemetry_level,
				    .wants_net = spec->net_mode != MR_NET_NONE,
				    .loop = place->loop,
				    .sources = { { .fd = -1 }, { .fd = -1 } },
				    .trail = mr_trail_new(),
				    .net = mr_net_trail_new() };
	mr_probe_run_init(&t->probe);
	/* The spec was checked. */
	mr_assert(mr_probe_choose((enum mr_probe_level)t->requested, spec->telemetry_probes,
				  &t->choice, NULL) == 0);
	if (!*place->host)
		*place->host = mr_str_alloc(sizeof(**place->host));
	t->host = *place->host;
	t->has_io = place->group_fd >= 0 && wants_block(t) &&
		    faccessat(place->group_fd, "io.stat", F_OK, 0) == 0;
	if (begin(t, place, &t->why) < 0) {
		unwatch(t);
		mr_probe_run_end(&t->probe);
	}
	t->setup_ns = mr_now_ns() - then;
}

void mr_telemetry_read(struct mr_telemetry *t)
{
	mr_probe_run_read(&t->probe, take_event, t);
}

void mr_telemetry_finish(struct mr_telemetry *t)
{
	if (!t->probe.probes)
		return;
	unwatch(t);
	mr_probe_run_read(&t->probe, take_event, t);
	t->has_counts = mr_probe_run_counts(&t->probe, &t->counts, &t->why) == 0;
	t->knows_missed = mr_probe_run_missed(&t->probe, &t->missed);
	memcpy(t->taken, t->probe.taken, sizeof(t->taken));
	t->malformed = t->probe.malformed;
	for (int i = 0; i < MR_RING_COUNT_; i++)
		t->malformed += t->probe.view->rings[i].oversized;
	mr_telemetry_note_facts(t);
	mr_probe_run_end(&t->probe);
}

void mr_telemetry_deinit(struct mr_telemetry *t)
{
	if (t->probe.probes)
		mr_telemetry_finish(t);
	json_decref(t->syscalls);
	json_decref(t->probes);
	json_decref(t->above);
	mr_net_trail_free(t->net);
	*t = (struct mr_telemetry){ .trail = mr_trail_free(t->trail) };
}

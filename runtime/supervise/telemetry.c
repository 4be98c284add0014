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
#include <sys/epoll.h>

#include "cgroups/cgroup.h"
#include "runtime/base/event.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/supervise/run.h"
#include "runtime/supervise/telemetry_rows.h"

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
				     struct mr_error *err)
{
	if (host->why[level].code) {
		*err = host->why[level];
		return NULL;
	}
	if (!host->sets[level] && mr_probes_open(level, &host->sets[level], err) < 0) {
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

/* --- events ------------------------------------------------------------------------- */

static void keep_exec(struct mr_telemetry *t, const struct mr_event *e)
{
	size_t text = strlen(e->exec.exe) + 1 + e->exec.argv_kept;
	struct mr_telemetry_exec *row;

	if (t->n_execs == MR_TELEMETRY_EXECS_MAX || t->text_bytes + text > MR_TELEMETRY_TEXT_MAX) {
		t->execs_dropped++;
		return;
	}
	if (!t->execs)
		t->execs = mr_str_alloc(MR_TELEMETRY_EXECS_MAX * sizeof(*t->execs));
	row = &t->execs[t->n_execs++];
	row->event = *e;
	row->exe = mr_str_dup(e->exec.exe);
	row->argv = mr_str_alloc(e->exec.argv_kept + 1);
	memcpy(row->argv, e->exec.argv, e->exec.argv_kept);
	t->text_bytes += text;
}

static void keep_crash(struct mr_telemetry *t, const struct mr_event *e)
{
	if (t->n_crashes == MR_TELEMETRY_CRASHES_MAX)
		return; /* their number is among the counters */
	if (!t->crashes)
		t->crashes = mr_str_alloc(MR_TELEMETRY_CRASHES_MAX * sizeof(*t->crashes));
	t->crashes[t->n_crashes++].event = *e;
}

static void take_event(void *owner, const struct mr_event *e)
{
	struct mr_telemetry *t = owner;

	if (e->type == MR_EVENT_exec)
		keep_exec(t, e);
	if (e->type == MR_EVENT_crash)
		keep_crash(t, e);
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

static int begin_in_set(struct mr_telemetry *t, uint64_t cgroup_id, struct mr_error *err)
{
	struct mr_probes *probes = open_probes(t->host, (enum mr_probe_level)t->requested, err);

	return probes ? mr_probe_run_begin(probes, cgroup_id, &t->probe, err) : -1;
}

static int begin(struct mr_telemetry *t, const struct mr_cgroup *cgroup, struct mr_error *err)
{
	int r;

	if (t->requested == MR_TELEMETRY_OFF)
		return mr_err(err, MR_E_DENIED, ECANCELED, "switched off by telemetry.level");
	if (!cgroup)
		return mr_err(err, MR_E_KERNEL, EOPNOTSUPP,
			      "a run without a control group cannot be told from others");
	r = begin_in_set(t, mr_cgroup_id(cgroup), err);
	if (r == -ESTALE) {
		t->host->sets[t->requested] = mr_probes_free(t->host->sets[t->requested]);
		r = begin_in_set(t, mr_cgroup_id(cgroup), err);
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

void mr_telemetry_begin(struct mr_telemetry *t, struct mr_run_host *host,
			enum mr_telemetry_level level, const struct mr_cgroup *cgroup)
{
	uint64_t then = mr_now_ns();

	*t = (struct mr_telemetry){ .requested = level,
				    .loop = host->loop,
				    .probe = MR_PROBE_RUN_INIT,
				    .sources = { { .fd = -1 }, { .fd = -1 } } };
	if (!host->telemetry)
		host->telemetry = mr_str_alloc(sizeof(*host->telemetry));
	t->host = host->telemetry;
	if (begin(t, cgroup, &t->why) < 0) {
		unwatch(t);
		mr_probe_run_end(&t->probe);
	}
	t->setup_ns = mr_now_ns() - then;
}

void mr_telemetry_finish(struct mr_telemetry *t)
{
	if (!t->probe.probes)
		return;
	unwatch(t);
	mr_probe_run_read(&t->probe, take_event, t);
	t->counts = *t->probe.view->counts;
	memcpy(t->taken, t->probe.taken, sizeof(t->taken));
	t->malformed = t->probe.malformed;
	for (int i = 0; i < MR_RING_COUNT_; i++)
		t->malformed += t->probe.view->rings[i].oversized;
	t->has_counts = true;
	mr_probe_run_end(&t->probe);
}

void mr_telemetry_deinit(struct mr_telemetry *t)
{
	if (t->probe.probes)
		mr_telemetry_finish(t);
	for (size_t i = 0; i < t->n_execs; i++) {
		free(t->execs[i].exe);
		free(t->execs[i].argv);
	}
	free(t->execs);
	free(t->crashes);
	*t = (struct mr_telemetry){ .probe = MR_PROBE_RUN_INIT };
}

const struct mr_probes *mr_telemetry_probes(const struct mr_telemetry *t)
{
	return t->has_counts ? t->host->sets[t->requested] : NULL;
}

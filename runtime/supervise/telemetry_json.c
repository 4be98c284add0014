/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telemetry as JSON
 *
 * Members are called as the columns of the store are.  A counter whose probe is off is
 * null; the row of the probe says why.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/supervise/telemetry.h"
#include "runtime/supervise/trail.h"

static const struct counter_row {
	const char *name, *probes; /* probes: names with a space between them */
} counter_rows[MR_COUNTER_COUNT_] = {
#define COUNTER(name, probes, help) { #name, #probes },
#include "bpf/counters.def"
#undef COUNTER
};

static const char *const type_names[MR_WIRE_TYPE_COUNT_] = {
	[MR_WIRE_FORK] = "fork",   [MR_WIRE_EXEC] = "exec",	  [MR_WIRE_EXIT] = "exit",
	[MR_WIRE_CRASH] = "crash", [MR_WIRE_SOCKET] = "socket",	  [MR_WIRE_CONNECT] = "connect",
	[MR_WIRE_BIND] = "bind",   [MR_WIRE_SENDMSG] = "sendmsg",
};

static const char *const syscall_names[MR_WIRE_SYSCALLS] = {
#define SYSCALL(name, nr, ...) [nr] = #name,
#define CHECK(...)
#include "runtime/launch/syscalls.def"
#undef CHECK
#undef SYSCALL
};

static json_t *integer(uint64_t n)
{
	return json_integer((json_int_t)n);
}

/* --- while the run is observed ---------------------------------------------------------- */

static json_t *list_syscalls(const uint64_t *calls)
{
	json_t *list = json_array();
	char number[24];

	for (unsigned int i = 0; i < MR_WIRE_OUTCOMES; i++) {
		unsigned int nr = i / MR_WIRE_ERRNOS;
		const char *name = syscall_names[nr];

		if (!calls[i])
			continue;
		snprintf(number, sizeof(number), "%u", nr);
		json_array_append_new(list, json_pack("{s:s, s:i, s:I, s:n}", "name",
						      name ? name : number, "errno",
						      (int)(i % MR_WIRE_ERRNOS), "count",
						      (json_int_t)calls[i], "total_ns"));
	}
	return list;
}

static json_t *probe_json(const struct mr_telemetry *t, const struct mr_probe_row *row, size_t i)
{
	const struct mr_wire_probe *state = mr_probes_state(t->probe.probes, i);
	bool known = mr_probe_run_knows(&t->probe, row->name);
	bool unwanted = row->kind == MR_PROBE_CGROUP && !t->probe.wants_net;
	int errnum = state->state == MR_PROBE_ON ? t->probe.errnums[i] : state->errnum;
	char consequence[400] = "";

	if (unwanted)
		snprintf(consequence, sizeof(consequence),
			 "unknown: %s; without network there is nothing to see", row->help);
	else if (!known)
		snprintf(consequence, sizeof(consequence), "unknown: %s (%s%s%s)", row->help,
			 strerror(errnum), state->why[0] ? ": " : "", state->why);
	return json_pack("{s:s, s:s, s:o, s:s?, s:s}", "name", row->name, "state",
			 known	    ? "attached"
			 : unwanted ? "off"
				    : "failed",
			 "errno", known || unwanted ? json_null() : json_integer(errnum),
			 "consequence", known ? NULL : consequence, "needs", row->needs);
}

/* One row a fact: of several ways to it the one that is on, else the first. */
static json_t *list_probes(struct mr_telemetry *t)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);
	json_t *list = json_array();

	t->all_known = !t->counts.absent;
	for (size_t i = 0; i < n; i++) {
		if ((int)rows[i].level > (int)t->requested ||
		    (i > 0 && strcmp(rows[i].name, rows[i - 1].name) == 0))
			continue;
		json_array_append_new(list, probe_json(t, &rows[i], i));
		if (rows[i].kind != MR_PROBE_CGROUP || t->probe.wants_net)
			t->all_known &= mr_probe_run_knows(&t->probe, rows[i].name);
	}
	return list;
}

static bool is_absent(const struct mr_telemetry *t, int bit)
{
	return t->counts.absent >> bit & 1;
}

static bool knows_all(const struct mr_probe_run *run, const char *names)
{
	char name[64];
	size_t n;

	for (; *names; names += n + (names[n] == ' ')) {
		n = strcspn(names, " ");
		snprintf(name, sizeof(name), "%.*s", (int)n, names);
		if (!mr_probe_run_knows(run, name))
			return false;
	}
	return true;
}

void mr_telemetry_note_facts(struct mr_telemetry *t)
{
	for (int i = 0; i < MR_COUNTER_COUNT_; i++)
		t->known[i] = knows_all(&t->probe, counter_rows[i].probes);
	t->knows_sched = mr_probe_run_knows(&t->probe, "sched");
	t->probes = list_probes(t);
	if (mr_probe_run_knows(&t->probe, "syscalls"))
		t->syscalls = list_syscalls(t->probe.view->calls);
}

/* --- the document ------------------------------------------------------------------------ */

static json_t *counter_json(const struct mr_telemetry *t, enum mr_wire_counter i, uint64_t unit)
{
	return t->known[i] && !is_absent(t, (int)i) ? integer(t->counts.counters[i] / unit)
						    : json_null();
}

static json_t *counters_json(const struct mr_telemetry *t)
{
	json_t *counters = json_object();

	for (int i = 0; i < MR_COUNTER_COUNT_; i++)
		json_object_set_new(counters, counter_rows[i].name,
				    counter_json(t, (enum mr_wire_counter)i, 1));
	return counters;
}

static json_t *usage_json(const struct mr_telemetry *t)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "cpu_us", counter_json(t, MR_COUNTER_cpu_ns, 1000),
			 "vfs_read_bytes", counter_json(t, MR_COUNTER_read_bytes, 1),
			 "vfs_write_bytes", counter_json(t, MR_COUNTER_written_bytes, 1),
			 "own_cpu_ns", integer(t->counts.programs_ns));
}

static json_t *histogram_json(const struct mr_telemetry *t, enum mr_wire_histogram which,
			      const char *name)
{
	const __u64 *counts = t->counts.histogram[which];
	json_t *buckets = json_array();

	for (int i = 0; i < MR_WIRE_BUCKETS; i++)
		if (counts[i])
			json_array_append_new(buckets, json_pack("{s:i, s:I}", "bucket", i - 1,
								 "count", (json_int_t)counts[i]));
	return json_pack("{s:s, s:s, s:o}", "name", name, "unit", "us", "buckets", buckets);
}

static json_t *histograms_json(const struct mr_telemetry *t)
{
	if (!t->knows_sched)
		return json_null();
	if (is_absent(t, MR_ABSENT_WAITS))
		return json_pack("[o]", histogram_json(t, MR_HIST_RUN, "cpu_run"));
	return json_pack("[o, o]", histogram_json(t, MR_HIST_RUN, "cpu_run"),
			 histogram_json(t, MR_HIST_WAIT, "cpu_wait"));
}

struct sums {
	uint64_t emitted, delivered, lost;
};

static json_t *losses_json(const struct mr_telemetry *t, struct sums *sums)
{
	json_t *list = json_array();

	for (int i = 1; i < MR_WIRE_TYPE_COUNT_; i++) {
		const struct {
			const char *reason;
			uint64_t n;
		} lost[] = { { "ring full", t->counts.lost_full[i] },
			     { "no ring", t->counts.lost_ring[i] } };

		sums->emitted += t->counts.emitted[i];
		sums->delivered += t->taken[i];
		for (size_t j = 0; j < N_ELEMENTS(lost); j++) {
			sums->lost += lost[j].n;
			if (lost[j].n)
				json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "type",
								      type_names[i], "reason",
								      lost[j].reason, "count",
								      (json_int_t)lost[j].n));
		}
	}
	return list;
}

static json_t *books_json(const struct mr_telemetry *t, const struct sums *sums)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "emitted",
			 (json_int_t)sums->emitted, "delivered", (json_int_t)sums->delivered,
			 "lost", (json_int_t)sums->lost, "malformed", (json_int_t)t->malformed,
			 "not_kept", (json_int_t)t->not_kept, "failed_reads",
			 (json_int_t)t->counts.failures, "processes_not_listed",
			 (json_int_t)mr_trail_processes_left_out(t->trail), "events_not_listed",
			 (json_int_t)mr_trail_events_left_out(t->trail), "last_events_listed",
			 (json_int_t)mr_trail_last_kept(t->trail));
}

static json_t *unknown_json(const struct mr_telemetry *t, const char *requested)
{
	return json_pack("{s:s, s:n, s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n}",
			 "requested", requested, "level", "reason",
			 t->why.code ? t->why.msg : "the run ended before it could be observed",
			 "complete", "usage", "counters", "processes", "events", "books", "losses",
			 "histograms", "syscalls", "probes");
}

json_t *mr_telemetry_to_json(const struct mr_telemetry *t)
{
	static const char *const words[] = { MR_WORDS_telemetry };
	const char *level = words[t->requested];
	struct sums sums = { 0 };
	json_t *losses;
	bool complete;

	if (!t->has_counts)
		return unknown_json(t, level);
	losses = losses_json(t, &sums);
	complete = t->all_known && !sums.lost && sums.delivered == sums.emitted && !t->malformed &&
		   !t->not_kept && !t->counts.failures;
	return json_pack("{s:s, s:s, s:n, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:O?, s:O, s:f}",
			 "requested", level, "level", level, "reason", "complete", complete,
			 "usage", usage_json(t), "counters", counters_json(t), "processes",
			 mr_trail_processes(t->trail), "events", mr_trail_events(t->trail), "books",
			 books_json(t, &sums), "losses", losses, "histograms", histograms_json(t),
			 "syscalls", t->syscalls, "probes", t->probes, "setup_us",
			 (double)t->setup_ns / 1000);
}

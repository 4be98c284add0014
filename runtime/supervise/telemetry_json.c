/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telemetry as JSON
 *
 * A counter whose probe is off is null; the probe's row says why.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/json.h"
#include "runtime/supervise/telemetry_rows.h"
#include "runtime/supervise/text.h"

static const struct counter_row {
	const char *name, *probe;
} counter_rows[MR_COUNTER_COUNT_] = {
#define COUNTER(name, probe, help) { #name, #probe },
#include "bpf/counters.def"
#undef COUNTER
};

static const char *const type_names[MR_WIRE_TYPE_COUNT_] = {
	[MR_WIRE_FORK] = "fork",   [MR_WIRE_EXEC] = "exec",	  [MR_WIRE_EXIT] = "exit",
	[MR_WIRE_CRASH] = "crash", [MR_WIRE_SOCKET] = "socket",	  [MR_WIRE_CONNECT] = "connect",
	[MR_WIRE_BIND] = "bind",   [MR_WIRE_SENDMSG] = "sendmsg",
};

static json_t *integer(uint64_t n)
{
	return json_integer((json_int_t)n);
}

static json_t *counters_json(const struct mr_telemetry *t, const struct mr_probes *probes)
{
	json_t *counters = json_object();

	for (int i = 0; i < MR_COUNTER_COUNT_; i++)
		json_object_set_new(counters, counter_rows[i].name,
				    mr_probes_knows(probes, counter_rows[i].probe)
					    ? integer(t->counts.counters[i])
					    : json_null());
	return counters;
}

/* Each argument up to its NUL; what the end of the kept bytes cuts comes as far as it goes. */
static json_t *argv_json(const struct mr_telemetry_exec *row)
{
	const char *at = row->argv, *end = at + row->event.exec.argv_kept;
	json_t *argv = json_array();

	while (at < end) {
		size_t len = strnlen(at, (size_t)(end - at));
		json_t *holder = json_object(), *base64;

		mr_text_set(holder, "text", at, len);
		base64 = json_object_get(holder, "text_base64");
		if (base64)
			json_array_append_new(argv, holder);
		else {
			json_array_append(argv, json_object_get(holder, "text"));
			json_decref(holder);
		}
		at += len + 1;
	}
	return argv;
}

static json_t *since_us(uint64_t time_ns, uint64_t go_ns)
{
	return go_ns ? json_integer(((json_int_t)time_ns - (json_int_t)go_ns) / 1000) : json_null();
}

static json_t *exec_json(const struct mr_telemetry_exec *row, uint64_t go_ns)
{
	const struct mr_event *e = &row->event;
	json_t *exec =
		json_pack("{s:o, s:I, s:I, s:I, s:o, s:I, s:o, s:b, s:b, s:b, s:b, s:b}",
			  "since_start_us", since_us(e->time_ns, go_ns), "pid", (json_int_t)e->pid,
			  "inner_pid", (json_int_t)e->inner_pid, "parent_pid",
			  (json_int_t)e->exec.parent_pid, "argv",
			  e->exec.argv_unreadable ? json_null() : argv_json(row), "argc",
			  (json_int_t)e->exec.argc, "argv_bytes", integer(e->exec.argv_bytes),
			  "argv_truncated", e->exec.argv_truncated, "exe_truncated",
			  e->exec.exe_truncated, "fileless", e->exec.fileless, "from_thread",
			  e->exec.from_thread, "argv_unreadable", e->exec.argv_unreadable);

	mr_text_set(exec, "exe", row->exe, strlen(row->exe));
	mr_text_set(exec, "comm", e->comm, strlen(e->comm));
	return exec;
}

static json_t *execs_json(const struct mr_telemetry *t, uint64_t go_ns)
{
	json_t *execs = json_array();

	for (size_t i = 0; i < t->n_execs; i++)
		json_array_append_new(execs, exec_json(&t->execs[i], go_ns));
	return execs;
}

static json_t *address(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

static json_t *crashes_json(const struct mr_telemetry *t, uint64_t go_ns)
{
	json_t *crashes = json_array();

	for (size_t i = 0; i < t->n_crashes; i++) {
		const struct mr_event *e = &t->crashes[i].event;
		json_t *frames = json_array(), *crash;

		for (size_t j = 0; j < e->crash.n_frames; j++)
			json_array_append_new(frames, address(e->crash.frames[j]));
		crash = json_pack("{s:o, s:I, s:I, s:i, s:s?, s:i, s:o, s:o}", "since_start_us",
				  since_us(e->time_ns, go_ns), "pid", (json_int_t)e->pid,
				  "inner_pid", (json_int_t)e->inner_pid, "signal", e->crash.signal,
				  "signal_name", sigabbrev_np(e->crash.signal), "si_code",
				  e->crash.code, "address", address(e->crash.address), "frames",
				  frames);
		mr_text_set(crash, "comm", e->comm, strlen(e->comm));
		json_array_append_new(crashes, crash);
	}
	return crashes;
}

/* Buckets up to the last that is not empty. */
static json_t *histogram_json(const struct mr_telemetry *t, enum mr_wire_histogram which)
{
	const __u64 *buckets = t->counts.histogram[which];
	json_t *list = json_array();
	int n = MR_WIRE_BUCKETS;

	while (n > 0 && !buckets[n - 1])
		n--;
	for (int i = 0; i < n; i++)
		json_array_append_new(list, integer(buckets[i]));
	return list;
}

static json_t *histograms_json(const struct mr_telemetry *t, const struct mr_probes *probes)
{
	if (!mr_probes_knows(probes, "sched"))
		return json_null();
	return json_pack("{s:s, s:o, s:o}", "bucket", "i counts from 2^i to 2^(i+1) microseconds",
			 "run_us", histogram_json(t, MR_HIST_RUN), "wait_us",
			 histogram_json(t, MR_HIST_WAIT));
}

struct sums {
	uint64_t emitted, delivered, lost;
};

static json_t *events_json(const struct mr_telemetry *t, struct sums *sums)
{
	json_t *lost = json_object(), *delivered = json_object();

	for (int i = 1; i < MR_WIRE_TYPE_COUNT_; i++) {
		uint64_t full = t->counts.lost_full[i], none = t->counts.lost_ring[i];

		sums->emitted += t->counts.emitted[i];
		sums->delivered += t->taken[i];
		sums->lost += full + none;
		if (t->taken[i])
			json_object_set_new(delivered, type_names[i], integer(t->taken[i]));
		if (full || none)
			json_object_set_new(lost, type_names[i],
					    json_pack("{s:I, s:I}", "ring_full", (json_int_t)full,
						      "no_ring", (json_int_t)none));
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "emitted", integer(sums->emitted),
			 "delivered", integer(sums->delivered), "lost", integer(sums->lost),
			 "delivered_by_type", delivered, "lost_by_type", lost, "malformed",
			 integer(t->malformed), "not_kept", integer(t->not_kept));
}

/* One row a fact: of several ways to it the one that is on, else the first. */
static json_t *probes_json(const struct mr_probes *probes, bool *ret_all_on)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++) {
		const struct mr_wire_probe *state = mr_probes_state(probes, i);
		bool known = mr_probes_knows(probes, rows[i].name);

		if (rows[i].level > mr_probes_level(probes) ||
		    (i > 0 && strcmp(rows[i].name, rows[i - 1].name) == 0))
			continue;
		*ret_all_on = *ret_all_on && known;
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:o, s:s?, s:s}", "name", rows[i].name,
						"state", known ? "on" : "off", "errno",
						known ? json_null() : json_integer(state->errnum),
						"reason", known ? NULL : state->why, "needs",
						rows[i].needs));
	}
	return list;
}

static json_t *processes_json(const struct mr_telemetry *t, const struct mr_probes *probes)
{
	json_t *counters = counters_json(t, probes);
	json_t *processes = json_object();
	static const char *const names[] = { "forks",	       "threads", "execs",
					     "execs_fileless", "exits",	  "exits_signaled",
					     "oom_victims",    "crashes" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		json_object_set(processes, names[i], json_object_get(counters, names[i]));
	json_decref(counters);
	return processes;
}

static json_t *overhead_json(const struct mr_telemetry *t)
{
	return json_pack("{s:o, s:o}", "setup_us", json_real((double)t->setup_ns / 1000),
			 "programs_us", json_real((double)t->counts.programs_ns / 1000));
}

json_t *mr_telemetry_to_json(const struct mr_telemetry *t, uint64_t go_ns)
{
	static const char *const words[] = { MR_WORDS_telemetry };
	const struct mr_probes *probes = mr_telemetry_probes(t);
	struct sums sums = { 0 };
	bool all_on = true;
	json_t *events, *list;

	if (!probes)
		return json_pack("{s:s, s:n, s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n}",
				 "requested", words[t->requested], "level", "reason",
				 t->why.code ? t->why.msg
					     : "the run ended before it could be observed",
				 "complete", "processes", "counters", "execs", "execs_not_listed",
				 "crashes", "histograms", "events", "probes");
	events = events_json(t, &sums);
	list = probes_json(probes, &all_on);
	return json_pack("{s:s, s:s, s:n, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "requested", words[t->requested], "level", words[t->requested], "reason",
			 "complete",
			 all_on && !sums.lost && sums.delivered == sums.emitted && !t->malformed &&
				 !t->not_kept && !t->counts.failures,
			 "processes", processes_json(t, probes), "counters",
			 counters_json(t, probes), "execs", execs_json(t, go_ns),
			 "execs_not_listed", integer(t->execs_dropped), "crashes",
			 crashes_json(t, go_ns), "histograms", histograms_json(t, probes), "events",
			 events, "failed_reads", integer(t->counts.failures), "overhead",
			 overhead_json(t), "probes", list);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Telemetry as JSON
 *
 * Members are called as the columns of the store are.  A counter whose probe is off is
 * null; the row of the probe says why.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/json.h"
#include "runtime/supervise/net_trail.h"
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
	[MR_WIRE_BIND] = "bind",   [MR_WIRE_SENDMSG] = "sendmsg", [MR_WIRE_DNS] = "dns",
	[MR_WIRE_TCP] = "tcp",	   [MR_WIRE_ATTEMPT] = "attempt", [MR_WIRE_OPEN] = "open",
};

static const char *const syscall_names[MR_WIRE_SYSCALLS] = {
#define SYSCALL(name, nr, ...) [nr] = #name,
#define CHECK(...)
#include "runtime/spec/syscalls.def"
#undef CHECK
#undef SYSCALL
};

static json_t *integer(uint64_t n)
{
	return json_integer((json_int_t)n);
}

json_t *mr_syscall_json(unsigned int nr)
{
	char number[24];

	if (nr < MR_WIRE_SYSCALLS && syscall_names[nr])
		return json_string(syscall_names[nr]);
	snprintf(number, sizeof(number), "%u", nr);
	return json_string(number);
}

/* --- while the run is observed ---------------------------------------------------------- */

static json_t *list_syscalls(const uint64_t *calls)
{
	json_t *list = json_array();

	for (unsigned int i = 0; i < MR_WIRE_OUTCOMES; i++) {
		uint64_t took = calls[MR_WIRE_OUTCOMES + i]; /* 0: nobody saw one begin */

		if (!calls[i])
			continue;
		json_array_append_new(list, json_pack("{s:o, s:i, s:I, s:o}", "name",
						      mr_syscall_json(i / MR_WIRE_ERRNOS), "errno",
						      (int)(i % MR_WIRE_ERRNOS), "count",
						      (json_int_t)calls[i], "total_ns",
						      took ? integer(took) : json_null()));
	}
	return list;
}

/* Why a fact is not known, in words; "": it is. */
static const char *state_of(const struct mr_telemetry *t, size_t i, char why[400], int *ret_errnum)
{
	size_t n;
	const struct mr_probe_row *row = &mr_probe_rows(&n)[i];
	const struct mr_wire_probe *probe = mr_probes_state(t->probe.probes, i);

	*ret_errnum = 0;
	why[0] = '\0';
	if (t->choice.off >> i & 1) {
		snprintf(why, 400, "unknown: %s; switched off by telemetry.probes", row->help);
		return "off";
	}
	if (row->kind == MR_PROBE_CGROUP && !t->wants_net) {
		snprintf(why, 400, "unknown: %s; without network there is nothing to see",
			 row->help);
		return "off";
	}
	if (row->kind == MR_PROBE_RAW_TP_IO && !t->has_io) {
		*ret_errnum = EOPNOTSUPP;
		snprintf(why, 400,
			 "unknown: %s; the run's control group has no block controller (io)",
			 row->help);
		return "failed";
	}
	if (mr_probe_run_knows(&t->probe, row->name))
		return "attached";
	*ret_errnum = probe->state == MR_PROBE_ON ? t->probe.errnums[i] : probe->errnum;
	snprintf(why, 400, "unknown: %s (%s%s%s)", row->help, strerror(*ret_errnum),
		 probe->why[0] ? ": " : "", probe->why);
	return "failed";
}

static json_t *probe_json(const struct mr_telemetry *t, const struct mr_probe_row *row, size_t i)
{
	char why[400];
	int errnum;
	const char *state = state_of(t, i, why, &errnum);

	return json_pack("{s:s, s:s, s:o, s:s?, s:s}", "name", row->name, "state", state, "errno",
			 errnum ? json_integer(errnum) : json_null(), "consequence",
			 why[0] ? why : NULL, "needs", row->needs);
}

/* One row a fact: of several ways to it the one that is on, else the first that was wanted.  What
 * a higher level has is told by its name alone. */
static void list_probes(struct mr_telemetry *t)
{
	size_t n;
	const struct mr_probe_row *rows = mr_probe_rows(&n);
	const char *last = "";

	t->probes = json_array();
	t->above = json_object();
	t->all_known = !t->counts.absent;
	for (size_t i = 0; i < n; i++) {
		if (strcmp(rows[i].name, last) == 0)
			continue;
		if (!((t->choice.rows | t->choice.off) >> i & 1)) {
			if (!json_object_get(t->above, rows[i].name))
				json_object_set_new(t->above, rows[i].name,
						    json_string(
							    mr_probe_level_name(rows[i].level)));
			continue;
		}
		last = rows[i].name;
		json_array_append_new(t->probes, probe_json(t, &rows[i], i));
		if (t->choice.rows >> i & 1 && (rows[i].kind != MR_PROBE_CGROUP || t->wants_net))
			t->all_known &= mr_probe_run_knows(&t->probe, rows[i].name);
	}
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

/* Of a container's main program nobody knows which it is. */
static void note_fds(struct mr_telemetry *t)
{
	if (t->has_init || !t->counts.main_fds)
		t->known[MR_COUNTER_fds_leaked] = false;
	else
		t->counts.counters[MR_COUNTER_fds_leaked] = t->counts.main_fds - 1;
}

void mr_telemetry_note_facts(struct mr_telemetry *t)
{
	for (int i = 0; i < MR_COUNTER_COUNT_; i++)
		t->known[i] = knows_all(&t->probe, counter_rows[i].probes);
	note_fds(t);
	t->knows_sched = mr_probe_run_knows(&t->probe, "sched");
	t->knows_block = knows_all(&t->probe, "block block_issue");
	t->knows_calls = knows_all(&t->probe, "syscalls syscall_times");
	t->knows_dns = mr_probe_run_knows(&t->probe, "dns");
	t->knows_tcp = mr_probe_run_knows(&t->probe, "tcp");
	list_probes(t);
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
	json_t *list;

	if (!t->knows_sched && !t->knows_block && !t->knows_calls && !t->knows_tcp)
		return json_null();
	list = json_array();
	if (t->knows_sched)
		json_array_append_new(list, histogram_json(t, MR_HIST_RUN, "cpu_run"));
	if (t->knows_sched && !is_absent(t, MR_ABSENT_WAITS))
		json_array_append_new(list, histogram_json(t, MR_HIST_WAIT, "cpu_wait"));
	if (t->knows_block)
		json_array_append_new(list, histogram_json(t, MR_HIST_BLOCK, "block"));
	if (t->knows_calls)
		json_array_append_new(list, histogram_json(t, MR_HIST_CALL, "syscall"));
	if (t->knows_tcp) {
		json_array_append_new(list, histogram_json(t, MR_HIST_CONNECT, "connect"));
		json_array_append_new(list, histogram_json(t, MR_HIST_RTT, "srtt"));
	}
	return list;
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
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I}", "emitted",
			 (json_int_t)sums->emitted, "delivered", (json_int_t)sums->delivered,
			 "lost", (json_int_t)sums->lost, "malformed", (json_int_t)t->malformed,
			 "not_kept", (json_int_t)t->not_kept, "failed_reads",
			 (json_int_t)t->counts.failures, "programs_passed_over",
			 t->knows_missed ? integer(t->missed) : json_null(), "processes_not_listed",
			 (json_int_t)mr_trail_processes_left_out(t->trail), "events_not_listed",
			 (json_int_t)mr_trail_events_left_out(t->trail), "last_events_listed",
			 (json_int_t)mr_trail_last_kept(t->trail), "names_not_listed",
			 (json_int_t)mr_net_trail_names_left_out(t->net), "connections_not_listed",
			 (json_int_t)mr_net_trail_connections_left_out(t->net));
}

static json_t *unknown_json(const struct mr_telemetry *t, const char *requested)
{
	return json_pack("{s:s, s:n, s:s, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, s:n, "
			 "s:n, s:n}",
			 "requested", requested, "level", "reason",
			 t->why.code ? t->why.msg : "the run ended before it could be observed",
			 "complete", "usage", "counters", "processes", "events", "dns",
			 "connections", "books", "losses", "histograms", "syscalls", "probes",
			 "above_level");
}

/* A list that a probe fills; null where it is not on. */
static json_t *list_if(bool known, json_t *list)
{
	if (known)
		return list;
	json_decref(list);
	return json_null();
}

static void add_lists(const struct mr_telemetry *t, json_t *document)
{
	json_object_set_new(document, "processes", mr_trail_processes(t->trail));
	json_object_set_new(document, "events", mr_trail_events(t->trail));
	json_object_set_new(document, "dns", list_if(t->knows_dns, mr_net_trail_names(t->net)));
	json_object_set_new(document, "connections",
			    list_if(t->knows_tcp, mr_net_trail_connections(t->net)));
}

json_t *mr_telemetry_to_json(const struct mr_telemetry *t)
{
	static const char *const words[] = { MR_WORDS_telemetry };
	const char *level = words[t->requested];
	struct sums sums = { 0 };
	json_t *losses, *document;
	bool complete;

	if (!t->has_counts)
		return unknown_json(t, level);
	losses = losses_json(t, &sums);
	complete = t->all_known && !sums.lost && sums.delivered == sums.emitted && !t->malformed &&
		   !t->not_kept && !t->counts.failures && t->knows_missed && !t->missed;
	document = json_pack("{s:s, s:s, s:n, s:b, s:o, s:o, s:o, s:o, s:o, s:O?, s:O?, s:O?, s:f}",
			     "requested", level, "level", level, "reason", "complete", complete,
			     "usage", usage_json(t), "counters", counters_json(t), "books",
			     books_json(t, &sums), "losses", losses, "histograms",
			     histograms_json(t), "syscalls", t->syscalls, "probes", t->probes,
			     "above_level", t->above, "setup_us", (double)t->setup_ns / 1000);
	add_lists(t, document);
	return document;
}

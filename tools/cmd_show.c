/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace show: everything the store knows of one run
 *
 * Gathers one document; --json prints it, otherwise its parts are printed as tables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"
#include "runtime/base/units.h"
#include "runtime/store/query.h"
#include "tools/cmd.h"
#include "tools/symbols.h"
#include "tools/term.h"

#define BAR_WIDTH 40
#define ROWS_SHOWN 40
#define BUCKET_LAST 62 /* what begins later is in no whole number */

struct show {
	struct mr_cmd_common common;
	bool all;
};

static const struct mr_cmd_row rows[] = {
	MR_CMD_ROW("all", 'a', NULL, FLAG, show, all, "every row of long lists"),
	MR_CMD_COMMON_ROWS(show),
};

static const char *text(const json_t *row, const char *key)
{
	return json_string_value(json_object_get(row, key));
}

static int64_t integer(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

static void print_title(const char *title)
{
	putchar('\n');
	mr_term_put(MR_TERM_BOLD, title);
	putchar('\n');
}

/* "  name      value", where there is a value. */
static void print_fact(const char *name, const char *value)
{
	if (!value)
		return;
	printf("  %-12s ", name);
	mr_term_put(MR_TERM_PLAIN, value);
	putchar('\n');
}

/* A value as the people's unit of its column's name. */
static const char *human(const char *name, const json_t *value, char buf[64])
{
	char unit[MR_UNITS_SIZE];
	size_t n = strlen(name);

	if (json_is_string(value))
		return json_string_value(value);
	if (json_is_real(value)) {
		snprintf(buf, 64, "%g", json_real_value(value));
		return buf;
	}
	if (!json_is_integer(value))
		return NULL;
	if (json_integer_value(value) >= 0 && n > 3 && strcmp(name + n - 3, "_us") == 0)
		mr_units_human_time(unit, (uint64_t)json_integer_value(value) * 1000);
	else if (json_integer_value(value) >= 0 && n > 3 && strcmp(name + n - 3, "_ms") == 0)
		mr_units_human_time(unit, (uint64_t)json_integer_value(value) * 1000000);
	else if (json_integer_value(value) >= 0 && n > 3 && strcmp(name + n - 3, "_ns") == 0)
		mr_units_human_time(unit, (uint64_t)json_integer_value(value));
	else if (json_integer_value(value) >= 0 && n > 6 && strcmp(name + n - 6, "_bytes") == 0)
		mr_units_human_size(unit, (uint64_t)json_integer_value(value));
	else
		snprintf(unit, sizeof(unit), "%lld", (long long)json_integer_value(value));
	snprintf(buf, 64, "%s", unit);
	return buf;
}

static void print_head(const json_t *run)
{
	char buf[64];
	int64_t started = integer(run, "started_us");

	mr_term_put(MR_TERM_BOLD, "run ");
	mr_term_put(MR_TERM_BOLD, text(run, "run_id"));
	putchar('\n');
	print_fact("name", text(run, "name"));
	print_fact("program", text(run, "argv"));
	print_fact("started", started ? mr_term_time(started, buf) : NULL);
	print_fact("host", text(run, "host"));
	print_fact("kernel", text(run, "kernel"));
	print_fact("user", human("uid", json_object_get(run, "uid"), buf));
	print_fact("ended", text(run, "reason"));
	print_fact("exit status", human("", json_object_get(run, "exit_status"), buf));
	print_fact("signal", human("", json_object_get(run, "term_signal"), buf));
	print_fact("error", text(run, "error_message"));
	print_fact("held", text(run, "held_for"));
}

/* The columns of the table usage, as far as they were measured. */
static void print_usage(const json_t *run)
{
	static const char *const columns[] = {
		"wall_us",
		"cpu_us",
		"cpu_user_us",
		"cpu_system_us",
		"cpu_source",
		"cpu_rusage_us",
		"cpu_difference_us",
		"cpu_bpf_us",
		"throttled_us",
		"throttled_periods",
		"memory_peak_bytes",
		"memory_source",
		"memory_largest_process_bytes",
		"memory_limit_hits",
		"minor_faults",
		"major_faults",
		"voluntary_switches",
		"involuntary_switches",
		"block_read_bytes",
		"block_write_bytes",
		"vfs_read_bytes",
		"vfs_write_bytes",
		"disk_used_bytes",
		"disk_used_inodes",
		"pids_peak",
		"pids_limit_hits",
		"pids_unreaped",
		"psi_cpu_some_us",
		"psi_memory_some_us",
		"psi_io_some_us",
		"stdout_bytes",
		"stderr_bytes",
		"own_cpu_ns",
	};
	char buf[64];

	print_title("Usage");
	for (size_t i = 0; i < N_ELEMENTS(columns); i++) {
		const char *value = human(columns[i], json_object_get(run, columns[i]), buf);

		if (!value)
			continue;
		printf("  %-30s ", columns[i]);
		mr_term_put(MR_TERM_PLAIN, value);
		putchar('\n');
	}
}

static bool is_hit(const json_t *hits, const char *limit)
{
	size_t i;
	const json_t *hit;

	json_array_foreach ((json_t *)(uintptr_t)hits, i, hit) {
		const char *name = text(hit, "name");

		if (name && strncmp(limit, name, strlen(name)) == 0)
			return true;
	}
	return false;
}

static void print_limits(const json_t *document)
{
	size_t i;
	const json_t *row;
	char buf[64], kernel[64];

	print_title("Limits                asked         in the kernel");
	json_array_foreach (json_object_get(document, "limits"), i, row) {
		const char *name = text(row, "name");
		const char *asked = human(name, json_object_get(row, "asked"), buf);
		const char *there = human(name, json_object_get(row, "kernel"), kernel);
		bool hit = is_hit(json_object_get(document, "limits_hit"), name);

		printf("  ");
		mr_term_cell(hit ? MR_TERM_RED : MR_TERM_PLAIN, name, 18);
		printf("  ");
		mr_term_cell(MR_TERM_PLAIN, asked ? asked : "unlimited", 12);
		printf("  ");
		mr_term_put(MR_TERM_PLAIN, there ? there : "-");
		if (text(row, "kernel_file")) {
			printf("  ");
			mr_term_put(MR_TERM_PLAIN, text(row, "kernel_file"));
		}
		printf("%s\n", hit ? "  HIT" : "");
	}
}

static void print_receipt(const json_t *document)
{
	size_t i;
	const json_t *row;

	print_title("Enforced");
	json_array_foreach (json_object_get(document, "receipts"), i, row) {
		const char *state = text(row, "state");
		bool good = state && strcmp(state, "enforced") == 0;

		printf("  ");
		mr_term_cell(MR_TERM_PLAIN, text(row, "layer"), 12);
		putchar(' ');
		mr_term_put(good ? MR_TERM_PLAIN : MR_TERM_YELLOW, state);
		putchar('\n');
	}
	json_array_foreach (json_object_get(document, "degraded"), i, row) {
		printf("  given up: ");
		mr_term_put(MR_TERM_YELLOW, text(row, "item"));
		printf(" (");
		mr_term_put(MR_TERM_PLAIN, text(row, "why"));
		printf(")\n");
	}
}

static json_t *find_proof(const json_t *document, const char *layer)
{
	size_t i;
	const json_t *row;
	json_t *proof = NULL;

	json_array_foreach (json_object_get(document, "receipts"), i, row) {
		const char *name = text(row, "layer"), *json = text(row, "proof");

		if (name && json && strcmp(name, layer) == 0 &&
		    mr_json_parse(json, strlen(json), layer, &proof, NULL) == 0)
			break;
	}
	return proof;
}

static void print_json_fact(const char *name, const json_t *value)
{
	mr_auto_free char *compact =
		value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6))
		      : NULL;

	print_fact(name, compact);
}

/* What was made of the network link: asked, as the kernel shows it, and what became of packets. */
static void print_link(const json_t *document)
{
	mr_auto_json json_t *proof = find_proof(document, "network");
	const json_t *shaping = json_object_get(proof, "shaping");
	const json_t *delay = mr_json_at(proof, "stub", "first_byte_delay_ms", NULL);
	const json_t *measured = json_object_get(shaping, "measured");

	if (!json_is_object(shaping) && json_integer_value(delay) == 0)
		return;
	print_title("Network link");
	if (json_integer_value(delay) > 0)
		printf("  %-12s %" JSON_INTEGER_FORMAT " ms after the request\n", "answers",
		       json_integer_value(delay));
	print_fact("engine", text(shaping, "engine"));
	if (json_is_object(shaping)) {
		print_json_fact("asked", json_object_get(shaping, "requested"));
		print_json_fact("in force", json_object_get(shaping, "applied"));
		print_json_fact("round trip", json_object_get(measured, "probe"));
		print_json_fact("queue", json_object_get(measured, "queue"));
		print_json_fact("relay", json_object_get(measured, "relay"));
		print_json_fact("lost", json_object_get(measured, "lost"));
		print_json_fact("arrived", json_object_get(measured, "arrived"));
	}
}

static void print_timeline(const json_t *steps)
{
	int64_t total = 0, at = 0;
	size_t i;
	const json_t *row;

	json_array_foreach ((json_t *)(uintptr_t)steps, i, row)
		total += integer(row, "took_ns");
	if (total == 0)
		return;
	print_title("Set-up");
	json_array_foreach ((json_t *)(uintptr_t)steps, i, row) {
		int64_t took = integer(row, "took_ns");
		int begin = (int)(at * BAR_WIDTH / total);
		int width = (int)((at + took) * BAR_WIDTH / total) - begin;
		char unit[MR_UNITS_SIZE];

		printf("  ");
		mr_term_cell(MR_TERM_PLAIN, text(row, "name"), 16);
		printf(" %10s |%*s", mr_units_human_time(unit, (uint64_t)took), begin, "");
		for (int k = 0; k < (width > 0 ? width : 1); k++)
			putchar('#');
		putchar('\n');
		at += took;
	}
}

static void print_denials(const struct show *show, const json_t *denials)
{
	size_t i;
	const json_t *row;

	if (json_array_size(denials) == 0)
		return;
	print_title("Denied");
	json_array_foreach ((json_t *)(uintptr_t)denials, i, row) {
		if (i == ROWS_SHOWN && !show->all) {
			printf("  ... %zu more, see --all\n", json_array_size(denials) - i);
			return;
		}
		printf("  %5lldx ", (long long)integer(row, "count"));
		mr_term_cell(MR_TERM_PLAIN, text(row, "layer"), 8);
		putchar(' ');
		mr_term_cell(MR_TERM_PLAIN, text(row, "what"), 12);
		putchar(' ');
		mr_term_cell(MR_TERM_PLAIN, text(row, "errno_name"), 7);
		putchar(' ');
		mr_term_put(MR_TERM_PLAIN, text(row, "object"));
		printf("  (");
		mr_term_put(MR_TERM_DIM, text(row, "rule"));
		printf(")\n");
		if (text(row, "allow")) {
			printf("         allow: ");
			mr_term_put(MR_TERM_PLAIN, text(row, "allow"));
			putchar('\n');
		}
	}
}

static void print_changes(const struct show *show, const json_t *changes)
{
	size_t i;
	const json_t *row;

	if (json_array_size(changes) == 0)
		return;
	print_title("Changed");
	json_array_foreach ((json_t *)(uintptr_t)changes, i, row) {
		if (i == ROWS_SHOWN && !show->all) {
			printf("  ... %zu more, see --all\n", json_array_size(changes) - i);
			return;
		}
		printf("  ");
		mr_term_cell(MR_TERM_PLAIN, text(row, "kind"), 12);
		putchar(' ');
		mr_term_put(MR_TERM_PLAIN, text(row, "path"));
		putchar('\n');
	}
}

static const char *find_depth(const json_t *processes, const json_t *row, int *depth)
{
	json_t *parent = json_object_get(row, "parent_tgid");
	json_t *since = json_object_get(row, "parent_start_boot_ns");
	size_t i;
	const json_t *other;

	if (*depth > 32 || !json_is_integer(parent))
		return "";
	json_array_foreach ((json_t *)(uintptr_t)processes, i, other) {
		if (!json_equal(json_object_get(other, "tgid"), parent) ||
		    !json_equal(json_object_get(other, "start_boot_ns"), since))
			continue;
		(*depth)++;
		return find_depth(processes, other, depth);
	}
	return "";
}

static void print_processes(const json_t *processes)
{
	size_t i;
	const json_t *row;

	if (json_array_size(processes) == 0)
		return;
	print_title("Processes");
	json_array_foreach ((json_t *)(uintptr_t)processes, i, row) {
		int depth = 0;

		find_depth(processes, row, &depth);
		printf("  %*s%lld ", 2 * depth, "", (long long)integer(row, "tgid"));
		mr_term_put(MR_TERM_PLAIN,
			    text(row, "argv") ? text(row, "argv") : text(row, "comm"));
		if (json_is_integer(json_object_get(row, "exit_signal")))
			printf("  signal %lld", (long long)integer(row, "exit_signal"));
		else if (json_is_integer(json_object_get(row, "exit_code")))
			printf("  exit %lld", (long long)integer(row, "exit_code"));
		putchar('\n');
	}
}

/* "#1  0x401234 crash_below+0x1f (processes.c:131)". */
static void print_frame(size_t n, const char *address, const json_t *symbol)
{
	const char *name = text(symbol, "symbol");
	const char *module = text(symbol, "module");

	printf("      #%-2zu ", n);
	mr_term_put(MR_TERM_PLAIN, address);
	putchar(' ');
	if (name)
		mr_term_put(MR_TERM_PLAIN, name);
	if (name && integer(symbol, "symbol_offset"))
		printf("+0x%llx", (unsigned long long)integer(symbol, "symbol_offset"));
	if (text(symbol, "source")) {
		printf(" (");
		mr_term_put(MR_TERM_PLAIN, text(symbol, "source"));
		printf(":%lld)", (long long)integer(symbol, "line"));
	} else if (module) {
		printf(" in ");
		mr_term_put(MR_TERM_DIM, module);
		printf("+0x%llx", (unsigned long long)integer(symbol, "module_offset"));
	}
	if (text(symbol, "reason")) {
		printf(" - ");
		mr_term_put(MR_TERM_DIM, text(symbol, "reason"));
	}
	putchar('\n');
}

static void print_crashes(const json_t *crashes)
{
	size_t i, k;
	const json_t *row, *frame;

	if (json_array_size(crashes) == 0)
		return;
	print_title("Crashes");
	json_array_foreach ((json_t *)(uintptr_t)crashes, i, row) {
		const json_t *detail = json_object_get(row, "detail");

		printf("  SIG");
		mr_term_put(MR_TERM_PLAIN, text(row, "object"));
		printf(" at ");
		mr_term_put(MR_TERM_PLAIN, text(detail, "address"));
		printf(" in ");
		mr_term_put(MR_TERM_RED, text(row, "comm"));
		printf(" (%lld)\n", (long long)integer(row, "tgid"));
		json_array_foreach (json_object_get(detail, "frames"), k, frame)
			print_frame(k, json_string_value(frame),
				    json_array_get(json_object_get(detail, "symbols"), k));
	}
}

/* The detail of each as an object, with the names of its frames. */
static void name_frames(json_t *crashes, int64_t started_us)
{
	uint64_t until_ns = mr_now_ns() + MR_PATIENCE_NS(SHOW_NAMING);
	size_t i;
	json_t *row;

	json_array_foreach (crashes, i, row) {
		const char *stored = text(row, "detail");
		json_t *detail = stored ? json_loads(stored, 0, NULL) : NULL;

		if (!detail)
			continue;
		mr_symbols_add(detail, started_us, until_ns);
		json_object_set_new(row, "detail", detail);
	}
}

static void print_opens(const struct show *show, const json_t *opens)
{
	size_t i;
	const json_t *row;

	if (json_array_size(opens) == 0)
		return;
	print_title("Opened");
	json_array_foreach ((json_t *)(uintptr_t)opens, i, row) {
		bool secret = integer(row, "secret") != 0;

		if (i == ROWS_SHOWN && !show->all) {
			printf("  ... %zu more, see --all\n", json_array_size(opens) - i);
			return;
		}
		printf("  %5lldx %-6s ", (long long)integer(row, "count"),
		       secret			  ? "secret"
		       : integer(row, "to_write") ? "write"
						  : "");
		mr_term_put(secret ? MR_TERM_RED : MR_TERM_PLAIN,
			    text(row, "path") ? text(row, "path") : "(its path is too long)");
		putchar('\n');
	}
}

/* What the kernel's side counted; those that are 0 are left out. */
static void print_counters(const struct show *show, const json_t *counters)
{
	size_t i;
	const json_t *row;

	if (!show->all || json_array_size(counters) == 0)
		return;
	print_title("Counted");
	json_array_foreach ((json_t *)(uintptr_t)counters, i, row) {
		char buf[64];
		const char *value = human(text(row, "name"), json_object_get(row, "value"), buf);

		printf("  ");
		mr_term_cell(MR_TERM_PLAIN, text(row, "name"), 24);
		putchar(' ');
		mr_term_put(MR_TERM_PLAIN, value);
		putchar('\n');
	}
}

/* Buckets hold values from 2^bucket to below twice that; -1: those below 1. */
static void print_bucket(const char *unit, int bucket, int64_t count, int64_t most)
{
	char buf[64];
	int power = bucket < BUCKET_LAST ? bucket : BUCKET_LAST;
	json_t *from = json_integer(bucket < 0 ? 0 : (json_int_t)1 << power);
	char *name = mr_str_format("from_%s", unit);
	int width = (int)((double)count * BAR_WIDTH / (double)most);

	printf("  %10s.. %10lld |", human(name, from, buf), (long long)count);
	for (int k = 0; k < (count > 0 && width == 0 ? 1 : width); k++)
		putchar('#');
	putchar('\n');
	free(name);
	json_decref(from);
}

/* One distribution: n rows from the first on, and between its buckets the empty ones. */
static void print_distribution(const json_t *buckets, size_t first, size_t n)
{
	const json_t *head = json_array_get(buckets, first);
	int64_t begin = integer(head, "bucket");
	int bucket = begin < 0 ? -1
		     : begin < BUCKET_LAST
			     ? (int)begin
			     : BUCKET_LAST; /* whatever somebody wrote into the store */
	int64_t most = 1;

	for (size_t i = first; i < first + n; i++)
		if (integer(json_array_get(buckets, i), "count") > most)
			most = integer(json_array_get(buckets, i), "count");
	printf("  ");
	mr_term_put(MR_TERM_PLAIN, text(head, "name"));
	putchar('\n');
	for (size_t i = first; i < first + n; i++, bucket++) {
		const json_t *row = json_array_get(buckets, i);

		for (; bucket < integer(row, "bucket") && bucket < BUCKET_LAST; bucket++)
			print_bucket(text(row, "unit"), bucket, 0, most);
		print_bucket(text(row, "unit"), bucket, integer(row, "count"), most);
	}
}

static void print_distributions(const json_t *buckets)
{
	size_t n;

	if (json_array_size(buckets) == 0)
		return;
	print_title("Distributions");
	for (size_t i = 0; i < json_array_size(buckets); i += n) {
		json_t *name = json_object_get(json_array_get(buckets, i), "name");

		n = 1;
		while (json_equal(json_object_get(json_array_get(buckets, i + n), "name"), name))
			n++;
		print_distribution(buckets, i, n);
	}
}

/* Those that took longest first. */
static void print_syscalls(const struct show *show, const json_t *calls)
{
	size_t i;
	const json_t *row;

	if (json_array_size(calls) == 0)
		return;
	print_title("System calls");
	json_array_foreach ((json_t *)(uintptr_t)calls, i, row) {
		const char *outcome = strerrorname_np((int)integer(row, "errno"));
		char buf[64];
		const char *took = human("total_ns", json_object_get(row, "total_ns"), buf);

		if (i == ROWS_SHOWN && !show->all) {
			printf("  ... %zu more, see --all\n", json_array_size(calls) - i);
			return;
		}
		printf("  %8lldx %10s ", (long long)integer(row, "count"), took ? took : "-");
		mr_term_put(MR_TERM_PLAIN, text(row, "name"));
		if (integer(row, "errno") != 0)
			printf(" -> %s", outcome ? outcome : "another errno");
		putchar('\n');
	}
}

static void print_names(const struct show *show, const json_t *names)
{
	size_t i;
	const json_t *row;

	if (json_array_size(names) == 0)
		return;
	print_title("Names asked of DNS");
	json_array_foreach ((json_t *)(uintptr_t)names, i, row) {
		if (i == ROWS_SHOWN && !show->all) {
			printf("  ... %zu more, see --all\n", json_array_size(names) - i);
			return;
		}
		printf("  %5lldx ", (long long)integer(row, "count"));
		mr_term_cell(MR_TERM_PLAIN, text(row, "type") ? text(row, "type") : "?", 6);
		putchar(' ');
		mr_term_put(MR_TERM_PLAIN, text(row, "name"));
		printf("  (%s", text(row, "transport") ? text(row, "transport") : "?");
		if (text(row, "server")) {
			putchar(' ');
			mr_term_put(MR_TERM_DIM, text(row, "server"));
		}
		printf(")%s\n", integer(row, "malformed") ? "  malformed" : "");
	}
}

static void print_amount(const char *name, const json_t *row, const char *key)
{
	char buf[64];
	const char *value = human(key, json_object_get(row, key), buf);

	if (value)
		printf("  %s %s", name, value);
}

static void print_connections(const struct show *show, const json_t *connections)
{
	size_t i;
	const json_t *row;

	if (json_array_size(connections) == 0)
		return;
	print_title("Connections");
	json_array_foreach ((json_t *)(uintptr_t)connections, i, row) {
		if (i == ROWS_SHOWN && !show->all) {
			printf("  ... %zu more, see --all\n", json_array_size(connections) - i);
			return;
		}
		printf("  ");
		mr_term_cell(MR_TERM_PLAIN, text(row, "direction") ? text(row, "direction") : "?",
			     3);
		putchar(' ');
		mr_term_cell(MR_TERM_PLAIN, text(row, "protocol"), 4);
		putchar(' ');
		mr_term_put(MR_TERM_PLAIN, text(row, "remote"));
		printf(" port %lld", (long long)integer(row, "remote_port"));
		print_amount("sent", row, "tx_bytes");
		print_amount("received", row, "rx_bytes");
		print_amount("again", row, "retransmits");
		print_amount("round trip", row, "rtt_us");
		printf("%s\n", json_is_integer(json_object_get(row, "errno")) ? "  failed" : "");
	}
}

static void print_losses(const json_t *losses)
{
	size_t i;
	const json_t *row;

	if (json_array_size(losses) == 0)
		return;
	print_title("Lost");
	json_array_foreach ((json_t *)(uintptr_t)losses, i, row) {
		printf("  %8lld ", (long long)integer(row, "count"));
		mr_term_put(MR_TERM_YELLOW, text(row, "type"));
		printf(": ");
		mr_term_put(MR_TERM_PLAIN, text(row, "reason"));
		putchar('\n');
	}
}

/* The lists of a document, each by the statement run.NAME. */
static const char *const lists[] = { "limits",	    "limits_hit", "steps",   "receipts",
				     "degraded",    "denials",	  "changes", "processes",
				     "connections", "dns",	  "opens",   "counters",
				     "histograms",  "syscalls",	  "crashes", "probes",
				     "losses" };

static int gather(struct mr_store *store, const char *run_id, json_t *document,
		  struct mr_error *err)
{
	json_t *run = NULL;
	int r = mr_query_one(store, "run.get", json_pack("{s:s}", "run_id", run_id), &run, err);

	if (r != 0)
		return r < 0 ? r : mr_err(err, MR_E_NONE, 0, "run %s is gone", run_id);
	json_object_set_new(document, "run", run);
	for (size_t i = 0; i < N_ELEMENTS(lists) && r == 0; i++) {
		json_t *list = NULL;
		char name[48];

		snprintf(name, sizeof(name), "run.%s", lists[i]);
		r = mr_query_all(store, name, json_pack("{s:s}", "run_id", run_id), &list, err);
		json_object_set_new(document, lists[i], list);
	}
	return r;
}

static void print_document(const struct show *show, const json_t *document)
{
	const json_t *one = json_object_get(document, "run");

	print_head(one);
	print_usage(one);
	print_limits(document);
	print_receipt(document);
	print_link(document);
	print_denials(show, json_object_get(document, "denials"));
	print_changes(show, json_object_get(document, "changes"));
	print_processes(json_object_get(document, "processes"));
	print_crashes(json_object_get(document, "crashes"));
	print_connections(show, json_object_get(document, "connections"));
	print_names(show, json_object_get(document, "dns"));
	print_opens(show, json_object_get(document, "opens"));
	print_counters(show, json_object_get(document, "counters"));
	print_distributions(json_object_get(document, "histograms"));
	print_syscalls(show, json_object_get(document, "syscalls"));
	print_losses(json_object_get(document, "losses"));
	print_timeline(json_object_get(document, "steps"));
}

static int run(void *values, char **words, struct mr_error *err)
{
	struct show *show = values;
	mr_auto_store struct mr_store *store = NULL;
	mr_auto_json json_t *document = json_object();
	mr_auto_free char *run_id = NULL;
	int r = mr_cmd_open(&show->common, MR_STORE_READ, &store, err);

	if (r == 0)
		r = mr_cmd_find_run(store, words[0], &run_id, err);
	if (r == 0)
		r = gather(store, run_id, document, err);
	if (r < 0)
		return r;
	name_frames(json_object_get(document, "crashes"),
		    integer(json_object_get(document, "run"), "started_us"));
	if (show->common.json)
		mr_cmd_print_json(document);
	else
		print_document(show, document);
	return 0;
}

const struct mr_cmd mr_cmd_show = {
	.name = "show",
	.synopsis = "RUN",
	.summary = "Show one run; the beginning of its id is enough",
	.options = MR_OPTABLE(rows),
	.size = sizeof(struct show),
	.min_words = 1,
	.max_words = 1,
	.run = run,
};

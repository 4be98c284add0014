/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: a result for people
 *
 * Reads the result document, so it can say nothing that the document does not.
 * Names come from the payload: what is not printable is shown as '?'.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "tools/session.h"

#define ROWS_SHOWN 12

static const json_t *at(const json_t *json, const char *path)
{
	char part[64];

	while (json && *path) {
		size_t len = strcspn(path, ".");

		snprintf(part, sizeof(part), "%.*s", (int)len, path);
		json = json_object_get(json, part);
		path += len + (path[len] == '.');
	}
	return json;
}

static const char *text(const json_t *json, const char *path)
{
	const char *s = json_string_value(at(json, path));

	return s ? s : "-";
}

static json_int_t integer(const json_t *json, const char *path)
{
	return json_integer_value(at(json, path));
}

/* Printable copy of a hostile name, in a static buffer. */
static const char *printable(const char *s)
{
	static char buf[200];

	snprintf(buf, sizeof(buf), "%s", s);
	mr_str_make_printable(buf);
	return buf;
}

static void print_bytes(const char *name, const json_t *value, const char *note)
{
	if (!json_is_integer(value)) {
		fprintf(stderr, "  %-10s unknown\n", name);
		return;
	}
	fprintf(stderr, "  %-10s %.1f MiB%s\n", name,
		(double)json_integer_value(value) / (1024 * 1024), note);
}

static void print_time(const char *name, const json_t *value)
{
	if (json_is_integer(value))
		fprintf(stderr, "  %-10s %.3f s\n", name, (double)json_integer_value(value) / 1e6);
	else
		fprintf(stderr, "  %-10s unknown\n", name);
}

static void print_denials(const json_t *result)
{
	const json_t *rows = at(result, "denials.rows");
	size_t i;
	const json_t *row;

	fprintf(stderr, "  %-10s %lld\n", "denied", (long long)integer(result, "denials.total"));
	json_array_foreach ((json_t *)(uintptr_t)rows, i, row) {
		const char *allow = json_string_value(at(row, "allow"));

		if (i == ROWS_SHOWN) {
			fprintf(stderr, "             ... %zu more kinds in the result\n",
				json_array_size(rows) - i);
			break;
		}
		fprintf(stderr, "             %s %s", text(row, "what"),
			printable(text(row, "object")));
		fprintf(stderr, " -> %s (%s) x%lld", text(row, "errno.name"), text(row, "rule"),
			(long long)integer(row, "count"));
		fprintf(stderr, allow ? "; allow: %s\n" : "\n%s", allow ? printable(allow) : "");
	}
}

static void print_changes(const json_t *result)
{
	const json_t *entries = at(result, "workspace.changes.entries");
	size_t i;
	const json_t *entry;

	if (!entries)
		return;
	fprintf(stderr, "  %-10s %zu\n", "changes", json_array_size(entries));
	json_array_foreach ((json_t *)(uintptr_t)entries, i, entry) {
		if (i == ROWS_SHOWN) {
			fprintf(stderr, "             ... %zu more in the result\n",
				json_array_size(entries) - i);
			break;
		}
		fprintf(stderr, "             %-12s %s\n", text(entry, "kind"),
			printable(text(entry, "path")));
	}
}

static void print_receipt(const json_t *result)
{
	const json_t *degraded = at(result, "receipt.degraded");
	size_t i;
	const json_t *item;

	fprintf(stderr,
		"  %-10s namespaces %s, cgroup %s (%s), seccomp %s (level %lld), landlock %s, "
		"network %s\n",
		"enforced", text(result, "receipt.namespaces.state"),
		text(result, "receipt.cgroup.state"), text(result, "receipt.cgroup.mode"),
		text(result, "receipt.seccomp.state"),
		(long long)integer(result, "receipt.seccomp.level"),
		text(result, "receipt.landlock.state"), text(result, "receipt.network.mode"));
	json_array_foreach ((json_t *)(uintptr_t)degraded, i, item)
		fprintf(stderr, "  %-10s %s: %s\n", "DEGRADED", text(item, "item"),
			text(item, "why"));
}

void mr_report_summary(const json_t *result)
{
	char peak[64];

	fprintf(stderr, "\nrun %s\n", text(result, "run_id"));
	fprintf(stderr, "  %-10s %s, exit status %lld", "ended", text(result, "reason"),
		(long long)integer(result, "exit.status"));
	if (at(result, "exit.signal_name") && !json_is_null(at(result, "exit.signal_name")))
		fprintf(stderr, " (SIG%s)", text(result, "exit.signal_name"));
	fputc('\n', stderr);
	if (!json_is_null(at(result, "error")))
		fprintf(stderr, "  %-10s %s\n", "error", printable(text(result, "error.message")));
	print_time("wall", at(result, "usage.wall_us"));
	print_time("cpu", at(result, "usage.cpu.usage_us"));
	snprintf(peak, sizeof(peak), " at most (%s)", text(result, "usage.memory.source"));
	print_bytes("memory", at(result, "usage.memory.peak_bytes"), peak);
	fprintf(stderr, "  %-10s stdout %lld bytes, stderr %lld bytes%s\n", "output",
		(long long)integer(result, "stdout.bytes"),
		(long long)integer(result, "stderr.bytes"),
		json_is_true(at(result, "stdout.truncated")) ||
				json_is_true(at(result, "stderr.truncated"))
			? " (the result keeps beginning and end)"
			: "");
	if (integer(result, "leftover_killed"))
		fprintf(stderr, "  %-10s %lld processes were still running and were killed\n",
			"leftover", (long long)integer(result, "leftover_killed"));
	print_denials(result);
	print_changes(result);
	print_receipt(result);
}

void mr_report_notice(const json_t *result)
{
	const char *reason = text(result, "reason");
	long long denials = (long long)integer(result, "denials.total");

	if (strcmp(reason, "exited") != 0 && strcmp(reason, "signaled") != 0)
		mr_log_notice("run %s: %s after %.3f s", text(result, "run_id"), reason,
			      (double)integer(result, "usage.wall_us") / 1e6);
	if (integer(result, "exit.status") != 0 && denials)
		mr_log_notice("%lld operations were denied; --summary shows which and what would "
			      "allow "
			      "them",
			      denials);
}

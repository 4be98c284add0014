/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CEF: Common Event Format 0, an event a line
 *
 *   CEF:0|menace|menace-run|VERSION|ID|NAME|SEVERITY|key=value key=value
 *
 * The extension's keys are CEF's own as far as there are any; the custom ones (cs1 to
 * cs6, cn1 to cn3) come with their labels.
 */
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/export/escape.h"
#include "runtime/export/facts.h"
#include "runtime/export/format.h"
#include "runtime/export/map.h"

/* The first row that fits counts; variant "": any.  Severity: 0 to 3 low, 4 to 6 medium, 7 and 8
 * high, 9 and 10 very high. */
static const struct class_row {
	enum mr_fact_kind kind;
	const char *variant;
	int severity;
	const char *name;
} classes[] = {
	{ MR_FACT_run_start, "", 1, "Run started" },
	{ MR_FACT_run_end, "exited", 1, "Run ended" },
	{ MR_FACT_run_end, "setup_error", 6, "Run could not be started" },
	{ MR_FACT_run_end, "skipped", 3, "Run was skipped" },
	{ MR_FACT_run_end, "supervisor_lost", 6, "Run lost its supervisor" },
	{ MR_FACT_run_end, "", 4, "Run was ended" },
	{ MR_FACT_fork, "", 1, "Process began" },
	{ MR_FACT_exec, "", 1, "Program executed" },
	{ MR_FACT_exit, "", 1, "Process ended" },
	{ MR_FACT_connect, "", 2, "Connection asked for" },
	{ MR_FACT_sendmsg, "", 2, "Datagram sent" },
	{ MR_FACT_bind, "", 2, "Address bound" },
	{ MR_FACT_socket, "", 1, "Socket made" },
	{ MR_FACT_connection, "denied", 5, "Connection denied" },
	{ MR_FACT_connection, "", 2, "Connection" },
	{ MR_FACT_dns, "", 2, "Name asked for" },
	{ MR_FACT_change, "", 2, "File changed" },
	{ MR_FACT_denial, "mount", 8, "Mount denied" },
	{ MR_FACT_denial, "network", 6, "Connection denied" },
	{ MR_FACT_denial, "seccomp", 6, "System call denied" },
	{ MR_FACT_denial, "", 4, "Operation denied" },
	{ MR_FACT_crash, "", 5, "Process crashed" },
	{ MR_FACT_oom, "", 5, "Processes killed for want of memory" },
	{ MR_FACT_limit, "", 4, "Limit met" },
	{ MR_FACT_degraded, "", 6, "Protection given up" },
	{ MR_FACT_open, "", 2, "File opened" },
	{ MR_FACT_attempt, "", 4, "Sensitive system call" },
	{ MR_FACT_event, "", 1, "Other event" },
};

static const struct mr_map_row map[] = {
	MR_MAP_FIELD_AS("rt", "@time_ns", MS),
	MR_MAP_FIELD("externalId", "@uid"),
	MR_MAP_FIELD("cat", "@kind"),
	MR_MAP_FIELD("reason", "@variant"),
	MR_MAP_CONST("cs1Label", NULL, "run"),
	MR_MAP_FIELD("cs1", "run.run_id"),
	MR_MAP_FIELD("dvchost", "run.host"),
	MR_MAP_FIELD("suid", "run.uid"),
	MR_MAP_FIELD("spid", "pid"),
	MR_MAP_FIELD("sproc", "comm"),
	MR_MAP_CONST("cs2Label", "cmd_line", "commandLine"),
	MR_MAP_FIELD("cs2", "cmd_line"),
	MR_MAP_CONST("cs3Label", "process_uid", "process"),
	MR_MAP_FIELD("cs3", "process_uid"),
	MR_MAP_CONST("cn1Label", "exit_code", "exitCode"),
	MR_MAP_FIELD("cn1", "exit_code"),
	MR_MAP_FIELD("filePath", "exe"),
	MR_MAP_FIELD("filePath", "path"),
	MR_MAP_FIELD_AS("fname", "path", BASENAME),
	MR_MAP_FIELD("fsize", "size_bytes"),
	MR_MAP_FIELD("fileHash", "sha256"),
	MR_MAP_FIELD("proto", "protocol"),
	MR_MAP_FIELD_AS("dst", "remote", IP),
	MR_MAP_FIELD_AS("dhost", "remote", NO_IP),
	MR_MAP_FIELD("dpt", "remote_port"),
	MR_MAP_FIELD_AS("src", "local", IP),
	MR_MAP_FIELD("spt", "local_port"),
	MR_MAP_FIELD("out", "tx_bytes"),
	MR_MAP_FIELD("in", "rx_bytes"),
	MR_MAP_FIELD("cnt", "count"),
	MR_MAP_CONST("cs4Label", "what", "operation"),
	MR_MAP_FIELD("cs4", "what"),
	MR_MAP_CONST("cs5Label", "object", "object"),
	MR_MAP_FIELD("cs5", "object"),
	MR_MAP_CONST("cs6Label", "rule", "rule"),
	MR_MAP_FIELD("cs6", "rule"),
	MR_MAP_CONST("outcome", "errno_name", "failure"),
	MR_MAP_CONST("cn2Label", "wall_us", "wallMicroseconds"),
	MR_MAP_FIELD("cn2", "wall_us"),
	MR_MAP_CONST("cn3Label", "memory_peak_bytes", "memoryPeakBytes"),
	MR_MAP_FIELD("cn3", "memory_peak_bytes"),
	MR_MAP_END,
};

static const struct mr_map_row dns_map[] = {
	MR_MAP_FIELD("dhost", "name"),
	MR_MAP_FIELD_AS("dst", "server", IP),
	MR_MAP_FIELD("proto", "transport"),
	MR_MAP_END,
};

static void add_header_field(struct mr_buf *out, const char *text)
{
	mr_escape(out, MR_ESCAPE_CEF_HEADER, text, strlen(text));
	mr_buf_add(out, "|");
}

static void add_header(struct mr_buf *out, const struct mr_facts *facts, const struct mr_fact *fact)
{
	const char *version = json_string_value(json_object_get(facts->run, "version"));
	const struct class_row *class = mr_fact_choose(fact, classes);

	mr_buf_add(out, "CEF:0|menace|menace-run|");
	add_header_field(out, version ? version : "");
	add_header_field(out, mr_fact_kind_name(fact->kind));
	add_header_field(out, class->name);
	mr_buf_printf(out, "%d|", class->severity);
}

static void add_extension(struct mr_buf *out, const struct mr_map_row *rows,
			  const struct mr_facts *facts, const struct mr_fact *fact)
{
	for (; rows->to; rows++) {
		mr_auto_json json_t *value = mr_map_value(rows, facts, fact);

		if (!value)
			continue;
		mr_buf_printf(out, " %s=", rows->to);
		if (json_is_string(value))
			mr_escape(out, MR_ESCAPE_CEF_VALUE, json_string_value(value),
				  json_string_length(value));
		else
			mr_buf_printf(out, "%lld", (long long)json_integer_value(value));
	}
}

static int write_run(struct mr_export *x, const json_t *head, struct mr_error *err)
{
	mr_auto_facts struct mr_facts facts = { 0 };
	struct mr_buf *line = &x->buf[0], *extension = &x->buf[1];
	int r = mr_facts_load(x->store, head, &facts, err);

	for (size_t i = 0; i < facts.n && r == 0; i++) {
		const struct mr_fact *fact = &facts.v[i];

		mr_buf_clear(line);
		mr_buf_clear(extension);
		add_header(line, &facts, fact);
		add_extension(extension, map, &facts, fact);
		if (fact->kind == MR_FACT_dns)
			add_extension(extension, dns_map, &facts, fact);
		mr_buf_addn(line, extension->text + 1, extension->len - 1); /* without the space */
		mr_buf_add(line, "\n");
		r = mr_export_write(x, line->text, line->len, err);
	}
	return r;
}

const struct mr_export_format mr_export_cef = {
	.name = "cef",
	.help = "an event of the Common Event Format 0 a line",
	.mode = 0600,
	.run = write_run,
};

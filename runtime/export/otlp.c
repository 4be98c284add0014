/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTLP: metrics and logs of OpenTelemetry, JSON encoding
 *
 * A line is the body of one request, ExportMetricsServiceRequest or
 * ExportLogsServiceRequest.  A run is a resource; its columns are metrics (metrics[]),
 * its facts are log records, all of one trace.  Numbers of 64 bits are texts and ids
 * are hexadecimal digits, as the encoding wants it.  Runs are put together until a
 * line is large enough, and a run of many facts comes in pieces.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/export/export.h"
#include "runtime/export/facts.h"
#include "runtime/export/format.h"
#include "runtime/export/map.h"

#define LINE_BYTES ((size_t)1 << 20) /* a line is sent when it is as long as this */
#define LINE_RESOURCES 512
#define ITEM_RECORDS 1000

enum { METRICS, LOGS };

static const char *const members[] = { [METRICS] = "resourceMetrics", [LOGS] = "resourceLogs" };

static const struct metric {
	const char *name, *unit, *description;
	const char *column; /* of the run */
	double divisor; /* 1: a whole number */
	bool is_sum; /* grows while the run does */
	const char *key, *value; /* attribute; NULL: none */
} metrics[] = {
	/* Neighbours of one name are one metric. */
	{ "process.cpu.time", "s", "CPU time", "cpu_user_us", 1e6, true, "cpu.mode", "user" },
	{ "process.cpu.time", "s", "CPU time", "cpu_system_us", 1e6, true, "cpu.mode", "system" },
	{ "process.paging.faults", "{fault}", "Page faults", "minor_faults", 1, true,
	  "process.paging.fault_type", "minor" },
	{ "process.paging.faults", "{fault}", "Page faults", "major_faults", 1, true,
	  "process.paging.fault_type", "major" },
	{ "process.context_switches", "{context_switch}", "Context switches", "voluntary_switches",
	  1, true, "process.context_switch_type", "voluntary" },
	{ "process.context_switches", "{context_switch}", "Context switches",
	  "involuntary_switches", 1, true, "process.context_switch_type", "involuntary" },
	{ "process.disk.io", "By", "Bytes of block devices", "block_read_bytes", 1, true,
	  "disk.io.direction", "read" },
	{ "process.disk.io", "By", "Bytes of block devices", "block_write_bytes", 1, true,
	  "disk.io.direction", "write" },
	{ "menace.run.cpu.time", "s", "CPU time of the whole tree", "cpu_us", 1e6, true, NULL,
	  NULL },
	{ "menace.run.throttled.time", "s", "Held back by the CPU limit", "throttled_us", 1e6, true,
	  NULL, NULL },
	{ "menace.run.output", "By", "Written by the program", "stdout_bytes", 1, true,
	  "menace.stream", "stdout" },
	{ "menace.run.output", "By", "Written by the program", "stderr_bytes", 1, true,
	  "menace.stream", "stderr" },
	{ "menace.run.denials", "{denial}", "Operations denied", "denials", 1, true, NULL, NULL },
	{ "menace.run.oom_kills", "{process}", "Killed for want of memory", "oom_kills", 1, true,
	  NULL, NULL },
	{ "menace.run.events.lost", "{event}", "Seen and not delivered", "events_lost", 1, true,
	  NULL, NULL },
	{ "menace.run.wall.time", "s", "From the first instruction to the end", "wall_us", 1e6,
	  false, NULL, NULL },
	{ "menace.run.setup.time", "s", "To make the sandbox", "setup_us", 1e6, false, NULL, NULL },
	{ "menace.run.teardown.time", "s", "Until nothing was left", "teardown_us", 1e6, false,
	  NULL, NULL },
	{ "menace.run.memory.peak", "By", "Largest memory of the whole tree", "memory_peak_bytes",
	  1, false, NULL, NULL },
	{ "menace.run.processes.peak", "{process}", "Processes and threads at once", "pids_peak", 1,
	  false, NULL, NULL },
	{ "menace.run.exit.status", "1", "Exit status of menace-run", "exit_status", 1, false, NULL,
	  NULL },
};

static const struct mr_map_row resource_map[] = {
	MR_MAP_CONST("service.name", NULL, "menace"),
	MR_MAP_FIELD("service.version", "run.version"),
	MR_MAP_FIELD("host.name", "run.host"),
	MR_MAP_CONST("os.type", NULL, "linux"),
	MR_MAP_FIELD("os.version", "run.kernel"),
	MR_MAP_FIELD("container.id", "run.run_id"),
	MR_MAP_FIELD("container.name", "run.name"),
	MR_MAP_CONST("container.runtime", NULL, "menace"),
	MR_MAP_FIELD_AS("process.executable.name", "run.program", BASENAME),
	MR_MAP_FIELD("process.command", "run.program"),
	MR_MAP_FIELD("process.command_args", "run.argv"),
	MR_MAP_FIELD("menace.caller.uid", "run.uid"),
	MR_MAP_FIELD("menace.run.reason", "run.reason"),
	MR_MAP_END,
};

static const struct mr_map_row record_map[] = {
	MR_MAP_FIELD("log.record.uid", "@uid"),
	MR_MAP_FIELD("process.pid", "pid"),
	MR_MAP_FIELD("process.parent_pid", "parent_tgid"),
	MR_MAP_FIELD_AS("process.executable.name", "exe", BASENAME),
	MR_MAP_FIELD("process.executable.path", "exe"),
	MR_MAP_FIELD("process.command_args", "argv"),
	MR_MAP_FIELD("process.working_directory", "cwd"),
	MR_MAP_FIELD_AS("process.creation.time", "start_ns", ISO),
	MR_MAP_FIELD_AS("process.exit.time", "exit_ns", ISO),
	MR_MAP_FIELD("process.exit.code", "exit_code"),
	MR_MAP_FIELD("network.transport", "protocol"),
	MR_MAP_FIELD("network.peer.address", "remote"),
	MR_MAP_FIELD("network.peer.port", "remote_port"),
	MR_MAP_FIELD("network.local.address", "local"),
	MR_MAP_FIELD("network.local.port", "local_port"),
	MR_MAP_FIELD("file.path", "path"),
	MR_MAP_FIELD("file.size", "size_bytes"),
	MR_MAP_FIELD("error.type", "errno_name"),
	MR_MAP_END,
};

/* --- values ---------------------------------------------------------------- */

static json_t *any_value(const json_t *value);

static json_t *list_value(const json_t *list)
{
	json_t *values = json_array();

	for (size_t i = 0; i < json_array_size(list); i++)
		json_array_append_new(values, any_value(json_array_get(list, i)));
	return json_pack("{s:{s:o}}", "arrayValue", "values", values);
}

static void add_attribute(json_t *attributes, const char *key, const json_t *value)
{
	json_array_append_new(attributes,
			      json_pack("{s:s, s:o}", "key", key, "value", any_value(value)));
}

static json_t *map_value(const json_t *object)
{
	json_t *values = json_array();
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)object, key, value)
		add_attribute(values, key, value);
	return json_pack("{s:{s:o}}", "kvlistValue", "values", values);
}

/* AnyValue of the protocol; null is the empty one. */
static json_t *any_value(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return json_pack("{s:O}", "stringValue", value);
	case JSON_INTEGER:
		return json_pack("{s:o}", "intValue",
				 json_sprintf("%lld", (long long)json_integer_value(value)));
	case JSON_REAL:
		return json_pack("{s:O}", "doubleValue", value);
	case JSON_TRUE:
	case JSON_FALSE:
		return json_pack("{s:O}", "boolValue", value);
	case JSON_ARRAY:
		return list_value(value);
	case JSON_OBJECT:
		return map_value(value);
	case JSON_NULL:
		break;
	}
	return json_object();
}

static void set_time(json_t *object, const char *key, const json_t *ns)
{
	if (json_is_integer(ns) && json_integer_value(ns) > 0)
		json_object_set_new(object, key,
				    json_sprintf("%lld", (long long)json_integer_value(ns)));
}

static json_t *map_attributes(const struct mr_map_row *rows, const struct mr_facts *facts,
			      const struct mr_fact *fact)
{
	json_t *attributes = json_array();

	for (; rows->to; rows++) {
		mr_auto_json json_t *value = mr_map_value(rows, facts, fact);

		if (value)
			add_attribute(attributes, rows->to, value);
	}
	return attributes;
}

static json_t *resource(const json_t *run)
{
	const struct mr_facts facts = { .run = (json_t *)(uintptr_t)run };
	const struct mr_fact none = { .variant = "" };

	return json_pack("{s:o}", "attributes", map_attributes(resource_map, &facts, &none));
}

static json_t *scope(const json_t *run)
{
	return json_pack("{s:s, s:O}", "name", "menace", "version",
			 json_object_get(run, "version"));
}

/* --- lines ----------------------------------------------------------------- */

static int flush(struct mr_export *x, int which, struct mr_error *err)
{
	struct mr_buf *buf = &x->buf[which];
	int r;

	if (x->waits[which] == 0)
		return 0;
	mr_buf_add(buf, "]}\n");
	r = mr_export_write(x, buf->text, buf->len, err);
	mr_buf_clear(buf);
	x->waits[which] = 0;
	return r;
}

static int add_item(struct mr_export *x, int which, const json_t *item, struct mr_error *err)
{
	struct mr_buf *buf = &x->buf[which];

	if (x->waits[which]++ == 0)
		mr_buf_printf(buf, "{\"%s\":[", members[which]);
	else
		mr_buf_add(buf, ",");
	mr_export_json_text(item, buf);
	return buf->len >= LINE_BYTES || x->waits[which] >= LINE_RESOURCES ? flush(x, which, err)
									   : 0;
}

/* --- metrics --------------------------------------------------------------- */

static json_t *data_point(const struct metric *m, const json_t *run)
{
	const json_t *value = json_object_get(run, m->column);
	json_t *point;

	if (!json_is_integer(value))
		return NULL;
	point = json_object();
	if (m->is_sum)
		set_time(point, "startTimeUnixNano", json_object_get(run, "start_ns"));
	set_time(point, "timeUnixNano", json_object_get(run, "end_ns"));
	if (m->divisor > 1)
		json_object_set_new(point, "asDouble",
				    json_real((double)json_integer_value(value) / m->divisor));
	else
		json_object_set_new(point, "asInt",
				    json_sprintf("%lld", (long long)json_integer_value(value)));
	if (m->key) {
		mr_auto_json json_t *text = json_string(m->value);
		json_t *attributes = json_array();

		add_attribute(attributes, m->key, text);
		json_object_set_new(point, "attributes", attributes);
	}
	return point;
}

static json_t *metric_json(const struct metric *m, json_t *points)
{
	json_t *data = json_pack("{s:o}", "dataPoints", points);

	if (m->is_sum) {
		json_object_set_new(data, "aggregationTemporality",
				    json_integer(2)); /* cumulative */
		json_object_set_new(data, "isMonotonic", json_true());
	}
	return json_pack("{s:s, s:s, s:s, s:o}", "name", m->name, "unit", m->unit, "description",
			 m->description, m->is_sum ? "sum" : "gauge", data);
}

static json_t *metrics_of(const json_t *run)
{
	json_t *list = json_array();

	for (size_t i = 0; i < N_ELEMENTS(metrics);) {
		const struct metric *m = &metrics[i];
		json_t *points = json_array();

		for (; i < N_ELEMENTS(metrics) && strcmp(metrics[i].name, m->name) == 0; i++) {
			json_t *point = data_point(&metrics[i], run);

			if (point)
				json_array_append_new(points, point);
		}
		if (json_array_size(points) > 0)
			json_array_append_new(list, metric_json(m, points));
		else
			json_decref(points);
	}
	return list;
}

static int add_metrics(struct mr_export *x, const json_t *run, struct mr_error *err)
{
	mr_auto_json json_t *item =
		json_pack("{s:o, s:[{s:o, s:o}]}", "resource", resource(run), "scopeMetrics",
			  "scope", scope(run), "metrics", metrics_of(run));

	mr_assert(item);
	return add_item(x, METRICS, item, err);
}

/* --- logs ------------------------------------------------------------------ */

static bool is_warning(enum mr_fact_kind kind)
{
	return kind >= MR_FACT_denial || kind == MR_FACT_crash || kind == MR_FACT_attempt;
}

/* The 128 bits that an id of a run is, so that its records are one trace. */
static bool trace_id(const char *run_id, char ret_hex[33])
{
	static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
	unsigned __int128 value = 0;

	if (strlen(run_id) != 26 || run_id[0] > '7')
		return false;
	for (; *run_id; run_id++) {
		const char *digit = strchr(digits, *run_id);

		if (!digit)
			return false;
		value = value << 5 | (unsigned int)(digit - digits);
	}
	snprintf(ret_hex, 33, "%016llx%016llx", (unsigned long long)(value >> 64),
		 (unsigned long long)value);
	return value != 0;
}

static json_t *attributes_of(const struct mr_facts *facts, const struct mr_fact *fact)
{
	static const struct mr_map_row *const maps[] = { record_map };
	json_t *attributes = map_attributes(record_map, facts, fact);
	mr_auto_json json_t *rest = mr_map_rest(fact, maps, N_ELEMENTS(maps));
	const char *column;
	json_t *value;

	json_object_foreach (rest, column, value) {
		mr_auto_free char *key = mr_str_format("menace.%s", column);

		add_attribute(attributes, key, value);
	}
	return attributes;
}

static json_t *record(const struct mr_facts *facts, const struct mr_fact *fact, const json_t *head)
{
	const char *run_id = json_string_value(json_object_get(facts->run, "run_id"));
	mr_auto_json json_t *time = json_integer(fact->time_ns);
	mr_auto_json json_t *seen =
		json_integer(json_integer_value(json_object_get(head, "time_us")) * 1000);
	bool warning = is_warning(fact->kind);
	mr_auto_free char *name = mr_str_format("menace.%s", mr_fact_kind_name(fact->kind));
	char hex[33];
	json_t *record = json_pack("{s:s, s:i, s:s, s:{s:s++}, s:o}", "eventName", name,
				   "severityNumber", warning ? 13 : 9, "severityText",
				   warning ? "WARN" : "INFO", "body", "stringValue",
				   mr_fact_kind_name(fact->kind), fact->variant[0] ? ": " : "",
				   fact->variant, "attributes", attributes_of(facts, fact));

	mr_assert(record);
	set_time(record, "timeUnixNano", time);
	set_time(record, "observedTimeUnixNano", seen);
	if (trace_id(run_id, hex))
		json_object_set_new(record, "traceId", json_string(hex));
	return record;
}

static int add_records(struct mr_export *x, const struct mr_facts *facts, json_t *stolen,
		       struct mr_error *err)
{
	mr_auto_json json_t *item =
		json_pack("{s:o, s:[{s:o, s:o}]}", "resource", resource(facts->run), "scopeLogs",
			  "scope", scope(facts->run), "logRecords", stolen);

	mr_assert(item);
	return add_item(x, LOGS, item, err);
}

static int add_logs(struct mr_export *x, const struct mr_facts *facts, const json_t *head,
		    struct mr_error *err)
{
	int r = 0;

	for (size_t i = 0; i < facts->n && r == 0;) {
		json_t *records = json_array();

		for (size_t k = 0; k < ITEM_RECORDS && i < facts->n; k++, i++)
			json_array_append_new(records, record(facts, &facts->v[i], head));
		r = add_records(x, facts, records, err);
	}
	return r;
}

/* --- the whole ------------------------------------------------------------- */

static bool wants(const struct mr_export *x, const char *signal)
{
	return !x->opts->signal || strcmp(x->opts->signal, signal) == 0;
}

static int write_run(struct mr_export *x, const json_t *head, struct mr_error *err)
{
	mr_auto_facts struct mr_facts facts = { 0 };
	int r = wants(x, "logs") ? mr_facts_load(x->store, head, &facts, err)
				 : mr_facts_load_run(x->store, head, &facts.run, err);

	if (r == 0 && wants(x, "metrics"))
		r = add_metrics(x, facts.run, err);
	if (r == 0 && wants(x, "logs"))
		r = add_logs(x, &facts, head, err);
	return r;
}

static int write_end(struct mr_export *x, struct mr_error *err)
{
	int r = flush(x, METRICS, err);

	return r < 0 ? r : flush(x, LOGS, err);
}

const struct mr_export_format mr_export_otlp = {
	.name = "otlp",
	.help = "bodies of OTLP requests, metrics and logs, a request a line",
	.mode = 0600,
	.run = write_run,
	.end = write_end,
};

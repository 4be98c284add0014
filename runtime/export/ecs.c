/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ECS: a document of the Elastic Common Schema a line
 *
 * One table says what a fact is (event.kind and its like), one which column is which
 * field.  Columns without a field go below menace, which ECS leaves to us.
 */
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/export/facts.h"
#include "runtime/export/format.h"
#include "runtime/export/map.h"

/* The first row that fits counts; variant "": any. */
static const struct class_row {
	enum mr_fact_kind kind;
	const char *variant;
	const char *event_kind, *category, *type;
	const char *outcome; /* NULL: nobody knows */
} classes[] = {
	{ MR_FACT_run_start, "", "event", "process", "start", NULL },
	{ MR_FACT_run_end, "exited", "event", "process", "end", "success" },
	{ MR_FACT_run_end, "", "event", "process", "end", "failure" },
	{ MR_FACT_fork, "", "event", "process", "start", "success" },
	{ MR_FACT_exec, "", "event", "process", "start", "success" },
	{ MR_FACT_exit, "", "event", "process", "end", NULL },
	{ MR_FACT_crash, "", "alert", "process", "error", NULL },
	{ MR_FACT_oom, "", "alert", "process", "error", NULL },
	{ MR_FACT_connect, "", "event", "network", "start", NULL },
	{ MR_FACT_sendmsg, "", "event", "network", "connection", NULL },
	{ MR_FACT_bind, "", "event", "network", "info", NULL },
	{ MR_FACT_socket, "", "event", "network", "info", NULL },
	{ MR_FACT_connection, "allowed", "event", "network", "allowed", "success" },
	{ MR_FACT_connection, "denied", "event", "network", "denied", "failure" },
	{ MR_FACT_connection, "failed", "event", "network", "error", "failure" },
	{ MR_FACT_connection, "", "event", "network", "connection", NULL },
	{ MR_FACT_dns, "", "event", "network", "protocol", NULL },
	{ MR_FACT_change, "added", "event", "file", "creation", "success" },
	{ MR_FACT_change, "deleted", "event", "file", "deletion", "success" },
	{ MR_FACT_change, "unreadable", "event", "file", "info", NULL },
	{ MR_FACT_change, "", "event", "file", "change", "success" },
	{ MR_FACT_denial, "network", "alert", "network", "denied", "failure" },
	{ MR_FACT_denial, "landlock", "alert", "file", "denied", "failure" },
	{ MR_FACT_denial, "mount", "alert", "file", "denied", "failure" },
	{ MR_FACT_denial, "", "alert", "process", "denied", "failure" },
	{ MR_FACT_limit, "", "alert", "process", "info", NULL },
	{ MR_FACT_degraded, "", "alert", "configuration", "info", NULL },
	{ MR_FACT_open, "", "event", "file", "access", NULL },
	{ MR_FACT_attempt, "", "alert", "process", "info", NULL },
	{ MR_FACT_event, "", "event", "process", "info", NULL },
};

static const struct mr_map_row map[] = {
	MR_MAP_FIELD_AS("@timestamp", "@time_ns", ISO),
	MR_MAP_CONST("ecs.version", NULL, "8.11.0"),
	MR_MAP_FIELD("event.action", "@kind"),
	MR_MAP_FIELD("event.id", "@uid"),
	MR_MAP_FIELD("event.sequence", "@seq"),
	MR_MAP_CONST("event.module", NULL, "menace"),
	MR_MAP_CONST("event.provider", NULL, "menace"),
	MR_MAP_CONST("event.dataset", NULL, "menace.run"),
	MR_MAP_CONST("observer.product", NULL, "menace"),
	MR_MAP_FIELD("observer.version", "run.version"),
	MR_MAP_FIELD("host.hostname", "run.host"),
	MR_MAP_CONST("host.os.type", NULL, "linux"),
	MR_MAP_FIELD("host.os.kernel", "run.kernel"),
	MR_MAP_FIELD("trace.id", "run.run_id"),
	MR_MAP_FIELD("menace.run_id", "run.run_id"),
	MR_MAP_FIELD_AS("user.id", "run.uid", TEXT),
	MR_MAP_FIELD("process.pid", "pid"),
	MR_MAP_FIELD("process.entity_id", "process_uid"),
	MR_MAP_FIELD("process.name", "comm"),
	MR_MAP_FIELD("process.executable", "exe"),
	MR_MAP_FIELD("process.args", "argv"),
	MR_MAP_FIELD("process.command_line", "cmd_line"),
	MR_MAP_FIELD("process.working_directory", "cwd"),
	MR_MAP_FIELD_AS("process.start", "start_ns", ISO),
	MR_MAP_FIELD_AS("process.end", "exit_ns", ISO),
	MR_MAP_FIELD("process.exit_code", "exit_code"),
	MR_MAP_FIELD("process.parent.pid", "parent_tgid"),
	MR_MAP_FIELD("process.parent.entity_id", "parent_uid"),
	MR_MAP_FIELD("network.transport", "protocol"),
	MR_MAP_FIELD("file.path", "path"),
	MR_MAP_FIELD_AS("file.name", "path", BASENAME),
	MR_MAP_FIELD("file.size", "size_bytes"),
	MR_MAP_FIELD("file.hash.sha256", "sha256"),
	MR_MAP_FIELD("rule.name", "rule"),
	MR_MAP_FIELD("error.code", "errno_name"),
	MR_MAP_END,
};

/* The run itself: its program is no path for sure, and its length is the event's. */
static const struct mr_map_row run_map[] = {
	MR_MAP_FIELD_AS("process.name", "program", BASENAME),
	MR_MAP_FIELD("event.reason", "reason"),
	MR_MAP_FIELD("error.message", "error_message"),
	MR_MAP_FIELD_AS("event.duration", "wall_us", US_AS_NS),
	MR_MAP_END,
};

static const struct mr_map_row net_map[] = {
	MR_MAP_FIELD_AS("destination.ip", "remote", IP),
	MR_MAP_FIELD("destination.address", "remote"),
	MR_MAP_FIELD("destination.port", "remote_port"),
	MR_MAP_FIELD_AS("source.ip", "local", IP),
	MR_MAP_FIELD("source.address", "local"),
	MR_MAP_FIELD("source.port", "local_port"),
	MR_MAP_FIELD("source.bytes", "tx_bytes"),
	MR_MAP_FIELD("source.packets", "tx_packets"),
	MR_MAP_FIELD("destination.bytes", "rx_bytes"),
	MR_MAP_FIELD("destination.packets", "rx_packets"),
	MR_MAP_END,
};

/* Where somebody called us: the peer is the source. */
static const struct mr_map_row inward_map[] = {
	MR_MAP_FIELD_AS("source.ip", "remote", IP),
	MR_MAP_FIELD("source.address", "remote"),
	MR_MAP_FIELD("source.port", "remote_port"),
	MR_MAP_FIELD_AS("destination.ip", "local", IP),
	MR_MAP_FIELD("destination.address", "local"),
	MR_MAP_FIELD("destination.port", "local_port"),
	MR_MAP_FIELD("destination.bytes", "tx_bytes"),
	MR_MAP_FIELD("destination.packets", "tx_packets"),
	MR_MAP_FIELD("source.bytes", "rx_bytes"),
	MR_MAP_FIELD("source.packets", "rx_packets"),
	MR_MAP_END,
};

static const struct mr_map_row dns_map[] = {
	MR_MAP_FIELD("dns.question.name", "name"),
	MR_MAP_FIELD("dns.question.type", "type"),
	MR_MAP_FIELD("network.transport", "transport"),
	MR_MAP_FIELD_AS("destination.ip", "server", IP),
	MR_MAP_CONST("network.protocol", NULL, "dns"),
	MR_MAP_CONST("dns.type", NULL, "query"),
	MR_MAP_END,
};

static const struct mr_map_row file_map[] = {
	MR_MAP_FIELD("file.type", "type"),
	MR_MAP_END,
};

static const struct mr_map_row no_map[] = { MR_MAP_END };

/* What a name of a column means only in facts of this kind. */
static const struct mr_map_row *own_map(const struct mr_fact *fact)
{
	const char *direction = json_string_value(json_object_get(fact->row, "direction"));

	switch (fact->kind) {
	case MR_FACT_run_start:
	case MR_FACT_run_end:
		return run_map;
	case MR_FACT_dns:
		return dns_map;
	case MR_FACT_change:
		return file_map;
	case MR_FACT_socket:
	case MR_FACT_connect:
	case MR_FACT_bind:
	case MR_FACT_sendmsg:
	case MR_FACT_connection:
		return direction && strcmp(direction, "in") == 0 ? inward_map : net_map;
	case MR_FACT_fork:
	case MR_FACT_exit:
	case MR_FACT_exec:
	case MR_FACT_crash:
	case MR_FACT_event:
	case MR_FACT_open:
	case MR_FACT_attempt:
	case MR_FACT_denial:
	case MR_FACT_oom:
	case MR_FACT_limit:
	case MR_FACT_degraded:
	case MR_FACT_COUNT_:
		break;
	}
	return no_map;
}

static void set_class(json_t *document, const struct mr_fact *fact)
{
	const struct class_row *class = mr_fact_choose(fact, classes);

	mr_map_set(document, "event.kind", json_string(class->event_kind));
	mr_map_set(document, "event.category", json_pack("[s]", class->category));
	mr_map_set(document, "event.type", json_pack("[s]", class->type));
	if (class->outcome)
		mr_map_set(document, "event.outcome", json_string(class->outcome));
}

static json_t *make_document(const struct mr_export *x, const json_t *head,
			     const struct mr_facts *facts, const struct mr_fact *fact)
{
	const struct mr_map_row *const maps[] = { map, own_map(fact) };
	mr_auto_json json_t *rest = mr_map_rest(fact, maps, N_ELEMENTS(maps));
	json_t *document = json_object();

	(void)x;
	(void)head;
	mr_map_nest(document, map, facts, fact);
	mr_map_nest(document, own_map(fact), facts, fact);
	set_class(document, fact);
	json_object_update(json_object_get(document, "menace"), rest);
	return document;
}

static int write_run(struct mr_export *x, const json_t *head, struct mr_error *err)
{
	return mr_export_write_facts(x, head, make_document, err);
}

const struct mr_export_format mr_export_ecs = {
	.name = "ecs",
	.help = "a document of the Elastic Common Schema 8.11 a line",
	.mode = 0600,
	.run = write_run,
};

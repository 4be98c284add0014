/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OCSF 1.8.0: an event a line
 *
 * classes[] says which class and activity a fact is, then tables say which column is
 * which attribute: one for all classes, one for each.  Columns that no table reads are
 * kept below unmapped.menace, and the place of the run in the store's chain below
 * unmapped.menace_integrity, with the names of the record_integrity profile that OCSF
 * prepares.
 */
#include <stdbool.h>
#include <string.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/json.h"
#include "runtime/export/facts.h"
#include "runtime/export/format.h"
#include "runtime/export/map.h"
#include "runtime/store/chain.h"

#define CLASS_BASE 0
#define CLASS_FILE 1001
#define CLASS_PROCESS 1007
#define CLASS_FINDING 2004
#define CLASS_NETWORK 4001
#define CLASS_DNS 4003

enum severity { INFORMATIONAL = 1, LOW, MEDIUM, HIGH };

/* The first row that fits counts; variant "": any. */
static const struct class_row {
	enum mr_fact_kind kind;
	const char *variant;
	int class_uid, activity_id;
	enum severity severity;
	const char *activity; /* its name; of a finding: the title */
} classes[] = {
	{ MR_FACT_run_start, "", CLASS_PROCESS, 1, INFORMATIONAL, "Launch" },
	{ MR_FACT_run_end, "setup_error", CLASS_PROCESS, 2, MEDIUM, "Terminate" },
	{ MR_FACT_run_end, "skipped", CLASS_PROCESS, 2, LOW, "Terminate" },
	{ MR_FACT_run_end, "supervisor_lost", CLASS_PROCESS, 2, MEDIUM, "Terminate" },
	{ MR_FACT_run_end, "", CLASS_PROCESS, 2, INFORMATIONAL, "Terminate" },
	{ MR_FACT_fork, "", CLASS_PROCESS, 1, INFORMATIONAL, "Launch" },
	{ MR_FACT_exec, "", CLASS_PROCESS, 1, INFORMATIONAL, "Launch" },
	{ MR_FACT_exit, "", CLASS_PROCESS, 2, INFORMATIONAL, "Terminate" },
	{ MR_FACT_connect, "", CLASS_NETWORK, 1, INFORMATIONAL, "Open" },
	{ MR_FACT_sendmsg, "", CLASS_NETWORK, 6, INFORMATIONAL, "Traffic" },
	{ MR_FACT_bind, "", CLASS_NETWORK, 99, INFORMATIONAL, "Bind" },
	{ MR_FACT_socket, "", CLASS_NETWORK, 99, INFORMATIONAL, "Socket" },
	{ MR_FACT_connection, "denied", CLASS_NETWORK, 5, LOW, "Refuse" },
	{ MR_FACT_connection, "failed", CLASS_NETWORK, 4, INFORMATIONAL, "Fail" },
	{ MR_FACT_connection, "", CLASS_NETWORK, 1, INFORMATIONAL, "Open" },
	{ MR_FACT_dns, "", CLASS_DNS, 1, INFORMATIONAL, "Query" },
	{ MR_FACT_change, "added", CLASS_FILE, 1, INFORMATIONAL, "Create" },
	{ MR_FACT_change, "modified", CLASS_FILE, 3, INFORMATIONAL, "Update" },
	{ MR_FACT_change, "deleted", CLASS_FILE, 4, INFORMATIONAL, "Delete" },
	{ MR_FACT_change, "metadata", CLASS_FILE, 6, INFORMATIONAL, "Set Attributes" },
	{ MR_FACT_change, "", CLASS_FILE, 99, INFORMATIONAL, "Other change" },
	{ MR_FACT_denial, "mount", CLASS_FINDING, 1, HIGH, "A mount was denied" },
	{ MR_FACT_denial, "network", CLASS_FINDING, 1, MEDIUM, "A connection was denied" },
	{ MR_FACT_denial, "seccomp", CLASS_FINDING, 1, MEDIUM, "A system call was denied" },
	{ MR_FACT_denial, "", CLASS_FINDING, 1, LOW, "An operation was denied" },
	{ MR_FACT_crash, "", CLASS_FINDING, 1, MEDIUM, "A process crashed" },
	{ MR_FACT_oom, "", CLASS_FINDING, 1, MEDIUM, "Processes were killed for want of memory" },
	{ MR_FACT_limit, "", CLASS_FINDING, 1, LOW, "A limit was met" },
	{ MR_FACT_degraded, "", CLASS_FINDING, 1, MEDIUM, "A protection was given up" },
	{ MR_FACT_open, "", CLASS_FILE, 14, INFORMATIONAL, "Open" },
	{ MR_FACT_attempt, "", CLASS_FINDING, 1, LOW,
	  "A sensitive system call got past the filter" },
	{ MR_FACT_event, "", CLASS_BASE, 99, INFORMATIONAL, "Other event" },
};

static const struct mr_map_row common_map[] = {
	MR_MAP_FIELD_AS("time", "@time_ns", MS),
	MR_MAP_CONST("metadata.version", NULL, "1.8.0"),
	MR_MAP_CONST("metadata.product.name", NULL, "menace"),
	MR_MAP_CONST("metadata.product.vendor_name", NULL, "menace"),
	MR_MAP_FIELD("metadata.product.version", "run.version"),
	MR_MAP_FIELD("metadata.correlation_uid", "run.run_id"),
	MR_MAP_FIELD("metadata.sequence", "@seq"),
	MR_MAP_FIELD("metadata.uid", "@uid"),
	MR_MAP_FIELD("metadata.event_code", "@kind"),
	MR_MAP_CONST("device.type_id", NULL, "#0"), /* required; 0 is unknown */
	MR_MAP_FIELD("device.hostname", "run.host"),
	MR_MAP_CONST("device.os.name", NULL, "Linux"),
	MR_MAP_CONST("device.os.type_id", NULL, "#200"),
	MR_MAP_FIELD("device.os.kernel_release", "run.kernel"),
	MR_MAP_CONST("actor.app_name", NULL, "menace-run"),
	MR_MAP_FIELD_AS("actor.user.uid", "run.uid", TEXT),
	MR_MAP_END,
};

static const struct mr_map_row run_map[] = {
	MR_MAP_FIELD("process.uid", "process_uid"),
	MR_MAP_FIELD_AS("process.name", "program", BASENAME),
	MR_MAP_FIELD("process.cmd_line", "cmd_line"),
	MR_MAP_FIELD_AS("process.created_time", "start_ns", MS),
	MR_MAP_CONST("process.sandbox", NULL, "menace"),
	MR_MAP_FIELD("exit_code", "exit_code"),
	MR_MAP_END,
};

static const struct mr_map_row process_map[] = {
	MR_MAP_FIELD("process.pid", "pid"),
	MR_MAP_FIELD("process.uid", "process_uid"),
	MR_MAP_FIELD("process.name", "comm"),
	MR_MAP_FIELD("process.cmd_line", "cmd_line"),
	MR_MAP_FIELD("process.path", "exe"),
	MR_MAP_FIELD("process.file.path", "exe"),
	MR_MAP_FIELD_AS("process.file.name", "exe", BASENAME),
	MR_MAP_CONST("process.file.type_id", "exe", "#8"),
	MR_MAP_FIELD_AS("process.created_time", "start_ns", MS),
	MR_MAP_FIELD_AS("process.terminated_time", "exit_ns", MS),
	MR_MAP_FIELD("process.working_directory", "cwd"),
	MR_MAP_FIELD_AS("process.user.uid", "uid", TEXT),
	MR_MAP_CONST("process.sandbox", NULL, "menace"),
	MR_MAP_FIELD("process.parent_process.pid", "parent_tgid"),
	MR_MAP_FIELD("process.parent_process.uid", "parent_uid"),
	MR_MAP_FIELD("actor.process.pid", "parent_tgid"),
	MR_MAP_FIELD("actor.process.uid", "parent_uid"),
	MR_MAP_FIELD("exit_code", "exit_code"),
	MR_MAP_END,
};

static const struct mr_map_word protocol_numbers[] = {
	{ "tcp", 6 }, { "udp", 17 }, { "icmp", 1 }, { "icmp6", 58 }, { NULL, 255 }
};
static const struct mr_map_word versions[] = { { "inet", 4 }, { "inet6", 6 }, { NULL, 99 } };
static const struct mr_map_word directions[] = { { "in", 1 }, { "out", 2 }, { NULL, 0 } };
static const struct mr_map_word outcomes[] = {
	{ "allowed", 1 }, { "denied", 2 }, { "failed", 2 }, { NULL, 99 }
};

static const struct mr_map_row network_map[] = {
	MR_MAP_CONST("connection_info.direction_id", NULL, "#0"), /* required; 0 is unknown */
	MR_MAP_WORDS("connection_info.direction_id", "direction", directions),
	MR_MAP_FIELD("connection_info.protocol_name", "protocol"),
	MR_MAP_WORDS("connection_info.protocol_num", "protocol", protocol_numbers),
	MR_MAP_WORDS("connection_info.protocol_ver_id", "family", versions),
	MR_MAP_FIELD("traffic.bytes_out", "tx_bytes"),
	MR_MAP_FIELD("traffic.bytes_in", "rx_bytes"),
	MR_MAP_FIELD("traffic.packets_out", "tx_packets"),
	MR_MAP_FIELD("traffic.packets_in", "rx_packets"),
	MR_MAP_WORDS("status_id", "verdict", outcomes),
	MR_MAP_FIELD_AS("status_code", "errno", TEXT),
	MR_MAP_FIELD("actor.process.pid", "pid"),
	MR_MAP_FIELD("actor.process.uid", "process_uid"),
	MR_MAP_FIELD("actor.process.name", "comm"),
	MR_MAP_END,
};

/* The one end is the peer where we called, the other where we were called. */
static const struct mr_map_row outward_map[] = {
	MR_MAP_FIELD_AS("dst_endpoint.ip", "remote", IP),
	MR_MAP_FIELD_AS("dst_endpoint.name", "remote", NO_IP),
	MR_MAP_FIELD("dst_endpoint.port", "remote_port"),
	MR_MAP_FIELD_AS("src_endpoint.ip", "local", IP),
	MR_MAP_FIELD_AS("src_endpoint.name", "local", NO_IP),
	MR_MAP_FIELD("src_endpoint.port", "local_port"),
	MR_MAP_END,
};
static const struct mr_map_row inward_map[] = {
	MR_MAP_FIELD_AS("src_endpoint.ip", "remote", IP),
	MR_MAP_FIELD_AS("src_endpoint.name", "remote", NO_IP),
	MR_MAP_FIELD("src_endpoint.port", "remote_port"),
	MR_MAP_FIELD_AS("dst_endpoint.ip", "local", IP),
	MR_MAP_FIELD_AS("dst_endpoint.name", "local", NO_IP),
	MR_MAP_FIELD("dst_endpoint.port", "local_port"),
	MR_MAP_END,
};

static const struct mr_map_row dns_map[] = {
	MR_MAP_FIELD("query.hostname", "name"),
	MR_MAP_FIELD("query.type", "type"),
	MR_MAP_CONST("connection_info.direction_id", NULL, "#2"),
	MR_MAP_FIELD("connection_info.protocol_name", "transport"),
	MR_MAP_FIELD_AS("dst_endpoint.ip", "server", IP),
	MR_MAP_FIELD("actor.process.pid", "pid"),
	MR_MAP_FIELD("actor.process.uid", "process_uid"),
	MR_MAP_END,
};

static const struct mr_map_word file_types[] = {
	{ "file", 1 }, { "dir", 2 },	 { "directory", 2 }, { "socket", 5 },
	{ "fifo", 6 }, { "symlink", 7 }, { NULL, 99 },
};

static const struct mr_map_row file_map[] = {
	MR_MAP_FIELD_AS("file.name", "path", BASENAME),
	MR_MAP_FIELD("file.path", "path"),
	MR_MAP_CONST("file.type_id", NULL, "#0"), /* required; 0 is unknown */
	MR_MAP_WORDS("file.type_id", "type", file_types),
	MR_MAP_FIELD("file.type", "type"),
	MR_MAP_FIELD("file.size", "size_bytes"),
	MR_MAP_FIELD("file.hashes[].value", "sha256"),
	MR_MAP_CONST("file.hashes[].algorithm_id", "sha256", "#3"),
	MR_MAP_CONST("file.hashes[].algorithm", "sha256", "SHA-256"),
	MR_MAP_FIELD("actor.process.pid", "pid"),
	MR_MAP_FIELD("actor.process.uid", "process_uid"),
	MR_MAP_FIELD("actor.process.name", "comm"),
	MR_MAP_END,
};

static const struct mr_map_row finding_map[] = {
	MR_MAP_FIELD("finding_info.uid", "@uid"),
	MR_MAP_FIELD("finding_info.desc", "reason"),
	MR_MAP_FIELD("finding_info.analytic.name", "rule"),
	MR_MAP_CONST("finding_info.analytic.type_id", "rule", "#1"),
	MR_MAP_CONST("status_id", NULL, "#1"),
	MR_MAP_CONST("action_id", "layer", "#2"),
	MR_MAP_CONST("disposition_id", "layer", "#2"),
	MR_MAP_FIELD("count", "count"),
	MR_MAP_FIELD("evidences[].process.pid", "pid"),
	MR_MAP_FIELD("evidences[].process.uid", "process_uid"),
	MR_MAP_FIELD("evidences[].process.name", "comm"),
	MR_MAP_FIELD("evidences[].data.kind", "@kind"),
	MR_MAP_FIELD("evidences[].data.variant", "@variant"),
	MR_MAP_FIELD("evidences[].data.what", "what"),
	MR_MAP_FIELD("evidences[].data.object", "object"),
	MR_MAP_FIELD("evidences[].data.errno", "errno_name"),
	MR_MAP_FIELD("evidences[].data.signal", "signal"),
	MR_MAP_FIELD("evidences[].data.address", "address"),
	MR_MAP_FIELD("evidences[].data.frames", "frames"),
	MR_MAP_FIELD("evidences[].data.oom_kills", "oom_kills"),
	MR_MAP_FIELD("evidences[].data.why", "why"),
	MR_MAP_END,
};

static const struct mr_map_row no_map[] = { MR_MAP_END };

static const struct class_fields {
	int class_uid;
	const char *name;
	const struct mr_map_row *map;
	const char *profiles[3];
} fields[] = {
	{ CLASS_BASE, "Base Event", no_map, { "host" } },
	{ CLASS_FILE, "File System Activity", file_map, { "host" } },
	{ CLASS_PROCESS, "Process Activity", process_map, { "host" } },
	{ CLASS_FINDING, "Detection Finding", finding_map, { "host", "security_control" } },
	{ CLASS_NETWORK, "Network Activity", network_map, { "host" } },
	{ CLASS_DNS, "DNS Activity", dns_map, { "host" } },
};

static const struct class_fields *find_fields(int class_uid)
{
	size_t i = 0;

	while (fields[i].class_uid != class_uid)
		i++;
	return &fields[i];
}

static bool is_run(const struct mr_fact *fact)
{
	return fact->kind == MR_FACT_run_start || fact->kind == MR_FACT_run_end;
}

static void set_class(json_t *event, const struct class_row *class,
		      const struct class_fields *fields_of)
{
	static const char *const severities[] = { "", "Informational", "Low", "Medium", "High" };
	bool finding = class->class_uid == CLASS_FINDING;

	json_object_set_new(event, "class_uid", json_integer(class->class_uid));
	json_object_set_new(event, "class_name", json_string(fields_of->name));
	json_object_set_new(event, "category_uid", json_integer(class->class_uid / 1000));
	json_object_set_new(event, "activity_id", json_integer(class->activity_id));
	json_object_set_new(event, "activity_name",
			    json_string(finding ? "Create" : class->activity));
	json_object_set_new(event, "type_uid",
			    json_integer(class->class_uid * 100 + class->activity_id));
	json_object_set_new(event, "severity_id", json_integer(class->severity));
	json_object_set_new(event, "severity", json_string(severities[class->severity]));
	if (!finding)
		return;
	mr_map_set(event, "finding_info.title", json_string(class->activity));
	json_object_set_new(event, "is_alert", json_true());
}

static void set_profiles(json_t *event, const struct class_fields *fields_of)
{
	json_t *profiles = json_array();

	for (size_t i = 0; fields_of->profiles[i]; i++)
		json_array_append_new(profiles, json_string(fields_of->profiles[i]));
	mr_map_set(event, "metadata.profiles", profiles);
}

static void set_launch_type(json_t *event, enum mr_fact_kind kind)
{
	static const int types[MR_FACT_COUNT_] = {
		[MR_FACT_run_start] = 1, /* both steps in one */
		[MR_FACT_fork] = 2,
		[MR_FACT_exec] = 3,
	};

	if (types[kind])
		json_object_set_new(event, "launch_type_id", json_integer(types[kind]));
}

/* OCSF wants a process to have an id: a name alone is not one. */
static void drop_nameless(json_t *holder)
{
	const json_t *process = json_object_get(holder, "process");

	if (process && !json_object_get(process, "pid") && !json_object_get(process, "uid"))
		json_object_del(holder, "process");
}

static json_t *fingerprint(const json_t *hash)
{
	return json_pack("{s:s, s:i, s:O}", "algorithm", "SHA-256", "algorithm_id", 3, "value",
			 hash);
}

/* The run's record is what the chain holds, not this event. */
static void set_integrity(json_t *event, const struct mr_export *x, const json_t *head)
{
	const json_t *prev = json_object_get(head, "prev");
	mr_auto_json json_t *seq =
		json_sprintf("%lld", (long long)json_integer_value(json_object_get(head, "seq")));
	json_t *attestation = json_pack("{s:O, s:s, s:o}", "uid", seq, "chain_uid", x->store_id,
					"fingerprint", fingerprint(json_object_get(head, "hash")));

	if (json_is_string(prev) && strcmp(json_string_value(prev), MR_CHAIN_START) != 0)
		mr_map_set(attestation, "prev_event.fingerprint", fingerprint(prev));
	mr_map_set(event, "unmapped.menace_integrity.attestation_list",
		   json_pack("[o]", attestation));
}

static void set_unmapped(json_t *event, const struct mr_fact *fact, const struct mr_map_row *map)
{
	const struct mr_map_row *const maps[] = { map, outward_map };
	bool net = json_integer_value(json_object_get(event, "class_uid")) == CLASS_NETWORK;
	json_t *rest = mr_map_rest(fact, maps, net ? 2 : 1);

	if (json_object_size(rest) > 0)
		mr_map_set(event, "unmapped.menace", json_incref(rest));
	json_decref(rest);
}

static json_t *make_event(const struct mr_export *x, const json_t *head,
			  const struct mr_facts *facts, const struct mr_fact *fact)
{
	const struct class_row *class = mr_fact_choose(fact, classes);
	const struct class_fields *fields_of = find_fields(class->class_uid);
	const struct mr_map_row *map = is_run(fact) ? run_map : fields_of->map;
	const char *direction = json_string_value(json_object_get(fact->row, "direction"));
	bool inward = direction && strcmp(direction, "in") == 0;
	json_t *event = json_object();
	const json_t *evidence;

	mr_map_nest(event, common_map, facts, fact);
	set_class(event, class, fields_of);
	set_profiles(event, fields_of);
	mr_map_nest(event, map, facts, fact);
	if (class->class_uid == CLASS_NETWORK)
		mr_map_nest(event, inward ? inward_map : outward_map, facts, fact);
	set_launch_type(event, fact->kind);
	drop_nameless(json_object_get(event, "actor"));
	evidence = json_array_get(json_object_get(event, "evidences"), 0);
	drop_nameless((json_t *)(uintptr_t)evidence);
	if (fact->kind == MR_FACT_run_end)
		json_object_set(event, "status_detail", json_object_get(facts->run, "reason"));
	set_unmapped(event, fact, map);
	set_integrity(event, x, head);
	return event;
}

static int write_run(struct mr_export *x, const json_t *head, struct mr_error *err)
{
	return mr_export_write_facts(x, head, make_event, err);
}

const struct mr_export_format mr_export_ocsf = {
	.name = "ocsf",
	.help = "an event of OCSF 1.8.0 a line",
	.mode = 0600,
	.run = write_run,
};

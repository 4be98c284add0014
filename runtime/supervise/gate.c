/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gate: --net allowlist, the supervisor's side
 *
 * Each message of menace-netd becomes a denial or a number of the result.  A denial is answered once it
 * has been looked who asked, for only then the payload learns of it and may close its socket.
 * All lists are bounded: what finds no room is counted.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "bpf/guard.h"
#include "cgroups/cgroup.h"
#include "netns/gate.h"
#include "netns/gate_policy.h"
#include "netns/rules.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/log.h"
#include "runtime/base/str.h"
#include "runtime/base/text.h"
#include "runtime/supervise/datagrams.h"
#include "runtime/supervise/faults.h"
#include "runtime/supervise/network.h"
#include "runtime/supervise/state.h"
#include "runtime/supervise/whose.h"

#define NAMES_MAX 256
#define ADDRESSES_MAX 16 /* of one name */
#define PEERS_MAX 256

struct name {
	char *text;
	struct in6_addr addresses[ADDRESSES_MAX];
	size_t n;
	uint32_t ttl_s; /* of the last answer */
};

struct peer {
	struct in6_addr address;
	uint16_t port;
	char *name; /* "" when none was shown */
	enum mr_gate_checked checked;
	uint64_t connections, failed, out_bytes, in_bytes;
	int error; /* the last one's */
};

struct gate {
	struct mr_gate_policy policy;
	struct mr_guard guard;
	struct mr_source ring; /* of the guard */
	char no_guard[200]; /* why there is none, or "" */
	uint64_t denied[MR_GATE_REASONS_];
	struct name names[NAMES_MAX];
	struct peer peers[PEERS_MAX];
	size_t n_names, n_peers;
	uint64_t names_left_out, peers_left_out, looks_left_out, guard_lost;
	struct mr_gate_totals totals;
	bool has_totals;
	json_t *servers;
};

/* --- configuration ------------------------------------------------------------------- */

/* Servers of a resolv.conf.  Those of a link (fe80::1%eth0) are left out. */
static json_t *read_servers(const char *text)
{
	json_t *list = json_array();

	while (*text) {
		size_t n = strcspn(text, "\n");
		mr_auto_free char *line = mr_str_ndup(text, n);
		char word[INET6_ADDRSTRLEN + 1], server[INET6_ADDRSTRLEN + 3];
		struct in6_addr address;
		uint16_t port;

		text += n + (text[n] == '\n');
		if (sscanf(line, " nameserver %46s", word) != 1)
			continue;
		snprintf(server, sizeof(server), strchr(word, ':') ? "[%s]" : "%s", word);
		if (mr_rule_parse_endpoint(server, MR_DOORS_DNS_PORT, &address, &port, NULL) == 0)
			json_array_append_new(list, json_string(server));
	}
	return list;
}

/* Those of the spec, checked there, or the host's. */
static json_t *list_servers(const struct mr_spec *spec)
{
	const char *text = spec->net_resolver;
	json_t *list;
	char file[8192];

	if (!text[0])
		return read_servers(
			mr_read_file_at(AT_FDCWD, "/etc/resolv.conf", file, sizeof(file)) > 0 ? file
											      : "");
	list = json_array();
	while (*text) {
		size_t n = strcspn(text, ",");

		json_array_append_new(list, json_stringn(text, n));
		text += n + (text[n] == ',');
	}
	return list;
}

static json_t *list_texts(const struct mr_strv *texts)
{
	json_t *list = json_array();

	for (size_t i = 0; i < texts->n; i++)
		json_array_append_new(list, json_string(texts->v[i]));
	return list;
}

static json_t *list_rules(const struct mr_spec *spec)
{
	return list_texts(&spec->net_allow);
}

/* What the rules say of networks; the names' addresses follow as they are learned. */
static int allow_networks(struct gate *gate, struct mr_error *err)
{
	const uint64_t now = mr_now_ns();
	int r = 0;

	for (size_t i = 0; r == 0 && i < gate->policy.n_rules; i++) {
		const struct mr_rule *rule = &gate->policy.rules[i];
		uint16_t ports[MR_GATE_PORTS_MAX];
		uint32_t n;

		if (rule->kind != MR_RULE_ADDRESS)
			continue;
		n = mr_gate_policy_ports(&gate->policy, &rule->address, now, ports);
		r = mr_guard_allow(&gate->guard, &rule->address, rule->length, ports, n, err);
	}
	return r;
}

static void on_guard(struct mr_source *source, uint32_t events);

/* Without it nothing is allowed that is not with it; only connects succeed that are reset then. */
static int start_guard(struct mr_run *run, struct mr_error *err)
{
	struct gate *gate = run->network->state;
	struct mr_error why = MR_ERROR_INIT;
	int r;

	if (!run->cgroup) {
		snprintf(gate->no_guard, sizeof(gate->no_guard), "the run has no control group");
		return 0;
	}
	if (mr_guard_attach(&gate->guard, MR_GUARD_CONNECTS, mr_cgroup_v2_fd(run->cgroup), &why) <
	    0) {
		snprintf(gate->no_guard, sizeof(gate->no_guard), "%.*s",
			 (int)sizeof(gate->no_guard) - 1, why.msg);
		return 0;
	}
	r = allow_networks(gate, err);
	return r < 0 ? r
		     : mr_loop_add(run->host->loop, &gate->ring, gate->guard.ring.fd, EPOLLIN,
				   on_guard, run, err);
}

static int begin(struct mr_run *run, char **ret_config, struct mr_error *err)
{
	struct gate *gate = mr_str_alloc(sizeof(*gate));
	mr_auto_json json_t *config = NULL;
	mr_auto_free char *text = NULL;
	int r;

	run->network->state = gate;
	gate->guard = (struct mr_guard)MR_GUARD_INIT;
	gate->ring.fd = -1;
	gate->servers = list_servers(run->spec);
	config = json_pack("{s:o, s:O, s:o}", "rules", list_rules(run->spec), "servers",
			   gate->servers, "faults", list_texts(&run->spec->net_faults));
	text = json_dumps(config, JSON_COMPACT);
	mr_assert(text);
	r = mr_gate_policy_parse(&gate->policy, text, strlen(text), err);
	if (r == 0)
		r = start_guard(run, err);
	if (r == 0)
		*ret_config = mr_take_ptr(text);
	return r;
}

static int verify(struct mr_run *run, struct mr_error *err)
{
	const struct gate *gate = run->network->state;

	if (gate->no_guard[0])
		return 0;
	return mr_guard_verify(&gate->guard, mr_cgroup_id(run->cgroup), err);
}

/* --- messages ------------------------------------------------------------------------ */

static void acknowledge(struct mr_run *run, uint32_t id)
{
	struct mr_gate_ack ack = {
		.head = { .type = MR_GATE_ACK, .size = sizeof(ack) },
		.id = id,
		.ok = 1,
	};

	/* If it cannot be told now, it goes on by itself after a while. */
	mr_netd_send(&run->network->netd, &ack.head);
}

/* One look in a turn of the loop: deadlines wait no longer than for that. */
static void look_who(struct mr_run *run, const struct mr_gate_denied *d, struct mr_who *ret)
{
	struct gate *gate = run->network->state;
	const struct mr_whose whose = { .protocol = d->protocol,
					.local = d->source,
					.remote = d->address,
					.local_port = d->source_port,
					.remote_port = d->port };

	mr_whose_socket(&run->host->looks, run->launched.init_pid, run->cgroup, &whose, ret);
	gate->looks_left_out += ret->left_out;
	if (ret->looked)
		mr_netd_rest(&run->network->netd);
}

/* Where an address is not the point, what was asked for is in front. */
static void format_object(const struct mr_gate_denied *d, const char *address, bool resolve,
			  char *buf, size_t size)
{
	const bool ipv6 = strchr(address, ':');

	if (resolve && d->detail[0])
		snprintf(buf, size, "%s (%s)", d->name, d->detail);
	else if (resolve && d->name[0])
		snprintf(buf, size, "%s", d->name);
	else
		snprintf(buf, size, "%s%s%s%s%s:%u%s", d->name, d->name[0] ? " (" : "",
			 ipv6 ? "[" : "", address, ipv6 ? "]" : "", d->port, d->name[0] ? ")" : "");
}

/* The rule that would allow it, where one would. */
static const char *format_allow(const struct mr_gate_denied *d, const char *address, char *buf,
				size_t size)
{
	const bool ipv6 = strchr(address, ':');
	struct mr_rule rule;

	switch ((enum mr_gate_reason)d->reason) {
	case MR_GATE_ADDRESS:
	case MR_GATE_PORT:
	case MR_GATE_SPECIAL:
	case MR_GATE_OWN_HOST:
		if (IN6_IS_ADDR_LOOPBACK(&d->address))
			return NULL;
		snprintf(buf, size, "--allow %s%s%s:%u", ipv6 ? "[" : "", address, ipv6 ? "]" : "",
			 d->port);
		return buf;
	case MR_GATE_ANSWER_SPECIAL:
	case MR_GATE_ANSWER_OWN_HOST:
		/* The name's rule is there already; of loopback there is no way in. */
		if (strncmp(d->detail, "127.", 4) == 0 || strcmp(d->detail, "::1") == 0)
			return NULL;
		snprintf(buf, size, strchr(d->detail, ':') ? "--allow [%s]" : "--allow %s",
			 d->detail);
		return buf;
	case MR_GATE_NAME:
	case MR_GATE_TLS_NAME:
	case MR_GATE_HTTP_HOST:
		/* The payload's own bytes: only what is a rule of a name is shown as one. */
		if (mr_rule_parse(d->name, &rule, NULL) < 0 || rule.kind != MR_RULE_NAME ||
		    rule.port)
			return NULL;
		snprintf(buf, size, "--allow %s", d->name);
		return buf;
	default:
		return NULL;
	}
}

/* d->reason is one of the list, its texts end. */
static void add_denial(struct mr_run *run, const struct mr_gate_denied *d, int errnum,
		       const struct mr_who *who)
{
	const struct mr_gate_reason_row *row = mr_gate_reason(d->reason);
	char address[INET6_ADDRSTRLEN], object[MR_GATE_NAME_SIZE + 128], allow[320], reason[256];
	struct mr_denial denial = { .layer = MR_DENIAL_NETWORK,
				    .what = row->what,
				    .object = object,
				    .errnum = errnum,
				    .pid = who->pid,
				    .comm = who->pid ? who->comm : NULL,
				    .rule = row->rule,
				    .reason = reason,
				    .address = address,
				    .name = d->name[0] ? d->name : NULL,
				    .port = d->port,
				    .time_ns = mr_now_ns() };
	struct gate *gate = run->network->state;

	gate->denied[d->reason]++;
	mr_rule_print_address(&d->address, address);
	format_object(d, address, strcmp(row->what, "resolve") == 0, object, sizeof(object));
	snprintf(reason, sizeof(reason), "%s%s%s%s", row->help,
		 who->pid ? "" : " (who asked is not known: ", who->pid ? "" : who->why,
		 who->pid ? "" : ")");
	denial.allow = format_allow(d, address, allow, sizeof(allow));
	mr_denials_add(&run->denials, &denial);
}

static void take_denied(struct mr_run *run, struct mr_gate_denied *d)
{
	struct mr_who who;

	if (d->reason >= MR_GATE_REASONS_)
		return;
	d->name[sizeof(d->name) - 1] = d->detail[sizeof(d->detail) - 1] = '\0';
	look_who(run, d, &who);
	acknowledge(run, d->id);
	add_denial(run, d,
		   d->protocol == IPPROTO_TCP &&
				   strcmp(mr_gate_reason(d->reason)->what, "resolve") != 0
			   ? ECONNRESET
			   : 0,
		   &who);
}

static enum mr_gate_reason reason_of(const struct gate *gate, const struct mr_guard_event *e)
{
	const uint16_t port = ntohs((uint16_t)e->port);
	enum mr_gate_reason reason = MR_GATE_ADDRESS;

	if (e->hook == MR_GUARD_SENDMSG)
		return port == MR_DOORS_DNS_PORT ? MR_GATE_OTHER_RESOLVER : MR_GATE_DATAGRAM;
	if (e->type == SOCK_DGRAM && port == MR_DOORS_DNS_PORT)
		return MR_GATE_OTHER_RESOLVER;
	mr_gate_policy_judge(&gate->policy, &e->address, port, mr_now_ns(), &reason);
	return reason;
}

/* The kernel itself refused it, where it was asked. */
static void take_refused(void *owner, const struct mr_guard_event *e)
{
	struct mr_run *run = owner;
	struct mr_gate_denied d = {
		.protocol = e->type == SOCK_DGRAM ? IPPROTO_UDP : IPPROTO_TCP,
		.address = e->address,
		.port = ntohs((uint16_t)e->port),
	};
	struct mr_who who = { .pid = (pid_t)e->pid };

	memcpy(who.comm, e->comm, sizeof(e->comm));
	d.reason = (uint16_t)reason_of(run->network->state, e);
	add_denial(run, &d, ENETUNREACH, &who);
}

static void on_guard(struct mr_source *source, uint32_t events)
{
	struct mr_run *run = source->owner;
	struct gate *gate = run->network->state;

	(void)events;
	mr_guard_read(&gate->guard, take_refused, run);
}

static struct name *find_name(struct gate *gate, const char *text)
{
	for (size_t i = 0; i < gate->n_names; i++) {
		if (strcmp(gate->names[i].text, text) == 0)
			return &gate->names[i];
	}
	if (gate->n_names == NAMES_MAX) {
		gate->names_left_out++;
		return NULL;
	}
	gate->names[gate->n_names].text = mr_str_dup(text);
	return &gate->names[gate->n_names++];
}

/* Before the name is given out, so that its first use is not refused. */
static void open_way(struct mr_run *run, const struct mr_gate_pin *pin)
{
	struct gate *gate = run->network->state;
	const uint64_t now = mr_now_ns();
	uint16_t ports[MR_GATE_PORTS_MAX];
	struct mr_error err;
	uint32_t n;

	mr_gate_policy_pin(&gate->policy, pin->name, &pin->address, now,
			   now + (uint64_t)pin->ttl_s * 1000000000);
	if (gate->guard.map_fd < 0)
		return;
	n = mr_gate_policy_ports(&gate->policy, &pin->address, now, ports);
	if (mr_guard_allow(&gate->guard, &pin->address, 128, ports, n, &err) < 0)
		mr_log_warn("run %s: %s", run->id, err.msg);
}

static void take_pin(struct mr_run *run, struct mr_gate_pin *pin)
{
	struct name *name;

	pin->name[sizeof(pin->name) - 1] = '\0';
	/* What is to be cut off is before it can be reached. */
	mr_faults_learn(run, pin->name, &pin->address);
	open_way(run, pin);
	acknowledge(run, pin->id);
	name = find_name(run->network->state, pin->name);
	if (!name)
		return;
	name->ttl_s = pin->ttl_s;
	for (size_t i = 0; i < name->n; i++) {
		if (memcmp(&name->addresses[i], &pin->address, sizeof(pin->address)) == 0)
			return;
	}
	if (name->n < ADDRESSES_MAX)
		name->addresses[name->n++] = pin->address;
}

static struct peer *find_peer(struct gate *gate, const struct mr_gate_connection *c)
{
	struct peer *p;

	for (size_t i = 0; i < gate->n_peers; i++) {
		p = &gate->peers[i];
		if (memcmp(&p->address, &c->address, sizeof(c->address)) == 0 &&
		    p->port == c->port && p->checked == c->checked && strcmp(p->name, c->name) == 0)
			return p;
	}
	if (gate->n_peers == PEERS_MAX) {
		gate->peers_left_out++;
		return NULL;
	}
	p = &gate->peers[gate->n_peers++];
	*p = (struct peer){ .address = c->address,
			    .port = c->port,
			    .name = mr_str_dup(c->name),
			    .checked = c->checked };
	return p;
}

static void take_connection(struct mr_run *run, struct mr_gate_connection *c)
{
	struct peer *p;

	c->name[sizeof(c->name) - 1] = '\0';
	if (c->checked >= MR_GATE_CHECKED_KINDS_)
		return;
	p = find_peer(run->network->state, c);
	if (!p)
		return;
	p->connections++;
	p->failed += c->error != 0;
	p->error = c->error ? c->error : p->error;
	p->out_bytes += c->out_bytes;
	p->in_bytes += c->in_bytes;
}

static void on_message(struct mr_run *run, const struct mr_netd_head *head)
{
	struct gate *gate = run->network->state;
	union {
		struct mr_gate_denied denied;
		struct mr_gate_pin pin;
		struct mr_gate_connection connection;
		struct mr_gate_totals totals;
	} m;

	if (head->size > sizeof(m))
		return;
	memcpy(&m, head, head->size);
	if (head->type == MR_GATE_DENIED && head->size == sizeof(m.denied))
		take_denied(run, &m.denied);
	else if (head->type == MR_GATE_PIN && head->size == sizeof(m.pin))
		take_pin(run, &m.pin);
	else if (head->type == MR_GATE_CONNECTION && head->size == sizeof(m.connection))
		take_connection(run, &m.connection);
	else if (head->type == MR_GATE_TOTALS && head->size == sizeof(m.totals)) {
		gate->totals = m.totals;
		gate->has_totals = true;
	}
}

static void finish(struct mr_run *run)
{
	struct gate *gate = run->network->state;

	mr_guard_read(&gate->guard, take_refused, run);
	/* What is known of these is that they were: the sums are right. */
	gate->guard_lost = mr_datagrams_lose(run, &gate->guard);
	mr_denials_lose(&run->denials, MR_DENIAL_NETWORK, "untold", gate->totals.denied_lost);
	mr_loop_remove(run->host->loop, &gate->ring);
	mr_guard_detach(&gate->guard);
}

/* --- result -------------------------------------------------------------------------- */

static json_t *names_json(const struct gate *gate)
{
	json_t *list = json_array();

	for (size_t i = 0; i < gate->n_names; i++) {
		json_t *addresses = json_array();
		char text[INET6_ADDRSTRLEN];

		for (size_t j = 0; j < gate->names[i].n; j++)
			json_array_append_new(addresses,
					      json_string(
						      mr_rule_print_address(&gate->names[i]
										     .addresses[j],
									    text)));
		json_array_append_new(list, json_pack("{s:s, s:o, s:I}", "name",
						      gate->names[i].text, "addresses", addresses,
						      "ttl_s", (json_int_t)gate->names[i].ttl_s));
	}
	return list;
}

static json_t *peers_json(const struct gate *gate)
{
	static const char *const checked[] = {
		[MR_GATE_CHECKED_NOTHING] = "nothing",
		[MR_GATE_CHECKED_ADDRESS] = "address",
		[MR_GATE_CHECKED_TLS] = "tls-sni",
		[MR_GATE_CHECKED_HTTP] = "http-host",
	};
	json_t *list = json_array();

	for (size_t i = 0; i < gate->n_peers; i++) {
		const struct peer *p = &gate->peers[i];
		char text[INET6_ADDRSTRLEN];

		json_array_append_new(list,
				      json_pack("{s:s, s:i, s:s?, s:s, s:I, s:I, s:s?, s:I, s:I}",
						"address", mr_rule_print_address(&p->address, text),
						"port", (int)p->port, "name",
						p->name[0] ? p->name : NULL, "checked",
						checked[p->checked], "connections",
						(json_int_t)p->connections, "failed",
						(json_int_t)p->failed, "errno_name",
						p->error ? strerrorname_np(p->error) : NULL,
						"out_bytes", (json_int_t)p->out_bytes, "in_bytes",
						(json_int_t)p->in_bytes));
	}
	return list;
}

static json_t *denied_json(const struct gate *gate)
{
	static const char *const names[] = {
#define GATE_REASON(name, ...) [MR_GATE_##name] = #name,
#include "netns/gate_reasons.def"
#undef GATE_REASON
	};
	json_t *object = json_object();

	for (size_t i = 0; i < MR_GATE_REASONS_; i++) {
		char key[40];

		if (!gate->denied[i])
			continue;
		for (size_t j = 0; j <= strlen(names[i]) && j < sizeof(key); j++)
			key[j] = (char)(names[i][j] >= 'A' && names[i][j] <= 'Z'
						? names[i][j] - 'A' + 'a'
						: names[i][j]);
		json_object_set_new(object, key, json_integer((json_int_t)gate->denied[i]));
	}
	return object;
}

static json_t *totals_json(const struct gate *gate)
{
	const struct mr_gate_totals *t = &gate->totals;
	const uint64_t lost = t->lost + gate->guard_lost;

	if (!gate->has_totals)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "queries", (json_int_t)t->queries,
			 "resolved", (json_int_t)t->resolved, "connections",
			 (json_int_t)t->connections, "open_max", (json_int_t)t->open_max,
			 "out_bytes", (json_int_t)t->out_bytes, "in_bytes", (json_int_t)t->in_bytes,
			 "lost_messages", (json_int_t)lost);
}

static json_t *to_json(const struct mr_run *run)
{
	const struct gate *gate = run->network->state;

	return json_pack("{s:o, s:O, s:o, s:I, s:o, s:I, s:o, s:o, s:I}", "rules",
			 list_rules(run->spec), "servers", gate->servers, "names", names_json(gate),
			 "names_left_out", (json_int_t)gate->names_left_out, "peers",
			 peers_json(gate), "peers_left_out", (json_int_t)gate->peers_left_out,
			 "totals", totals_json(gate), "denied", denied_json(gate), "looks_left_out",
			 (json_int_t)gate->looks_left_out);
}

static json_t *receipt(const struct mr_run *run)
{
	const struct gate *gate = run->network->state;

	return json_pack("{s:o, s:O, s:b, s:s?}", "rules", list_rules(run->spec), "servers",
			 gate->servers, "connect_hook", !gate->no_guard[0], "connect_hook_why",
			 gate->no_guard[0] ? gate->no_guard : NULL);
}

static void free_state(struct mr_run *run)
{
	struct gate *gate = run->network->state;

	for (size_t i = 0; i < gate->n_names; i++)
		free(gate->names[i].text);
	for (size_t i = 0; i < gate->n_peers; i++)
		free(gate->peers[i].name);
	json_decref(gate->servers);
	mr_guard_detach(&gate->guard);
	mr_gate_policy_deinit(&gate->policy);
	free(gate);
}

static const struct mr_anyip_prefix everything[] = { { .family = AF_INET },
						     { .family = AF_INET6 } };

const struct mr_network_mode mr_gate_mode = {
	.net_mode = MR_NET_ALLOWLIST,
	.name = "allowlist",
	.prefixes = everything,
	.n_prefixes = N_ELEMENTS(everything),
	.begin = begin,
	.verify = verify,
	.on_message = on_message,
	.finish = finish,
	.to_json = to_json,
	.receipt = receipt,
	.free = free_state,
};

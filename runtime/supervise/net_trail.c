/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Net trail
 *
 * A connection is one row from its beginning on, found by the cookie of its socket; a later
 * event of it has larger amounts, and the last ones stay.
 */
#include "runtime/supervise/net_trail.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "runtime/base/event.h"
#include "runtime/base/json.h"
#include "runtime/base/str.h"
#include "runtime/base/text.h"
#include "runtime/supervise/dns.h"

struct name {
	uint64_t time_ns, start_ns;
	uint32_t pid, family, questions;
	uint16_t type;
	bool by_tcp, malformed;
	uint8_t address[16];
	char *text; /* owned by the trail's */
};

struct connection {
	uint64_t time_ns, start_ns;
	uint32_t pid;
	bool began, accepted, has_amounts, closed, failed;
	struct mr_event last; /* with the amounts */
};

struct mr_net_trail {
	struct name *names;
	struct connection *connections;
	size_t n_names, names_cap, n_connections, connections_cap;
	uint64_t names_left_out, connections_left_out;
};

struct mr_net_trail *mr_net_trail_new(void)
{
	return mr_str_alloc(sizeof(struct mr_net_trail));
}

struct mr_net_trail *mr_net_trail_free(struct mr_net_trail *trail)
{
	if (!trail)
		return NULL;
	for (size_t i = 0; i < trail->n_names; i++)
		free(trail->names[i].text);
	free(trail->names);
	free(trail->connections);
	free(trail);
	return NULL;
}

/* Its text lies in question. */
static struct name read_name(const struct mr_event *e, uint64_t start_ns,
			     struct mr_dns_question *question)
{
	struct name name = { .time_ns = e->time_ns,
			     .start_ns = start_ns,
			     .pid = e->pid,
			     .family = e->dns.family,
			     .questions = e->dns.questions,
			     .by_tcp = e->dns.by_tcp };

	mr_dns_read_question(e->dns.question, e->dns.kept, question);
	name.type = question->type;
	name.malformed = question->malformed || e->dns.questions == 0;
	name.text = question->name;
	memcpy(name.address, e->dns.address, sizeof(name.address));
	return name;
}

static void take_name(struct mr_net_trail *trail, const struct mr_event *e, uint64_t start_ns)
{
	struct mr_dns_question question;
	struct name *name;

	if (trail->n_names == MR_NET_TRAIL_NAMES_MAX) {
		trail->names_left_out++;
		return;
	}
	trail->names = mr_str_grow(trail->names, trail->n_names, &trail->names_cap, sizeof(*name));
	name = &trail->names[trail->n_names++];
	*name = read_name(e, start_ns, &question);
	name->text = mr_str_dup(question.name);
}

/* Newest first: most end soon.  NULL: there is no room. */
static struct connection *meet(struct mr_net_trail *trail, const struct mr_event *e)
{
	for (size_t i = trail->n_connections; i > 0; i--)
		if (trail->connections[i - 1].last.tcp.cookie == e->tcp.cookie)
			return &trail->connections[i - 1];
	if (trail->n_connections == MR_NET_TRAIL_CONNECTIONS_MAX) {
		trail->connections_left_out += e->tcp.what <= MR_EVENT_TCP_ACCEPTED;
		return NULL;
	}
	trail->connections = mr_str_grow(trail->connections, trail->n_connections,
					 &trail->connections_cap, sizeof(*trail->connections));
	trail->connections[trail->n_connections] = (struct connection){ .last = *e };
	return &trail->connections[trail->n_connections++];
}

static void take_connection(struct mr_net_trail *trail, const struct mr_event *e, uint64_t start_ns)
{
	struct connection *c = meet(trail, e);

	if (!c)
		return;
	if (e->tcp.what == MR_EVENT_TCP_ASKED || e->tcp.what == MR_EVENT_TCP_ACCEPTED) {
		c->began = true;
		c->accepted = e->tcp.what == MR_EVENT_TCP_ACCEPTED;
		c->time_ns = e->time_ns;
		c->start_ns = start_ns;
		c->pid = e->pid;
		return;
	}
	if (c->closed || c->failed)
		return;
	c->last = *e;
	c->has_amounts = true;
	c->closed = e->tcp.what == MR_EVENT_TCP_CLOSED;
	c->failed = e->tcp.what == MR_EVENT_TCP_FAILED;
}

void mr_net_trail_add(struct mr_net_trail *trail, const struct mr_event *event, uint64_t start_ns)
{
	if (event->type == MR_EVENT_dns)
		take_name(trail, event, start_ns);
	else
		take_connection(trail, event, start_ns);
}

uint64_t mr_net_trail_names_left_out(const struct mr_net_trail *trail)
{
	return trail->names_left_out;
}

uint64_t mr_net_trail_connections_left_out(const struct mr_net_trail *trail)
{
	return trail->connections_left_out;
}

/* --- JSON ------------------------------------------------------------------------------- */

static json_t *number_or_null(uint64_t n)
{
	return n ? json_integer((json_int_t)n) : json_null();
}

static json_t *number_if(bool known, uint64_t n)
{
	return known ? json_integer((json_int_t)n) : json_null();
}

static json_t *address_json(uint32_t family, const uint8_t address[16])
{
	char ip[INET6_ADDRSTRLEN];

	return inet_ntop((int)family, address, ip, sizeof(ip)) ? json_string(ip) : json_null();
}

static json_t *name_json(const struct name *name)
{
	char type[MR_DNS_TYPE_SIZE];

	return json_pack("{s:I, s:o, s:o, s:s, s:s?, s:s, s:o, s:i, s:i}", "boot_ns",
			 (json_int_t)name->time_ns, "tgid", number_or_null(name->pid),
			 "start_boot_ns", number_or_null(name->start_ns), "name", name->text,
			 "type", name->type ? mr_dns_type_name(name->type, type) : NULL,
			 "transport", name->by_tcp ? "tcp" : "udp", "server",
			 address_json(name->family, name->address), "questions",
			 (int)name->questions, "malformed", name->malformed);
}

json_t *mr_net_trail_names(const struct mr_net_trail *trail)
{
	json_t *list = json_array();

	for (size_t i = 0; i < trail->n_names; i++)
		json_array_append_new(list, name_json(&trail->names[i]));
	return list;
}

static json_t *connection_json(const struct connection *c)
{
	const struct mr_event *e = &c->last;
	bool known = c->has_amounts && !c->failed;
	json_t *row = json_pack("{s:o, s:o, s:o, s:s, s:s, s:s?, s:o, s:i, s:o, s:i}", "boot_ns",
				number_or_null(c->time_ns), "tgid", number_or_null(c->pid),
				"start_boot_ns", number_or_null(c->start_ns), "family",
				e->tcp.family == AF_INET6 ? "inet6" : "inet", "protocol", "tcp",
				"direction",
				!c->began     ? NULL
				: c->accepted ? "in"
					      : "out",
				"local", address_json(e->tcp.family, e->tcp.local), "local_port",
				(int)e->tcp.local_port, "remote",
				address_json(e->tcp.family, e->tcp.remote), "remote_port",
				(int)e->tcp.remote_port);
	json_t *end = json_pack("{s:s?, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i}", "verdict",
				c->failed		   ? "failed"
				: c->closed || c->accepted ? "allowed"
							   : NULL,
				"errno", number_if(c->failed && e->tcp.error, e->tcp.error),
				"tx_bytes", number_if(known, e->tcp.sent_bytes), "rx_bytes",
				number_if(known, e->tcp.received_bytes), "tx_packets",
				number_if(c->has_amounts, e->tcp.segments_out), "rx_packets",
				number_if(c->has_amounts, e->tcp.segments_in), "retransmits",
				number_if(c->has_amounts, e->tcp.retransmits), "rtt_us",
				number_or_null(c->has_amounts ? e->tcp.rtt_us : 0), "closed",
				c->closed || c->failed);

	json_object_update_new(row, end);
	return row;
}

json_t *mr_net_trail_connections(const struct mr_net_trail *trail)
{
	json_t *list = json_array();

	for (size_t i = 0; i < trail->n_connections; i++)
		json_array_append_new(list, connection_json(&trail->connections[i]));
	return list;
}

/* --- rows for followers -------------------------------------------------------------------- */

static json_t *move(json_t *from, const char *key)
{
	json_t *value = json_incref(json_object_get(from, key));

	json_object_del(from, key);
	return value ? value : json_null();
}

/* Takes detail, a row of a list above.  comm NULL: not known any more. */
static json_t *as_event(const char *type, json_t *detail, json_t *object, const char *comm)
{
	mr_auto_json json_t *text = json_object();

	if (comm)
		mr_text_set(text, "comm", comm, strlen(comm));
	return json_pack("{s:o, s:s, s:o, s:o, s:O?, s:o, s:o}", "boot_ns", move(detail, "boot_ns"),
			 "type", type, "tgid", move(detail, "tgid"), "start_boot_ns",
			 move(detail, "start_boot_ns"), "comm", json_object_get(text, "comm"),
			 "object", object, "detail", detail);
}

/* "127.0.0.1:80", as the store joins the two columns. */
static json_t *remote_json(const json_t *row)
{
	const char *remote = json_string_value(json_object_get(row, "remote"));
	char text[INET6_ADDRSTRLEN + 16];

	if (!remote)
		return json_null();
	snprintf(text, sizeof(text), "%s:%d", remote,
		 (int)json_integer_value(json_object_get(row, "remote_port")));
	return json_string(text);
}

static json_t *dns_event(const struct mr_event *e, uint64_t start_ns)
{
	struct mr_dns_question question;
	const struct name name = read_name(e, start_ns, &question);
	json_t *detail = name_json(&name);

	return as_event("dns", detail, move(detail, "name"), e->comm[0] ? e->comm : NULL);
}

json_t *mr_net_trail_show(const struct mr_event *e, uint64_t start_ns)
{
	static const char *const whats[] = { [MR_EVENT_TCP_ASKED] = "asked",
					     [MR_EVENT_TCP_ACCEPTED] = "accepted",
					     [MR_EVENT_TCP_CLOSING] = "closing",
					     [MR_EVENT_TCP_CLOSED] = "closed",
					     [MR_EVENT_TCP_FAILED] = "failed" };
	const struct connection c = { .time_ns = e->time_ns,
				      .start_ns = start_ns,
				      .pid = e->pid,
				      .began = e->tcp.what == MR_EVENT_TCP_ASKED ||
					       e->tcp.what == MR_EVENT_TCP_ACCEPTED,
				      .accepted = e->tcp.what == MR_EVENT_TCP_ACCEPTED,
				      .has_amounts = e->tcp.what > MR_EVENT_TCP_ACCEPTED,
				      .closed = e->tcp.what == MR_EVENT_TCP_CLOSED,
				      .failed = e->tcp.what == MR_EVENT_TCP_FAILED,
				      .last = *e };
	json_t *detail;

	if (e->type == MR_EVENT_dns)
		return dns_event(e, start_ns);
	detail = connection_json(&c);
	json_object_set_new(detail, "what", json_string(whats[e->tcp.what]));
	return as_event("tcp", detail, remote_json(detail), e->comm[0] ? e->comm : NULL);
}

json_t *mr_net_trail_rows(const struct mr_net_trail *trail)
{
	json_t *list = json_array();

	for (size_t i = 0; i < trail->n_names; i++) {
		json_t *detail = name_json(&trail->names[i]);

		json_array_append_new(list, as_event("dns", detail, move(detail, "name"), NULL));
	}
	for (size_t i = 0; i < trail->n_connections; i++) {
		json_t *detail = connection_json(&trail->connections[i]);

		json_array_append_new(list, as_event("tcp", detail, remote_json(detail), NULL));
	}
	return list;
}

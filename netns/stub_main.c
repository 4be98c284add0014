/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stub: menace-netd in the mode stub
 *
 * Puts the doors of a sandbox to a responder: connections that were led here, and queries.
 * Everything that needs more than the confinement allows is made before it: keys, the
 * authority, the loop.  Ends with the channel, and then says what was counted.
 */
#include "netns/stub_wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns/netd_faults.h"
#include "netns/rules.h"
#include "netns/stub_lane.h"
#include "netns/stub_tls.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/loop.h"
#include "runtime/base/patience.h"
#include "runtime/base/str.h"

#define BATCH_MAX 64 /* connections or datagrams in one turn of the loop */
#define PENDING_MAX 64 /* answers that wait for an acknowledgement */

/* A name that does not exist, and who is told so once it was looked who that is. */
struct pending {
	uint32_t id; /* 0: free */
	uint64_t due_ns;
	struct sockaddr_in6 from, to;
	size_t size;
	uint8_t reply[MR_DNS_REPLY_MAX];
};

struct server {
	struct mr_netd *netd;
	struct mr_loop *loop;
	struct mr_mocks mocks;
	struct mr_tls *tls;
	struct mr_stub *stub;
	struct mr_stub_lanes *lanes; /* NULL: no mock is by a command */
	struct mr_stub_count *counts;
	struct mr_source channel, doors[MR_DOORS];
	struct pending pending[PENDING_MAX];
	struct mr_netd_faults faults;
	uint64_t lost;
	bool over;
};

static void put_text(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from ? from : "");
}

static bool on_denial(void *owner, const struct mr_stub_denial *d)
{
	struct server *server = owner;
	struct mr_stub_denied message = {
		.head = { .type = MR_STUB_DENIED, .size = sizeof(message) },
		.id = d->id,
		.address = d->address,
		.port = d->port,
		.source_port = d->source_port,
	};

	put_text(message.op, sizeof(message.op), d->op);
	put_text(message.rule, sizeof(message.rule), d->rule);
	put_text(message.name, sizeof(message.name), d->name);
	put_text(message.reason, sizeof(message.reason), d->reason);
	put_text(message.object, sizeof(message.object), d->object);
	/* A payload that is refused faster than anybody can read is told of in one number. */
	if (mr_send_msg(server->netd->channel, &message, sizeof(message), NULL, 0) == 0)
		return true;
	server->lost++;
	return false;
}

static bool ask(void *owner, const struct mr_stub_ask *what)
{
	struct server *server = owner;

	return server->lanes && mr_stub_lanes_ask(server->lanes, what);
}

static void on_output(void *owner, uint32_t id, const char *output, size_t size)
{
	struct server *server = owner;

	mr_stub_output(server->stub, id, output, size);
}

static void on_unusable(void *owner, uint32_t mock, const char *why)
{
	struct server *server = owner;
	struct mr_stub_unusable message = {
		.head = { .type = MR_STUB_UNUSABLE, .size = sizeof(message) },
		.mock = mock,
	};

	put_text(message.why, sizeof(message.why), why);
	/* That it was one is in the counts. */
	mr_send_msg(server->netd->channel, &message, sizeof(message), NULL, 0);
}

static bool fails(void *owner, const char *name)
{
	struct server *server = owner;

	return mr_netd_faults_take(&server->faults, name);
}

static void deny_door(struct server *server, const char *op, const struct sockaddr_in6 *to)
{
	char object[INET6_ADDRSTRLEN + 10], address[INET6_ADDRSTRLEN];
	const bool ipv4 = IN6_IS_ADDR_V4MAPPED(&to->sin6_addr);
	const struct mr_stub_denial denial = {
		.op = op,
		.address = to->sin6_addr,
		.port = ntohs(to->sin6_port),
		.name = mr_mocks_name(&server->mocks, &to->sin6_addr),
		.object = object,
		.rule = "no mock",
		.reason = "mocks are answered over TCP, names over UDP",
	};

	snprintf(object, sizeof(object), ipv4 ? "%s:%u" : "[%s]:%u",
		 mr_rule_print_address(&to->sin6_addr, address), denial.port);
	on_denial(server, &denial); /* nobody waits for it */
}

static void reset_connection(int fd)
{
	const struct linger now = { .l_onoff = 1 };

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

/* -1: there is none. */
static int accept_one(int door, struct sockaddr_in6 *ret_from, struct sockaddr_in6 *ret_to)
{
	socklen_t len = sizeof(*ret_to), from_len = sizeof(*ret_from);
	int fd =
		accept4(door, (struct sockaddr *)ret_from, &from_len, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0 && getsockname(fd, (struct sockaddr *)ret_to, &len) < 0)
		fd = mr_close(fd);
	return fd;
}

static void on_tcp(struct mr_source *source, uint32_t events)
{
	struct server *server = source->owner;
	struct sockaddr_in6 from = { 0 }, to = { 0 };

	(void)events;
	for (int i = 0; i < BATCH_MAX; i++) {
		int fd = accept_one(source->fd, &from, &to);
		if (fd < 0)
			return;
		mr_stub_connect(server->stub, fd, &to.sin6_addr, ntohs(to.sin6_port),
				ntohs(from.sin6_port));
	}
}

static void on_dns_tcp(struct mr_source *source, uint32_t events)
{
	struct sockaddr_in6 from = { 0 }, to = { 0 };
	int fd = accept_one(source->fd, &from, &to);

	(void)events;
	if (fd < 0)
		return;
	deny_door(source->owner, "connect", &to);
	reset_connection(fd);
}

/* What cannot be sent is a lost datagram, as there always are. */
static void send_pending(struct server *server, struct pending *p)
{
	mr_doors_reply(server->doors[MR_DOOR_DNS_UDP].fd, p->reply, p->size, &p->from, &p->to);
	p->id = 0;
}

/* Without room the oldest goes at once. */
static struct pending *find_room(struct server *server)
{
	struct pending *oldest = &server->pending[0];

	for (size_t i = 0; i < PENDING_MAX; i++) {
		if (!server->pending[i].id)
			return &server->pending[i];
		if (server->pending[i].due_ns < oldest->due_ns)
			oldest = &server->pending[i];
	}
	send_pending(server, oldest);
	return oldest;
}

/* Milliseconds to the next one that has waited long enough; -1: none waits. */
static int send_overdue(struct server *server)
{
	const uint64_t now = mr_now_ns();
	uint64_t next = 0;

	for (size_t i = 0; i < PENDING_MAX; i++) {
		struct pending *p = &server->pending[i];

		if (p->id && p->due_ns <= now)
			send_pending(server, p);
		if (p->id && (!next || p->due_ns < next))
			next = p->due_ns;
	}
	return next ? (int)((next - now) / 1000000) + 1 : -1;
}

static void on_dns_udp(struct mr_source *source, uint32_t events)
{
	struct server *server = source->owner;
	uint8_t query[1500];

	(void)events;
	for (int i = 0; i < BATCH_MAX; i++) {
		struct pending p = { 0 };
		ssize_t n = mr_doors_receive(source->fd, query, sizeof(query), &p.from, &p.to);

		if (n < 0)
			return;
		p.size = mr_stub_query(server->stub, query, (size_t)n, ntohs(p.from.sin6_port),
				       p.reply, &p.id);
		p.due_ns = mr_now_ns() + MR_PATIENCE_NS(STUB_PENDING);
		if (p.size > 0 && p.id)
			*find_room(server) = p;
		else if (p.size > 0)
			send_pending(server, &p);
	}
}

static void on_udp(struct mr_source *source, uint32_t events)
{
	struct sockaddr_in6 from = { 0 }, to = { 0 };
	char dropped[1];

	(void)events;
	for (int i = 0; i < BATCH_MAX; i++) {
		if (mr_doors_receive(source->fd, dropped, sizeof(dropped), &from, &to) < 0)
			return;
		deny_door(source->owner, "sendto", &to);
	}
}

static void acknowledge(struct server *server, const char *message, size_t size)
{
	struct mr_stub_ack ack;

	if (size != sizeof(ack))
		return;
	memcpy(&ack, message, sizeof(ack));
	if (ack.head.type != MR_STUB_ACK)
		return;
	for (size_t i = 0; ack.id && i < PENDING_MAX; i++)
		if (server->pending[i].id == ack.id)
			send_pending(server, &server->pending[i]);
	mr_stub_acknowledge(server->stub, ack.id);
}

static void on_channel(struct mr_source *source, uint32_t events)
{
	struct server *server = source->owner;
	char buf[MR_NETD_MESSAGE_MAX];
	ssize_t n = recv(source->fd, buf, sizeof(buf), MSG_DONTWAIT);

	(void)events;
	if (n > 0 && !mr_netd_faults_begin(&server->faults, buf, (size_t)n))
		acknowledge(server, buf, (size_t)n);
	server->over = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void (*const on_door[MR_DOORS])(struct mr_source *source, uint32_t events) = {
	[MR_DOOR_TCP] = on_tcp,
	[MR_DOOR_UDP] = on_udp,
	[MR_DOOR_DNS_TCP] = on_dns_tcp,
	[MR_DOOR_DNS_UDP] = on_dns_udp,
};

static int open_doors(struct server *server, struct mr_error *err)
{
	int r = mr_loop_add(server->loop, &server->channel, server->netd->channel, EPOLLIN,
			    on_channel, server, err);

	for (int i = 0; r == 0 && i < MR_DOORS; i++)
		r = mr_loop_add(server->loop, &server->doors[i], server->netd->doors[i], EPOLLIN,
				on_door[i], server, err);
	return r;
}

static int tell_authority(struct server *server, struct mr_error *err)
{
	struct mr_stub_authority message = {
		.head = { .type = MR_STUB_AUTHORITY, .size = sizeof(message) },
	};
	const char *pem = mr_tls_ca_pem(server->tls);
	int r;

	mr_assert(strlen(pem) < sizeof(message.pem));
	put_text(message.pem, sizeof(message.pem), pem);
	r = mr_send_msg(server->netd->channel, &message, sizeof(message), NULL, 0);
	return r < 0 ? mr_err(err, MR_E_SYS, -r, "hand the authority over: %m") : 0;
}

/* What the configuration is behind its first part. */
static int take_config(struct server *server, const struct mr_stub_config *config,
		       struct mr_error *err)
{
	const char *rest = server->netd->config + sizeof(*config);
	const size_t left = server->netd->config_size - sizeof(*config);
	int r;

	if (config->faults_size > left)
		return mr_err(err, MR_E_PROTO, EPROTO, "the configuration is cut off");
	r = mr_netd_faults_add_all(&server->faults, rest, config->faults_size, err);
	return r < 0 ? r
		     : mr_mocks_unpack(rest + config->faults_size, left - config->faults_size,
				       &server->mocks, err);
}

static int open_lanes(struct server *server, uint64_t n, struct mr_error *err)
{
	int fds[MR_STUB_LANES];

	if (n == 0)
		return 0;
	if (n > MR_STUB_LANES)
		return mr_err(err, MR_E_PROTO, EPROTO, "too many lanes");
	for (uint64_t i = 0; i < n; i++)
		fds[i] = MR_NETD_FD_MORE + (int)i;
	return mr_stub_lanes_new(server->loop, fds, n, on_output, server, &server->lanes, err);
}

static int begin(struct server *server, struct mr_error *err)
{
	struct mr_stub_config config;
	struct mr_stub_opts opts = {
		.mocks = &server->mocks,
		.on_denial = on_denial,
		.fails = fails,
		.ask = ask,
		.on_unusable = on_unusable,
		.owner = server,
	};
	int r;

	if (server->netd->config_size < sizeof(config))
		return mr_err(err, MR_E_PROTO, EPROTO, "the configuration is cut off");
	memcpy(&config, server->netd->config, sizeof(config));
	r = take_config(server, &config, err);
	if (r == 0)
		r = mr_loop_new(&server->loop, err);
	if (r == 0)
		r = mr_tls_new(&server->tls, err);
	if (r < 0)
		return r;
	server->counts = mr_str_alloc((server->mocks.n + 1) * sizeof(*server->counts));
	opts.loop = server->loop;
	opts.tls = server->tls;
	opts.delay_ns = config.delay_ns;
	opts.seed = config.seed;
	opts.punctual_percent = (unsigned int)config.punctual_percent;
	opts.counts = server->counts;
	opts.without_ipv6 = config.without_ipv6 != 0;
	r = mr_stub_new(&opts, &server->stub, err);
	if (r == 0)
		r = open_lanes(server, config.lanes, err);
	if (r == 0)
		r = open_doors(server, err);
	return r < 0 ? r : tell_authority(server, err);
}

/* At the end somebody listens; a little patience is enough. */
static void say(struct server *server, const void *message, size_t size)
{
	struct pollfd p = { .fd = server->netd->channel, .events = POLLOUT };

	while (mr_send_msg(p.fd, message, size, NULL, 0) == -EAGAIN)
		if (mr_clock_poll(&p, 1, mr_now_ns() + MR_PATIENCE_NS(STUB_SAY)) <= 0)
			return;
}

static void tell_counts(struct server *server)
{
	struct mr_stub_lost lost = {
		.head = { .type = MR_STUB_LOST, .size = sizeof(lost) },
		.denials = server->lost,
	};

	struct mr_netd_met met;
	size_t told = 0;

	while (mr_netd_faults_tell(&server->faults, &told, &met))
		say(server, &met, sizeof(met));
	for (size_t first = 0; first < server->mocks.n; first += MR_STUB_COUNTS_MAX) {
		const size_t left = server->mocks.n - first;
		struct mr_stub_counts message = {
			.head = { .type = MR_STUB_COUNTS, .size = sizeof(message) },
			.first = (uint32_t)first,
			.n = (uint32_t)(left < MR_STUB_COUNTS_MAX ? left : MR_STUB_COUNTS_MAX),
		};

		memcpy(message.counts, server->counts + first, message.n * sizeof(*server->counts));
		say(server, &message, sizeof(message));
	}
	say(server, &lost, sizeof(lost));
}

int mr_stub_main(struct mr_netd *netd, mr_netd_confine_fn *confine, struct mr_error *err)
{
	struct server server = { .netd = netd, .channel.fd = -1 };
	int r = begin(&server, err);

	if (r == 0)
		r = mr_netd_forbid_sockets(err);
	if (r == 0)
		r = confine(netd, err);
	while (r >= 0 && !server.over)
		r = mr_loop_run_once(server.loop, send_overdue(&server), err);
	/* A helper that got no processor has it all before it when the run is over. */
	mr_loop_remove(server.loop, &server.channel);
	if (r >= 0) {
		r = mr_loop_drain(server.loop, MR_PATIENCE_NS(NETD_DRAIN), err);
		tell_counts(&server);
	}
	mr_stub_lanes_free(server.lanes);
	mr_stub_free(server.stub);
	mr_tls_free(server.tls);
	mr_loop_free(server.loop);
	mr_mocks_deinit(&server.mocks);
	mr_netd_faults_deinit(&server.faults);
	free(server.counts);
	return r < 0 ? r : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gate
 *
 * The one process that has a foot in both namespaces: sockets of the sandbox to answer on, and the
 * host's network to reach what the rules allow.  Each refusal is told first, and carried
 * out when the supervisor has seen who asked (ACK), or does not answer in time.
 *
 *   door         what comes                         where it goes
 *   tcp          any connection                     gate_relay.c
 *   dns_tcp      to loopback: queries               gate_dns.c
 *                to others: a connection            gate_relay.c
 *   dns_udp      to loopback: queries               gate_dns.c
 *                to others: another resolver        refused
 *   udp          any datagram                       refused
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns/gate_internal.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/json.h"
#include "runtime/base/patience.h"

const struct mr_gate_reason_row *mr_gate_reason(enum mr_gate_reason reason)
{
	static const struct mr_gate_reason_row rows[] = {
#define GATE_REASON(name, rule, what, help) [MR_GATE_##name] = { rule, what, help },
#include "netns/gate_reasons.def"
#undef GATE_REASON
	};

	mr_assert((size_t)reason < N_ELEMENTS(rows));
	return &rows[reason];
}

/* The payload's flood of denials waits for whoever reads them: nothing of it is lost while the
 * supervisor lives, and only the payload's own network stands still. */
void mr_gate_tell(struct mr_gate *gate, struct mr_netd_head *head, uint32_t type, uint32_t size)
{
	struct pollfd p = { .fd = gate->netd->channel, .events = POLLOUT };
	int r;

	*head = (struct mr_netd_head){ .type = type, .size = size };
	r = mr_send_msg(gate->netd->channel, head, size, NULL, 0);
	while (r == -EAGAIN && mr_clock_poll(&p, 1, mr_now_ns() + MR_PATIENCE_NS(GATE_TELL)) == 1)
		r = mr_send_msg(gate->netd->channel, head, size, NULL, 0);
	if (r < 0) {
		gate->totals.lost++;
		gate->totals.denied_lost += type == MR_GATE_DENIED;
	}
}

uint32_t mr_gate_deny(struct mr_gate *gate, struct mr_gate_denied *denied,
		      enum mr_gate_reason reason)
{
	denied->reason = (uint16_t)reason;
	denied->id = ++gate->last_id;
	mr_gate_tell(gate, &denied->head, MR_GATE_DENIED, sizeof(*denied));
	return denied->id;
}

/* Only an address of the host can be bound to; no packet is sent. */
bool mr_gate_is_own(const struct in6_addr *address)
{
	mr_auto_close int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 at = { .sin6_family = AF_INET6, .sin6_addr = *address };
	const int off = 0;

	if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off)) < 0)
		return true; /* not known: as if it were */
	return bind(fd, (const struct sockaddr *)&at, sizeof(at)) == 0;
}

/* A connection that nobody takes keeps its door ready, and us busy. */
int mr_gate_accept(struct mr_gate *gate, struct mr_source *door)
{
	int fd = accept4(door->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct mr_error err;

	if (fd >= 0 || errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
		return fd;
	if (errno == EMFILE && gate->spare >= 0) {
		gate->spare = mr_close(gate->spare);
		fd = accept4(door->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			mr_gate_relay_refuse(gate, fd);
		gate->spare = fcntl(gate->netd->channel, F_DUPFD_CLOEXEC, 0);
		if (fd >= 0)
			return -1;
	}
	if (mr_loop_modify(gate->loop, door, 0, &err) < 0)
		gate->over = true;
	return -1;
}

static void take_ack(struct mr_gate *gate, const struct mr_gate_ack *ack)
{
	mr_gate_resolver_ack(gate, ack->id);
	mr_gate_relay_ack(gate, ack->id);
}

static void on_channel(struct mr_source *source, uint32_t events)
{
	struct mr_gate *gate = source->owner;
	union {
		struct mr_gate_ack ack;
		char bytes[MR_NETD_MESSAGE_MAX];
	} message;
	ssize_t n;

	(void)events;
	while ((n = recv(source->fd, &message, sizeof(message), MSG_DONTWAIT)) > 0) {
		if (mr_netd_faults_begin(&gate->faults, &message, (size_t)n))
			continue;
		if (n == sizeof(message.ack) && message.ack.head.type == MR_GATE_ACK)
			take_ack(gate, &message.ack);
	}
	/* At end of file the run is over, or the supervisor is gone. */
	gate->over = n == 0 || (errno != EAGAIN && errno != EINTR);
}

static void on_timer(struct mr_source *source, uint32_t events)
{
	struct mr_gate *gate = source->owner;
	const uint64_t now = mr_now_ns();
	struct mr_error err;

	(void)events;
	mr_timer_ack(source->fd);
	mr_gate_resolver_tick(gate, now);
	mr_gate_relay_tick(gate, now);
	if (gate->spare < 0)
		gate->spare = fcntl(gate->netd->channel, F_DUPFD_CLOEXEC, 0);
	if (mr_timer_arm(source->fd, now + MR_PATIENCE_NS(GATE_TICK), &err) < 0)
		gate->over = true;
}

static int take_faults(struct mr_gate *gate, struct mr_error *err)
{
	mr_auto_json json_t *document = NULL;
	struct mr_json root, list;
	int r = mr_json_parse(gate->netd->config, gate->netd->config_size, "allowlist", &document,
			      err);

	if (r < 0)
		return r;
	root = mr_json_root(document, "allowlist");
	if (!mr_json_member(&root, "faults", &list))
		return 0;
	r = mr_json_want_array(&list, err);
	for (size_t i = 0; r == 0 && i < json_array_size(list.value); i++) {
		struct mr_json item = mr_json_item(&list, i);
		const char *text = NULL;

		r = mr_json_get_string(&item, &text, err);
		if (r == 0)
			r = mr_netd_faults_add(&gate->faults, text, err);
	}
	return r;
}

static int start(struct mr_gate *gate, struct mr_error *err)
{
	int timer, r = mr_gate_policy_parse(&gate->policy, gate->netd->config,
					    gate->netd->config_size, err);

	if (r == 0)
		r = take_faults(gate, err);
	if (r == 0)
		r = mr_loop_new(&gate->loop, err);
	if (r < 0)
		return r;
	timer = mr_timer_open(err);
	if (timer < 0)
		return timer;
	r = mr_loop_add(gate->loop, &gate->timer, timer, EPOLLIN, on_timer, gate, err);
	if (r == 0)
		r = mr_timer_arm(timer, mr_now_ns() + MR_PATIENCE_NS(GATE_TICK), err);
	if (r == 0)
		r = mr_loop_add(gate->loop, &gate->channel, gate->netd->channel, EPOLLIN,
				on_channel, gate, err);
	gate->spare = fcntl(gate->netd->channel, F_DUPFD_CLOEXEC, 0);
	if (r == 0)
		r = mr_gate_resolver_new(gate, err);
	return r < 0 ? r : mr_gate_relay_new(gate, err);
}

int mr_gate_main(struct mr_netd *netd, mr_netd_confine_fn *confine, struct mr_error *err)
{
	struct mr_gate gate = { .netd = netd, .channel.fd = -1, .timer.fd = -1, .spare = -1 };
	struct mr_netd_met met;
	size_t told = 0;
	int r = start(&gate, err);

	if (r == 0)
		r = confine(netd, err);
	while (r >= 0 && !gate.over)
		r = mr_loop_run_once(gate.loop, -1, err);
	/* A helper that got no processor has it all before it when the run is over. */
	mr_loop_remove(gate.loop, &gate.channel);
	if (r < 0)
		return r;
	r = mr_loop_drain(gate.loop, MR_PATIENCE_NS(NETD_DRAIN), err);
	mr_gate_relay_free(&gate);
	mr_gate_resolver_free(&gate);
	while (mr_netd_faults_tell(&gate.faults, &told, &met))
		mr_gate_tell(&gate, &met.head, MR_NETD_MET, sizeof(met));
	mr_gate_tell(&gate, &gate.totals.head, MR_GATE_TOTALS, sizeof(gate.totals));
	mr_close(gate.timer.fd);
	mr_close(gate.spare);
	mr_loop_free(gate.loop);
	mr_gate_policy_deinit(&gate.policy);
	mr_netd_faults_deinit(&gate.faults);
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gate
 */
#include "netns/gate.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"
#include "runtime/base/loop.h"

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

struct gate {
	struct mr_netd *netd;
	struct mr_loop *loop;
	struct mr_source channel, doors[MR_DOORS];
	bool over;
};

static void on_channel(struct mr_source *source, uint32_t events)
{
	struct gate *gate = source->owner;
	char buf[MR_NETD_MESSAGE_MAX];
	ssize_t n = recv(source->fd, buf, sizeof(buf), MSG_DONTWAIT);

	(void)events;
	gate->over = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void on_tcp(struct mr_source *source, uint32_t events)
{
	struct gate *gate = source->owner;
	mr_auto_close int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct mr_gate_denied denied = {
		.head = { .type = MR_GATE_DENIED, .size = sizeof(denied) },
		.reason = MR_GATE_ADDRESS,
		.protocol = IPPROTO_TCP,
	};
	const struct linger reset = { .l_onoff = 1 };
	struct sockaddr_in6 to;
	socklen_t len = sizeof(to);

	(void)events;
	if (fd < 0 || getsockname(fd, (struct sockaddr *)&to, &len) < 0)
		return;
	denied.address = to.sin6_addr;
	denied.port = ntohs(to.sin6_port);
	mr_send_msg(gate->netd->channel, &denied, sizeof(denied), NULL, 0);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
}

int mr_gate_main(struct mr_netd *netd, mr_netd_confine_fn *confine, struct mr_error *err)
{
	struct gate gate = { .netd = netd, .channel.fd = -1 };
	int r = mr_loop_new(&gate.loop, err);

	if (r == 0)
		r = mr_loop_add(gate.loop, &gate.channel, netd->channel, EPOLLIN, on_channel, &gate,
				err);
	if (r == 0)
		r = mr_loop_add(gate.loop, &gate.doors[MR_DOOR_TCP], netd->doors[MR_DOOR_TCP],
				EPOLLIN, on_tcp, &gate, err);
	if (r == 0)
		r = confine(netd, err);
	while (r >= 0 && !gate.over)
		r = mr_loop_run_once(gate.loop, -1, err);
	mr_loop_free(gate.loop);
	return r < 0 ? r : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flow
 */
#include "runtime/backend/qemu_flow.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "runtime/backend/errand.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/loop.h"
#include "runtime/spec/spec.h"

static void on_progress(struct mr_pump_out *pump, size_t n)
{
	struct mr_flow *flow = pump->owner;

	if (n == 0)
		flow->on_change(flow->owner);
}

static int start_pump(struct mr_flow *flow, const struct mr_spec *spec, int caller_fd, int from,
		      struct mr_error *err)
{
	struct mr_sink_fd sink = { .fd = -1 };
	int r = 0;

	if (caller_fd >= 0 && spec->output_forward)
		r = mr_sink_fd_open(caller_fd, &sink, err);
	if (r < 0) {
		mr_close(from);
		return r;
	}
	return mr_pump_out_start(&flow->pump, flow->loop, from, sink, spec->output_head_bytes,
				 spec->output_tail_bytes, on_progress, flow, err);
}

int mr_flow_open(struct mr_flow *flow, struct mr_loop *loop, const struct mr_spec *spec,
		 int caller_fd, void (*on_change)(void *owner), void *owner, struct mr_error *err)
{
	int pair[2], r;

	if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) < 0)
		return mr_err(err, MR_E_SYS, errno, "make the pipe of an output: %m");
	flow->loop = loop;
	flow->writable.fd = -1;
	flow->on_change = on_change;
	flow->owner = owner;
	flow->to = pair[1];
	r = start_pump(flow, spec, caller_fd, pair[0], err);
	if (r < 0)
		flow->to = mr_close(flow->to);
	flow->open = r == 0;
	return r;
}

/* A caller that is gone takes no more: what waits is dropped, as it is for a pipe. */
static size_t write_some(struct mr_flow *flow, const unsigned char *data, size_t size)
{
	ssize_t n = write(flow->to, data, size);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : size;
	return (size_t)n;
}

static void on_writable(struct mr_source *source, uint32_t events)
{
	struct mr_flow *flow = source->owner;

	(void)events;
	flow->at += write_some(flow, flow->waiting + flow->at, flow->end - flow->at);
	if (flow->at < flow->end)
		return;
	flow->at = flow->end = 0;
	mr_loop_remove(flow->loop, &flow->writable);
	if (flow->shut)
		flow->to = mr_close(flow->to);
	flow->on_change(flow->owner);
}

int mr_flow_put(struct mr_flow *flow, const unsigned char *body, size_t size, struct mr_error *err)
{
	size_t n = mr_flow_waits(flow) ? 0 : write_some(flow, body, size);

	if (n == size || flow->dropped)
		return 0;
	mr_assert(sizeof(flow->waiting) - flow->end >= size - n);
	memcpy(flow->waiting + flow->end, body + n, size - n);
	flow->end += size - n;
	return flow->writable.fd >= 0 ? 0
				      : mr_loop_add(flow->loop, &flow->writable, flow->to, EPOLLOUT,
						    on_writable, flow, err);
}

bool mr_flow_waits(const struct mr_flow *flow)
{
	return flow->end > 0;
}

void mr_flow_shut(struct mr_flow *flow)
{
	flow->shut = true;
	if (flow->open && !mr_flow_waits(flow))
		flow->to = mr_close(flow->to);
}

bool mr_flow_done(const struct mr_flow *flow)
{
	return !flow->open || flow->dropped || (flow->to < 0 && mr_pump_out_done(&flow->pump));
}

void mr_flow_drop(struct mr_flow *flow)
{
	if (!flow->open)
		return;
	flow->dropped = true;
	flow->at = flow->end = 0;
	mr_loop_remove(flow->loop, &flow->writable);
	if (flow->shut)
		flow->to = mr_close(flow->to);
}

static bool is_blocked(const struct mr_flow *flow)
{
	return flow->open && flow->pump.pending_end > 0;
}

void mr_flow_drain(struct mr_flow *out, struct mr_flow *err, const struct mr_errand *errand)
{
	struct mr_error ignored = MR_ERROR_INIT;
	bool told = !errand;
	int r = 0;

	mr_flow_shut(out);
	mr_flow_shut(err);
	while (r >= 0 && !(mr_flow_done(out) && mr_flow_done(err))) {
		if (!told && (is_blocked(out) || is_blocked(err)))
			told = mr_errand_waits_for_reader(errand);
		r = mr_loop_run_once(out->loop, -1, &ignored);
	}
}

bool mr_flow_stop(struct mr_flow *flow, struct mr_capture *ret)
{
	if (!flow->open)
		return false;
	mr_loop_remove(flow->loop, &flow->writable);
	flow->to = mr_close(flow->to);
	*ret = flow->pump.capture;
	flow->pump.capture = (struct mr_capture){ .total = 0 };
	mr_pump_out_stop(&flow->pump);
	flow->open = false;
	return flow->pump.lost;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flow: one stream of the payload's, from frames to the caller
 *
 * What a frame brought goes through a pipe into a pump of runtime/supervise/pump.h, which
 * captures it and passes it on.  What does not fit the pipe waits here; the owner then reads
 * no more frames until it is told that nothing waits.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "runtime/backend/qemu_wire.h"
#include "runtime/supervise/pump.h"

struct mr_error;
struct mr_spec;

struct mr_flow {
	struct mr_loop *loop;
	struct mr_pump_out pump;
	struct mr_source writable; /* in the loop while something waits */
	int to; /* writing end of the pipe, owned */
	bool open; /* the pump is running */
	bool shut; /* nothing comes any more */
	size_t at, end; /* of waiting */
	unsigned char waiting[2 * MR_WIRE_BODY_MAX];
	void (*on_change)(void *owner); /* nothing waits any more, or all is passed on */
	void *owner;
};

/* caller_fd -1: it is only captured, as output.head_bytes and output.tail_bytes say. */
int mr_flow_open(struct mr_flow *flow, struct mr_loop *loop, const struct mr_spec *spec,
		 int caller_fd, void (*on_change)(void *owner), void *owner, struct mr_error *err);
/* size is at most MR_WIRE_BODY_MAX, and not more than that waits. */
int mr_flow_put(struct mr_flow *flow, const unsigned char *body, size_t size, struct mr_error *err);
bool mr_flow_waits(const struct mr_flow *flow);
/* Nothing comes any more. */
void mr_flow_shut(struct mr_flow *flow);
/* Shut, and all of it is passed on. */
bool mr_flow_done(const struct mr_flow *flow);
/* Stop, and take the capture out of it. No-op for one that was never opened (zeroed). */
void mr_flow_stop(struct mr_flow *flow, struct mr_capture *ret);

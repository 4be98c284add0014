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

struct mr_errand;
struct mr_error;
struct mr_spec;

struct mr_flow {
	struct mr_loop *loop;
	struct mr_pump_out pump;
	struct mr_source writable; /* in the loop while something waits */
	int to; /* writing end of the pipe, owned */
	bool open; /* the pump is running */
	bool shut; /* nothing comes any more */
	bool dropped; /* who reads it is not waited for any more */
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
/* Who reads it is not waited for any more: what waits for him and what still comes is thrown away. */
void mr_flow_drop(struct mr_flow *flow);
/* Shut, and all of it is passed on; or dropped. */
bool mr_flow_done(const struct mr_flow *flow);
/* Shut both, and run their loop until all of them is passed on, however long its reader takes: what
 * came just before the end of a machine, whatever ended it, is not lost with it.  What else is in the
 * loop may drop them.  errand: told when only the reader is waited for; NULL: nobody is. */
void mr_flow_drain(struct mr_flow *out, struct mr_flow *err, const struct mr_errand *errand);
/* Stop, and take the capture out of it.  True: the caller's stream failed before it had all, which was
 * said.  No-op for one that was never opened (zeroed). */
bool mr_flow_stop(struct mr_flow *flow, struct mr_capture *ret);

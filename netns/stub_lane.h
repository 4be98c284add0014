/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lane: the way of a request to the supervisor, and of what a command said back
 *
 * One request at a time a lane, so that their number is that of the commands that run at once, and
 * neither side ever has to wait for the other.  On the wire: struct mr_stub_ask_head and its bytes
 * one way, struct mr_stub_output_head and its bytes the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_error;
struct mr_loop;
struct mr_stub_ask;
struct mr_stub_lanes;

#define MR_STUB_LANES 4

struct mr_stub_ask_head {
	uint32_t mock, https, port;
	uint32_t method_size, target_size, head_size,
		body_size; /* bytes that follow, in this order */
};

struct mr_stub_output_head {
	uint32_t answered; /* 0: the command gave nothing that could be an answer */
	uint32_t size; /* bytes that follow */
};

/* In menace-netd.  The descriptors, non-blocking stream sockets, become the lanes'.  on_output is
 * called once for each request that was taken; output NULL: it has no answer. */
int mr_stub_lanes_new(struct mr_loop *loop, const int *fds, size_t n,
		      void (*on_output)(void *owner, uint32_t id, const char *output, size_t size),
		      void *owner, struct mr_stub_lanes **ret, struct mr_error *err);
/* False: all are busy. */
bool mr_stub_lanes_ask(struct mr_stub_lanes *lanes, const struct mr_stub_ask *ask);
/* NULL is accepted; returns NULL. */
struct mr_stub_lanes *mr_stub_lanes_free(struct mr_stub_lanes *lanes);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gate: one HTTP request after the other on a connection that must show a name
 *
 * Tells where each request of a client begins and ends, and which host it is for.  What can be
 * framed in more than one way is none (stub_http.h), and nor is what follows an Upgrade.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netns/sniff.h"
#include "netns/stub_http.h"

enum mr_gate_frame {
	MR_GATE_FRAME_MORE, /* nothing was used: the head is not whole yet */
	MR_GATE_FRAME_HEAD, /* it is, and was used; its host is the name */
	MR_GATE_FRAME_BODY, /* what was used is some of the body */
	MR_GATE_FRAME_BAD, /* neither; kind is what it seems to be.  Nothing more can be fed */
};

/* Zeroed is the beginning. */
struct mr_gate_http {
	struct mr_http http;
	bool in_body;
	bool later; /* a request was there before */
};

/* Read on, at most one frame.  *ret_used of the n bytes (1 or more) belong to it. */
enum mr_gate_frame mr_gate_http_feed(struct mr_gate_http *h, const uint8_t *bytes, size_t n,
				     size_t *ret_used, enum mr_sniff *ret_kind,
				     char ret_name[MR_RULE_NAME_MAX + 1]);

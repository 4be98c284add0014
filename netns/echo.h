/* SPDX-License-Identifier: Apache-2.0 */
/*
 * echo: how a loopback behaves, measured with a few datagrams
 */
#pragma once

#include <stdint.h>

struct mr_error;

struct mr_echo {
	uint32_t sent, answered; /* datagrams; answered: at least once */
	uint32_t arrived; /* at the other end, repeated ones too */
	uint32_t repeated; /* answers beyond the first of each */
	uint64_t rtt_min_ns, rtt_mean_ns, rtt_max_ns; /* of first answers; 0 when there is none */
	uint64_t took_ns;
};

/* Send `count` (at most MR_ECHO_MAX) datagrams from one socket on 127.0.0.1 to another and back, one
 * a millisecond, until all are answered or the last was sent patience_ns ago and nothing is there. */
#define MR_ECHO_MAX 64
int mr_echo_measure(uint32_t count, uint64_t patience_ns, struct mr_echo *ret,
		    struct mr_error *err);

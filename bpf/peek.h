/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peek: the exact counters of a run that goes on, for somebody who only looks
 */
#pragma once

#include <stdint.h>

#include "bpf/wire.h"

struct mr_error;

struct mr_peek {
	int runs_fd, slots_fd; /* -1: nothing is observed here, or not by this build */
};

/* Open what is pinned; loads nothing.  Without rights over it the counters are just not known. */
void mr_peek_open(struct mr_peek *peek);
void mr_peek_close(struct mr_peek *peek);
/* Counters of the run in this control group: 0, or 1 when they are not known. */
int mr_peek_counts(const struct mr_peek *peek, uint64_t cgroup_id, struct mr_wire_slot *ret);

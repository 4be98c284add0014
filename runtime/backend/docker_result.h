/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Docker, result: what is known of a run in a container, as a result
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "runtime/backend/docker_reply.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/supervise/verdict.h"

struct json_t;
struct mr_capture;
struct mr_spec;

struct mr_docker_facts {
	const struct mr_spec *spec;
	const char *run_id;
	const char *engine; /* where it is */
	const char *container, *image; /* ids; "" when there was none */
	const char *pool; /* "used", or why not; NULL: none was asked for */
	unsigned int uid, gid;
	const struct json_t *asked; /* body of the request that made it; NULL: none was */
	struct mr_facts facts;
	const struct mr_error *error; /* NULL: none */
	bool lost; /* the engine was lost while it ran */
	const struct mr_capture *out, *err; /* NULL: none */
	struct mr_docker_stats stats; /* of the last look */
	bool has_stats;
	struct json_t *telemetry; /* stolen; NULL: nothing was observed */
	uint64_t start_real_ns, begin_ns, go_ns, end_ns, done_ns; /* 0: not reached */
	struct mr_clock_reading clock_start, clock_done;
};
/* New reference. */
struct json_t *mr_docker_result_make(const struct mr_docker_facts *facts);

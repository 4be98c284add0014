/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What telemetry.c keeps of events for telemetry_json.c
 */
#pragma once

#include "runtime/base/event.h"
#include "runtime/supervise/telemetry.h"

struct mr_telemetry_exec {
	struct mr_event event; /* its exe and argv are not valid any more */
	char *exe, *argv;
};

struct mr_telemetry_crash {
	struct mr_event event;
};

/* Which set a run was observed with; NULL when it was not. */
const struct mr_probes *mr_telemetry_probes(const struct mr_telemetry *t);

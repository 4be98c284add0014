/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events: rows of one run, as people and programs read them
 *
 * A row is a JSON object with boot_ns, type, tgid, comm, object and detail, from the store
 * (statement run.events) or from a run that goes on (runtime/supervise/follow.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_t;
struct mr_error;

struct mr_events {
	bool json; /* one object a line, else a table */
	uint32_t types; /* mask of those that are wanted; 0: all */
	int64_t begin_ns; /* boot time of the run's start */
	bool titled; /* the head of the table has been printed */
};

/* A list of types, "exec,exit".  MR_E_USAGE with a hint for one that is none. */
int mr_events_parse_types(const char *text, uint32_t *ret, struct mr_error *err);
/* Print a row, if its type is wanted. */
void mr_events_print(struct mr_events *events, struct json_t *row);
/* Print that so many could not be shown; no-op for 0. */
void mr_events_print_lost(struct mr_events *events, int64_t count, const char *why);

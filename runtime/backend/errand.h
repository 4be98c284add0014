/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errand: what the program of a backend is asked to do
 *
 * The program's side of handover.h.
 */
#pragma once

#include <stdbool.h>

#include "runtime/spec/spec.h"
#include "runtime/supervise/lease.h"

struct json_t;
struct mr_error;

struct mr_errand {
	bool probe_only; /* the verb was "probe" */
	char run_id[MR_RUN_ID_SIZE];
	struct mr_spec spec;
	struct json_t *backend; /* for receipt.backend; owned; NULL for a probe */
	int report_fd; /* also tells when nobody waits any more: poll it for POLLERR */
};

/* Take what main() was given.  On failure nothing is to be released; err is for standard error.
 * SIGPIPE is ignored from here on. */
int mr_errand_open(int argc, char **argv, struct mr_errand *ret, struct mr_error *err);
void mr_errand_deinit(struct mr_errand *errand);

/* The answer to a probe.  lacks: MR_NEED_BITs; facts: stolen, or NULL. */
int mr_errand_report_probe(struct mr_errand *errand, bool can, const char *why, uint64_t lacks,
			   struct json_t *facts, struct mr_error *err);
/* The run is over, and only who reads the output is waited for: see handover.h.  True: it was said. */
bool mr_errand_waits_for_reader(const struct mr_errand *errand);
/* The result of the run: receipt.backend is put in; stolen. */
int mr_errand_report(struct mr_errand *errand, struct json_t *result, struct mr_error *err);
/* The result of one that never began: every member is there, reason setup_error.  New reference. */
struct json_t *mr_errand_failed(const struct mr_errand *errand, const struct mr_error *why);

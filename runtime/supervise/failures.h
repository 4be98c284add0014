/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures: the failure modes of a run, at work
 *
 * Each is made from outside of the payload, and each counts for itself how often it could have
 * happened and how often it did.  What one draws decides nothing of another.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/rand.h"
#include "runtime/spec/failures.h"

struct json_t;
struct mr_error;
struct mr_failure;
struct mr_launch_opts;
struct mr_run;

struct mr_injector {
	enum mr_failure_mode mode;
	const char *unit; /* of struct mr_failure.amount: "ns", "bytes", "packets"; NULL: none */
	/* In place; what happens from now on, happens to the payload.  Its first instruction is yet to
	 * come.  NULL: it is in place already. */
	int (*start)(struct mr_run *run, struct mr_failure *failure, struct mr_error *err);
	/* The payload is over, its control group is not: nothing more happens, and what there is to
	 * count is counted.  May be NULL. */
	void (*stop)(struct mr_run *run, struct mr_failure *failure);
	/* Whoever answered for the network has told all: count.  May be NULL. */
	void (*count)(struct mr_run *run, struct mr_failure *failure);
	/* Members of its own for the result.  May be NULL. */
	void (*tell)(const struct mr_run *run, const struct mr_failure *failure,
		     struct json_t *object);
	/* Release failure->state.  NULL: there is none. */
	void (*free)(struct mr_run *run, struct mr_failure *failure);
};

/* A mode of a run. */
struct mr_failure {
	const struct mr_injector *injector; /* NULL: it is not made; why says more */
	enum mr_failure_mode mode;
	struct mr_rand rand;
	bool started;
	bool acted; /* on what the payload was given, apart from the occasions that are counted */
	uint64_t opportunities, fired, amount;
	char why[300]; /* not made, or not to the end; or "" */
	void *state; /* the injector's */
};

struct mr_failures {
	uint64_t seed;
	size_t n;
	struct mr_failure v[MR_FAILURE_COUNT_];
};

/* Before anything is made: which there are, and the seed.  Those that cannot be had here end the run,
 * or are left out and told. */
int mr_failures_begin(struct mr_run *run, struct mr_error *err);
/* What it is launched by becomes other things, which live as long as the run. */
void mr_failures_change(struct mr_run *run, struct mr_launch_opts *opts);
/* The payload is confined and waits. */
int mr_failures_start(struct mr_run *run, struct mr_error *err);
/* It is over.  May be called again. */
void mr_failures_stop(struct mr_run *run);
void mr_failures_count(struct mr_run *run);
void mr_failures_free(struct mr_run *run);
/* The mode of a run, or NULL: not asked for, or not made. */
struct mr_failure *mr_failures_find(struct mr_run *run, enum mr_failure_mode mode);

/* An occasion: does it happen?  Counted. */
bool mr_failure_fires(const struct mr_run *run, struct mr_failure *failure);
/* Something in the way of it: told in the result; the first counts. */
void mr_failure_excuse(struct mr_failure *failure, const struct mr_error *err);

/* Add to the result: "failures", a list, "failure_seed", "inconclusive" and why. */
void mr_failures_tell(const struct mr_run *run, struct json_t *result);

/* inject_limits.c */
extern const struct mr_injector mr_inject_cpu, mr_inject_memory, mr_inject_timeout;
/* inject_load.c */
extern const struct mr_injector mr_inject_cpu_spike, mr_inject_concurrency_spike;
/* inject_mocks.c */
extern const struct mr_injector mr_inject_flaky_upstream, mr_inject_api_latency,
	mr_inject_schema_drift;
/* With failure.broken_auth variables that have the name of a secret are empty. */
void mr_inject_credentials(struct mr_run *run, struct mr_launch_opts *opts);
/* inject_link.c */
extern const struct mr_injector mr_inject_network, mr_inject_network_partition;
/* inject_disk.c */
extern const struct mr_injector mr_inject_disk, mr_inject_disk_corruption;
/* inject_input.c.  What is the payload's standard input: *ret_fd is borrowed, -1: what it would be
 * anyway. */
extern const struct mr_injector mr_inject_hostile_input;
int mr_inject_input(struct mr_run *run, int *ret_fd, struct mr_error *err);
bool mr_inject_has_input(struct mr_run *run);
/* inject_misuse.c */
extern const struct mr_injector mr_inject_user_misuse;
void mr_inject_misuse(struct mr_run *run, struct mr_launch_opts *opts);

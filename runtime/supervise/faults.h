/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults: the failures of a run's link for a while (netns/outage.h)
 *
 * The program on the link makes those of packets, menace-netd those of names.  Both look at the
 * kernel's clock for each packet and question, counted from the payload's first instruction: nothing here
 * is to be switched while it runs, and whoever holds the supervisor up delays none.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netns/outage.h"

struct json_t;
struct mr_error;
struct mr_run;

/* How one outage was put in force. */
struct mr_fault_applied {
	bool made;
	uint64_t from_ms, to_ms; /* as they were read back; to_ms: MR_OUTAGE_NO_END */
	bool counted; /* met says what it did */
	struct mr_drop_met met;
	char why[300]; /* not made, not of all that it is of, or not counted; or "" */
};

struct mr_faults {
	struct mr_outage *v; /* the run's */
	size_t n;
	struct mr_fault_applied *applied; /* as many */
	struct mr_drop_state *link; /* the memory of the program on the link, or NULL */
	uint32_t rules; /* of that program, at the end */
	bool short_of_room; /* one is not of all that it is of, which is told */
};

/* The link is there and whoever answers: put all in place.  One that cannot be ends the run, or is
 * left out and told. */
int mr_faults_prepare(struct mr_run *run, struct mr_error *err);
/* The payload's first instruction is next, at run->go_ns. */
int mr_faults_begin(struct mr_run *run, struct mr_error *err);
/* A name leads to an address from now on.  Without room for it the run fails, or the faults that it
 * is of say so. */
void mr_faults_learn(struct mr_run *run, const char *name, const struct in6_addr *address);
/* It is over, and whoever answered has told all: count. */
void mr_faults_collect(struct mr_run *run);
void mr_faults_free(struct mr_run *run);
/* The member "faults" of the receipt's network; null without; new reference. */
struct json_t *mr_faults_to_json(const struct mr_run *run);

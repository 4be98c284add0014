/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults in menace-netd: the outages (netns/outage.h) that its resolver makes
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netns/netd.h"
#include "netns/outage.h"

struct mr_error;

/* Zeroed is empty. */
struct mr_netd_faults {
	struct mr_outage *v; /* all of the run's, in their order */
	size_t n;
	uint64_t begin_ns; /* 0: the payload has not begun */
	bool by_name; /* a name's addresses are cut off by the supervisor, which must have its word */
	struct mr_drop_met met[MR_OUTAGES_MAX];
};

/* As the supervisor hands it over.  MR_E_USAGE, MR_E_PROTO: too many. */
int mr_netd_faults_add(struct mr_netd_faults *faults, const char *text, struct mr_error *err);
/* size bytes of texts, each with its NUL. */
int mr_netd_faults_add_all(struct mr_netd_faults *faults, const char *texts, size_t size,
			   struct mr_error *err);
void mr_netd_faults_deinit(struct mr_netd_faults *faults);
/* Is it MR_NETD_BEGIN?  Then the time counts from there. */
bool mr_netd_faults_begin(struct mr_netd_faults *faults, const void *message, size_t size);
/* A question for this (normalised) name: true, and counted, when it is not to be answered. */
bool mr_netd_faults_take(struct mr_netd_faults *faults, const char *name);
/* What is to be told at the end, from the outage *first on, which moves; false: all was. */
bool mr_netd_faults_tell(const struct mr_netd_faults *faults, size_t *first,
			 struct mr_netd_met *ret);

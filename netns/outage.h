/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Outage: a failure of the link for a while, as data
 *
 *   KIND[:HOST[,HOST...]]@FROM..[TO]
 *
 *   KIND       blackhole  partition  refuse  dns_failure
 *   HOST       a rule's host (netns/rules.h), or *[:PORT]: every host.  Of dns_failure: names
 *              without a port
 *   FROM, TO   times since the first instruction, "500ms", "2s", a bare number is milliseconds;
 *              without TO it lasts to the end
 *
 * It is in force from FROM on and no longer at TO.  All complaints are MR_E_USAGE.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "netns/drop_wire.h"
#include "netns/rules.h"

struct mr_error;

#define MR_OUTAGES_MAX MR_DROP_WINDOWS
#define MR_OUTAGE_HOSTS_MAX 16
#define MR_OUTAGE_TIME_MAX_MS 31536000000ULL
#define MR_OUTAGE_NO_END UINT64_MAX

enum mr_outage_kind {
#define OUTAGE(name, help) MR_OUTAGE_##name,
#include "netns/outages.def"
#undef OUTAGE
	MR_OUTAGE_KINDS_,
};

struct mr_outage_host {
	bool any; /* every host; of the rule the port alone counts */
	struct mr_rule rule;
};

struct mr_outage {
	enum mr_outage_kind kind;
	uint64_t from_ms, to_ms; /* to_ms: MR_OUTAGE_NO_END */
	size_t n_hosts; /* 0: all */
	struct mr_outage_host hosts[MR_OUTAGE_HOSTS_MAX];
};

const char *mr_outage_kind_name(enum mr_outage_kind kind);
int mr_outage_parse(const char *text, struct mr_outage *ret, struct mr_error *err);
/* As it would be written, in one way only; malloc'd. */
char *mr_outage_print(const struct mr_outage *outage);
char *mr_outage_print_host(const struct mr_outage_host *host);
/* Is it made by the resolver, rather than on the link? */
bool mr_outage_is_of_names(const struct mr_outage *outage);
/* Does it concern the (normalised) name? */
bool mr_outage_names(const struct mr_outage *outage, const char *name);

/* What a name's question meets, at this time since the first instruction: one that is in force
 * takes it, the first of several.  Counts are one an outage. */
bool mr_outages_take_name(const struct mr_outage *outages, size_t n, const char *name,
			  uint64_t since_ns, struct mr_drop_met *counts);

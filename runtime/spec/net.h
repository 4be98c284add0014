/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: what is asked of the network link
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "netns/conditions.h"

struct json_t;
struct mr_outage;
struct mr_spec;

/* Why a condition cannot be met with the spec's net.mode. */
#define MR_SPEC_NO_LINK                                                          \
	"there is no link to shape but with --net loopback, stub or allowlist; " \
	"leave it out, or accept that with best_effort (--best-effort net)"

/* Has the sandbox a link of its own, its loopback, over which all its packets go? */
bool mr_spec_has_link(const struct mr_spec *spec);
/* What the link shall be like; of a rate that walks, where it begins. */
void mr_spec_conditions(const struct mr_spec *spec, struct mr_conditions *ret);
/* The failures of the link for a while; malloc'd, their number. */
size_t mr_spec_outages(const struct mr_spec *spec, struct mr_outage **ret);
/* Is one of them made on the link itself? */
bool mr_spec_cuts_link(const struct mr_spec *spec);
/* Why one cannot be made with the rest of the spec; NULL: nothing that is known before it is tried. */
const char *mr_spec_outage_hindrance(const struct mr_spec *spec, const struct mr_outage *outage);
/* {"kind", "hosts", "from_ms", "to_ms"}; hosts null: all; new reference. */
struct json_t *mr_outage_to_json(const struct mr_outage *outage);
/* Does the rate walk between net.rate_min and net.rate_max? */
bool mr_spec_rate_walks(const struct mr_spec *spec);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spec: what is asked of the network link
 */
#pragma once

#include <stdbool.h>

#include "netns/conditions.h"

struct mr_spec;

/* Why a condition cannot be met with the spec's net.mode. */
#define MR_SPEC_NO_LINK                                                          \
	"there is no link to shape but with --net loopback, stub or allowlist; " \
	"leave it out, or accept that with best_effort (--best-effort net)"

/* Has the sandbox a link of its own, its loopback, over which all its packets go? */
bool mr_spec_has_link(const struct mr_spec *spec);
/* What the link shall be like; of a rate that walks, where it begins. */
void mr_spec_conditions(const struct mr_spec *spec, struct mr_conditions *ret);
/* Does the rate walk between net.rate_min and net.rate_max? */
bool mr_spec_rate_walks(const struct mr_spec *spec);

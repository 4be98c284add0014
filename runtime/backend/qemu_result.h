/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Result of a guest: judged, and made this host's
 */
#pragma once

#include <stddef.h>

struct json_t;
struct mr_error;
struct mr_errand;

/* Read what a guest says is the result of this errand.  It has the members and types of a result
 * and a reason and an exit status that exist, or is refused (MR_E_PROTO); what this host knows
 * better (run_id, name, spec_sha256, limits ...) is this host's.  New reference. */
int mr_guest_result(const char *text, size_t size, const struct mr_errand *errand,
		    struct json_t **ret, struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netem: conditions made by the kernel's sch_netem
 *
 * Only what goes between bytes and conditions: options are built, and what the kernel
 * shows of them is compared with what was built.  qdisc.h puts them in place.
 */
#pragma once

#include <stdint.h>

#include "netns/attrs.h"
#include "netns/conditions.h"

struct mr_error;

#define MR_NETEM_DELAY_MAX_US 3600000000ULL /* an hour */
/* The kernel doubles it in 32 bits of nanoseconds: from 2147.5 ms on it would wrap. */
#define MR_NETEM_JITTER_MAX_US 2147000ULL
#define MR_NETEM_RATE_MIN 8 /* it counts whole bytes a second */

/* What no kernel would take, or would take for something else: MR_E_USAGE naming it. */
int mr_netem_check(const struct mr_conditions *conditions, struct mr_error *err);

/* Packets that may wait: twice as many as a sender gets out while one packet is under way (of
 * 50,000 a second, or what the rate allows), within bounds. */
#define MR_NETEM_LIMIT_MIN 1000U
#define MR_NETEM_LIMIT_MAX 32768U
uint32_t mr_netem_limit(const struct mr_conditions *conditions);

/* TCA_OPTIONS for them, empty before. */
void mr_netem_build(const struct mr_conditions *conditions, struct mr_attrs *options);

/* What the kernel shows against what was built: 0 and what is in force in *ret, 1 likewise but the
 * seed is not kept (kernels before 6.6), negative errno naming the first attribute that differs. */
int mr_netem_compare(const struct mr_attrs *built, const struct mr_attrs *shown,
		     struct mr_conditions *ret, struct mr_error *err);

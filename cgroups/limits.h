/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits: what one control group allows
 *
 * Plain data.  cgroup.h applies them when a group is made; which file of which
 * hierarchy each becomes is a table in v1.c and in v2.c.
 */
#pragma once

#include <stdint.h>

#ifndef MR_UNLIMITED
#define MR_UNLIMITED UINT64_MAX
#endif

struct mr_limits {
	uint64_t memory_max;   /* bytes, MR_UNLIMITED: no limit */
	uint64_t swap_max;     /* bytes on top of memory_max */
	uint64_t pids_max;     /* tasks (processes and threads) */
	uint64_t cpu_quota_us; /* per cpu_period_us; MR_UNLIMITED: no limit */
	uint64_t cpu_period_us;
};

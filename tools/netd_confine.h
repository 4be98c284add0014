/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confine: menace-netd gives its rights away
 */
#pragma once

#include <stdint.h>

struct mr_error;

/* For good: descriptors beyond the doors closed, limits, a user of its own (as root), no capability,
 * no new privileges, no file by Landlock, and a short list of system calls, beyond which the process
 * is killed.  *ret_landlock_abi is 0 where the kernel has no Landlock: a file cannot be opened then,
 * either, since no call that opens one is on the list. */
int mr_netd_confine(int32_t *ret_landlock_abi, struct mr_error *err);

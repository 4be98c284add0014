/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accel: whether machines can use KVM here
 *
 * /dev/kvm that opens proves nothing: on some hosts guests hang with it.  The first machine is the
 * probe, with little time to come up; that it did not is remembered until the next boot.
 */
#pragma once

#include "runtime/backend/qemu_machine.h"

#define MR_ACCEL_PROBE_MS 3000 /* for a kernel to be up by KVM: it takes less than one second */

/* The folder where it is remembered, made if missing, ours alone; -1: none, nothing is remembered. */
int mr_accel_open_folder(void);
/* folder -1: only what the device says. */
enum mr_machine_accel mr_accel_choose(int folder, const char *device);
/* KVM has failed. */
void mr_accel_remember_failure(int folder);

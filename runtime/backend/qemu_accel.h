/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accel: whether machines can use KVM here
 *
 * /dev/kvm that opens proves nothing: on some hosts guests hang with it.  The first machine is the
 * probe, with little time to say a word.  That it did not proves nothing, either, for what it was to
 * boot may be bad: the run goes on without KVM, and a machine that comes up then is the proof, which
 * is remembered until the next boot.
 */
#pragma once

#include <stdbool.h>

#include "runtime/backend/qemu_machine.h"

/* The folder where it is remembered, made if missing, ours alone; -1: none, nothing is remembered. */
int mr_accel_open_folder(void);
/* folder -1: only what the device says. */
enum mr_machine_accel mr_accel_choose(int folder, const char *device);
/* KVM has failed, and why; which is said, if it could be written down. */
void mr_accel_remember_failure(int folder, const char *why);

/* The machines of one run. */
struct mr_accel_trial {
	int folder; /* borrowed; -1: none */
	const char *device;
	bool kvm_failed; /* a machine had it, and said no word */
	char why[200];
};
/* What the next machine is to use. */
enum mr_machine_accel mr_accel_next(const struct mr_accel_trial *trial);
/* A machine that used this was mute: it did run, and took too long to say a word or ended by itself
 * before; why: how that showed. */
void mr_accel_note_mute(struct mr_accel_trial *trial, enum mr_machine_accel accel, const char *why);
/* One that used this came up. */
void mr_accel_note_up(const struct mr_accel_trial *trial, enum mr_machine_accel accel);

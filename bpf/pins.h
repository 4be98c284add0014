/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pins: where programs and maps live between runs
 *
 *   ROOT/                       a bpf file system: MENACE_BPF_DIR (tests), /run/menace/bpf or
 *                               /sys/fs/bpf, the first that is one and that root alone can write
 *   ROOT/menace-lock/           locked (flock) while anything below is made or removed
 *   ROOT/menace-BUILD-VERSION/  a set: what this build made; a bpf file system ends with its boot
 *     runs slots owners control rings calls links matrix maps
 *     s0 ... s127/              one folder a slot, locked by the run that has it; its rings and outcomes in it
 *     OBJECT/                   programs of OBJECT.bpf.c, or their links; locked while one is attached for runs
 *                               that want it, or taken off
 *     ready-LEVEL/              everything of this level was tried but hooks of control groups; of other rows
 *                               it is OBJECT/ that says so
 *
 * Whatever is made is made under a name that begins with "new-" and then renamed, so a name
 * without it is complete; what a crash left under such a name is removed by the next who loads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct mr_error;

enum mr_probe_level {
	MR_PROBE_LEVEL_OFF,
	MR_PROBE_LEVEL_BASIC,
	MR_PROBE_LEVEL_DEFAULT,
	MR_PROBE_LEVEL_FULL,
	MR_PROBE_LEVEL_SYSCALLS,
	MR_PROBE_LEVEL_COUNT_,
};
/* "off", "basic", ... */
const char *mr_probe_level_name(enum mr_probe_level level);

/* One row of probes.def. */
enum mr_probe_kind {
	MR_PROBE_RAW_TP,
	MR_PROBE_RAW_TP_RUN,
	MR_PROBE_RAW_TP_IO,
	MR_PROBE_FENTRY,
	MR_PROBE_CGROUP
};
struct mr_probe_row {
	const char *name;
	const char *object;
	const char *program;
	enum mr_probe_kind kind;
	const char *target;
	enum mr_probe_level level;
	const char *needs;
	const char *help;
};
const struct mr_probe_row *mr_probe_rows(size_t *ret_n);
/* Is no row before this one of the same object? */
bool mr_probe_is_first_of_object(size_t row);

#define MR_PINS_PATH_MAX 256
#define MR_PINS_PREFIX "menace-"
#define MR_PINS_NEW "new-"

/* The root; 1 when there is none yet (then `ret` is where one is to be mounted). */
int mr_pins_root(char ret[MR_PINS_PATH_MAX], struct mr_error *err);
/* Name of this build's set. */
void mr_pins_set_name(char ret[MR_PINS_PATH_MAX]);
/* DIR/NAME, or -ENAMETOOLONG. */
int mr_pins_join(char ret[MR_PINS_PATH_MAX], const char *dir, const char *name,
		 struct mr_error *err);
/* Open a folder and lock it; wait: until it is free, else 1 is returned (*ret_fd untouched) when it
 * is locked.  2: it was removed in the meantime. */
int mr_pins_lock(const char *path, bool wait, int *ret_fd, struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine: the process of QEMU
 *
 * It is given descriptors and no paths: a console, the channel to the guest, the control
 * protocol, the files, the kernel and the initramfs.  It is nobody, in a network namespace of its
 * own, may start nothing, and dies with us.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/spec/spec.h"

struct mr_cgroup;
struct mr_error;

#define MR_MACHINE_PROGRAM "qemu-system-x86_64"
#define MR_MACHINE_VARIABLE "MENACE_QEMU_PROGRAM" /* the whole path of another one */

enum mr_machine_accel { MR_ACCEL_TCG, MR_ACCEL_KVM };
const char *mr_machine_accel_name(enum mr_machine_accel accel);

struct mr_machine_opts {
	enum mr_machine_accel accel;
	uint64_t memory_mib;
	unsigned int cpus;
	int console_fd, channel_fd, qmp_fd; /* stream sockets; borrowed like all */
	int files_fd; /* of virtiofsd; -1: none, which only a machine with a slot can do without */
	int kernel_fd, initramfs_fd; /* of a machine that boots; -1 otherwise */
	int log_fd; /* QEMU's own messages */
	const struct mr_cgroup *group; /* that it begins in; NULL: none */
	enum mr_telemetry_level probes;
	uint64_t tsc_khz; /* of this host's time stamp counter; 0: not known */
	/* A machine whose state can be kept has its memory in memory_fd and, instead of the device of the
	 * files, a slot for it: QEMU cannot keep that device.  -1: it is none. */
	int memory_fd;
	int state_fd; /* it waits to be told to take its state from there; -1: it boots */
};

/* The arguments of any QEMU of ours: no devices or configuration but those named, no network, and
 * nothing that it could start or become. */
#define MR_MACHINE_FENCE                                                                    \
	"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-nic", "none", \
		"-sandbox",                                                                 \
		"on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"

/* Words of the kernel's command line for menace-guest: the programs of this level of telemetry are to be
 * loaded at once; and the machine is to be kept, so that HELLO comes when all is ready that no run
 * has a part in. */
#define MR_MACHINE_WORD_PROBES "menace.probes="
#define MR_MACHINE_WORD_KEPT "menace.kept"
/* Such a machine does not listen to ACPI's event of a device that is put in (general purpose event 1 of
 * q35): interpreting what is to be done then takes longer than to look for it. */
#define MR_MACHINE_WORD_DEAF "acpi_mask_gpe=0x01"

/* What the initramfs has beside menace-guest, which is "init" there. */
#define MR_MACHINE_LOADER "menace-probe-load"

/* Numbers and names in QEMU, for its control protocol. */
#define MR_MACHINE_STATE "fd:10"
#define MR_MACHINE_SLOT "files-slot" /* "slot" is a property of QEMU's */
#define MR_MACHINE_FILES "files"
#define MR_MACHINE_TAG "host"

/* Path of QEMU, from its variable or a fixed list of folders; MR_E_KERNEL: it is missing, and what
 * to install. */
const char *mr_machine_find(struct mr_error *err);
int mr_machine_start(const struct mr_machine_opts *opts, pid_t *ret, struct mr_error *err);

/* The process alone, for whoever has another command line. */
struct mr_machine_process {
	char *const *argv; /* NULL-terminated; argv[0] is the path */
	enum mr_machine_accel accel;
	const int *given; /* descriptors; in the process they are 3, 4 ... */
	size_t n_given; /* up to 8 */
	int log_fd; /* its standard output and error */
	const struct mr_cgroup *group; /* that it begins in; NULL: none */
	uint64_t file_max_bytes; /* that it may write of any file; 0: no limit */
	bool is_fenced; /* by Landlock, where there is any: it can open programs and firmware of
			 * this host, and KVM, and no other file */
};
int mr_machine_spawn(const struct mr_machine_process *process, pid_t *ret, struct mr_error *err);

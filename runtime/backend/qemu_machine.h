/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Machine: the process of QEMU
 *
 * It is given descriptors and no paths: a console, the channel to the guest, the control
 * protocol, the files, the kernel and the initramfs.  It is nobody, in a network namespace of its
 * own, may start nothing, and dies with us.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

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
	int files_fd; /* of virtiofsd */
	int kernel_fd, initramfs_fd;
	int log_fd; /* QEMU's own messages */
};

/* Path of QEMU, from its variable or a fixed list of folders; MR_E_KERNEL: it is missing, and what
 * to install. */
const char *mr_machine_find(struct mr_error *err);
int mr_machine_start(const struct mr_machine_opts *opts, pid_t *ret, struct mr_error *err);

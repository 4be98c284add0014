/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restore: between a machine and its template
 *
 * The machine is booted once without any files of this host, until its guest says HELLO; then it is
 * stopped and kept.  In a restored one the device of the files is put into its slot before
 * it goes on.
 */
#pragma once

#include <stdint.h>

#include "runtime/backend/qemu_machine.h"
#include "runtime/backend/qemu_template.h"

struct mr_cgroup;
struct mr_error;

struct mr_restore_make_opts {
	enum mr_machine_accel accel;
	uint64_t memory_mib;
	unsigned int cpus;
	uint64_t tsc_khz; /* of struct mr_machine_opts */
	int kernel_fd, initramfs_fd; /* borrowed like all descriptors */
	const struct mr_cgroup *group; /* for what is started; NULL: none */
	int abandoned_fd,
		signals_fd; /* of struct mr_vm_opts: what happens there ends it; -1: none */
	uint64_t until_ns; /* of mr_now_ns() */
};

/* Boot a machine of this kind, and take its memory and state into what mr_template_new() made. */
int mr_restore_make(const struct mr_restore_make_opts *opts, struct mr_template *ret,
		    struct mr_error *err);
/* Let a machine that was started as restored take its state, give it the files, and let it go on. */
int mr_restore(int qmp_fd, uint64_t until_ns, struct mr_error *err);

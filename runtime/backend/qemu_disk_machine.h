/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Disk machine: the process of QEMU for a guest that boots from a disk of its own
 *
 * As in qemu_machine.h it is given descriptors and no paths.  What it opens of the disk are
 * these two files, with the formats that it is told.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "runtime/backend/qemu_machine.h"

struct mr_error;

struct mr_disk_machine_opts {
	enum mr_machine_accel accel;
	uint64_t memory_mib;
	unsigned int cpus;
	bool has_screen; /* a graphics card that nobody looks at: some systems do not start without */
	int console_fd,
		agent_fd; /* stream sockets: the first and the second serial port; borrowed */
	int image_fd; /* read-only */
	const char *image_format; /* "qcow2" or "raw" */
	int overlay_fd; /* of mr_qcow2_write_layer() */
	uint64_t overlay_max_bytes; /* 0: no limit */
	int log_fd; /* QEMU's own messages */
	const struct mr_cgroup *group; /* that it begins in; NULL: none */
};
int mr_disk_machine_start(const struct mr_disk_machine_opts *opts, pid_t *ret,
			  struct mr_error *err);

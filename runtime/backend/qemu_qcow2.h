/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Qcow2: what a disk image is, judged by its first bytes alone, and the layer above it
 *
 * The image is hostile: its header may name other files (a backing file, an external data file),
 * and whoever opens them reads this host's files to the guest.  So an image that names any is
 * refused before QEMU sees it, and nothing but the two formats that can be judged is taken.
 */
#pragma once

#include <stdint.h>

struct mr_error;

#define MR_QCOW2_DISK_MAX (UINT64_C(2) << 40) /* bytes of a guest's disk */

struct mr_qcow2_image {
	const char *format; /* for QEMU, which must not guess: "qcow2" or "raw" */
	uint64_t disk_bytes; /* as the guest sees it */
};

/* fd: a regular file; its position is left alone.  MR_E_USAGE: it is refused, with the reason and
 * what to do. */
int mr_qcow2_judge(int fd, struct mr_qcow2_image *ret, struct mr_error *err);
/* Make an empty file a layer without a byte of its own for such a disk.  Its header names no file:
 * what is below it QEMU is told. */
int mr_qcow2_write_layer(int fd, uint64_t disk_bytes, struct mr_error *err);
#define MR_QCOW2_LAYER_BYTES (4 * 65536) /* of such a file */

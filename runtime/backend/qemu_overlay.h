/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overlay: the file that takes what a guest writes to its disk
 *
 * It never has a name (O_TMPFILE): nobody else can open it, and with the last process that has it
 * open, however that ended, the kernel takes it back.  So there is nothing to sweep, and no
 * folder of ours is ever searched and emptied.
 */
#pragma once

#include <stdint.h>

struct mr_error;

#define MR_OVERLAY_VARIABLE "MENACE_QEMU_OVERLAYS" /* another folder for them */

/* An empty file for reading and writing: descriptor, or negative errno.  Its folder is made if
 * missing and is refused when others than we can enter it. */
int mr_overlay_open(struct mr_error *err);
/* Bytes that it takes of its file system; 0 where nobody knows. */
uint64_t mr_overlay_bytes(int fd);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vmlinux: the kernel as it is inside of the image that a distribution ships
 *
 * Such an image unpacks itself when it starts, and a boot loader's code runs before.  Emulated, both
 * take longer than to unpack it here and to start what comes out by PVH, Xen's way to start a kernel,
 * which QEMU knows.  The image is trusted as much as any program of this host, and may be damaged.
 */
#pragma once

#include <stddef.h>

struct mr_error;

/* Put the ELF file that is in this bzImage into fd, an empty memfd.  1: there is none that could be
 * started, as it is packed in another way than LZ4, is no whole ELF file for x86-64, or has no entry for PVH;
 * what is in fd then is of no use. */
int mr_vmlinux_unpack(const void *image, size_t size, int fd, struct mr_error *err);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cpio: an initramfs ("newc" format), written straight into a descriptor
 *
 * Whatever goes wrong is remembered, and said at the end.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mr_error;

struct mr_cpio {
	int fd; /* borrowed */
	uint32_t inode; /* of the entry before */
	uint64_t size; /* bytes written */
	int error; /* positive errno of the first write that failed */
};

void mr_cpio_init(struct mr_cpio *cpio, int fd);
/* Names have no leading slash; folders come before what is in them. */
void mr_cpio_folder(struct mr_cpio *cpio, const char *name);
void mr_cpio_file(struct mr_cpio *cpio, const char *name, unsigned int permissions,
		  const void *data, size_t size);
/* The end mark; then what went wrong with any of it. */
int mr_cpio_finish(struct mr_cpio *cpio, struct mr_error *err);

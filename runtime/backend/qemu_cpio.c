/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cpio
 *
 * Documentation/driver-api/early-userspace/buffer-format.rst of Linux: a head of 110 hex
 * digits, the name with its NUL, the data, both filled up to a multiple of four.
 */
#include "runtime/backend/qemu_cpio.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/error.h"
#include "runtime/base/io.h"

#define HEAD 110

void mr_cpio_init(struct mr_cpio *cpio, int fd)
{
	*cpio = (struct mr_cpio){ .fd = fd };
}

static void put(struct mr_cpio *cpio, const void *data, size_t size)
{
	int r = cpio->error ? 0 : mr_write_full(cpio->fd, data, size);

	if (r < 0)
		cpio->error = -r;
	cpio->size += size;
}

static void fill_up(struct mr_cpio *cpio)
{
	static const char zeros[4];

	put(cpio, zeros, -cpio->size % 4);
}

static void put_entry(struct mr_cpio *cpio, const char *name, unsigned int mode, const void *data,
		      size_t size)
{
	char head[HEAD + 1];

	/* magic, inode, mode, uid, gid, links, time, size, device (2), special device (2), name's
	 * length, checksum; files larger than 32 bits are none of ours */
	snprintf(head, sizeof(head), "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		 ++cpio->inode, mode, 0u, 0u, S_ISDIR(mode) ? 2u : 1u, 0u, (unsigned int)size, 0u,
		 0u, 0u, 0u, (unsigned int)strlen(name) + 1, 0u);
	put(cpio, head, HEAD);
	put(cpio, name, strlen(name) + 1);
	fill_up(cpio);
	put(cpio, data, size);
	fill_up(cpio);
}

void mr_cpio_folder(struct mr_cpio *cpio, const char *name)
{
	put_entry(cpio, name, S_IFDIR | 0755, "", 0);
}

void mr_cpio_file(struct mr_cpio *cpio, const char *name, unsigned int permissions,
		  const void *data, size_t size)
{
	put_entry(cpio, name, S_IFREG | permissions, data, size);
}

int mr_cpio_finish(struct mr_cpio *cpio, struct mr_error *err)
{
	put_entry(cpio, "TRAILER!!!", 0, "", 0);
	return cpio->error ? mr_err(err, MR_E_SYS, cpio->error, "write the initramfs: %m") : 0;
}

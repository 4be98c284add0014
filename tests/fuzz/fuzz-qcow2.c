/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the first bytes of a disk image
 *
 * Holds: a refusal is a usage error with a reason; an image that is taken has one of two formats and
 * a size that a layer can have, and as qcow2 its header names no other file.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/backend/qemu_qcow2.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_qcow2(const uint8_t *data, size_t size)
{
	static const uint8_t none[12] = { 0 };

	mr_assert(size >= 72 && memcmp(data + 8, none, sizeof(none)) == 0);
	mr_assert(data[7] == 2 || (size >= 80 && (data[79] & 4) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	mr_auto_close int fd = memfd_create("image", MFD_CLOEXEC);
	mr_auto_close int layer = memfd_create("layer", MFD_CLOEXEC);
	struct mr_error err = MR_ERROR_INIT;
	struct mr_qcow2_image image;

	mr_assert(fd >= 0 && layer >= 0 && mr_write_full(fd, data, size) == 0);
	if (mr_qcow2_judge(fd, &image, &err) < 0) {
		mr_assert(err.code == MR_E_USAGE && err.msg[0]);
		return 0;
	}
	mr_assert(image.disk_bytes > 0 && image.disk_bytes <= MR_QCOW2_DISK_MAX);
	if (strcmp(image.format, "qcow2") == 0)
		check_qcow2(data, size);
	else
		mr_assert(strcmp(image.format, "raw") == 0 && image.disk_bytes == size);
	mr_assert(mr_qcow2_write_layer(layer, image.disk_bytes, &err) == 0);
	mr_assert(mr_qcow2_judge(layer, &image, &err) == 0);
	return 0;
}

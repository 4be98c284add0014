/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the image of a kernel that is to be unpacked
 *
 * Holds: no image is an error; what is taken out of one is as large as the image says at its end, and an ELF
 * file for x86-64 whose segments are all there.
 */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/backend/qemu_vmlinux.h"
#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/base/io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_elf(int fd)
{
	Elf64_Ehdr head;
	struct stat st;

	mr_assert(fstat(fd, &st) == 0 && pread(fd, &head, sizeof(head), 0) == sizeof(head));
	mr_assert(memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_machine == EM_X86_64);
	for (size_t i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr part;

		mr_assert(pread(fd, &part, sizeof(part),
				(off_t)(head.e_phoff + i * sizeof(part))) == sizeof(part));
		mr_assert(part.p_offset <= (uint64_t)st.st_size &&
			  part.p_filesz <= (uint64_t)st.st_size - part.p_offset);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	mr_auto_close int fd = memfd_create("kernel", MFD_CLOEXEC);
	struct mr_error err = MR_ERROR_INIT;
	int r;

	mr_assert(fd >= 0);
	r = mr_vmlinux_unpack(data, size, fd, &err);
	mr_assert(r == 0 || r == 1);
	if (r == 0)
		check_elf(fd);
	return 0;
}

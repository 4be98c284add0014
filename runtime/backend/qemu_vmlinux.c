/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vmlinux
 *
 *   bzImage:  head, with the place and the size of what is packed   Documentation/arch/x86/boot.rst
 *   packed:   magic, blocks, the size of all that comes out         "legacy frame" of LZ4, and the kernel's tail
 *   block:    size, what lz4(1) makes of at most 8 MiB
 *
 * Every size is judged before anything is read or written by it.
 */
#include "runtime/backend/qemu_vmlinux.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <lz4.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/error.h"

/* Of the head. */
#define SECTORS_AT 0x1f1
#define MAGIC_AT 0x202
#define VERSION_AT 0x206
#define PACKED_AT 0x248 /* from the end of the sectors; version 2.08 */
#define PACKED_SIZE_AT 0x24c
#define HEAD_SIZE 0x250
#define HEAD_MAGIC 0x53726448u /* "HdrS" */
#define VERSION_LEAST 0x208
#define SECTOR ((size_t)512)

#define LZ4_MAGIC 0x184c2102u
#define LZ4_GAIN_MOST 256 /* a byte is 255 of a copy at most */
#define VMLINUX_MAX ((size_t)256 << 20) /* of an image as well: what is measured in int fits */

#define XEN_NOTE "Xen"
#define XEN_NOTE_PVH_ENTRY 18 /* XEN_ELFNOTE_PHYS32_ENTRY */

struct bytes {
	const unsigned char *at, *end;
};

static size_t left(const struct bytes *in)
{
	return (size_t)(in->end - in->at);
}

static uint32_t word_at(const unsigned char *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return le32toh(word);
}

/* A block after the other, none of which needs what came out of one before. */
static bool unpack(struct bytes in, char *to, size_t size)
{
	size_t done = 0;

	in.at += sizeof(uint32_t); /* the magic, which was seen */
	while (left(&in) >= sizeof(uint32_t)) {
		const uint32_t n = word_at(in.at);
		int out;

		in.at += sizeof(n);
		if (n > left(&in))
			return false;
		out = LZ4_decompress_safe((const char *)in.at, to + done, (int)n,
					  (int)(size - done));
		if (out < 0)
			return false;
		done += (size_t)out;
		in.at += n;
	}
	return left(&in) == 0 && done == size;
}

static bool find_packed(const unsigned char *image, size_t size, struct bytes *ret,
			size_t *ret_size)
{
	size_t sectors, at, n;

	if (size < HEAD_SIZE || size > VMLINUX_MAX || word_at(image + MAGIC_AT) != HEAD_MAGIC ||
	    (word_at(image + VERSION_AT) & 0xffff) < VERSION_LEAST)
		return false;
	sectors = image[SECTORS_AT] ? image[SECTORS_AT] : 4;
	at = (sectors + 1) * SECTOR + word_at(image + PACKED_AT);
	n = word_at(image + PACKED_SIZE_AT);
	if (at > size || n > size - at || n < 2 * sizeof(uint32_t) ||
	    word_at(image + at) != LZ4_MAGIC)
		return false;
	*ret = (struct bytes){ image + at, image + at + n - sizeof(uint32_t) };
	*ret_size = word_at(ret->end);
	return *ret_size >= sizeof(Elf64_Ehdr) && *ret_size <= VMLINUX_MAX &&
	       *ret_size / LZ4_GAIN_MOST <= n;
}

static size_t padded(uint32_t size)
{
	return ((size_t)size + 3) / 4 * 4;
}

static bool has_pvh_note(struct bytes notes)
{
	while (left(&notes) >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		size_t size;

		memcpy(&note, notes.at, sizeof(note));
		notes.at += sizeof(note);
		size = padded(note.n_namesz) + padded(note.n_descsz);
		if (size > left(&notes))
			return false;
		if (note.n_type == XEN_NOTE_PVH_ENTRY && note.n_namesz == sizeof(XEN_NOTE) &&
		    memcmp(notes.at, XEN_NOTE, sizeof(XEN_NOTE)) == 0)
			return true;
		notes.at += size;
	}
	return false;
}

/* All of its segments are there, and it has the entry. */
static bool can_start(const unsigned char *elf, size_t size)
{
	bool has_entry = false;
	Elf64_Ehdr head;

	memcpy(&head, elf, sizeof(head));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_machine != EM_X86_64 || head.e_phentsize != sizeof(Elf64_Phdr) ||
	    head.e_phoff > size || head.e_phnum > (size - head.e_phoff) / sizeof(Elf64_Phdr))
		return false;
	for (size_t i = 0; i < head.e_phnum; i++) {
		Elf64_Phdr part;

		memcpy(&part, elf + head.e_phoff + i * sizeof(part), sizeof(part));
		if (part.p_offset > size || part.p_filesz > size - part.p_offset)
			return false;
		has_entry |= part.p_type == PT_NOTE &&
			     has_pvh_note((struct bytes){ elf + part.p_offset,
							  elf + part.p_offset + part.p_filesz });
	}
	return has_entry;
}

int mr_vmlinux_unpack(const void *image, size_t size, int fd, struct mr_error *err)
{
	struct bytes packed;
	size_t n;
	void *to;
	int r;

	if (!find_packed(image, size, &packed, &n))
		return 1;
	if (ftruncate(fd, (off_t)n) < 0)
		return mr_err(err, MR_E_SYS, errno, "room for %zu bytes of a kernel: %m", n);
	to = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (to == MAP_FAILED)
		return mr_err(err, MR_E_SYS, errno, "map %zu bytes of a kernel: %m", n);
	r = unpack(packed, to, n) && can_start(to, n) ? 0 : 1;
	munmap(to, n);
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel is taken out of its image as it went in; what is damaged is refused, and nothing beyond it is read
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/backend/qemu_vmlinux.h"
#include "runtime/base/error.h"

#define HEAD 1024 /* sectors of the head: one, and the first */
#define NOTE_AT (sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr))
#define ZEROS 1000 /* after the note: what can be packed */

struct note {
	Elf64_Nhdr head;
	char name[4];
	uint64_t entry;
};

struct elf {
	Elf64_Ehdr head;
	Elf64_Phdr part;
	struct note note;
	unsigned char zeros[ZEROS];
};

struct image {
	unsigned char *at;
	size_t size;
};

static void make_elf(struct elf *elf, uint32_t note_type)
{
	memset(elf, 0, sizeof(*elf));
	memcpy(elf->head.e_ident, ELFMAG, SELFMAG);
	elf->head.e_ident[EI_CLASS] = ELFCLASS64;
	elf->head.e_machine = EM_X86_64;
	elf->head.e_phoff = sizeof(elf->head);
	elf->head.e_phnum = 1;
	elf->head.e_phentsize = sizeof(elf->part);
	elf->part.p_type = PT_NOTE;
	elf->part.p_offset = NOTE_AT;
	elf->part.p_filesz = sizeof(elf->note);
	elf->note = (struct note){ { 4, 8, note_type }, "Xen", 0x1000000 };
}

static void put(struct image *image, const void *data, size_t size)
{
	memcpy(image->at + image->size, data, size);
	image->size += size;
}

static void put_word(struct image *image, uint32_t word)
{
	put(image, &word, sizeof(word));
}

static void put_block(struct image *image, const struct elf *elf)
{
	char block[sizeof(*elf)];
	int n = LZ4_compress_default((const char *)elf, block, sizeof(*elf), sizeof(block));

	assert_in_range(n, 1, sizeof(block));
	put_word(image, (uint32_t)n);
	put(image, block, (size_t)n);
}

static void make_image(struct image *image, const struct elf *elf)
{
	const uint16_t version = 0x20f;
	uint32_t n;

	image->at = calloc(1, 16384);
	assert_non_null(image->at);
	image->size = HEAD;
	put_word(image, 0x184c2102);
	put_block(image, elf);
	put_word(image, sizeof(*elf));
	image->at[0x1f1] = 1;
	memcpy(image->at + 0x202, "HdrS", 4);
	memcpy(image->at + 0x206, &version, sizeof(version));
	n = (uint32_t)(image->size - HEAD);
	memcpy(image->at + 0x24c, &n, sizeof(n));
}

/* From memory of exactly this size, so that a sanitizer sees what is read beyond it. */
static int unpack(const unsigned char *at, size_t size, struct elf *ret)
{
	struct mr_error err = MR_ERROR_INIT;
	unsigned char *exact = malloc(size ? size : 1);
	int fd = memfd_create("test", MFD_CLOEXEC), r;

	assert_non_null(exact);
	assert_true(fd >= 0);
	memcpy(exact, at, size);
	r = mr_vmlinux_unpack(exact, size, fd, &err);
	if (r == 0)
		assert_int_equal(pread(fd, ret, sizeof(*ret), 0), sizeof(*ret));
	close(fd);
	free(exact);
	return r;
}

static void kernel_comes_out_as_it_went_in(void **state)
{
	struct elf elf, out = { 0 };
	struct image image;

	(void)state;
	make_elf(&elf, 18);
	make_image(&image, &elf);
	assert_int_equal(unpack(image.at, image.size, &out), 0);
	assert_memory_equal(&out, &elf, sizeof(elf));
	free(image.at);
}

static void kernel_without_the_entry_is_refused(void **state)
{
	struct elf elf, out;
	struct image image;

	(void)state;
	make_elf(&elf, 17);
	make_image(&image, &elf);
	assert_int_equal(unpack(image.at, image.size, &out), 1);
	free(image.at);
	make_elf(&elf, 18);
	elf.part.p_filesz = sizeof(elf) - NOTE_AT + 1; /* cut short */
	make_image(&image, &elf);
	assert_int_equal(unpack(image.at, image.size, &out), 1);
	free(image.at);
}

static void short_image_is_refused(void **state)
{
	struct elf elf, out;
	struct image image;

	(void)state;
	make_elf(&elf, 18);
	make_image(&image, &elf);
	for (size_t size = 0; size < image.size; size++)
		assert_int_equal(unpack(image.at, size, &out), 1);
	free(image.at);
}

/* What was packed in another way, and what comes out too short or too long. */
static void damaged_image_is_refused(void **state)
{
	static const struct {
		size_t at;
		unsigned char value;
	} faults[] = {
		{ HEAD, 0x28 }, /* another packer's magic */
		{ 0x202, 'h' },
		{ 0x206, 7 },
		{ HEAD + 4, 0xff }, /* size of the block */
	};
	struct elf elf, out;
	struct image image;

	(void)state;
	make_elf(&elf, 18);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		make_image(&image, &elf);
		image.at[faults[i].at] = faults[i].value;
		assert_int_equal(unpack(image.at, image.size, &out), 1);
		free(image.at);
	}
	make_image(&image, &elf);
	image.at[image.size - 4]++; /* of all that comes out */
	assert_int_equal(unpack(image.at, image.size, &out), 1);
	image.at[image.size - 4] -= 2;
	assert_int_equal(unpack(image.at, image.size, &out), 1);
	free(image.at);
}

/* Any byte may be any other: whatever comes of it, it comes to an end within the memory. */
static void no_byte_leads_beyond(void **state)
{
	struct elf elf, out;
	struct image image;

	(void)state;
	make_elf(&elf, 18);
	make_image(&image, &elf);
	for (size_t i = 0; i < image.size; i++) {
		const unsigned char was = image.at[i];

		for (unsigned int value = 1; value < 256; value += 127) {
			image.at[i] = (unsigned char)(was + value);
			assert_in_range(unpack(image.at, image.size, &out), 0, 1);
		}
		image.at[i] = was;
	}
	free(image.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_comes_out_as_it_went_in),
		cmocka_unit_test(kernel_without_the_entry_is_refused),
		cmocka_unit_test(short_image_is_refused),
		cmocka_unit_test(damaged_image_is_refused),
		cmocka_unit_test(no_byte_leads_beyond),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

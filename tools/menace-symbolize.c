/* SPDX-License-Identifier: Apache-2.0 */
/*
 * menace-symbolize: places in files of machine code into names
 *
 *   menace-symbolize FILE:OFFSET...
 *
 * For each argument, in order, one line: NAME TAB OFFSET-IN-IT TAB SOURCE TAB LINE, where what is
 * not known is empty.  The files are the work of whoever made the program that
 * crashed, and so may be made to break their reader: menace starts us in a sandbox
 * with nothing but these files.
 */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct place {
	char *path; /* of the argument, cut at the colon */
	uint64_t offset;
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

/* The colon is the last one: a path may have others. */
static int parse_place(char *argument, struct place *ret)
{
	char *colon = strrchr(argument, ':'), *end;

	if (!colon || colon == argument || colon[1] < '0' || colon[1] > '9')
		return -EINVAL;
	errno = 0;
	ret->offset = strtoull(colon + 1, &end, 0);
	if (errno || *end)
		return -EINVAL;
	*colon = '\0';
	ret->path = argument;
	return 0;
}

/* Where a place in the file is loaded, as the file itself counts. */
static int address_of(Elf *elf, uint64_t offset, uint64_t *ret)
{
	size_t n;

	if (elf_getphdrnum(elf, &n) < 0)
		return -EINVAL;
	for (size_t i = 0; i < n && i < 0x10000; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
		    offset < ph.p_offset || offset - ph.p_offset >= ph.p_filesz)
			continue;
		*ret = ph.p_vaddr + (offset - ph.p_offset);
		return 0;
	}
	return -ENOENT;
}

/* A name is text of the file's maker: it may not end the line or the column. */
static void put_text(const char *text)
{
	for (size_t i = 0; text && text[i] && i < 256; i++)
		putchar((unsigned char)text[i] < ' ' ? '?' : text[i]);
}

static void print_names(Dwfl_Module *module, uint64_t offset)
{
	GElf_Addr bias, address;
	Elf *elf = dwfl_module_getelf(module, &bias);
	const char *name = NULL, *source = NULL;
	GElf_Off in_it = 0;
	int line = 0;
	GElf_Sym symbol;

	if (elf && address_of(elf, offset, &address) == 0) {
		Dwfl_Line *row = dwfl_module_getsrc(module, address + bias);

		name = dwfl_module_addrinfo(module, address + bias, &in_it, &symbol, NULL, NULL,
					    NULL);
		if (row)
			source = dwfl_lineinfo(row, NULL, &line, NULL, NULL, NULL);
	}
	put_text(name);
	printf("\t%" PRIu64 "\t", name ? (uint64_t)in_it : 0);
	put_text(source);
	printf("\t%d\n", source && line > 0 ? line : 0);
}

/* One session a file, kept while the arguments go on with the same. */
static void print_all(struct place *places, size_t n)
{
	const char *open = "";
	Dwfl_Module *module = NULL;
	Dwfl *dwfl = NULL;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(open, places[i].path) != 0) {
			dwfl_end(dwfl);
			open = places[i].path;
			dwfl = dwfl_begin(&callbacks);
			module = dwfl ? dwfl_report_offline(dwfl, open, open, -1) : NULL;
			if (!module)
				fprintf(stderr, "menace-symbolize: read %s: %s\n", open,
					dwfl_errmsg(-1));
			else
				dwfl_report_end(dwfl, NULL, NULL);
		}
		if (module)
			print_names(module, places[i].offset);
		else
			puts("\t0\t\t0");
	}
	dwfl_end(dwfl);
}

int main(int argc, char **argv)
{
	struct place *places = calloc((size_t)argc, sizeof(*places));

	if (!places)
		return 1;
	for (int i = 1; i < argc; i++) {
		if (parse_place(argv[i], &places[i - 1]) == 0)
			continue;
		fprintf(stderr, "menace-symbolize: %s: not FILE:OFFSET\n", argv[i]);
		return 2;
	}
	print_all(places, (size_t)argc - 1);
	/* All memory goes with us: to give it back piece by piece takes longer than the work. */
	_exit(fflush(stdout) == 0 ? 0 : 1);
}

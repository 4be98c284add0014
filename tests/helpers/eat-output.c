/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eat output
 *
 *   eat-output BYTES [FD...]   write BYTES in all, in turn to each FD (1 when none is named)
 *
 * The bytes are lines of 16, each with its number, so that a reader sees what is
 * missing.  Ends by SIGPIPE like any program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/helpers/number.h"

#define BLOCK 65536
#define LINE 16

static void fill(char *block, unsigned long long from)
{
	char line[LINE + 1];

	for (size_t at = 0; at < BLOCK; at += LINE, from++) {
		snprintf(line, sizeof(line), "%015llu\n", from);
		memcpy(block + at, line, LINE);
	}
}

static int write_all(int fd, const char *p, size_t size)
{
	while (size) {
		ssize_t n = write(fd, p, size);

		if (n < 0)
			return 1;
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static char block[BLOCK];
	unsigned long long total, done = 0;
	int turn = 0;

	if (argc < 2)
		return 2;
	total = number_of(argv[1]);
	while (done < total) {
		size_t size = total - done < BLOCK ? (size_t)(total - done) : BLOCK;
		int fd = argc > 2 ? (int)number_of(argv[2 + turn++ % (argc - 2)]) : 1;

		/* Numbering gigabytes would cost more than writing them. */
		if (done == 0 || total <= 64 << 20)
			fill(block, done / LINE);
		if (write_all(fd, block, size))
			return 1;
		done += size;
	}
	return 0;
}

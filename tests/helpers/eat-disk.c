/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eat disk
 *
 *   eat-disk bytes N FILE...	  write N bytes in all, a page to each FILE in turn
 *   eat-disk inodes N DIR...	  make N files in all, one in each DIR in turn
 *   eat-disk folders N DIR...	  make N folders
 *   eat-disk hole SIZE FILE	  a sparse file that long
 *   eat-disk allocate SIZE FILE  fallocate(2) it
 *
 * Says "wrote N" or "made N", and ": NAME" of the error that ended it.  Returns 1 after
 * an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/helpers/number.h"

#define FILES_MAX 16

static int report(const char *did, uint64_t n, int error)
{
	if (!error)
		printf("%s %ju\n", did, (uintmax_t)n);
	else
		printf("%s %ju: %s\n", did, (uintmax_t)n, strerrorname_np(error));
	return error != 0;
}

static int write_bytes(uint64_t total, int n, char **paths)
{
	static char page[4096];
	uint64_t done = 0;
	int fds[FILES_MAX];

	memset(page, 'x', sizeof(page));
	for (int i = 0; i < n; i++) {
		fds[i] = open(paths[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fds[i] < 0)
			return report("wrote", 0, errno);
	}
	for (int i = 0; done < total; i = (i + 1) % n) {
		size_t size = total - done < sizeof(page) ? (size_t)(total - done) : sizeof(page);
		ssize_t r = write(fds[i], page, size);

		if (r < 0)
			return report("wrote", done, errno);
		done += (uint64_t)r;
	}
	return report("wrote", done, 0);
}

static int make_entries(uint64_t total, int folders, int n, char **dirs)
{
	for (uint64_t i = 0; i < total; i++) {
		char path[4200];
		int fd;

		snprintf(path, sizeof(path), "%s/e%ju", dirs[i % (uint64_t)n], (uintmax_t)i);
		fd = folders ? mkdir(path, 0700) : open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
		if (fd < 0)
			return report("made", i, errno);
		if (!folders)
			close(fd);
	}
	return report("made", total, 0);
}

static int grow(uint64_t size, int allocate, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	int r = fd < 0	   ? fd
		: allocate ? fallocate(fd, 0, 0, (off_t)size)
			   : ftruncate(fd, (off_t)size);

	return r < 0 ? report("made", 0, errno) : report("made", size, 0);
}

int main(int argc, char **argv)
{
	uint64_t n;

	if (argc < 4 || argc - 3 > FILES_MAX)
		return 2;
	n = number_of(argv[2]);
	if (strcmp(argv[1], "bytes") == 0)
		return write_bytes(n, argc - 3, argv + 3);
	if (strcmp(argv[1], "inodes") == 0 || strcmp(argv[1], "folders") == 0)
		return make_entries(n, argv[1][0] == 'f', argc - 3, argv + 3);
	return grow(n, strcmp(argv[1], "allocate") == 0, argv[3]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replays inputs through a fuzz target without a fuzzing engine
 *
 *   fuzz-NAME FILE|FOLDER...
 *
 * A file is one input, a folder holds one in each of its files.  That nothing at
 * all was replayed is a failure: an empty corpus must not pass for a good one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long replayed;

static int fail(const char *what, const char *name)
{
	fprintf(stderr, "replay: %s %s: %s\n", what, name, strerror(errno));
	return -1;
}

static int replay_file(int fd, const char *name, size_t size)
{
	/* Exactly as long as the input, so that a read beyond it is seen. */
	mr_auto_free uint8_t *data = malloc(size ? size : 1);
	size_t done = 0;

	if (!data)
		return fail("memory for", name);
	while (done < size) {
		ssize_t n = read(fd, data + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fail("read", name);
		done += (size_t)n;
	}
	LLVMFuzzerTestOneInput(data, size);
	replayed++;
	return 0;
}

static int replay(int dir_fd, const char *name);

static int replay_folder(int fd, const char *name)
{
	mr_auto_closedir DIR *dir = fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		mr_close(fd);
		return fail("open folder", name);
	}
	while (errno = 0, (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (replay(dirfd(dir), entry->d_name) < 0)
			return -1;
	}
	return errno ? fail("read folder", name) : 0;
}

static int replay(int dir_fd, const char *name)
{
	mr_auto_close int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail("open", name);
	if (S_ISDIR(st.st_mode))
		return replay_folder(mr_take_fd(fd), name);
	return replay_file(fd, name, (size_t)st.st_size);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (replay(AT_FDCWD, argv[i]) < 0)
			return 1;
	printf("%lu inputs replayed\n", replayed);
	if (replayed == 0) {
		fprintf(stderr, "replay: no input\n");
		return 1;
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Temporary trees for unit tests
 *
 * A folder under TMPDIR that is removed with everything in it, however deep and
 * whatever rights were taken off.  Fixture steps that fail abort the program: a
 * test on half a tree would prove nothing.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MUST(expr)                                                                             \
	do {                                                                                   \
		if (!(expr)) {                                                                 \
			fprintf(stderr, "%s:%d: fixture: %s: %s\n", __FILE__, __LINE__, #expr, \
				strerror(errno));                                              \
			abort();                                                               \
		}                                                                              \
	} while (0)

struct temptree {
	char path[256];
	int fd;
};

static inline void temptree_make(struct temptree *t)
{
	const char *base = getenv("TMPDIR");

	snprintf(t->path, sizeof(t->path), "%s/menace-test-XXXXXX", base ? base : "/tmp");
	MUST(mkdtemp(t->path));
	t->fd = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(t->fd >= 0);
}

/* Empty the directory behind fd, which is closed.  Goes down by descriptors: no path is ever
 * too long.  A full level is finished before its parent is listed again. */
static inline void temptree_empty(int fd)
{
	struct dirent *entry;
	DIR *dir = fdopendir(fd);

	MUST(dir);
	while ((entry = readdir(dir))) {
		int sub;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, entry->d_name, 0) == 0)
			continue;
		MUST(fchmodat(fd, entry->d_name, 0700, 0) == 0);
		sub = openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		MUST(sub >= 0);
		temptree_empty(sub);
		MUST(unlinkat(fd, entry->d_name, AT_REMOVEDIR) == 0);
	}
	closedir(dir);
}

static inline void temptree_remove(struct temptree *t)
{
	temptree_empty(t->fd);
	MUST(rmdir(t->path) == 0);
}

static inline int temptree_dir(int at, const char *path)
{
	int fd;

	MUST(mkdirat(at, path, 0755) == 0);
	fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	MUST(fd >= 0);
	return fd;
}

static inline void temptree_mkdir(int at, const char *path)
{
	close(temptree_dir(at, path));
}

/* A file with this text, mode 0644 and a fixed time of modification. */
static inline void temptree_file(int at, const char *path, const char *text)
{
	struct timespec times[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
	int fd = openat(at, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	size_t size = strlen(text);

	MUST(fd >= 0);
	MUST(write(fd, text, size) == (ssize_t)size);
	MUST(fchmod(fd, 0644) == 0);
	MUST(futimens(fd, times) == 0);
	close(fd);
}

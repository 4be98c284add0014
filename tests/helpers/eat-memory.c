/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eat memory
 *
 *   eat-memory WHERE BYTES [CHILDREN]
 *
 * Touches BYTES in one place: anon, shared, memfd, sysv, or a file (any other word is its path);
 * reserve is anon of which only the first page is touched.
 * Says "ate N" when all of it was touched, else "failed: NAME" of the error.  With
 * CHILDREN that many processes do it at once, and stay until all have; the parent says
 * "children: E ended, K killed" and returns 0 whatever happened to them.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/helpers/number.h"

static int fail(void)
{
	printf("failed: %s\n", strerrorname_np(errno));
	return 1;
}

static void *map_file(int fd, size_t size)
{
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return MAP_FAILED;
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

static void *map_sysv(size_t size)
{
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | 0600);
	void *at = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	return at == (void *)-1 ? MAP_FAILED : at;
}

static void *map_place(const char *where, size_t size)
{
	if (strcmp(where, "anon") == 0 || strcmp(where, "reserve") == 0)
		return mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (strcmp(where, "shared") == 0)
		return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (strcmp(where, "memfd") == 0)
		return map_file(memfd_create("eat", MFD_CLOEXEC), size);
	if (strcmp(where, "sysv") == 0)
		return map_sysv(size);
	return map_file(open(where, O_RDWR | O_CREAT | O_CLOEXEC, 0600), size);
}

static int eat(const char *where, size_t size)
{
	long page = sysconf(_SC_PAGESIZE);
	volatile char *p = map_place(where, size ? size : 1);

	if (p == MAP_FAILED)
		return fail();
	for (size_t at = 0; at < (strcmp(where, "reserve") ? size : 1); at += (size_t)page)
		p[at] = 1;
	printf("ate %zu\n", size);
	fflush(stdout);
	return 0;
}

/* A child says that it ate, and keeps it until the parent closes the gate. */
static void run_child(const char *where, size_t size, int ate, int gate)
{
	char byte = 'a';
	int r = eat(where, size);

	if (write(ate, &byte, 1) != 1 || read(gate, &byte, 1) < 0)
		r = 1;
	_exit(r);
}

static int eat_in_children(const char *where, size_t size, unsigned int n)
{
	unsigned int ended = 0, killed = 0;
	int ate[2], gate[2], status;
	char byte;

	if (pipe(ate) < 0 || pipe(gate) < 0)
		return fail();
	for (unsigned int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return fail();
		if (pid == 0) {
			close(gate[1]);
			run_child(where, size, ate[1], gate[0]);
		}
	}
	close(ate[1]);
	for (unsigned int i = 0; i < n && read(ate[0], &byte, 1) == 1; i++)
		;
	close(gate[1]);
	while (wait(&status) > 0) {
		ended += WIFEXITED(status);
		killed += WIFSIGNALED(status);
	}
	printf("children: %u ended, %u killed\n", ended, killed);
	return 0;
}

int main(int argc, char **argv)
{
	size_t size;
	char *end;

	if (argc < 3)
		return 2;
	size = strtoull(argv[2], &end, 10);
	if (*end)
		return 2;
	if (argc > 3)
		return eat_in_children(argv[1], size, (unsigned int)number_of(argv[3]));
	return eat(argv[1], size);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * storm: what one of many costs here
 *
 *   storm spawn    vfork, exec of ourselves and wait
 *   storm pipe     a byte to another process and back
 *
 * Prints nanoseconds for one: the smallest of ten rounds, because whatever else the
 * machine does can only make one slower.
 */
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 10

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int spawn_one(void)
{
	char *argv[] = { (char[]){ "storm" }, (char[]){ "nothing" }, NULL };
	int status;
	pid_t pid;

	if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) != 0)
		return -1;
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

static int there[2], back[2];

/* The other end ends with us: its read returns 0. */
static int start_echo(void)
{
	pid_t pid;
	char c;

	if (pipe(there) < 0 || pipe(back) < 0)
		return -1;
	pid = fork();
	if (pid != 0)
		return pid < 0 ? -1 : 0;
	close(there[1]);
	while (read(there[0], &c, 1) == 1 && write(back[1], &c, 1) == 1)
		;
	_exit(0);
}

static int echo_one(void)
{
	char c = 'x';

	return write(there[1], &c, 1) == 1 && read(back[0], &c, 1) == 1 ? 0 : -1;
}

static int measure(int (*one)(void), int n)
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t then = now_ns(), took;

		for (int i = 0; i < n; i++)
			if (one() < 0)
				return 1;
		took = now_ns() - then;
		best = took < best ? took : best;
	}
	printf("%.2f\n", (double)best / n);
	return fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "nothing") == 0)
		return 0;
	if (argc == 2 && strcmp(argv[1], "spawn") == 0)
		return measure(spawn_one, 50);
	if (argc == 2 && strcmp(argv[1], "pipe") == 0 && start_echo() == 0)
		return measure(echo_one, 2000);
	fputs("usage: storm spawn | pipe\n", stderr);
	return 2;
}

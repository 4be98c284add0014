/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flood init
 *
 *   flood-init signals N [stay]   N processes that queue signals to pid 1 without end
 *   flood-init orphans N [stay]   N processes that leave children to pid 1 without end
 *
 * When each of them is at it the main process says "flooding", takes part for a second and
 * returns 7, or takes part for good.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/helpers/number.h"

#define SECOND 1000000000LL

static long long now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SECOND + ts.tv_nsec;
}

static int queue_signal(int sig)
{
	const union sigval value = { 0 };

	return sigqueue(1, sig, value); /* EAGAIN: the queue is full */
}

/* Their parent ends at once: pid 1 has to wait for them. */
static int leave_orphans(int unused)
{
	/* NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
	pid_t pid = vfork();

	(void)unused;
	if (pid == 0) {
		for (int i = 0; i < 8 && vfork() > 0; i++)
			;
		_exit(0);
	}
	/* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
	return pid < 0 ? -1 : 0;
}

static void flood(int (*once)(int), int sig, long long until_ns)
{
	while (now_ns() < until_ns)
		(void)once(sig);
}

/* Not before all are there: orphans use up the pids that the others need. */
static _Noreturn void flood_from(int (*once)(int), int sig, const int start[2], int fd)
{
	char byte;

	close(start[1]);
	if (read(start[0], &byte, 1) != 0)
		_exit(1);
	while (once(sig) < 0)
		;
	if (write(fd, "f", 1) != 1)
		_exit(1);
	for (;;)
		(void)once(sig);
}

int main(int argc, char **argv)
{
	unsigned long long n = argc > 2 ? number_of(argv[2]) : 0;
	const int stays = argc == 4 && strcmp(argv[3], "stay") == 0;
	int (*once)(int) =
		argc > 1 && strcmp(argv[1], "signals") == 0 ? queue_signal : leave_orphans;
	char byte;
	int fds[2], start[2];

	if (n < 1 || n > 20 || argc > 3 + stays || pipe(fds) < 0 || pipe(start) < 0)
		return 2;
	signal(SIGCHLD, SIG_IGN);
	for (unsigned long long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 3;
		if (pid == 0)
			flood_from(once, SIGRTMIN + 2 + (int)i, start, fds[1]);
	}
	close(start[1]);
	for (unsigned long long i = 0; i < n; i++) {
		if (read(fds[0], &byte, 1) != 1)
			return 4;
	}
	puts("flooding");
	fflush(stdout);
	for (;;) {
		flood(once, SIGRTMIN + 1, now_ns() + SECOND);
		if (!stays)
			return 7;
	}
}

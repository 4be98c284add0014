/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flood init
 *
 *   flood-init signals N [stay]   N processes that queue signals to pid 1 without end
 *   flood-init orphans N [stay]   N processes that leave children to pid 1 without end
 *
 * When each of them has sent its share the main process says "flooding" and returns 7, or stays.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/helpers/number.h"

#define SIGNALS 1000
#define ORPHANS 100

/* One byte for the main process, when `done` is the share. */
static void tell(int fd, unsigned long done, unsigned long share)
{
	if (done == share && write(fd, "f", 1) != 1)
		_exit(1);
}

static void queue_signals(int fd, int sig)
{
	const union sigval value = { 0 };

	for (unsigned long n = 0;;) {
		if (sigqueue(1, sig, value) == 0) /* EAGAIN: the queue is full */
			tell(fd, ++n, SIGNALS);
	}
}

/* Their parent ends at once: pid 1 has to wait for them. */
static pid_t leave_some(void)
{
	/* NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
	pid_t pid = vfork();

	if (pid == 0) {
		for (int i = 0; i < 8 && vfork() > 0; i++)
			;
		_exit(0);
	}
	/* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
	return pid;
}

static void leave_orphans(int fd)
{
	for (unsigned long n = 0;;) {
		if (leave_some() > 0)
			tell(fd, ++n, ORPHANS);
	}
}

int main(int argc, char **argv)
{
	unsigned long long n = argc > 2 ? number_of(argv[2]) : 0;
	const int stays = argc == 4 && strcmp(argv[3], "stay") == 0;
	char byte;
	int fds[2];

	if (n < 1 || n > 20 || argc > 3 + stays || pipe(fds) < 0)
		return 2;
	signal(SIGCHLD, SIG_IGN);
	for (unsigned long long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return 3;
		if (pid > 0)
			continue;
		if (strcmp(argv[1], "signals") == 0)
			queue_signals(fds[1], SIGRTMIN + 2 + (int)i);
		leave_orphans(fds[1]);
	}
	for (unsigned long long i = 0; i < n; i++) {
		if (read(fds[0], &byte, 1) != 1)
			return 4;
	}
	puts("flooding");
	fflush(stdout);
	if (!stays)
		return 7;
	for (;;)
		pause();
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flood init
 *
 *   flood-init signals N   N processes that queue signals to pid 1 without end
 *   flood-init orphans N   N processes that leave children to pid 1 without end
 *
 * The main process says "flooding" and returns 7 a second later.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/helpers/number.h"

static void queue_signals(int sig)
{
	const union sigval value = { 0 };

	for (;;)
		(void)sigqueue(1, sig, value); /* EAGAIN: the queue is full */
}

static void leave_orphans(void)
{
	/* NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
	for (;;) {
		pid_t pid = vfork();

		/* Their parent ends at once: pid 1 has to wait for them. */
		if (pid == 0) {
			for (int i = 0; i < 8 && vfork() > 0; i++)
				;
			_exit(0);
		}
	}
	/* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,clang-analyzer-unix.Vfork) */
}

int main(int argc, char **argv)
{
	unsigned long long n = argc == 3 ? number_of(argv[2]) : 0;

	if (n < 1 || n > 20)
		return 2;
	signal(SIGCHLD, SIG_IGN);
	for (unsigned long long i = 0; i < n; i++) {
		if (fork() != 0)
			continue;
		if (strcmp(argv[1], "signals") == 0)
			queue_signals(SIGRTMIN + 2 + (int)i);
		leave_orphans();
	}
	puts("flooding");
	fflush(stdout);
	sleep(1);
	return 7;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fork bomb
 *
 *   fork-bomb processes N   N children that wait; "made M", and ": NAME" of the error
 *   fork-bomb threads N     likewise
 *   fork-bomb forever       every process forks for as long as it lives, deaf to signals
 *
 * The first two return 1 after an error.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/helpers/number.h"

static void *wait_for_ever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static int make_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	r = pthread_create(&thread, &attr, wait_for_ever, NULL);
	pthread_attr_destroy(&attr);
	return r;
}

static int make_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		wait_for_ever(NULL);
	return pid < 0 ? errno : 0;
}

static int make(unsigned long n, int (*one)(void))
{
	for (unsigned long i = 0; i < n; i++) {
		int error = one();

		if (error) {
			printf("made %lu: %s\n", i, strerrorname_np(error));
			return 1;
		}
	}
	printf("made %lu\n", n);
	return 0;
}

static void bomb(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_IGN);
	for (;;) {
		if (fork() < 0)
			sched_yield();
	}
}

int main(int argc, char **argv)
{
	int r;

	if (argc == 2)
		bomb();
	if (argc != 3)
		return 2;
	r = make(number_of(argv[2]), argv[1][0] == 't' ? make_thread : make_process);
	fflush(stdout);
	_exit(r);
}

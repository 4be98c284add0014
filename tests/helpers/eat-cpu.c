/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eat CPU time
 *
 *   eat-cpu MS [PROCESSES [THREADS [ROUNDS]]]
 *
 * Each of PROCESSES burns MS milliseconds of CPU time with its THREADS together, all at
 * once; ROUNDS times over, each round in new processes, so that no process is ever old.
 * Says "burnt" at the end.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/helpers/number.h"

static uint64_t budget_ns;

static void *burn(void *unused)
{
	struct timespec ts;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	while ((uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec < budget_ns);
	return unused;
}

static int burn_in_threads(unsigned long n)
{
	for (; n > 1; n--) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, burn, NULL) != 0)
			return 1;
	}
	burn(NULL);
	return 0;
}

static unsigned long number(int argc, char **argv, int i, unsigned long otherwise)
{
	return i < argc ? number_of(argv[i]) : otherwise;
}

int main(int argc, char **argv)
{
	unsigned long processes = number(argc, argv, 2, 1), threads = number(argc, argv, 3, 1);
	unsigned long rounds = number(argc, argv, 4, 1);

	budget_ns = number(argc, argv, 1, 0) * 1000000;
	if (processes == 1 && rounds == 1) {
		if (burn_in_threads(threads) != 0)
			return 1;
		puts("burnt");
		return 0;
	}
	for (; rounds; rounds--) {
		for (unsigned long i = 0; i < processes; i++) {
			pid_t pid = fork();

			if (pid < 0)
				return 1;
			if (pid == 0)
				_exit(burn_in_threads(threads));
		}
		while (wait(NULL) > 0)
			;
	}
	puts("burnt");
	return 0;
}

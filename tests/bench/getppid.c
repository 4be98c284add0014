/* SPDX-License-Identifier: Apache-2.0 */
/*
 * getppid: what one system call costs here
 *
 *   getppid          over 50,000 calls a round
 *   getppid few      over 500, for where each takes long
 *
 * Prints nanoseconds a call: the smallest of ten rounds, because whatever else the
 * machine does can only make one slower.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 10
#define CALLS 50000
#define FEW 500

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

int main(int argc, char **argv)
{
	int calls = argc == 2 && strcmp(argv[1], "few") == 0 ? FEW : CALLS;
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t then = now_ns(), took;

		for (int i = 0; i < calls; i++)
			syscall(SYS_getppid);
		took = now_ns() - then;
		best = took < best ? took : best;
	}
	printf("%.2f\n", (double)best / calls);
	return fflush(stdout) != 0;
}

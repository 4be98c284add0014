/* SPDX-License-Identifier: Apache-2.0 */
/*
 * netns: what a network namespace costs, from the pool and made anew
 *
 *   netns ROUNDS
 *
 * In turns: take one from the pool, enter it, go home, give it back, which looks whether it is
 * clean; and make one, which enters it, and go home, which drops it.  Prints the nanoseconds of
 * both, a line a round.  As root.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "netns/pool.h"
#include "runtime/base/error.h"

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* 0 when it was not clean afterwards. */
static uint64_t time_pooled(struct mr_netns_pool *pool, int home)
{
	struct mr_error err;
	const uint64_t then = now_ns();
	const int fd = mr_netns_pool_take(pool, &err);

	if (fd < 0 || setns(fd, CLONE_NEWNET) < 0 || setns(home, CLONE_NEWNET) < 0 ||
	    mr_netns_pool_give(pool, fd) != 1)
		return 0;
	return now_ns() - then;
}

static uint64_t time_made(int home)
{
	const uint64_t then = now_ns();

	if (unshare(CLONE_NEWNET) < 0 || setns(home, CLONE_NEWNET) < 0)
		return 0;
	return now_ns() - then;
}

int main(int argc, char **argv)
{
	const int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	struct mr_netns_pool *pool;
	struct mr_error err;
	unsigned int rounds;

	if (argc != 2 || sscanf(argv[1], "%u", &rounds) != 1 || home < 0)
		return 2;
	/* The first is made. */
	if (mr_netns_pool_new(1, &pool, &err) < 0 || !time_pooled(pool, home)) {
		fputs("netns: no pool of network namespaces here; start as root\n", stderr);
		return 1;
	}
	for (unsigned int i = 0; i < rounds; i++) {
		const uint64_t pooled = time_pooled(pool, home), made = time_made(home);

		if (!pooled || !made) {
			fprintf(stderr, "netns: round %u: %m\n", i);
			return 1;
		}
		printf("%" PRIu64 "\t%" PRIu64 "\n", pooled, made);
	}
	mr_netns_pool_free(pool);
	return fflush(stdout) != 0;
}

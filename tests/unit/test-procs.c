/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Procs, against a tree of real processes
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/cleanup.h"
#include "runtime/base/error.h"
#include "runtime/supervise/procs.h"

#define BURN_MS 300
#define EAT_BYTES (8u << 20)

static void *stay(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void burn(unsigned int ms)
{
	struct timespec ts;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	while ((unsigned long)ts.tv_sec * 1000 + (unsigned long)ts.tv_nsec / 1000000 < ms);
}

/* The name would end the second field of stat early for a reader that is not careful. */
static void grandchild(int ready)
{
	char *eaten =
		mmap(NULL, EAT_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	prctl(PR_SET_NAME, ") R 1 1 (");
	if (eaten == MAP_FAILED || pthread_create(&thread, NULL, stay, NULL) != 0)
		_exit(1);
	memset(eaten, 1, EAT_BYTES);
	burn(BURN_MS);
	if (write(ready, "x", 1) != 1)
		_exit(1);
	stay(NULL);
}

/* init - child - grandchild with a thread, and init - burnt (waited for). Returns init's pid. */
static pid_t make_tree(int *ret_stop)
{
	int ready[2], stop[2];
	char byte;
	pid_t init;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(pipe(stop), 0);
	init = fork();
	assert_true(init >= 0);
	if (init == 0) {
		pid_t child;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(stop[1]);
		child = fork();
		if (child == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (fork() == 0) {
				prctl(PR_SET_PDEATHSIG, SIGKILL);
				grandchild(ready[1]);
			}
			stay(NULL);
		}
		child = fork();
		if (child == 0) {
			burn(BURN_MS);
			_exit(0);
		}
		waitpid(child, NULL, 0);
		if (write(ready[1], "x", 1) != 1 || read(stop[0], &byte, 1) < 0)
			_exit(1);
		_exit(0);
	}
	close(ready[1]);
	close(stop[0]);
	for (int i = 0; i < 2; i++)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	*ret_stop = stop[1];
	return init;
}

static void whole_tree_is_seen(void **state)
{
	struct mr_procs procs = { 0 };
	struct mr_error err;
	int stop;
	pid_t init = make_tree(&stop);

	(void)state;
	assert_int_equal(mr_procs_look(&procs, init, &err), 0);
	assert_int_equal(procs.n, 3); /* child, grandchild, its thread */
	assert_int_equal(procs.n_peak, 3);
	assert_true(procs.cpu_us >= 2 * BURN_MS * 1000 - 40000); /* ticks of 10 ms */
	assert_true(procs.rss_bytes >= EAT_BYTES);
	assert_true(procs.rss_peak_bytes == procs.rss_bytes);
	close(stop);
	assert_int_equal(waitpid(init, NULL, 0), init);
}

static void peaks_and_cpu_time_stay(void **state)
{
	struct mr_procs procs = { .cpu_us = 99000000, .rss_peak_bytes = 1ULL << 40, .n_peak = 77 };
	struct mr_error err;
	int stop;
	pid_t init = make_tree(&stop);

	(void)state;
	assert_int_equal(mr_procs_look(&procs, init, &err), 0);
	assert_int_equal(procs.n, 3);
	assert_int_equal(procs.n_peak, 77);
	assert_true(procs.cpu_us == 99000000);
	assert_true(procs.rss_peak_bytes == 1ULL << 40);
	close(stop);
	assert_int_equal(waitpid(init, NULL, 0), init);
}

static void tree_that_is_gone_is_empty(void **state)
{
	struct mr_procs procs = { 0 };
	struct mr_error err;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(mr_procs_look(&procs, pid, &err), 0);
	assert_int_equal(procs.n, 0);
	assert_true(procs.rss_bytes == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_tree_is_seen),
		cmocka_unit_test(peaks_and_cpu_time_stay),
		cmocka_unit_test(tree_that_is_gone_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

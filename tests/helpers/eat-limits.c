/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eat what each process has a limit for
 *
 *   eat-limits descriptors N   open N more; "opened M" and ": NAME" of the error
 *   eat-limits stack BYTES     "used BYTES", or dies of SIGSEGV
 *   eat-limits raise WHAT      raise the soft and hard limit of nofile, core, fsize, stack by one;
 *                              "raised", or "failed: NAME"
 */
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/helpers/number.h"

static int eat_descriptors(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		if (open("/dev/null", O_RDONLY) < 0) {
			printf("opened %lu: %s\n", i, strerrorname_np(errno));
			return 1;
		}
	}
	printf("opened %lu\n", n);
	return 0;
}

static int eat_stack(size_t size)
{
	volatile char *p = alloca(size);

	/* Downwards, as a stack grows. */
	for (size_t at = size; at > 0; at -= at < 4096 ? at : 4096)
		p[at - 1] = 1;
	printf("used %zu\n", size);
	return 0;
}

static int raise_limit(const char *what)
{
	static const struct {
		const char *name;
		int resource;
	} rows[] = {
		{ "nofile", RLIMIT_NOFILE },
		{ "core", RLIMIT_CORE },
		{ "fsize", RLIMIT_FSIZE },
		{ "stack", RLIMIT_STACK },
	};
	struct rlimit limit;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i].name, what) != 0 || getrlimit(rows[i].resource, &limit) < 0)
			continue;
		limit.rlim_max++;
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(rows[i].resource, &limit) == 0) {
			puts("raised");
			return 0;
		}
		printf("failed: %s\n", strerrorname_np(errno));
		return 1;
	}
	return 2;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	if (strcmp(argv[1], "descriptors") == 0)
		return eat_descriptors(number_of(argv[2]));
	if (strcmp(argv[1], "stack") == 0)
		return eat_stack(number_of(argv[2]));
	return raise_limit(argv[2]);
}

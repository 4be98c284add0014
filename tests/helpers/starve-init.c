/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starve init
 *
 *   starve-init N   takes from pid 1 what its user may take, says what worked, starts N
 *                   processes that are busy from its end on, and returns 7
 */
#include <errno.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/helpers/number.h"

static void tell(const char *what, long r)
{
	if (r == 0)
		printf("%s worked\n", what);
	else if (errno != EPERM)
		printf("%s: %s\n", what, strerror(errno));
}

/* Busy as soon as the main process has ended: it would get no further itself. */
static void spin_when_alone(const int start[2])
{
	char c;

	close(start[1]);
	while (read(start[0], &c, 1) > 0)
		;
	for (;;)
		;
}

int main(int argc, char **argv)
{
	const struct sched_param none = { 0 };
	const struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} idle = { .size = sizeof(idle), .policy = SCHED_IDLE };
	const int io_idle = IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0);
	struct rlimit limit = { 1, 1 };
	cpu_set_t cpus;
	unsigned long long n;
	int start[2];

	if (argc != 2)
		return 2;
	n = number_of(argv[1]);
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	tell("sched_setparam", sched_setparam(1, &none));
	tell("sched_setscheduler", sched_setscheduler(1, SCHED_IDLE, &none));
	tell("sched_setattr", syscall(SYS_sched_setattr, 1, &idle, 0));
	tell("sched_setaffinity", sched_setaffinity(1, sizeof(cpus), &cpus));
	tell("setpriority", setpriority(PRIO_PROCESS, 1, 19));
	tell("setpriority of the user", setpriority(PRIO_USER, 0, 19));
	tell("ioprio_set", syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 1, io_idle));
	tell("ioprio_set of the user", syscall(SYS_ioprio_set, IOPRIO_WHO_USER, getuid(), io_idle));
	tell("prlimit", prlimit(1, RLIMIT_CPU, &limit, NULL));
	/* Of itself it may. */
	if (sched_getaffinity(0, sizeof(cpus), &cpus) < 0 ||
	    sched_setaffinity(0, sizeof(cpus), &cpus) < 0 ||
	    prlimit(0, RLIMIT_CORE, NULL, &limit) < 0 || pipe(start) < 0)
		tell("its own", -1);
	fflush(stdout);
	for (unsigned long long i = 0; i < n; i++) {
		if (fork() == 0)
			spin_when_alone(start);
	}
	return 7;
}

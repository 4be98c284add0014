/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes: lives that are easy to count wrongly
 *
 *   processes execs N PROGRAM        start PROGRAM N times, one after the other
 *   processes forks N                N processes that end at once
 *   processes vforks N               the same, with the memory of the first, so that they are made faster
 *   processes threads N              N threads that end at once
 *   processes leader-first           the first thread ends, another lives on for a while
 *   processes one-by-one             the first thread ends with 5, then the other with 9
 *   processes crashes N              N processes that crash 40 calls deep
 *   processes thread-exec PROGRAM    exec by a thread that is not the first
 *   processes memfd PROGRAM          exec of a copy in memory that has no name
 *   processes args N BYTES PROGRAM   exec with N arguments of BYTES bytes
 *   processes touch MIB              touch so much memory
 *   processes hold MIB               the same, say so and stay
 *   processes write MIB PATH         write so much
 *   processes spin MS                use so much CPU time
 *   processes busy CPU MS            the same on that CPU; print for how many ns the kernel let it wait there
 *   processes woken CPU MS PATH      likewise, so much for each byte from the pipe PATH
 *   processes wake CPU N PATH        write N bytes to the pipe PATH, one each 20 ms, and print the same
 *   processes segv                   write to 0xdead
 *   processes made-code              run an instruction that is none, in memory of no file
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/helpers/number.h"

static int die(const char *what)
{
	fprintf(stderr, "processes: %s: %s\n", what, strerror(errno));
	return 1;
}

static int execs(char **argv)
{
	for (long i = (long)number_of(argv[0]); i > 0; i--) {
		char *args[] = { argv[1], NULL };
		pid_t pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */
		int status;

		if (pid == 0) {
			execv(argv[1], args);
			_exit(127);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
			return die(argv[1]);
	}
	return 0;
}

static int forks(char **argv)
{
	for (long i = (long)number_of(argv[0]); i > 0; i--) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return die("fork");
	}
	return 0;
}

static int vforks(char **argv)
{
	for (long i = (long)number_of(argv[0]); i > 0; i--) {
		pid_t pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */

		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return die("vfork");
	}
	return 0;
}

static void *nothing(void *arg)
{
	return arg;
}

static int threads(char **argv)
{
	for (long i = (long)number_of(argv[0]); i > 0; i--) {
		pthread_t t;

		if (pthread_create(&t, NULL, nothing, NULL) || pthread_join(t, NULL))
			return die("thread");
	}
	return 0;
}

static void *live_on(void *arg)
{
	struct timespec ts = { .tv_nsec = 200000000 };

	(void)arg;
	nanosleep(&ts, NULL);
	_exit(7);
}

static int leader_first(char **argv)
{
	pthread_t t;

	(void)argv;
	if (pthread_create(&t, NULL, live_on, NULL))
		return die("thread");
	pthread_exit(NULL);
}

static void *end_later(void *arg)
{
	struct timespec ts = { .tv_nsec = 200000000 };

	(void)arg;
	nanosleep(&ts, NULL);
	syscall(SYS_exit, 9);
	return NULL;
}

static int one_by_one(char **argv)
{
	pthread_t t;

	(void)argv;
	if (pthread_create(&t, NULL, end_later, NULL))
		return die("thread");
	syscall(SYS_exit, 5);
	return 1;
}

static int segv(char **argv);

/* The volatile result keeps each call a call: a stack of that many frames. */
__attribute__((noinline)) static int crash_below(int calls)
{
	volatile int r = calls ? crash_below(calls - 1) : segv(NULL);

	return r;
}

static int crashes(char **argv)
{
	for (long i = (long)number_of(argv[0]); i > 0; i--) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(crash_below(40));
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
			return die("fork");
	}
	return 0;
}

static void *exec_it(void *arg)
{
	char *args[] = { arg, NULL };

	execv(arg, args);
	exit(die(arg));
}

static int thread_exec(char **argv)
{
	pthread_t t;

	if (pthread_create(&t, NULL, exec_it, argv[0]))
		return die("thread");
	pthread_join(t, NULL);
	return 1;
}

static int memfd(char **argv)
{
	int fd = memfd_create("nameless", MFD_CLOEXEC), from = open(argv[0], O_RDONLY | O_CLOEXEC);
	char *args[] = { "nameless", NULL }, *env[] = { NULL }, buf[65536];
	ssize_t n;

	if (fd < 0 || from < 0)
		return die(argv[0]);
	while ((n = read(from, buf, sizeof(buf))) > 0)
		if (write(fd, buf, (size_t)n) != n)
			return die("copy");
	fexecve(fd, args, env);
	return die("fexecve");
}

static int args(char **argv)
{
	size_t n = (size_t)number_of(argv[0]), bytes = (size_t)number_of(argv[1]);
	char *arg = malloc(bytes + 1), **list = calloc(n + 2, sizeof(*list));

	if (!arg || !list)
		return die("memory");
	memset(arg, 'x', bytes);
	arg[bytes] = '\0';
	list[0] = argv[2];
	for (size_t i = 1; i <= n; i++)
		list[i] = arg;
	execv(argv[2], list);
	return die(argv[2]);
}

static int touch(char **argv)
{
	size_t bytes = (size_t)number_of(argv[0]) << 20;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return die("mmap");
	/* Huge pages would make the number of faults a matter of luck. */
	madvise(p, bytes, MADV_NOHUGEPAGE);
	memset(p, 1, bytes);
	return 0;
}

static int hold(char **argv)
{
	if (touch(argv) || puts("held") < 0 || fflush(stdout) != 0)
		return 1;
	for (;;)
		pause();
}

static int write_out(char **argv)
{
	static char buf[1 << 20];
	int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	for (long i = (long)number_of(argv[0]); i > 0; i--)
		if (write(fd, buf, sizeof(buf)) != (ssize_t)sizeof(buf))
			return die(argv[1]);
	return 0;
}

static void burn(unsigned long long ms)
{
	clock_t end = clock() + (long)ms * (CLOCKS_PER_SEC / 1000);

	while (clock() < end)
		;
}

static int spin(char **argv)
{
	burn(number_of(argv[0]));
	return 0;
}

static int stay_on(const char *cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(number_of(cpu), &set);
	return sched_setaffinity(0, sizeof(set), &set) < 0 ? die("stay on a CPU") : 0;
}

/* "RAN WAITED TURNS", nanoseconds. */
static int print_waited(void)
{
	FILE *file = fopen("/proc/self/schedstat", "re");
	char line[128], *waited, *end;

	if (!file || !fgets(line, sizeof(line), file))
		return die("/proc/self/schedstat");
	fclose(file);
	waited = strchr(line, ' ');
	end = waited ? strchr(waited + 1, ' ') : NULL;
	if (!end)
		return die(line);
	*end = '\0';
	return puts(waited + 1) < 0;
}

static int busy(char **argv)
{
	if (stay_on(argv[0]))
		return 1;
	burn(number_of(argv[1]));
	return print_waited();
}

static int woken(char **argv)
{
	int fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	char c;

	if (fd < 0 || stay_on(argv[0]))
		return die(argv[2]);
	while (read(fd, &c, 1) == 1)
		burn(number_of(argv[1]));
	return print_waited();
}

static int wake(char **argv)
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	int fd = open(argv[2], O_WRONLY | O_CLOEXEC);

	if (fd < 0 || stay_on(argv[0]))
		return die(argv[2]);
	for (long i = (long)number_of(argv[1]); i > 0; i--) {
		if (write(fd, "", 1) != 1)
			return die(argv[2]);
		nanosleep(&nap, NULL);
	}
	return print_waited();
}

static int segv(char **argv)
{
	(void)argv;
	*(volatile int *)(uintptr_t)0xdead = 1;
	return 1;
}

/* An instruction that is none, in memory that belongs to no file. */
static int made_code(char **argv)
{
	unsigned char *p =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)argv;
	if (p == MAP_FAILED)
		return die("mmap");
	memcpy(p, (unsigned char[]){ 0x0f, 0x0b }, 2);
	if (mprotect(p, 4096, PROT_READ | PROT_EXEC) < 0)
		return die("mprotect");
	((void (*)(void))(uintptr_t)p)();
	return 1;
}

static const struct {
	const char *name;
	int n_args;
	int (*run)(char **argv);
} modes[] = {
	{ "execs", 2, execs },
	{ "forks", 1, forks },
	{ "vforks", 1, vforks },
	{ "threads", 1, threads },
	{ "leader-first", 0, leader_first },
	{ "one-by-one", 0, one_by_one },
	{ "crashes", 1, crashes },
	{ "thread-exec", 1, thread_exec },
	{ "memfd", 1, memfd },
	{ "args", 3, args },
	{ "touch", 1, touch },
	{ "hold", 1, hold },
	{ "write", 2, write_out },
	{ "spin", 1, spin },
	{ "busy", 2, busy },
	{ "woken", 3, woken },
	{ "wake", 3, wake },
	{ "segv", 0, segv },
	{ "made-code", 0, made_code },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].name) == 0 && argc == modes[i].n_args + 2)
			return modes[i].run(argv + 2);
	errno = EINVAL;
	return die("arguments");
}

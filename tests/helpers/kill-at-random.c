/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kill-at-random: SIGKILL commands at random instants of their lives
 *
 *   kill-at-random RUNS LONGEST_US SEED [@STDIN] COMMAND... [:: [@STDIN] COMMAND...]...
 *
 * The commands take turns.  How long each lives undisturbed is measured first, but
 * not for longer than LONGEST_US; then each run is killed at an instant drawn evenly
 * from that length and a tenth more, so that starting, running and ending are all
 * hit.  The length is that of the machine at the time: a run that ended before its
 * instant says how long it is by now, one that outlived it that it is more.
 * Prints "killed N of RUNS": those still alive when the signal came.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 32

struct command {
	const char *stdin_path;
	char **argv;
	uint64_t length_ns;
};

static void die(const char *what)
{
	fprintf(stderr, "kill-at-random: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts) < 0)
		die("clock");
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint64_t parse(const char *text)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end)
		die(text);
	return value;
}

/* xorshift64*: the same instants again for the same seed, as far as the machine allows. */
static uint64_t draw(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

static pid_t start(const struct command *command)
{
	const char *input = command->stdin_path ? command->stdin_path : "/dev/null";
	pid_t pid = fork();
	int in, out;

	if (pid < 0)
		die("fork");
	if (pid > 0)
		return pid;
	in = open(input, O_RDONLY);
	out = open("/dev/null", O_WRONLY);
	if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(126);
	execv(command->argv[0], command->argv);
	_exit(127);
}

/* Ends the process and says whether it was still alive. */
static int finish(pid_t pid)
{
	int status;

	if (kill(pid, SIGKILL) < 0)
		die("kill");
	if (waitpid(pid, &status, 0) != pid)
		die("waitpid");
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127)) {
		errno = ENOEXEC;
		die("the command cannot be run");
	}
	return WIFSIGNALED(status);
}

/* Until it has ended or that time is over.  Says whether it was alive then, and when that was. */
static int run_for(const struct command *command, uint64_t ns, uint64_t *ret_took_ns)
{
	uint64_t began = now_ns(), now;
	pid_t pid = start(command);
	struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	int n = p.fd < 0 ? -1 : 0;

	while (n == 0 && (now = now_ns()) - began < ns) {
		uint64_t left = ns - (now - began);
		struct timespec ts = { (time_t)(left / 1000000000), (long)(left % 1000000000) };

		n = ppoll(&p, 1, &ts, NULL);
	}
	if (n < 0)
		die("pidfd");
	*ret_took_ns = now_ns() - began;
	close(p.fd);
	return finish(pid);
}

static int run_once(struct command *command, uint64_t delay_ns, uint64_t longest_ns)
{
	uint64_t took_ns;
	int alive = run_for(command, delay_ns, &took_ns);

	if (alive && took_ns <= command->length_ns)
		return alive;
	command->length_ns = took_ns < longest_ns ? took_ns : longest_ns;
	return alive;
}

/* Cuts the words at "::", in place. */
static size_t split(char **words, struct command *commands)
{
	size_t n = 0;

	while (*words) {
		if (n == COMMANDS_MAX) {
			errno = E2BIG;
			die("commands");
		}
		if (**words == '@')
			commands[n].stdin_path = *words++ + 1;
		commands[n++].argv = words;
		while (*words && strcmp(*words, "::") != 0)
			words++;
		if (*words)
			*words++ = NULL;
	}
	return n;
}

int main(int argc, char **argv)
{
	struct command commands[COMMANDS_MAX] = { 0 };
	uint64_t runs, longest_ns, seed, killed = 0;
	size_t n;

	if (argc < 5) {
		errno = EINVAL;
		die("RUNS LONGEST_US SEED COMMAND...");
	}
	runs = parse(argv[1]);
	longest_ns = parse(argv[2]) * 1000;
	seed = parse(argv[3]) * 2 + 1;
	n = split(argv + 4, commands);
	for (size_t i = 0; i < n; i++) {
		/* the first start is slower than the rest */
		for (int j = 0; j < 2; j++)
			run_for(&commands[i], longest_ns, &commands[i].length_ns);
	}
	for (uint64_t i = 0; i < runs; i++) {
		struct command *command = &commands[i % n];
		uint64_t delay_ns = draw(&seed) % (command->length_ns * 11 / 10);

		killed += (uint64_t)run_once(command, delay_ns, longest_ns);
	}
	printf("killed %ju of %ju\n", (uintmax_t)killed, (uintmax_t)runs);
	return fflush(stdout) == 0 ? 0 : 1;
}

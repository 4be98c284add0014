/* SPDX-License-Identifier: Apache-2.0 */
/*
 * on-a-terminal: run a command on a terminal of its own and play its user
 *
 *   on-a-terminal STEP... -- COMMAND...
 *
 *   expect=TEXT      wait until the output holds TEXT, behind what was expected before
 *   send=TEXT        type TEXT
 *   size=ROWSxCOLS   change the size of the terminal; what was shown before it is not expected
 *   kill=SIGNAL      send the command a signal
 *   stopped          wait until the command is stopped, then say so
 *
 * The output goes to standard output as it comes.  When the command has ended (after
 * the steps it is waited for), standard error gets the line "status N; modes kept" or
 * "status N; modes changed", which compares the terminal's modes with those before.
 * A step that takes longer than ON_A_TERMINAL_SECONDS (10), or expects something of a command
 * that has ended, ends it all with status 99.
 *
 * The kernel hands over what was written to a terminal in the background.  So that nothing is missed
 * of a command that has ended, MARK is written behind it, and what comes before that is its output.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>

#include "tests/helpers/number.h"

#define OUTPUT_MAX (1 << 20)

#define MARK '\036' /* of no command here */

static int master = -1;
static pid_t child;
static char output[OUTPUT_MAX + 1];
static size_t got, matched;
static bool marked, drained; /* MARK was written; it has come */
static long long limit_ms = 10000;

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "on-a-terminal: %s\n", what);
	if (child > 0)
		kill(child, SIGKILL);
	exit(99);
}

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

/* Take what the terminal shows, for at most 20 ms. */
static void look(void)
{
	struct pollfd p = { .fd = master, .events = POLLIN };
	const char *mark;
	ssize_t n;

	if (poll(&p, 1, 20) != 1 || !(p.revents & POLLIN))
		return;
	n = read(master, output + got, OUTPUT_MAX - got);
	if (n <= 0)
		return;
	mark = marked ? memchr(output + got, MARK, (size_t)n) : NULL;
	if (mark) {
		drained = true;
		n = mark - (output + got);
	}
	if (n > 0 && write(STDOUT_FILENO, output + got, (size_t)n) != n)
		give_up("standard output");
	got += (size_t)n;
	output[got] = '\0';
	if (got == OUTPUT_MAX)
		give_up("too much output");
}

static bool has_ended(void)
{
	siginfo_t info = { 0 };

	return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == child;
}

/* All that the command has said, which has ended. */
static void drain(void)
{
	static const char mark = MARK;
	const int fd = open(ptsname(master), O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	long long end = now_ms() + limit_ms;

	while (!marked) {
		marked = write(fd, &mark, 1) == 1; /* it may be full */
		if (now_ms() > end)
			give_up("mark the end");
		if (!marked)
			look();
	}
	close(fd);
	while (!drained) {
		if (now_ms() > end)
			give_up("its last words do not come");
		look();
	}
}

static void expect(const char *text)
{
	long long end = now_ms() + limit_ms;
	char *at;

	while (!(at = memmem(output + matched, got - matched, text, strlen(text)))) {
		const bool ended = has_ended();
		const size_t before = got;

		if (ended)
			drain();
		else
			look();
		if (now_ms() > end || (ended && got == before)) {
			fprintf(stderr, "on-a-terminal: nothing says \"%s\"%s\n", text,
				ended ? ", and the command has ended" : "");
			give_up("over");
		}
	}
	matched = (size_t)(at - output) + strlen(text);
}

static void type(const char *text)
{
	if (write(master, text, strlen(text)) != (ssize_t)strlen(text))
		give_up("type");
}

static void resize(const char *text)
{
	struct winsize size = { 0 };
	size_t before;

	do {
		before = got;
		look();
	} while (got != before);
	matched = got;
	if (sscanf(text, "%hux%hu", &size.ws_row, &size.ws_col) != 2 ||
	    ioctl(master, TIOCSWINSZ, &size) < 0)
		give_up("size");
}

/* Wait for the command to change state as options ask; its status. */
static int await(int options)
{
	long long end = now_ms() + limit_ms;
	int status;
	pid_t r;

	while ((r = waitpid(child, &status, WNOHANG | options)) == 0) {
		if (now_ms() > end)
			give_up("it does not end");
		look();
	}
	if (r != child)
		give_up("waitpid");
	return status;
}

static void step(const char *text)
{
	if (strncmp(text, "expect=", 7) == 0)
		expect(text + 7);
	else if (strncmp(text, "send=", 5) == 0)
		type(text + 5);
	else if (strncmp(text, "size=", 5) == 0)
		resize(text + 5);
	else if (strncmp(text, "kill=", 5) == 0)
		kill(child, (int)number_of(text + 5));
	else if (strcmp(text, "stopped") == 0 && WIFSTOPPED(await(WUNTRACED)))
		fprintf(stderr, "stopped\n");
	else
		give_up(text);
}

static int same_modes(const struct termios *a, const struct termios *b)
{
	return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_cflag == b->c_cflag &&
	       a->c_lflag == b->c_lflag && memcmp(a->c_cc, b->c_cc, sizeof(a->c_cc)) == 0;
}

static void start(char **command, int slave)
{
	child = fork();
	if (child < 0)
		give_up("fork");
	if (child > 0)
		return;
	close(master);
	if (login_tty(slave) < 0)
		_exit(127);
	execv(command[0], command);
	_exit(127);
}

int main(int argc, char **argv)
{
	const char *seconds = getenv("ON_A_TERMINAL_SECONDS");
	struct winsize size = { .ws_row = 24, .ws_col = 80 };
	struct termios before, after;
	int slave, status, steps = 1;

	if (seconds)
		limit_ms = number_of(seconds) * 1000;
	while (steps < argc && strcmp(argv[steps], "--") != 0)
		steps++;
	if (steps + 1 >= argc || openpty(&master, &slave, NULL, NULL, &size) < 0 ||
	    fcntl(master, F_SETFD, FD_CLOEXEC) < 0 || tcgetattr(slave, &before) < 0)
		give_up("no command or no terminal");
	start(argv + steps + 1, slave);
	for (int i = 1; i < steps; i++)
		step(argv[i]);
	status = await(0);
	drain();
	/* The slave is still open here: a terminal without one loses its modes. */
	if (tcgetattr(slave, &after) < 0)
		give_up("modes");
	status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	fprintf(stderr, "status %d; modes %s\n", status,
		same_modes(&before, &after) ? "kept" : "changed");
	return 0;
}

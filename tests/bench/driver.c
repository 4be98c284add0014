/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver: start commands in turn and time each
 *
 *   driver [-n RUNS] [-w WARM-UP] [-g MS] [-j N] COMMAND [::: COMMAND]...
 *   COMMAND = NAME [+ATTRIBUTE]... /PATH/OF/PROGRAM [ARG]...
 *
 * Without -j the commands take turns (A B A B), so that whatever the machine does
 * meanwhile happens to all of them; -g waits that long before each run.  With -j each
 * command makes all its runs in one go, N at once.
 *
 *   +fd=N:FILE   FILE as descriptor N, opened anew for each run, so at its beginning;
 *                one that is written is appended to
 *   +mntns=FILE  in this mount namespace
 *   +line=TEXT   resident: started once; a run is a line in and a line out, which holds
 *                "batch_index" to say which run it answers
 *   +expect=TEXT must be in the line out
 *   +save=FILE   the lines out are written there
 *   +own         the sample is the number the program prints
 *
 * On standard output, tab-separated:
 *   run NAME NUMBER SAMPLE RSS_KB       SAMPLE in ns from the start to the end of the process
 *   peak NAME RUNS KB                   a resident one's VmHWM after so many runs
 *   total NAME RUNS NS                  with -j: first start to last end
 *
 * A run that fails ends the whole measurement: numbers of failures mean nothing.
 * Children are made by clone with CLONE_VM | CLONE_VFORK rather than posix_spawn, which
 * cannot join a namespace; the caller is small either way, so its size is not measured.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 16
#define FDS_MAX 4
#define JOBS_MAX 64
#define STACK_SIZE 65536

struct redirect {
	int fd;
	const char *path;
};

struct command {
	const char *name;
	struct redirect fds[FDS_MAX];
	size_t n_fds;
	const char *mntns, *line, *expect, *save;
	bool own;
	char **argv;
	/* a resident one */
	pid_t pid;
	int in_fd;
	FILE *out, *saved;
	uint64_t *sent_ns; /* by number of the run */
	char *answer;
	size_t answer_size;
};

struct child {
	struct command *command;
	int stdio[2]; /* -1: /dev/null */
	const char *failed;
	int errnum;
};

static struct options {
	unsigned int runs, warm_up, gap_ms, jobs;
} options = { .runs = 100, .warm_up = 3 };

static struct command commands[COMMANDS_MAX];
static size_t n_commands;

__attribute__((format(printf, 1, 2))) static _Noreturn void die(const char *fmt, ...)
{
	va_list ap;

	fputs("driver: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* --- starting ---------------------------------------------------------------- */

static int open_as(const char *path, int flags, int fd)
{
	int opened = open(path, flags, 0600);

	if (opened < 0 || opened == fd)
		return opened;
	if (dup2(opened, fd) < 0)
		return -1;
	return close(opened);
}

/* In the caller's memory while the caller waits: nothing but system calls. */
static int child_main(void *arg)
{
	struct child *child = arg;
	const struct command *c = child->command;

	child->failed = "redirect";
	for (int i = 0; i < 2; i++) {
		if (child->stdio[i] >= 0 ? dup2(child->stdio[i], i) < 0
					 : open_as("/dev/null", O_RDWR, i) < 0)
			goto failed;
	}
	for (size_t i = 0; i < c->n_fds; i++) {
		child->failed = c->fds[i].path;
		if (open_as(c->fds[i].path, O_RDWR | O_APPEND, c->fds[i].fd) < 0)
			goto failed;
	}
	if (c->mntns) {
		int fd = open(c->mntns, O_RDONLY | O_CLOEXEC);

		child->failed = c->mntns;
		if (fd < 0 || setns(fd, CLONE_NEWNS) < 0)
			goto failed;
	}
	child->failed = c->argv[0];
	execv(c->argv[0], c->argv);
failed:
	child->errnum = errno;
	_exit(127);
}

static pid_t start(struct command *c, int in, int out)
{
	static char stack[STACK_SIZE] __attribute__((aligned(16)));
	struct child child = { .command = c, .stdio = { in, out } };
	pid_t pid =
		clone(child_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &child);

	if (pid < 0)
		die("clone: %s", strerror(errno));
	if (child.errnum)
		die("%s: %s: %s", c->name, child.failed, strerror(child.errnum));
	return pid;
}

static pid_t wait_for(pid_t pid, const struct command *c, unsigned int run, struct rusage *ru)
{
	int status;
	pid_t got;

	do
		got = wait4(pid, &status, 0, ru);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		die("wait: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		die("%s: run %u ended with wait status 0x%x", c ? c->name : "?", run, status);
	return got;
}

/* --- one run ------------------------------------------------------------------ */

static void report(const struct command *c, unsigned int run, double sample, long rss_kb)
{
	if (run > 0) /* 0 is warm-up */
		printf("run\t%s\t%u\t%.2f\t%ld\n", c->name, run, sample, rss_kb);
}

static void run_process(struct command *c, unsigned int run)
{
	struct rusage ru;
	uint64_t then = now_ns();

	wait_for(start(c, -1, -1), c, run, &ru);
	report(c, run, (double)(now_ns() - then), ru.ru_maxrss);
}

static void run_own(struct command *c, unsigned int run)
{
	struct rusage ru;
	double sample;
	int pair[2];
	pid_t pid;
	FILE *f;

	if (pipe2(pair, O_CLOEXEC) < 0)
		die("pipe: %s", strerror(errno));
	pid = start(c, -1, pair[1]);
	close(pair[1]);
	f = fdopen(pair[0], "r");
	if (!f || fscanf(f, "%lf", &sample) != 1)
		die("%s: run %u printed no number", c->name, run);
	fclose(f);
	wait_for(pid, c, run, &ru);
	report(c, run, sample, ru.ru_maxrss);
}

/* --- resident ------------------------------------------------------------------ */

static void start_resident(struct command *c)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		die("pipe: %s", strerror(errno));
	c->pid = start(c, in[0], out[1]);
	close(in[0]);
	close(out[1]);
	c->in_fd = in[1];
	c->out = fdopen(out[0], "r");
	c->sent_ns = calloc(options.runs + options.warm_up + 1, sizeof(*c->sent_ns));
	c->saved = c->save ? fopen(c->save, "ae") : NULL;
	if (!c->out || !c->sent_ns || (c->save && !c->saved))
		die("%s: %s", c->name, strerror(errno));
}

static void send_line(struct command *c, unsigned int number)
{
	size_t size = strlen(c->line), done = 0;

	c->sent_ns[number] = now_ns();
	while (done < size) {
		ssize_t n = write(c->in_fd, c->line + done, size - done);

		if (n < 0 && errno != EINTR)
			die("%s: write: %s", c->name, strerror(errno));
		done += n > 0 ? (size_t)n : 0;
	}
	if (write(c->in_fd, "\n", 1) != 1)
		die("%s: write: %s", c->name, strerror(errno));
}

/* Returns which line was answered. */
static unsigned int take_line(struct command *c, uint64_t *ret_ns)
{
	static const char key[] = "\"batch_index\":";
	const char *found = NULL;
	unsigned int number;

	if (getline(&c->answer, &c->answer_size, c->out) <= 0)
		die("%s: ended before its answer", c->name);
	*ret_ns = now_ns();
	for (const char *p = c->answer; (p = strstr(p, key)); p++)
		found = p;
	if (!found || sscanf(found + strlen(key), "%u", &number) != 1 ||
	    number >= options.runs + options.warm_up)
		die("%s: an answer without a batch_index of ours", c->name);
	if (c->expect && !strstr(c->answer, c->expect))
		die("%s: no %s in the answer: %.600s", c->name, c->expect, c->answer);
	if (c->saved && number >= options.warm_up)
		fputs(c->answer, c->saved);
	return number;
}

static void report_peak(const struct command *c, unsigned int runs)
{
	char path[64], line[256];
	long kb = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", c->pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmHWM: %ld", &kb) == 1)
			break;
	}
	if (f)
		fclose(f);
	printf("peak\t%s\t%u\t%ld\n", c->name, runs, kb);
}

static void run_line(struct command *c, unsigned int run)
{
	static unsigned int warm[COMMANDS_MAX];
	unsigned int *number = &warm[c - commands];
	uint64_t end;

	send_line(c, *number);
	if (take_line(c, &end) != *number)
		die("%s: the answer of another run", c->name);
	report(c, run, (double)(end - c->sent_ns[*number]), 0);
	++*number;
	if (run && (run == (options.runs + 9) / 10 || run == options.runs))
		report_peak(c, run);
}

static void stop_resident(struct command *c)
{
	struct rusage ru;

	close(c->in_fd);
	wait_for(c->pid, c, options.runs, &ru);
	fclose(c->out);
	if (c->saved && fclose(c->saved) != 0)
		die("%s: %s", c->save, strerror(errno));
	free(c->sent_ns);
	free(c->answer);
}

/* --- all of them ------------------------------------------------------------------ */

static void wait_gap(void)
{
	struct timespec gap = { .tv_sec = options.gap_ms / 1000,
				.tv_nsec = (long)(options.gap_ms % 1000) * 1000000 };

	while (options.gap_ms && nanosleep(&gap, &gap) < 0 && errno == EINTR)
		;
}

static void take_turns(void)
{
	for (size_t i = 0; i < n_commands; i++) {
		if (commands[i].line)
			start_resident(&commands[i]);
	}
	for (unsigned int turn = 0; turn < options.runs + options.warm_up; turn++) {
		unsigned int run = turn < options.warm_up ? 0 : turn - options.warm_up + 1;

		for (size_t i = 0; i < n_commands; i++) {
			struct command *c = &commands[i];

			wait_gap();
			(c->line ? run_line : c->own ? run_own : run_process)(c, run);
		}
	}
	for (size_t i = 0; i < n_commands; i++) {
		if (commands[i].line)
			stop_resident(&commands[i]);
	}
}

static void burst_of_processes(struct command *c)
{
	struct {
		pid_t pid;
		uint64_t then;
	} jobs[JOBS_MAX] = { 0 };
	unsigned int started = 0, ended = 0;

	while (ended < options.runs) {
		struct rusage ru;
		pid_t pid;

		for (unsigned int i = 0; i < options.jobs && started < options.runs; i++) {
			if (jobs[i].pid)
				continue;
			jobs[i].then = now_ns();
			jobs[i].pid = start(c, -1, -1);
			started++;
		}
		pid = wait_for(-1, c, ended + 1, &ru);
		for (unsigned int i = 0; i < options.jobs; i++) {
			if (jobs[i].pid != pid)
				continue;
			jobs[i].pid = 0;
			report(c, ++ended, (double)(now_ns() - jobs[i].then), ru.ru_maxrss);
		}
	}
}

static void burst_of_lines(struct command *c)
{
	unsigned int sent = 0, ended = 0;

	while (ended < options.runs) {
		unsigned int number;
		uint64_t end;

		while (sent < options.runs && sent - ended < options.jobs)
			send_line(c, sent++);
		number = take_line(c, &end);
		report(c, ++ended, (double)(end - c->sent_ns[number]), 0);
		if (ended == (options.runs + 9) / 10 || ended == options.runs)
			report_peak(c, ended);
	}
}

static void bursts(void)
{
	options.warm_up = 0;
	for (size_t i = 0; i < n_commands; i++) {
		struct command *c = &commands[i];
		uint64_t then;

		if (c->line)
			start_resident(c);
		then = now_ns();
		if (c->line)
			burst_of_lines(c);
		else
			burst_of_processes(c);
		printf("total\t%s\t%u\t%" PRIu64 "\n", c->name, options.runs, now_ns() - then);
		if (c->line)
			stop_resident(c);
	}
}

/* --- the command line ----------------------------------------------------------------- */

static unsigned int parse_count(const char *what, const char *text, unsigned long max)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || value > max)
		die("%s \"%s\": a number up to %lu is expected", what, text, max);
	return (unsigned int)value;
}

static void parse_redirect(struct command *c, const char *text)
{
	struct redirect *r = &c->fds[c->n_fds];
	int used = 0;

	if (c->n_fds == FDS_MAX || sscanf(text, "%d:%n", &r->fd, &used) != 1 || !used || r->fd < 0)
		die("+fd=%s: N:FILE is expected, at most %d times", text, FDS_MAX);
	r->path = text + used;
	c->n_fds++;
}

static void parse_attribute(struct command *c, const char *word)
{
	static const struct {
		const char *name;
		size_t offset;
	} texts[] = {
		{ "+mntns=", offsetof(struct command, mntns) },
		{ "+line=", offsetof(struct command, line) },
		{ "+expect=", offsetof(struct command, expect) },
		{ "+save=", offsetof(struct command, save) },
	};

	if (strncmp(word, "+fd=", 4) == 0) {
		parse_redirect(c, word + 4);
		return;
	}
	if (strcmp(word, "+own") == 0) {
		c->own = true;
		return;
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t len = strlen(texts[i].name);

		if (strncmp(word, texts[i].name, len) == 0) {
			*(const char **)((char *)c + texts[i].offset) = word + len;
			return;
		}
	}
	die("unknown attribute %s", word);
}

/* Up to ":::" or the end; returns where the next command begins. */
static char **parse_command(char **words)
{
	struct command *c = &commands[n_commands];

	if (n_commands++ == COMMANDS_MAX)
		die("more than %d commands", COMMANDS_MAX);
	c->name = *words++;
	while (*words && (*words)[0] == '+')
		parse_attribute(c, *words++);
	if (!*words || (*words)[0] != '/')
		die("%s: the absolute path of a program is expected", c->name);
	c->argv = words;
	while (*words && strcmp(*words, ":::") != 0)
		words++;
	if (*words)
		*words++ = NULL;
	return words;
}

int main(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "+n:w:g:j:")) != -1) {
		if (option == 'n')
			options.runs = parse_count("-n", optarg, 1000000);
		else if (option == 'w')
			options.warm_up = parse_count("-w", optarg, 1000);
		else if (option == 'g')
			options.gap_ms = parse_count("-g", optarg, 60000);
		else if (option == 'j')
			options.jobs = parse_count("-j", optarg, JOBS_MAX);
		else
			return 2;
	}
	argv += optind;
	if (!*argv || !options.runs)
		die("nothing to run");
	while (*argv)
		argv = parse_command(argv);
	signal(SIGPIPE, SIG_IGN);
	if (options.jobs)
		bursts();
	else
		take_turns();
	if (fflush(stdout) != 0)
		die("standard output: %s", strerror(errno));
	return 0;
}
